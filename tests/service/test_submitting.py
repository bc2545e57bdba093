"""What is refused at submission, and what fails the job, with the names of the contract."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from service import checks
from service.planning import Workplace
from service.schemas import JobRequest
from tests.service.conftest import EXACT, SAMPLED, check_problem, compare, finish, request, submit
from workers.errors import ProblemError
from workers.measures import registry
from workers.references import Root

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

PLACE = Workplace(0.5, 2**30)
TRIPLETS = {"measure": "tsi", "method": "sampled", "epsilon": 0.05, "delta": 0.05}


def refused(client: httpx2.Client, body: Any, slug: str, pointer: str) -> str:
    """Submit what must be refused as unprocessable; return the problem's sentence."""
    problem = check_problem(client.post("/v1/jobs", json=body), 422, slug)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    return str(problem["detail"])


@pytest.mark.parametrize(
    ("x", "measures", "position", "words"),
    [
        ("two", [EXACT], 0, ["tsi (exact)", "at least 3 rows", "there are 2"]),
        ("two", [TRIPLETS], 0, ["tsi (sampled)", "at least 3 rows", "there are 2"]),
        ("none", [EXACT], 0, ["at least 3 rows", "there are 0"]),
        ("three", [EXACT, SAMPLED], 1, ["qsi (sampled)", "at least 4 rows", "there are 3"]),
    ],
)
def test_too_few_rows_name_the_measure(
    client: httpx2.Client, x: str, measures: list[Any], position: int, words: list[str]
) -> None:
    detail = refused(client, request(x, x, measures), "too-few-rows", f"/measures/{position}")
    assert all(word in detail for word in words)


def test_three_rows_are_enough_for_triplets(client: httpx2.Client) -> None:
    (result,) = compare(client, request("three", "three"))["results"]
    assert (result["counts"]["population"], result["score"]) == ("3", 1.0)


@pytest.mark.parametrize(
    ("y", "slug", "words"),
    [
        ("seven", "row-count-mismatch", ["x has 8", "y has 7"]),
        ("transposed", "row-count-mismatch", ["x has 8", "y has 5", "transpose"]),
    ],
)
def test_arrays_of_different_length(client: httpx2.Client, y: str, slug: str, words: list[str]) -> None:
    detail = refused(client, request(y=y), slug, "/y")
    assert all(word in detail for word in words)


@pytest.mark.parametrize(
    ("x", "slug", "words"),
    [
        ("line", "not-a-matrix", ["must be 2-D", "1-D"]),
        ("cube", "not-a-matrix", ["must be 2-D", "3-D", "flatten"]),
        ("featureless", "not-a-matrix", ["no features"]),
        ("complex", "unsupported-dtype", ["complex64"]),
        ("group", "unknown-array", ["group", "inner"]),
        ("nowhere", "unknown-array", ["no zarr array"]),
    ],
)
def test_what_is_not_a_matrix_of_real_numbers(client: httpx2.Client, x: str, slug: str, words: list[str]) -> None:
    detail = refused(client, request(x), slug, "/x/path")
    assert all(word in detail for word in words), detail


