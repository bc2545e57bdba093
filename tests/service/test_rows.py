"""Which rows of the arrays are compared, over HTTP: against plain numpy on the joined, or remaining, rows."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare
from ordsim_core.triplets import exact_block
from tests.service.conftest import EXACT, SAMPLED, check_problem, compare, finish, request

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

Read = "Callable[[str], np.ndarray]"
ORDER = [6, 2, 7, 0, 3, 5]
"""Rows of y that the array `some` has."""


def named(path: str) -> dict[str, str]:
    return {"root": "lab", "path": path}


def ids(x: str, y: str) -> dict[str, Any]:
    return {"x": named(x), "y": named(y)}


def triplets(x: np.ndarray, y: np.ndarray) -> dict[str, str]:
    """Counts of all triplets, by their definition: distances from an anchor, one by one."""
    kinds = dict.fromkeys(("concordant", "discordant", "tiedX", "tiedY", "tiedBoth"), 0)
    from_x, from_y = (((one[:, None] - one[None]).astype(float) ** 2).sum(axis=2) for one in (x, y))
    rows = len(x)
    for i in range(rows):
        for j in range(rows):
            for k in range(j):
                if i not in (j, k):
                    one, other = np.sign(from_x[i, j] - from_x[i, k]), np.sign(from_y[i, j] - from_y[i, k])
                    kind = {(True, True): "tiedBoth", (True, False): "tiedX", (False, True): "tiedY"}.get(
                        (bool(one == 0), bool(other == 0)), "concordant" if one == other else "discordant"
                    )
                    kinds[kind] += 1
    return {kind: str(number) for kind, number in kinds.items()}


def counts(result: dict[str, Any]) -> dict[str, str]:
    return {kind: result["counts"][kind] for kind in ("concordant", "discordant", "tiedX", "tiedY", "tiedBoth")}


def codes(results: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in results["warnings"]]


# ---- joined by identifiers


@pytest.mark.parametrize(("x_ids", "y_ids"), [("ids/a", "ids/some"), ("ids/words", "ids/some-words")])
def test_arrays_of_different_length_are_joined_by_identifiers(
    client: httpx2.Client, read: Callable[[str], np.ndarray], x_ids: str, y_ids: str
) -> None:
    results = compare(client, request(y="some", ids=ids(x_ids, y_ids), align="join"))
    shared = sorted(ORDER)
    assert counts(results["results"][0]) == triplets(read("x")[shared], read("y")[shared])
    inputs = results["inputs"]
    assert (inputs["n"], inputs["align"]) == (6, "join")
    assert inputs["rowsDropped"] == {"x": 2, "y": 0}
    assert (inputs["x"]["rowsDropped"], inputs["y"]["rowsDropped"]) == (2, 0)
    assert inputs["columnsDropped"] == {"x": 0, "y": 0}
    assert "rows-dropped" in codes(results)
    assert "no-row-ids" not in codes(results)
    # The fingerprint is of what was compared, in the order of x.
    direct = compare(client, request("y", "y", rows={"index": named("ids/some")}))
    other_order = compare(client, request("some", ids=ids(y_ids, x_ids), y="y", align="join"))
    assert other_order["inputs"]["y"]["fingerprint"] == direct["inputs"]["y"]["fingerprint"]
    assert other_order["inputs"]["y"]["fingerprint"] != inputs["y"]["fingerprint"]


def test_identifiers_stand_beside_the_scores_of_rows(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    exact, drawn = (
        {"measure": "tsi", "per_anchor": True, **more}
        for more in ({"method": "exact"}, {"method": "anchors", "anchors": 4})
    )
    words = np.char.decode(read("ids/words")).tolist()
    body = request(y="some", measures=[exact, drawn, SAMPLED], ids=ids("ids/words", "ids/some-words"), align="join")
    joined = compare(client, body)
    for place, rows in ((0, 6), (1, 4)):
        text = client.get(f"/v1/jobs/{joined['jobID']}/artifacts/{place}-per_anchor.csv").text
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(lines) == rows
        assert all(line["id"] == words[int(line["row_x"])] for line in lines), text
    assert joined["results"][2]["artifacts"] == []

    checked = compare(client, request(measures=[exact], ids=ids("ids/a", "ids/a"), rows={"start": 2, "stop": 8}))
    found = np.load(io.BytesIO(client.get(f"/v1/jobs/{checked['jobID']}/artifacts/0-ids.npy").content))
    assert found.tolist() == read("ids/a")[2:8].tolist()


def test_a_join_needs_rows_in_common_and_says_where_they_went(client: httpx2.Client) -> None:
    body = request(y="some", ids=ids("ids/a", "ids/some"), align="join")
    body["x"]["rows"] = {"start": 1, "stop": 5}
    body["y"]["rows"] = {"start": 0, "stop": 3}
    status = finish(client, body)
    assert (status["status"], status["exception"]["type"]) == ("failed", "/problems/too-few-rows")
    detail = status["exception"]["detail"]
    assert "tsi (exact) needs at least 3 rows, and there are 1." in detail
    assert "3 of the 4 rows of x" in detail
    assert "2 of the 3 rows of y" in detail
    check_problem(client.get(f"/v1/jobs/{status['jobID']}/results"), 422, "too-few-rows")


def test_what_can_never_be_enough_is_refused_at_once(client: httpx2.Client) -> None:
    body = request(y="two", ids=ids("ids/a", "ids/short"), align="join")
    body["y"]["rows"] = {"start": 0, "stop": 2}
    check_problem(client.post("/v1/jobs", json=body), 422, "too-few-rows")


def test_identifiers_that_repeat_cannot_be_joined(client: httpx2.Client) -> None:
    status = finish(client, request(ids=ids("ids/a", "ids/twice"), align="join"))
    assert status["exception"]["type"] == "/problems/duplicate-ids"
    assert "identifier 1 of y stands in the rows 1 and 5" in status["exception"]["detail"]
    checked = compare(client, request(ids=ids("ids/twice", "ids/twice")))
    assert "repeated-ids" in codes(checked)


def test_identifiers_in_another_order_are_refused_where_they_are_checked(client: httpx2.Client) -> None:
    status = finish(client, request(ids=ids("ids/a", "ids/b")))
    assert status["exception"]["type"] == "/problems/misaligned-ids"
    joined = compare(client, request(y="y", ids=ids("ids/a", "ids/b"), align="join"))
    assert joined["inputs"]["n"] == 8


def test_one_identifier_for_each_row_is_needed(client: httpx2.Client) -> None:
    body = request(y="some", ids=ids("ids/short", "ids/some"), align="join")
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "misaligned-ids")
    assert [error["pointer"] for error in problem["errors"]] == ["/ids/x/path"]


def test_scores_of_rows_stand_beside_the_rows_as_they_are_stored(client: httpx2.Client) -> None:
    body = request("nan", "some", [{**EXACT, "per_anchor": True}], ids=ids("ids/a", "ids/some"), align="join")
    results = compare(client, {**body, "on_non_finite": "drop"})
    table = client.get(f"/v1/jobs/{results['jobID']}/artifacts/0-per_anchor.csv").text.splitlines()
    assert table[0] == "row_x,row_y,id,per_anchor"
    rows = [tuple(map(int, line.split(",")[:2])) for line in table[1:]]
    assert rows == [(row, ORDER.index(row)) for row in (0, 2, 5, 6, 7)]


# ---- values that are not finite


def test_rows_that_are_not_finite_are_dropped_from_both(
    client: httpx2.Client, read: Callable[[str], np.ndarray]
) -> None:
    results = compare(client, request("nan", "inf", [EXACT, SAMPLED], on_non_finite="drop"))
    kept = [0, 1, 2, 4, 5, 7]
    assert counts(results["results"][0]) == triplets(read("nan")[kept], read("inf")[kept])
    assert results["inputs"]["n"] == 6
    assert results["inputs"]["rowsDropped"] == {"x": 2, "y": 2}
    (dropped,) = [warning["detail"] for warning in results["warnings"] if warning["code"] == "rows-dropped"]
    assert "left all of them: rows 3, 6 of x." in dropped


def test_columns_that_are_not_finite_are_dropped_from_their_side(
    client: httpx2.Client, read: Callable[[str], np.ndarray]
) -> None:
    results = compare(client, request("nan", "inf", on_non_finite="drop-columns"))
    assert counts(results["results"][0]) == triplets(np.delete(read("nan"), 2, axis=1), read("inf")[:, 1:])
    assert results["inputs"]["n"] == 8
    assert results["inputs"]["columnsDropped"] == {"x": 1, "y": 1}
    assert "columns-dropped" in codes(results)


def test_nothing_is_dropped_where_all_is_finite(client: httpx2.Client) -> None:
    plain, dropping = (compare(client, request(**fields)) for fields in ({}, {"on_non_finite": "drop"}))
    assert dropping["inputs"] == plain["inputs"]
    assert codes(dropping) == codes(plain)


def test_values_that_are_not_finite_are_an_error_unless_asked_otherwise(client: httpx2.Client) -> None:
    for x, y, words in (("nan", "y", ["x (lab:nan)", "row 3"]), ("x", "inf", ["y (lab:inf)", "row 6"])):
        status = finish(client, request(x, y))
        assert status["exception"]["type"] == "/problems/non-finite-input"
        assert all(word in status["exception"]["detail"] for word in words)


def test_columns_of_distances_cannot_be_dropped(client: httpx2.Client) -> None:
    body = request(on_non_finite="drop-columns")
    body["x"] = {**named("distances/both-ways"), "distance": "precomputed"}
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "invalid-request")
    assert "use drop" in problem["detail"]


def test_chunks_are_filled_before_rows_are_judged(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    body = request("holes", "inf", on_non_finite="drop")
    assert finish(client, body)["exception"]["type"] == "/problems/missing-chunks"
    results = compare(client, {**body, "missing_chunks": "fill"})
    kept = [0, 1, 2, 3, 4, 5, 7]
    assert counts(results["results"][0]) == triplets(read("holes")[kept], read("inf")[kept])
    assert results["inputs"]["x"]["missingChunksFilled"] == 1
    assert {"chunks-filled", "rows-dropped"} <= set(codes(results))


# ---- together with everything else


def test_distances_follow_their_rows(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    body = request("distances/both-ways", "some", [EXACT, SAMPLED], ids=ids("ids/a", "ids/some"), align="join")
    body["x"]["distance"] = "precomputed"
    results = compare(client, body)
    shared = sorted(ORDER)
    given = prepare(np.ascontiguousarray(read("distances/both-ways")[np.ix_(shared, shared)]), Distance.PRECOMPUTED)
    expected = exact_block(given, prepare(read("y")[shared], Distance.EUCLIDEAN), 0, 6).counts
    assert results["results"][0]["score"] == expected.score


def test_groups_are_those_of_the_rows_that_are_left(client: httpx2.Client) -> None:
    body = request("nan", "some", ids=ids("ids/a", "ids/some"), align="join", on_non_finite="drop")
    results = compare(client, {**body, "groups": named("labels/numbers")})
    # 5 5 9 [9 dropped] 2 2 2 5, of the rows 0 2 5 6 7
    assert results["inputs"]["n"] == 5
    assert results["inputs"]["groups"] == {"count": 3}
    assert results["inputs"]["rowsDropped"] == {"x": 3, "y": 1}


def test_rows_by_number(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    chosen = read("chosen").tolist()
    results = compare(client, request(rows={"index": named("chosen")}, groups=named("labels/numbers")))
    assert counts(results["results"][0]) == triplets(read("x")[chosen], read("y")[chosen])
    assert results["inputs"]["n"] == 5
    assert results["inputs"]["x"]["rows"] == {"index": named("chosen")}
    assert results["inputs"]["groups"] == {"count": 3}
    body = request()
    body["x"]["rows"], body["y"]["rows"] = {"index": named("chosen")}, {"start": 0, "stop": 5}
    results = compare(client, body)
    assert counts(results["results"][0]) == triplets(read("x")[chosen], read("y")[:5])


def test_numbers_of_rows_are_integers_of_that_many_rows(client: httpx2.Client) -> None:
    for path, slug in (("labels/floats", "unsupported-dtype"), ("x", "invalid-request"), ("nowhere", "unknown-array")):
        problem = check_problem(client.post("/v1/jobs", json=request(rows={"index": named(path)})), 422, slug)
        assert [error["pointer"] for error in problem["errors"]] == ["/rows/index/path"]
    status = finish(client, request(rows={"index": named("labels/numbers")}))
    assert "row 9 in entry 2, but the rows are 0 to 7" in status["exception"]["detail"]


def test_layers_lose_the_rows_that_are_not_finite_in_any(client: httpx2.Client) -> None:
    body = {
        "process": "layers",
        "x": {"layers": [named("x"), named("nan")]},
        "y": {"layers": [named("some")]},
        "measure": {"measure": "tsi", "method": "exact"},
        "ids": ids("ids/a", "ids/some"),
        "align": "join",
        "on_non_finite": "drop",
    }
    results = compare(client, body)
    assert (results["inputs"]["n"], results["inputs"]["rowsDropped"]) == (5, {"x": 3, "y": 1})
    pair = compare(client, request("nan", "some", ids=ids("ids/a", "ids/some"), align="join", on_non_finite="drop"))
    assert results["matrix"][1][0] == pair["results"][0]["score"]


def test_all_arrays_of_a_matrix_are_joined(client: httpx2.Client) -> None:
    body = {
        "process": "matrix",
        "arrays": [named("x"), named("some"), named("inf")],
        "measure": {"measure": "tsi", "method": "units", "units": 50, "targets": 3},
        "ids": [named("ids/a"), named("ids/some"), named("ids/b")],
        "align": "join",
        "on_non_finite": "drop",
    }
    results = compare(client, body)
    # Row 6 of inf is identified as 1, which some does not have.
    assert (results["inputs"]["n"], results["inputs"]["rowsDropped"]) == (6, {"x": 2, "y": 2})
    assert [one["rowsDropped"] for one in results["inputs"]["arrays"]] == [2, 0, 2]
    few = check_problem(client.post("/v1/jobs", json={**body, "ids": body["ids"][:2]}), 422, "invalid-request")
    assert "3 arrays and 2 arrays of identifiers" in few["detail"]
    short = {**body, "ids": [named("ids/a"), named("ids/some"), named("ids/short")]}
    problem = check_problem(client.post("/v1/jobs", json=short), 422, "misaligned-ids")
    assert [error["pointer"] for error in problem["errors"]] == ["/ids/2/path"]
