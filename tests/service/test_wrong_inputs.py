"""Holes, too few rows, impossible parameters, rows that do not belong together: faults that public reports tell of."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import zarr

from tests.service.conftest import EXACT, SAMPLED, check_problem, compare, finish, request

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

TRIPLETS = {"measure": "tsi", "method": "sampled", "epsilon": 0.05, "delta": 0.05}
EVERY = [EXACT, SAMPLED, {"measure": "cka"}, {"measure": "rsa"}, {"measure": "mutual_knn", "k": 2}]
DEBIASED = {"measure": "cka", "estimator": "debiased"}


def no_constant(name: str) -> Any:
    pytest.fail(f"{name} is no JSON")


@pytest.mark.parametrize(
    ("x", "y", "slug", "words"),
    [
        ("nan", "y", "non-finite-input", ["x (lab:nan)", "row 3, column 2", "on_non_finite"]),
        ("x", "inf", "non-finite-input", ["y (lab:inf)", "inf, in row 6, column 0"]),
        ("zero", "y", "zero-vector", ["Row 4", "x (lab:zero)", "zero vector"]),
    ],
)
def test_holes_are_named_in_plain_json(client: httpx2.Client, x: str, y: str, slug: str, words: list[str]) -> None:
    body = request(x, y, EVERY)
    if slug == "zero-vector":
        body["x"]["distance"] = "cosine"
    status = finish(client, body)
    response = client.get(f"/v1/jobs/{status['jobID']}/results")
    problem = check_problem(response, 422, slug)
    json.loads(response.content, parse_constant=no_constant)
    assert problem["origin"] == "data"
    assert all(word in problem["detail"] for word in words), problem["detail"]


def test_a_statistic_that_is_not_defined_is_null_with_a_reason(client: httpx2.Client) -> None:
    # The last four rows of `twins` are one and the same.
    results = compare(client, request("x", "twins", [{"measure": "cka"}, EXACT], rows={"start": 4, "stop": 8}))
    undefined, defined = results["results"]
    assert undefined["score"] is None
    assert undefined["reason"]
    assert defined["score"] is not None


@pytest.mark.parametrize(
    ("x", "measures", "slug", "pointer"),
    [
        ("none", [EXACT], "too-few-rows", "/measures/0"),
        ("two", [EXACT], "too-few-rows", "/measures/0"),
        ("two", [TRIPLETS], "too-few-rows", "/measures/0"),
        ("three", [EXACT, SAMPLED], "too-few-rows", "/measures/1"),
        ("three", [EXACT, DEBIASED], "too-few-rows", "/measures/1"),
        ("x", [{"measure": "mutual_knn", "k": 8}], "too-few-rows", "/measures/0/k"),
        ("x", [{"measure": "mutual_knn", "k": 0}], "invalid-request", "/measures/0/k"),
        ("x", [{**TRIPLETS, "epsilon": 0}], "invalid-request", "/measures/0/epsilon"),
        ("x", [{**TRIPLETS, "delta": 0}], "invalid-request", "/measures/0/delta"),
        ("x", [{"measure": "tsj"}], "invalid-request", "/measures/0/measure"),
        ("featureless", [EXACT], "not-a-matrix", "/x/path"),
        ("line", [EXACT], "not-a-matrix", "/x/path"),
        ("cube", [EXACT], "not-a-matrix", "/x/path"),
        ("seven", [EXACT], "row-count-mismatch", "/y"),
        ("transposed", [EXACT], "row-count-mismatch", "/y"),
    ],
)
def test_what_is_impossible_is_refused_where_it_stands(
    client: httpx2.Client, x: str, measures: list[Any], slug: str, pointer: str
) -> None:
    rows = {"none": "none", "two": "two", "three": "three"}
    body = request(x, rows.get(x, "y"), measures)
    problem = check_problem(client.post("/v1/jobs", json=body), 422, slug)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


def test_permutations_are_counted_from_one(client: httpx2.Client) -> None:
    response = client.post("/v1/jobs", json=request(calibration={"permutations": -5}))
    problem = check_problem(response, 422, "invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == ["/calibration/permutations"]


def test_three_rows_are_enough_where_three_are_needed(client: httpx2.Client) -> None:
    (result,) = compare(client, request("three", "three"))["results"]
    assert (result["score"], result["counts"]["comparisons"]) == (1.0, "3")


def test_rows_that_were_shuffled_on_one_side_are_noticed(client: httpx2.Client) -> None:
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/b"}}
    status = finish(client, request(ids=ids))
    assert status["exception"]["type"] == "/problems/misaligned-ids"
    assert "no-row-ids" in [warning["code"] for warning in compare(client, request())["warnings"]]


def test_rows_that_are_too_few_once_some_are_dropped_fail_the_job(client: httpx2.Client) -> None:
    rows = {"start": 2, "stop": 6}
    status = finish(client, request("nan", "y", [EXACT, SAMPLED], rows=rows, on_non_finite="drop"))
    exception = status["exception"]
    assert (exception["type"], exception["status"], exception["origin"]) == ("/problems/too-few-rows", 422, "data")
    assert exception["detail"].startswith("qsi (sampled) needs at least 4 rows, and there are 3.")
    assert "1 rows that are not finite" in exception["detail"]
    assert [error["pointer"] for error in exception["errors"]] == ["/measures/1"]


def test_half_a_character_in_metadata_is_no_fault_of_the_service(client: httpx2.Client, lab: Path) -> None:
    whole = lab / "surrogates" / "whole"
    zarr.create_array(whole, shape=(8, 2), dtype="f4")[...] = 1
    broken = shutil.copytree(whole, lab / "surrogates" / "broken") / "zarr.json"
    broken.write_text(broken.read_text().replace('"float32"', '"\\ud800x"'))
    try:
        listed = client.get("/v1/roots/lab/arrays", params={"prefix": "surrogates"})
        assert listed.status_code == 200, listed.text
        assert {"surrogates/whole"} <= {array["path"] for array in listed.json()["arrays"]}
        check_problem(client.post("/v1/jobs", json=request("surrogates/broken", "x")), 422, "unsupported-dtype")
    finally:
        shutil.rmtree(lab / "surrogates")