HOSTILE = {
    "dotdot": "../outside/secret",
    "inner dotdot": "group/../../outside/secret",
    "percent": "%2e%2e/outside/secret",
    "nul": "x\x00/../../outside",
    "file url": "file:///etc/passwd",
    "http": "http://169.254.169.254/latest/x.zarr",
    "decimal host": "http://2130706433/x.zarr",
    "s3": "s3://bucket/x.zarr",
    "gs": "gs://bucket/x",
    "memory": "memory://x",
    "github": "github://o:r@/x",
    "chain": "simplecache::s3://bucket/x",
    "empty": "",
    "root": "/",
    "backslash": "..\\outside",
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("path", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("side", ["x", "y"])
def test_references_that_leave_the_root(client: httpx2.Client, lab: Path, side: str, path: str) -> None:
    body = request(**{side: path})
    content = json.dumps(body)
    response = client.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    slug = "invalid-request" if path == "\ud800" else "path-outside-root"
    problem = check_problem(response, 422, slug)
    assert [error["pointer"] for error in problem["errors"]] == [f"/{side}/path"]
    assert str(lab) not in response.text


def test_outside_is_refused_in_the_same_words_whether_or_not_it_exists(client: httpx2.Client, lab: Path) -> None:
    outside = lab.parent / "outside"
    absent = refused(client, request("../outside/secret"), "path-outside-root", "/x/path")
    shutil.copytree(lab / "x", outside / "secret", dirs_exist_ok=True)
    assert refused(client, request("../outside/secret"), "path-outside-root", "/x/path") == absent
    (lab / "link").symlink_to(os.path.relpath(outside / "secret", lab))
    try:
        assert refused(client, request("link"), "path-outside-root", "/x/path") == absent
        assert refused(client, request(str(outside / "secret")), "path-outside-root", "/x/path") == absent
        listed = client.get("/v1/roots/lab/arrays").json()["arrays"]
        assert "link" not in {array["path"] for array in listed}
    finally:
        (lab / "link").unlink()


def test_unknown_roots_are_named(client: httpx2.Client) -> None:
    body = request()
    body["y"]["root"] = "attic"
    assert "attic" in refused(client, body, "unknown-root", "/y/root")


def test_rows_must_lie_within_the_arrays_and_be_equally_many(client: httpx2.Client) -> None:
    assert "8" in refused(client, request(rows={"start": 0, "stop": 9}), "invalid-request", "/rows/stop")
    refused(client, request(y="seven", rows={"start": 0, "stop": 5}), "row-count-mismatch", "/y")
    body = request()
    body["x"]["rows"] = {"start": 4, "stop": 9}
    refused(client, body, "invalid-request", "/x/rows")
    body["x"]["rows"] = {"start": 4, "stop": 8}
    assert "x has 4, y has 8" in refused(client, body, "row-count-mismatch", "/y")
    body = request(y="seven")
    body["x"]["rows"] = {"start": 1, "stop": 8}
    results = compare(client, body)
    assert (results["inputs"]["n"], results["inputs"]["x"]["shape"]) == (7, [8, 4])


def test_rows_at_the_top_equal_rows_in_both_references(client: httpx2.Client) -> None:
    rows = {"start": 2, "stop": 7}
    body = request()
    body["x"]["rows"] = body["y"]["rows"] = rows
    first, second = compare(client, request(rows=rows)), compare(client, body)
    assert first["results"] == second["results"]
    assert first["inputs"] == second["inputs"]


def test_a_schema_error_points_to_its_field(client: httpx2.Client) -> None:
    refused(client, request(measures=[{**TRIPLETS, "epsilon": 0}]), "invalid-request", "/measures/0/epsilon")
    detail = refused(client, request(measures=[{"measure": "tsj"}]), "invalid-request", "/measures/0/measure")
    assert "tsj" in detail
    problem = check_problem(client.post("/v1/jobs", json={}), 422, "invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == ["/process"]
    problem = check_problem(client.post("/v1/jobs", json={"process": "compare"}), 422, "invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == ["/x", "/y", "/measures"]


@pytest.mark.parametrize(
    ("body", "slug", "words"),
    [
        (request("nan"), "non-finite-input", ["x", "row 3", "column 2"]),
        (
            {**request(), "x": {"root": "lab", "path": "zero", "distance": "cosine"}},
            "zero-vector",
            ["array x", "Row 4"],
        ),
        (request("x", "holes"), "missing-chunks", ["y", "c/1/0"]),
        (
            request(ids={"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/b"}}),
            "misaligned-ids",
            ["row 0"],
        ),
    ],
)
def test_what_only_the_data_shows_fails_the_job(
    client: httpx2.Client, body: dict[str, Any], slug: str, words: list[str]
) -> None:
    status = finish(client, body)
    assert (status["status"], status["finished"] is not None) == ("failed", True)
    exception = status["exception"]
    assert exception["type"] == f"/problems/{slug}"
    assert all(word in exception["detail"] for word in words), exception["detail"]
    assert exception["instance"] == f"/v1/jobs/{status['jobID']}"
    problem = check_problem(client.get(f"/v1/jobs/{status['jobID']}/results"), 422, slug)
    assert problem["detail"] == exception["detail"]
    check_problem(client.delete(f"/v1/jobs/{status['jobID']}"), 409, "job-final")


def test_identifiers_are_looked_up_at_submission(client: httpx2.Client) -> None:
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "attic", "path": "ids/a"}}
    refused(client, request(ids=ids), "unknown-root", "/ids/y/root")
    ids["y"] = {"root": "lab", "path": "ids/nowhere"}
    refused(client, request(ids=ids), "unknown-array", "/ids/y/path")


@pytest.mark.parametrize(
    ("path", "slug"),
    [("x", "invalid-request"), ("ids/short", "misaligned-ids"), ("line", "unsupported-dtype")],
)
@pytest.mark.parametrize("side", ["x", "y"])
def test_identifiers_are_judged_by_their_metadata(client: httpx2.Client, side: str, path: str, slug: str) -> None:
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/a"}}
    ids[side] = {"root": "lab", "path": path}
    problem = check_problem(client.post("/v1/jobs", json=request(ids=ids)), 422, slug)
    assert [error["pointer"].startswith(f"/ids/{side}") for error in problem["errors"]] == [True]


def test_identifiers_are_those_of_the_selected_rows(client: httpx2.Client) -> None:
    # Seven rows of eight: the identifiers of both are taken from the same rows.
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/a"}}
    body = request(ids=ids, rows={"start": 1, "stop": 8})
    assert compare(client, body)["inputs"]["n"] == 7
    shifted = request(ids=ids)
    shifted["x"]["rows"], shifted["y"]["rows"] = {"start": 0, "stop": 7}, {"start": 1, "stop": 8}
    assert finish(client, shifted)["exception"]["type"] == "/problems/misaligned-ids"


def test_more_rows_than_a_measure_can_take(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {"lab": Root("lab", str(lab))}
    asked = JobRequest.model_validate(request(measures=[EXACT, SAMPLED]))
    measures = registry.find("qsi", "sampled"), registry.find("tsi", "exact")
    for measure in measures:
        monkeypatch.setattr(measure, "maximum_rows", 8)
    checks.check(asked, roots, PLACE)
    for position, measure in zip((1, 0), measures, strict=True):
        monkeypatch.setattr(measure, "maximum_rows", 7)
        with pytest.raises(ProblemError) as caught:
            checks.check(asked, roots, PLACE)
        problem = caught.value
        assert (problem.slug, problem.origin, problem.pointer) == ("over-limit", "request", f"/measures/{position}")
        for words in (f"{measure.measure} ({measure.method})", "at most 7 rows", "there are 8"):
            assert words in problem.detail


def test_an_idempotency_key_makes_one_job(client: httpx2.Client) -> None:
    headers = {"Idempotency-Key": "once"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/jobs", json=request(), headers=headers), range(8)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["jobID"] for answer in answers}) == 1
    other = client.post("/v1/jobs", json=request(seed=1), headers=headers)
    check_problem(other, 422, "idempotency-key-reuse")
    for key in ("", "a b", "x" * 256, "naïve".encode().decode("latin-1")):
        response = client.post("/v1/jobs", json=request(), headers={"Idempotency-Key": key.encode("latin-1")})
        problem = check_problem(response, 422, "invalid-request")
        assert problem["errors"][0]["parameter"].lower() == "idempotency-key"


def test_waiting_answers_with_the_finished_job(client: httpx2.Client) -> None:
    response = client.post("/v1/jobs", json=request(), headers={"Prefer": "respond-async, wait=30"})
    assert (response.status_code, response.json()["status"]) == (200, "successful")
    assert response.headers["Location"] == f"/v1/jobs/{response.json()['jobID']}"
    assert "Retry-After" not in response.headers
    long = request("large", "larger", [{**SAMPLED, "samples": 2 * 10**9}])
    response = client.post("/v1/jobs", json=long, headers={"Prefer": "wait=1"})
    assert (response.status_code, response.headers["Retry-After"]) == (202, "1")
    client.delete(response.headers["Location"])


def test_a_submission_is_answered_with_its_address(client: httpx2.Client) -> None:
    response = client.post("/v1/jobs", json=request(label="mine", tags={"of": "test"}))
    assert response.status_code == 202
    status = response.json()
    assert response.headers["Location"] == f"/v1/jobs/{status['jobID']}"
    assert response.headers["Retry-After"] == "1"
    assert status["request"] == request(label="mine", tags={"of": "test"})
    assert (status["type"], status["process"], status["exception"]) == ("process", "compare", None)
    assert (status["label"], status["tags"]) == ("mine", {"of": "test"})
    assert submit(client, request(label="mine")) != status["jobID"]
