"""Jobs with permutations over HTTP: calibrated scores, layers, and matrices of models."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.calibration.conclusions import conclude
from ordsim_core.calibration.schemes import scheme
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare, select
from ordsim_core.triplets import exact_block, units_range
from service import findings, grid_answers, grid_findings
from service.grid_report import print_grid
from tests.service.conftest import EXACT, check_problem, compare, finish, request

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from ordsim_core.spaces import Space

UNITS = {"measure": "tsi", "method": "units", "units": 300, "targets": 6}
ROWS = {"start": 0, "stop": 60}
DRAWS = 39


def ref(path: str) -> dict[str, str]:
    return {"root": "lab", "path": path}


def spaces(read: Callable[[str], np.ndarray], *paths: str) -> list[Space]:
    return [prepare(read(path)[:60], Distance.EUCLIDEAN) for path in paths]


def agreeing(x: Space, y: Space, measure: dict[str, Any], seed: int) -> int:
    """What the measure itself counts."""
    if measure is EXACT:
        return exact_block(x, y, 0, x.rows).counts.agreeing
    return units_range(x, y, seed, 0, measure["units"], measure["targets"]).counts.agreeing


@pytest.mark.parametrize(("measure", "unit"), [(EXACT, 60 * 59 * 58 // 2), (UNITS, 300 * 15)])
def test_a_calibration_is_that_of_the_measure_on_permuted_rows(
    client: httpx2.Client, read: Callable[[str], np.ndarray], measure: dict[str, Any], unit: int
) -> None:
    body = request("large", "larger", [measure], rows=ROWS, seed=5, calibration={"permutations": DRAWS})
    results = compare(client, body)
    findings.Results.model_validate(results)
    (result,) = results["results"]
    x, y = spaces(read, "large", "larger")
    drawn = scheme("rows", 60)
    null = [agreeing(x, select(y, drawn.drawn(5, number)), measure, 5) for number in range(1, DRAWS + 1)]
    observed = agreeing(x, y, measure, 5)
    expected = conclude(observed, null, denominator=unit)
    found = result["calibration"]
    assert (found["observed"], found["pValue"], found["exceedances"]) == (observed / unit, 1 / 40, 0)
    assert (found["threshold"], found["score"]) == (expected.threshold, expected.score)
    assert (found["nullMean"], found["nullStd"]) == (expected.null_mean, expected.null_std)
    assert (found["permutations"], found["enumerated"], found["stoppedEarly"]) == (DRAWS, False, False)
    assert found["statistic"]["method"] == measure["method"]
    assert found["statistic"]["rows"] == 60
    assert result["score"] == observed / unit
    assert "0-null" in result["artifacts"]
    artifact = client.get(f"/v1/jobs/{results['jobID']}/artifacts/0-null.npy")
    assert np.load(io.BytesIO(artifact.content)).tolist() == [value / unit for value in null]
    text = client.get(f"/v1/jobs/{results['jobID']}/artifacts/0-null.csv").text
    assert text.splitlines()[:2] == ["permutation,null", f"1,{null[0] / unit!r}"]


def test_all_permutations_are_tried_where_they_are_few(client: httpx2.Client) -> None:
    body = request(measures=[EXACT], rows={"start": 0, "stop": 4}, calibration={"permutations": 200})
    found = compare(client, body)["results"][0]["calibration"]
    assert (found["enumerated"], found["permutations"]) == (True, 24)
    assert found["pValue"] == found["exceedances"] / 24
    assert found["exceedances"] >= 1


def test_when_all_permutations_tie_the_p_value_is_one(client: httpx2.Client) -> None:
    body = request("twins", "twins", [EXACT], rows={"start": 4, "stop": 8}, calibration={"permutations": 9})
    found = compare(client, body)["results"][0]["calibration"]
    assert (found["exceedances"], found["pValue"]) == (9, 1.0)
    assert found["score"] == 0


def test_early_stopping_ends_with_the_last_exceedance(client: httpx2.Client) -> None:
    wanted = {"permutations": 2000, "early_stop": {"exceedances": 3}}
    body = request("x", "float", [UNITS | {"targets": 3}], calibration=wanted)
    found = compare(client, body)["results"][0]["calibration"]
    assert found["stoppedEarly"]
    assert found["exceedances"] == 3
    assert found["pValue"] == 3 / found["permutations"]


def test_permutations_stay_within_groups(client: httpx2.Client) -> None:
    # Groups of 3, 2 and 3 rows.
    wanted = {"permutations": 100, "scheme": "within-groups"}
    body = request(measures=[EXACT], groups=ref("labels/numbers"), calibration=wanted)
    found = compare(client, body)["results"][0]["calibration"]
    assert (found["enumerated"], found["permutations"], found["scheme"]) == (True, 6 * 2 * 6, "within-groups")


def test_permuting_single_rows_of_groups_is_warned_of(client: httpx2.Client) -> None:
    for permuted, warned in (("rows", True), ("within-groups", False)):
        wanted = {"permutations": 19, "scheme": permuted}
        found = compare(client, request(measures=[EXACT], groups=ref("labels/numbers"), calibration=wanted))
        codes = [warning["code"] for warning in found["warnings"]]
        assert ("groups-not-permuted" in codes) == warned


def test_groups_that_cannot_change_places_fail_the_job(client: httpx2.Client) -> None:
    wanted = {"permutations": 100, "scheme": "between-groups"}
    status = finish(client, request(measures=[EXACT], groups=ref("labels/numbers"), calibration=wanted))
    assert status["status"] == "failed"
    assert status["exception"]["type"] == "/problems/undefined-permutation"
    assert "groups have 2 to 3 rows" in status["exception"]["detail"]


def test_what_cannot_be_calibrated_is_refused(client: httpx2.Client) -> None:
    wanted = {"permutations": 100, "scheme": "within-groups"}
    problem = check_problem(client.post("/v1/jobs", json=request(calibration=wanted)), 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "/calibration/scheme"
    small = request(measures=[UNITS], calibration={"statistic_rows": 4}, x="large", y="larger")
    problem = check_problem(client.post("/v1/jobs", json=small), 422, "too-few-rows")
    assert problem["errors"][0]["pointer"] == "/calibration/statistic_rows"


def test_a_subset_of_rows_is_told(client: httpx2.Client) -> None:
    wanted = {"permutations": 19, "statistic_rows": 50}
    results = compare(client, request("large", "larger", [EXACT], rows=ROWS, calibration=wanted))
    assert results["results"][0]["calibration"]["statistic"]["rows"] == 50
    assert "null-on-subset" in [warning["code"] for warning in results["warnings"]]


def layers(x: list[str], y: list[str], **fields: Any) -> dict[str, Any]:
    return {
        "process": "layers",
        "x": {"layers": [ref(path) for path in x]},
        "y": {"layers": [ref(path) for path in y]},
        "measure": UNITS,
        **fields,
    }


def test_layers_share_design_and_permutations(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    x, y = ["large", "larger"], ["larger", "large"]
    body = layers(x, y, rows=ROWS, seed=3, calibration={"permutations": DRAWS}, aggregate="row-max-mean")
    found = compare(client, body)
    grid_findings.LayersResults.model_validate(found)
    xs, ys = spaces(read, *x), spaces(read, *y)
    drawn = scheme("rows", 60)
    table = np.array(
        [
            [[agreeing(one, select(other, order), UNITS, 3) for other in ys] for one in xs]
            for order in drawn.drawn_range(3, 0, DRAWS + 1)
        ]
    )
    assert found["matrix"] == (table[0] / 4500).tolist()
    assert found["best"] == {"x": 0, "y": 1, "score": 1.0}
    sums = table.max(axis=2).sum(axis=1)
    expected = conclude(int(sums[0]), sums[1:], denominator=2 * 4500)
    assert found["aggregate"] == {"kind": "row-max-mean", "score": sums[0] / 9000}
    assert found["calibration"]["threshold"] == expected.threshold
    assert found["calibration"]["pValue"] == expected.p_value
    alone = conclude(int(table[0, 0, 0]), table[1:, 0, 0], denominator=4500)
    assert found["perPair"][0][0] == {"score": alone.score, "pValue": alone.p_value, "corrected": False}
    # The same design as one comparison.
    single = compare(client, request("large", "larger", [UNITS], rows=ROWS, seed=3))
    assert single["results"][0]["score"] == found["matrix"][0][0]


def test_layers_without_a_calibration_have_scores_alone(client: httpx2.Client) -> None:
    found = compare(client, layers(["x"], ["y", "float"], measure=EXACT))
    assert np.shape(found["matrix"]) == (1, 2)
    assert "calibration" not in found
    assert found["aggregate"]["score"] == max(found["matrix"][0])


def matrix(arrays: list[str], **fields: Any) -> dict[str, Any]:
    return {"process": "matrix", "arrays": [ref(path) for path in arrays], "measure": UNITS, **fields}


def test_a_matrix_has_the_scores_of_single_comparisons(client: httpx2.Client) -> None:
    wanted = {"permutations": DRAWS}
    body = matrix(["large", "larger", "large"], rows=ROWS, seed=3, calibration=wanted)
    found = compare(client, body)
    grid_findings.MatrixResults.model_validate(found)
    assert found["labels"] == ["lab:large", "lab:larger", "lab:large"]
    single = compare(client, request("large", "larger", [UNITS], rows=ROWS, seed=3))["results"][0]
    bounds = single["intervals"]["sampling"]
    assert found["scores"][0][1] == found["scores"][1][0] == single["score"]
    assert (found["low"][0][1], found["high"][0][1]) == (bounds["low"], bounds["high"])
    assert found["scores"][0][2] == 1.0
    assert [found["scores"][place][place] for place in range(3)] == [1.0] * 3
    assert sorted(found["order"]) == [0, 1, 2]
    assert found["pValues"][0][1] == 1 / 40
    assert found["adjusted"][0][1] >= found["pValues"][0][1]
    assert found["holm"][0][1] >= found["pValues"][0][1]
    assert found["pValues"][1][1] is None


def test_differences_are_signed_and_have_intervals(client: httpx2.Client) -> None:
    body = matrix(["large", "larger", "large"], rows=ROWS, differences={"x": 0, "reference": 1})
    results = compare(client, body)
    grid_findings.MatrixResults.model_validate(results)
    (found,) = results["differences"]
    assert found["array"] == 2
    assert found["difference"] > 0
    assert found["sampling"]["low"] < found["difference"] < found["sampling"]["high"]
    assert found["jackknife"]["low"] > 0
    assert found["jackknife"]["unit"] == "row"
    assert found["pValue"] < 1e-3


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        (matrix(["x"]), "/arrays", "at least 2"),
        (matrix(["x", "y"], measure=EXACT), "", "sampled or units"),
        (matrix(["x", "y"], differences={"x": 0, "reference": 1}), "", "third array"),
        (matrix(["x", "y", "x"], differences={"x": 0, "reference": 3}), "", "position of an array"),
        (matrix(["x", "y", "x"], differences={"x": 1, "reference": 1}), "/differences", "different arrays"),
        (layers([], ["x"]), "/x/layers", "at least 1"),
        (layers(["x"], ["x"], aggregate="median"), "/aggregate", "is not supported"),
        (layers(["x"], ["x"], measure={"measure": "tsi", "method": "quick"}), "/measure/method", "quick"),
        (layers(["x"], ["x"], measures=[EXACT]), "/measures", "no such field"),
        ({"process": "forecast"}, "/process", "compare, layers, matrix"),
        ({}, "/process", "is missing"),
    ],
)
def test_requests_that_are_refused(client: httpx2.Client, body: dict[str, Any], pointer: str, words: str) -> None:
    problem = check_problem(client.post("/v1/jobs", json=body), 422, "invalid-request")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert words in problem["errors"][0]["detail"]


def test_layers_are_checked_by_their_identifiers(client: httpx2.Client) -> None:
    same = {"x": ref("ids/a"), "y": ref("ids/a")}
    few = {**UNITS, "targets": 3}
    found = compare(client, layers(["x", "float"], ["y"], measure=few, ids=same))
    assert "no-row-ids" not in [warning["code"] for warning in found["warnings"]]
    status = finish(client, layers(["x"], ["y"], measure=few, ids={"x": ref("ids/a"), "y": ref("ids/b")}))
    assert status["exception"]["type"] == "/problems/misaligned-ids"


def test_layers_need_what_their_measure_needs(client: httpx2.Client) -> None:
    for measure, pointer in ((UNITS | {"targets": 8}, "/measure"), ({"measure": "mutual_knn", "k": 8}, "/measure/k")):
        refused = client.post("/v1/jobs", json=layers(["x"], ["y"], measure=measure))
        assert check_problem(refused, 422, "too-few-rows")["errors"][0]["pointer"] == pointer
    for measure in (
        {"measure": "tsi", "method": "units", "width": 0.1},
        {"measure": "tsi", "method": "exact", "per_anchor": True},
        {"measure": "tsi", "method": "anchors", "anchors": 4},
    ):
        check_problem(client.post("/v1/jobs", json=layers(["x"], ["y"], measure=measure)), 422, "invalid-request")


def test_layers_that_are_undefined_have_a_reason(client: httpx2.Client) -> None:
    body = layers(["x"], ["twins"], measure={"measure": "cka"}, rows={"start": 4, "stop": 8})
    document = compare(client, body)
    grid_findings.LayersResults.model_validate(document)
    assert document["matrix"] is None
    assert "all rows are equal" in document["reason"]
    found = grid_answers.read(document)
    assert np.isnan(found.scores).all()
    stream = io.StringIO()
    print_grid(found, stream)
    assert "all rows are equal" in stream.getvalue()


def test_reports_of_grids_show_what_was_found(client: httpx2.Client) -> None:
    wanted = {"permutations": DRAWS}
    difference = {"x": 0, "reference": 1}
    body = matrix(["large", "larger", "large"], rows=ROWS, calibration=wanted, differences=difference)
    for results, words in (
        (body, ("score(0, 2) - score(0, 1) =", "p-values, adjusted", "intervals, 0.99", "of the largest score")),
        (layers(["large"], ["larger", "x"][:1], rows=ROWS, calibration=wanted), ("not corrected", "aggregate")),
    ):
        stream = io.StringIO()
        print_grid(grid_answers.read(compare(client, results)), stream)
        for expected in words:
            assert expected in stream.getvalue(), stream.getvalue()


def test_too_many_statistics_are_refused(client: httpx2.Client) -> None:
    many = layers(["x"] * 128, ["y"] * 128, measure={**UNITS, "targets": 3}, calibration={"permutations": 5000})
    problem = check_problem(client.post("/v1/jobs", json=many), 422, "over-limit")
    assert problem["errors"][0]["pointer"] == "/calibration/permutations"


def test_arrays_are_named_by_their_place(client: httpx2.Client) -> None:
    missing = client.post("/v1/jobs", json=layers(["x", "nowhere"], ["y"]))
    assert check_problem(missing, 422, "unknown-array")["errors"][0]["pointer"] == "/x/layers/1/path"
    uneven = client.post("/v1/jobs", json=matrix(["x", "seven"], measure={**UNITS, "targets": 3}))
    assert check_problem(uneven, 422, "row-count-mismatch")["errors"][0]["pointer"] == "/arrays/1"


def test_plans_and_catalogue_know_all_processes(client: httpx2.Client) -> None:
    for body in (layers(["large"], ["larger"]), matrix(["large", "larger"], calibration={"permutations": 20})):
        plan = client.post("/v1/plans", json=body)
        assert plan.status_code == 200, plan.text
        assert plan.json()["measures"][0]["measure"] == "tsi"
    assert [one["id"] for one in client.get("/v1/processes").json()["processes"]] == ["compare", "layers", "matrix"]
    assert "layers" in client.get("/v1/processes/layers").json()["inputs"]["properties"]["x"]["$ref"].lower()
