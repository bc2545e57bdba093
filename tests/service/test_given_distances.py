"""Requests with distances that were computed elsewhere, and with groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.service.conftest import EXACT, SAMPLED, check_problem, compare, finish, request

if TYPE_CHECKING:
    import httpx2


def given(path: str, measures: Any = (EXACT,), **fields: Any) -> dict[str, Any]:
    """A request whose x is a matrix of distances."""
    body = request(path, measures=measures, **fields)
    body["x"]["distance"] = "precomputed"
    return body


def manhattan(**fields: Any) -> dict[str, Any]:
    body = request(**fields)
    body["x"]["distance"] = "manhattan"
    return body


@pytest.mark.parametrize("rows", [None, {"start": 2, "stop": 7}])
def test_given_distances_score_as_those_they_were_made_by(client: httpx2.Client, rows: Any) -> None:
    chosen = {} if rows is None else {"rows": rows}
    measures = [EXACT, SAMPLED]
    found = compare(client, given("distances/both-ways", measures, **chosen))
    assert [result["counts"] for result in found["results"]] == [
        result["counts"] for result in compare(client, manhattan(measures=measures, **chosen))["results"]
    ]
    assert found["inputs"]["x"]["distance"] == "precomputed"
    assert found["results"][0]["precision"]["used"] == "exact"


def test_rows_of_a_reference_select_columns_too(client: httpx2.Client) -> None:
    body = given("distances/both-ways")
    plain = manhattan()
    for one in (body, plain):
        one["x"]["rows"], one["y"]["rows"] = {"start": 3, "stop": 8}, {"start": 0, "stop": 5}
    found, expected = compare(client, body), compare(client, plain)
    assert found["results"][0]["counts"] == expected["results"][0]["counts"]


@pytest.mark.parametrize("side", ["x", "y"])
def test_given_distances_are_square(client: httpx2.Client, side: str) -> None:
    body = request()
    body[side]["distance"] = "precomputed"
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == [f"/{side}/path"]
    assert "square" in problem["detail"]


def test_quadruplets_need_distances_that_are_the_same_both_ways(client: httpx2.Client) -> None:
    one_way = finish(client, given("distances/one-way", [EXACT, SAMPLED], rows={"start": 1, "stop": 8}))
    exception = one_way["exception"]
    assert exception["type"] == "/problems/asymmetric-distance"
    for words in ("array x (lab:distances/one-way)", "(2, 5)", "(5, 2)", "qsi (sampled)"):
        assert words.lower() in exception["detail"].lower()
    check_problem(client.get(f"/v1/jobs/{one_way['jobID']}/results"), 422, "asymmetric-distance")
    # Triplets are compared from their anchor; and what is not compared need not be symmetric.
    compare(client, given("distances/one-way"))
    compare(client, given("distances/one-way", [SAMPLED], rows={"start": 0, "stop": 5}))


@pytest.mark.parametrize("path", ["labels/numbers", "labels/words"])
def test_groups_are_counted(client: httpx2.Client, path: str) -> None:
    groups = {"root": "lab", "path": path}
    assert compare(client, request(groups=groups))["inputs"]["groups"] == {"count": 3}
    some = compare(client, request(groups=groups, rows={"start": 2, "stop": 6}))
    assert some["inputs"]["groups"] == {"count": 2}
    assert compare(client, request())["inputs"]["groups"] is None


def test_labels_of_selected_rows_of_a_reference_are_those_of_the_compared_rows(client: httpx2.Client) -> None:
    body = request(groups={"root": "lab", "path": "labels/short"}, measures=[EXACT])
    body["x"]["rows"], body["y"]["rows"] = {"start": 0, "stop": 3}, {"start": 2, "stop": 5}
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "row-count-mismatch")
    assert "2 labels for the 3 rows" in problem["detail"]


@pytest.mark.parametrize(
    ("path", "slug", "pointer"),
    [
        ("labels/short", "row-count-mismatch", "/groups"),
        ("labels/table", "invalid-request", "/groups/path"),
        ("labels/floats", "unsupported-dtype", "/groups/path"),
        ("labels/nowhere", "unknown-array", "/groups/path"),
        ("../labels", "path-outside-root", "/groups/path"),
    ],
)
def test_groups_are_judged_by_their_metadata(client: httpx2.Client, path: str, slug: str, pointer: str) -> None:
    body = request(groups={"root": "lab", "path": path})
    for address in ("/v1/jobs", "/v1/plans"):
        problem = check_problem(client.post(address, json=body), 422, slug)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]
    body["groups"] = {"root": "attic", "path": "labels"}
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "unknown-root")
    assert [error["pointer"] for error in problem["errors"]] == ["/groups/root"]


def test_repeated_rows_are_no_warning_where_groups_were_given(client: httpx2.Client) -> None:
    def codes(**fields: Any) -> list[str]:
        return [warning["code"] for warning in compare(client, request("twins", **fields))["warnings"]]

    assert "repeated-rows" in codes()
    assert "repeated-rows" not in codes(groups={"root": "lab", "path": "labels/numbers"})
