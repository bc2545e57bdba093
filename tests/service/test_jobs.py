"""The life of a job over HTTP: results, artifacts, lists, cancelling."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare
from ordsim_core.triplets import exact_block
from tests.service.conftest import (
    EXACT,
    SAMPLED,
    check_problem,
    compare,
    finish,
    request,
    submit,
    wait_until,
)
from workers.measures import registry
from workers.partials import PATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

LONG = {**SAMPLED, "samples": 2 * 10**9}


def codes(results: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in results["warnings"]]


def test_results_have_the_counts_of_the_core(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    results = compare(client, request("large", "larger", [EXACT, SAMPLED]))
    x, y = (prepare(read(name), Distance.EUCLIDEAN) for name in ("large", "larger"))
    expected = exact_block(x, y, 0, 600).counts
    exact, sampled = results["results"]
    kinds = ("concordant", "discordant", "tiedX", "tiedY", "tiedBoth")
    assert [int(exact["counts"][kind]) for kind in kinds] == [
        expected.concordant,
        expected.discordant,
        expected.tied_x,
        expected.tied_y,
        expected.tied_both,
    ]
    assert exact["score"] == expected.score
    assert exact["deficit"] == expected.deficit
    assert exact["counts"]["population"] == exact["counts"]["comparisons"] == str(600 * 599 * 598 // 2)
    assert exact["spec"] == {**EXACT, "per_anchor": False, "confidence": 0.99}
    assert exact["intervals"]["sampling"]["method"] == "none-exact"
    assert (exact["baseline"], exact["attainableMaximum"]) == (0.5, 1.0)
    assert sampled["spec"] == {**SAMPLED, "per_anchor": False, "confidence": 0.99}
    assert {"sampling", "hoeffding", "population"} <= set(sampled["intervals"])
    assert results["inputs"]["n"] == 600
    assert results["inputs"]["x"]["exactness"] == "float"
    assert results["provenance"]["plan"][0]["shards"] > 1
    assert codes(results) == ["no-row-ids"]
    assert (exact["precision"]["used"], exact["precision"]["paths"].keys()) == ("exact", set(PATHS))


def test_equal_inputs_agree_without_remainder(client: httpx2.Client) -> None:
    (result,) = compare(client, request("large", "large"))["results"]
    assert (result["score"], result["deficit"], result["counts"]["discordant"]) == (1.0, 0.0, "0")


def test_warnings_say_what_a_reader_should_know(client: httpx2.Client) -> None:
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/a"}}
    assert codes(compare(client, request(ids=ids))) == ["small-sample"]
    assert codes(compare(client, request("twins", ids=ids))) == ["constant-columns", "repeated-rows", "small-sample"]
    filled = compare(client, request("holes", missing_chunks="fill", ids=ids))
    assert codes(filled) == ["chunks-filled", "small-sample"]
    assert filled["inputs"]["x"]["missingChunksFilled"] == 1
    few = compare(client, request("large", "larger", [{**SAMPLED, "samples": 50}]))
    assert codes(few) == ["no-row-ids", "small-sample"]


def test_constant_columns_are_judged_by_the_distance(client: httpx2.Client) -> None:
    for distance, words in (("euclidean", "add nothing to Euclidean"), ("cosine", "change cosine distances")):
        body = request("twins")
        body["x"]["distance"] = distance
        (detail,) = [
            warning["detail"] for warning in compare(client, body)["warnings"] if warning["code"] == "constant-columns"
        ]
        assert words in detail


def test_exactness_is_claimed_only_where_it_can_be_had(client: httpx2.Client) -> None:
    for distance, used in (("cosine", "exact"), ("correlation", "float64"), ("dot", "exact"), ("hamming", "exact")):
        body = request("float")
        body["x"]["distance"] = distance
        results = compare(client, body)
        assert results["results"][0]["precision"]["used"] == used
        assert ("precision-fell-back" in codes(results)) == (used != "exact")


def test_float32_is_used_where_it_is_asked_for(client: httpx2.Client) -> None:
    (exact,) = compare(client, request("large", "larger"))["results"]
    results = compare(client, request("large", "larger", precision="float32"))
    (fast,) = results["results"]
    assert fast["precision"]["used"] == "float32"
    assert "precision-fell-back" not in codes(results)
    assert fast["score"] == pytest.approx(exact["score"], abs=1e-4)
    # Integers are exact in float32 too.
    assert compare(client, request(precision="float32"))["results"][0]["precision"]["used"] == "exact"


def test_confidence_follows_delta(client: httpx2.Client) -> None:
    measure = {"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05}
    results = compare(client, request(measures=[measure, EXACT]))["results"]
    assert [result["intervals"]["sampling"]["confidence"] for result in results] == [0.95, 0.99]
    # What follows from epsilon and delta is told too.
    assert results[0]["spec"] == {**measure, "samples": 185, "per_anchor": False, "confidence": 0.95}
    assert results[0]["counts"]["comparisons"] == "185"


def test_artifacts_come_as_numpy_and_as_text(client: httpx2.Client) -> None:
    results = compare(client, request(measures=[SAMPLED, {**EXACT, "per_anchor": True}]))
    assert [result["artifacts"] for result in results["results"]] == [[], ["1-per_anchor"]]
    base = f"/v1/jobs/{results['jobID']}/artifacts"
    values = np.load(io.BytesIO(client.get(f"{base}/1-per_anchor.npy").content))
    assert values.shape == (8,)
    assert values.mean() == pytest.approx(results["results"][1]["score"])
    response = client.get(f"{base}/1-per_anchor.csv")
    assert response.headers["content-type"].startswith("text/csv")
    header, *lines = response.text.splitlines()
    assert header == "row,per_anchor"
    assert [line.split(",")[0] for line in lines] == [str(row) for row in range(8)]
    assert [float(line.split(",")[1]) for line in lines] == values.tolist()
    for name in ("0-per_anchor.npy", "..%2F..%2Fjobs.npy", "1-per_anchor.txt", "1-per_anchor.part.npy"):
        check_problem(client.get(f"{base}/{name}"), 404, "not-found")


def _cells(client: httpx2.Client, job: str, artifact: str) -> tuple[str, list[list[str]]]:
    header, *lines = client.get(f"/v1/jobs/{job}/artifacts/{artifact}.csv").text.splitlines()
    return header, [line.split(",") for line in lines]


def test_scores_of_rows_stand_beside_the_numbers_of_their_stored_rows(client: httpx2.Client) -> None:
    exact, anchors = (
        {"measure": "tsi", "per_anchor": True, **more}
        for more in ({"method": "exact"}, {"method": "anchors", "anchors": 4})
    )
    whole = compare(client, request(measures=[exact, anchors]))
    assert [result["artifacts"] for result in whole["results"]] == [
        ["0-per_anchor"],
        ["1-per_anchor", "1-anchors", "1-rows"],
    ]
    of_row = dict(_cells(client, whole["jobID"], "0-per_anchor")[1])
    drawn = _cells(client, whole["jobID"], "1-per_anchor")
    assert drawn[0] == "row,per_anchor"
    assert len(drawn[1]) == 4
    assert all(of_row[row] == score for row, score in drawn[1]), (of_row, drawn)

    some = compare(client, request(measures=[exact, anchors], rows={"start": 2, "stop": 8}))
    header, lines = _cells(client, some["jobID"], "0-per_anchor")
    assert (header, [row for row, _ in lines]) == ("row,per_anchor", ["2", "3", "4", "5", "6", "7"])
    of_row = dict(lines)
    drawn = _cells(client, some["jobID"], "1-per_anchor")
    assert all(of_row[row] == score for row, score in drawn[1]), (of_row, drawn)
    assert _cells(client, some["jobID"], "1-anchors") == ("draw,anchors", [[str(i), drawn[1][i][0]] for i in range(4)])

    body = request(measures=[exact])
    body["x"]["rows"], body["y"]["rows"] = {"start": 0, "stop": 5}, {"start": 3, "stop": 8}
    apart = compare(client, body)
    header, lines = _cells(client, apart["jobID"], "0-per_anchor")
    assert header == "row_x,row_y,per_anchor"
    assert [line[:2] for line in lines] == [[str(row), str(row + 3)] for row in range(5)]


def test_a_finished_job_is_final(client: httpx2.Client) -> None:
    status = finish(client, request())
    assert (status["status"], status["progress"], status["ordsim"]["attempt"]) == ("successful", 100, 1)
    assert status["created"] <= status["started"] <= status["finished"]
    problem = check_problem(client.delete(f"/v1/jobs/{status['jobID']}"), 409, "job-final")
    assert "successful" in problem["detail"]
    assert client.get(f"/v1/jobs/{status['jobID']}/results").status_code == 200
    assert client.get(f"/v1/jobs/{status['jobID']}").json() == status


def test_etags_save_the_body(client: httpx2.Client) -> None:
    job = finish(client, request())["jobID"]
    tag = client.get(f"/v1/jobs/{job}").headers["ETag"]
    for sent in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        response = client.get(f"/v1/jobs/{job}", headers={"If-None-Match": sent})
        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", tag)
    assert client.get(f"/v1/jobs/{job}", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["", "/results", "/report.html", "/report.csv", "/artifacts/0-per_anchor.npy", "/artifacts/0-per_anchor.csv"],
)
def test_unknown_jobs(client: httpx2.Client, path: str) -> None:
    check_problem(client.get(f"/v1/jobs/nobody{path}"), 404, "unknown-job")
    check_problem(client.delete("/v1/jobs/nobody"), 404, "unknown-job")


def test_cancelling_while_shards_run(client: httpx2.Client) -> None:
    job = submit(client, request("large", "larger", [LONG]))
    wait_until(lambda: client.get(f"/v1/jobs/{job}").json()["ordsim"]["shardsDone"] > 2, 60, "shards")
    status = client.get(f"/v1/jobs/{job}").json()
    assert (status["status"], status["ordsim"]["phase"]) == ("running", "count")
    assert status["ordsim"]["etaSeconds"] > 1
    assert 0 < status["ordsim"]["comparisonsDone"] < status["ordsim"]["comparisonsTotal"] == 2 * 10**9
    for path in ("results", "report.html", "report.csv"):
        response = client.get(f"/v1/jobs/{job}/{path}")
        check_problem(response, 409, "result-not-ready")
        assert response.headers["Retry-After"] == "1"
    response = client.delete(f"/v1/jobs/{job}")
    assert response.status_code == 202
    # Its 2 10^9 comparisons would take hours: that it ends at all shows that shards were stopped.
    wait_until(lambda: client.get(f"/v1/jobs/{job}").json()["status"] == "dismissed", 120, "the dismissal")
    final = client.get(f"/v1/jobs/{job}").json()
    assert final["finished"] is not None
    assert final["progress"] < 100
    assert client.delete(f"/v1/jobs/{job}").status_code == 200
    for path in ("results", "report.html", "report.csv", "artifacts/0-per_anchor.npy"):
        check_problem(client.get(f"/v1/jobs/{job}/{path}"), 410, "gone")
    assert finish(client, request())["status"] == "successful"  # the workers are free again
    assert client.get(f"/v1/jobs/{job}").json() == final


def test_a_waiting_job_is_dismissed_at_once(client: httpx2.Client) -> None:
    running = [submit(client, request("large", "larger", [LONG])) for _ in range(2)]
    for job in running:
        wait_until(lambda job=job: client.get(f"/v1/jobs/{job}").json()["status"] == "running", 30, "a start")
    waiting = submit(client, request())
    response = client.delete(f"/v1/jobs/{waiting}")
    assert (response.status_code, response.json()["status"]) == (200, "dismissed")
    for job in running:
        client.delete(f"/v1/jobs/{job}")
    for job in running:
        wait_until(lambda job=job: client.get(f"/v1/jobs/{job}").json()["status"] == "dismissed", 120, "the end")


def test_lists_are_filtered_and_paged(client: httpx2.Client) -> None:
    tags = {"suite": "lists", "with.colon": "a:b"}
    jobs = [finish(client, request(label="list me", tags=tags, seed=seed))["jobID"] for seed in range(5)]
    query = {"label": "list me", "tag": ["suite:lists", "with.colon:a:b"], "status": "successful", "limit": "2"}
    page = client.get("/v1/jobs", params={**query, "process": "compare"}).json()
    seen = []
    while True:
        seen += [job["jobID"] for job in page["jobs"]]
        following = [link["href"] for link in page["links"] if link["rel"] == "next"]
        if not following:
            break
        page = client.get(following[0]).json()
    assert seen == jobs[::-1]
    assert client.get("/v1/jobs", params={**query, "tag": "suite:other"}).json()["jobs"] == []
    assert client.get("/v1/jobs", params={**query, "status": "failed"}).json()["jobs"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "status=done", "process=forecast", "tag=plain", "cursor=%21", "cursor=YQ"],
)
def test_filters_that_make_no_sense(client: httpx2.Client, query: str) -> None:
    problem = check_problem(client.get(f"/v1/jobs?{query}"), 422, "invalid-request")
    assert [error["parameter"].split(".")[0] for error in problem["errors"]] == [query.partition("=")[0]]


def test_the_catalogue(client: httpx2.Client) -> None:
    known = [process["id"] for process in client.get("/v1/processes").json()["processes"]]
    assert known == ["compare", "layers", "matrix"]
    process = client.get("/v1/processes/compare").json()
    assert [entry["maximumRows"] for entry in process["measures"]] == [
        measure.maximum_rows for measure in registry.all_measures()
    ]
    entries = [(entry["measure"], entry["method"], entry["minimumRows"]) for entry in process["measures"]]
    assert entries == [(measure.measure, measure.method, measure.minimum_rows) for measure in registry.all_measures()]
    assert {("tsi", "exact", 3), ("tsi", "sampled", 3), ("qsi", "sampled", 4)} <= set(entries)
    assert process["inputs"]["required"] == ["process", "x", "y", "measures"]
    check_problem(client.get("/v1/processes/forecast"), 404, "not-found")


def test_roots_and_arrays(client: httpx2.Client, lab: Any) -> None:
    response = client.get("/v1/roots")
    assert response.json() == {"roots": [{"name": "lab", "kind": "directory"}]}
    arrays = client.get("/v1/roots/lab/arrays").json()["arrays"]
    paths = [array["path"] for array in arrays]
    assert paths == sorted(paths)
    assert arrays[paths.index("x")] == {
        "path": "x",
        "shape": [8, 4],
        "dtype": "float32",
        "chunks": [4, 4],
        "shards": None,
        "zarrFormat": 3,
    }
    below = client.get("/v1/roots/lab/arrays", params={"prefix": "group"}).json()["arrays"]
    assert [array["path"] for array in below] == ["group/inner"]
    check_problem(client.get("/v1/roots/attic/arrays"), 404, "unknown-root")
    response = client.get("/v1/roots/lab/arrays", params={"prefix": "../"})
    check_problem(response, 422, "path-outside-root")
    assert str(lab) not in response.text


def test_health_and_problems(client: httpx2.Client) -> None:
    assert client.get("/livez").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}
    kind = client.get("/problems/too-few-rows").json()
    assert (kind["status"], kind["type"]) == (422, "/problems/too-few-rows")
    check_problem(client.get("/problems/none"), 404, "not-found")
    check_problem(client.get("/redoc"), 404, "not-found")


def test_a_method_that_is_not_possible_names_those_that_are(client: httpx2.Client) -> None:
    for path, allowed in (
        ("/v1/jobs", "GET, HEAD, POST"),
        ("/v1/jobs/a", "DELETE, GET, HEAD"),
        ("/livez", "GET, HEAD"),
    ):
        response = client.put(path)
        check_problem(response, 405, "method-not-allowed")
        assert response.headers["Allow"] == allowed
