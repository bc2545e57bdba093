"""Measures of values and neighbourhoods over HTTP, beside the ordinal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service import findings
from tests.service.conftest import check_problem, compare, finish, request
from workers.measures import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

KNN = {"measure": "mutual_knn", "k": 5}
EVERY: list[dict[str, Any]] = [
    {"measure": "cka"},
    {"measure": "cka", "kernel": "linear", "estimator": "debiased"},
    {"measure": "cka", "kernel": "linear", "estimator": "minibatch", "batch_size": 20, "batches": 5},
    {"measure": "cka", "kernel": "rbf"},
    {"measure": "cka", "kernel": "rbf", "bandwidth": 2.5, "estimator": "debiased"},
    {"measure": "cka", "kernel": "distance"},
    {"measure": "rsa"},
    {"measure": "rsa", "correlation": "spearman"},
    {"measure": "rsa", "correlation": "cosine", "method": "sampled", "samples": 500},
    {"measure": "procrustes"},
    {"measure": "cca"},
    {"measure": "svcca", "threshold": 0.9},
    {"measure": "pwcca"},
    KNN,
    {**KNN, "method": "anchors", "anchors": 40, "ties": "index"},
    {"measure": "cknna", "k": 5},
    {"measure": "cknna", "k": 5, "kernel": "distance", "estimator": "biased"},
]
ROWS = {"start": 0, "stop": 100}


def test_all_measures_answer_side_by_side(client: httpx2.Client, read: Callable[[str], np.ndarray]) -> None:
    body = request("large", "larger", EVERY, rows=ROWS, calibration={"permutations": 9})
    document = compare(client, body)
    findings.Results.model_validate(document)
    for sent, result in zip(EVERY, document["results"], strict=True):
        assert result["measure"] == sent["measure"]
        assert 0 < result["score"] < 1.2, sent
        assert result["deficit"] == pytest.approx(1 - result["score"], abs=1e-12), sent
        assert {**sent, **result["spec"]} == result["spec"], sent
        assert result["calibration"]["permutations"] == 9
        assert result["calibration"]["pValue"] == 0.1, sent
    linear = document["results"][0]
    x, y = (read(name)[:100].astype("f8") for name in ("large", "larger"))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    norms = (np.linalg.norm(values.T @ values) for values in (x, y))
    assert linear["score"] == pytest.approx(np.linalg.norm(x.T @ y) ** 2 / np.prod(list(norms)), rel=1e-10)
    assert linear["resolution"]["verdict"] == "resolved"
    assert linear["resolution"]["effectivePrecision"] == {"x": "float32", "y": "float32"}
    assert linear["intervals"] == {}
    assert "counts" not in linear
    sampled = document["results"][8]["intervals"]["sampling"]
    assert sampled["low"] < document["results"][8]["score"] < sampled["high"]


def test_equal_arrays_have_no_deficit(client: httpx2.Client) -> None:
    document = compare(client, request("large", "large", EVERY, rows=ROWS))
    for result in document["results"]:
        assert (result["score"], result["deficit"]) == (1.0, 0.0), result["spec"]
    assert document["results"][0]["resolution"]["verdict"] == "identical"


def test_equal_arrays_under_two_distances_are_not_identical(client: httpx2.Client) -> None:
    body = request("large", "large", [{"measure": "cka", "kernel": "distance"}, {"measure": "rsa"}], rows=ROWS)
    body["y"]["distance"] = "manhattan"
    for result in compare(client, body)["results"]:
        assert result["deficit"] > 0, result["spec"]
        assert result["resolution"]["verdict"] == "resolved", result["spec"]


def test_an_undefined_measure_leaves_the_others_alone(client: httpx2.Client) -> None:
    constant = [{"measure": "cka"}, {"measure": "rsa"}, {"measure": "cca"}, {"measure": "procrustes"}, {**KNN, "k": 2}]
    body = request("x", "twins", constant, rows={"start": 4, "stop": 8}, calibration={"permutations": 5})
    results = compare(client, body)["results"]
    for result in results[:-1]:
        assert result["score"] is None, result
        assert result["reason"], result
        assert result["calibration"]["pValue"] is None
        assert "resolution" not in result
    assert results[-1]["score"] is not None


def test_a_distance_without_use_is_a_warning(client: httpx2.Client) -> None:
    cosine = {"x": {"root": "lab", "path": "x", "distance": "cosine"}}
    warned = compare(client, request(measures=[{"measure": "cka"}, {"measure": "rsa"}]) | cosine)
    (warning,) = [warning for warning in warned["warnings"] if warning["code"] == "distance-ignored"]
    assert warning["detail"].startswith("cka: ")
    used = compare(client, request(measures=[{"measure": "rsa"}, {"measure": "cka", "kernel": "distance"}]) | cosine)
    assert "distance-ignored" not in [warning["code"] for warning in used["warnings"]]


@pytest.mark.parametrize(
    ("measure", "pointer"),
    [
        ({"measure": "cka", "kernel": "polynomial"}, "/measures/0/kernel"),
        ({"measure": "cka", "kernel": "rbf", "bandwidth": 0}, "/measures/0/bandwidth"),
        ({"measure": "cka", "estimator": "minibatch"}, "/measures/0"),
        ({"measure": "rsa", "correlation": "kendall"}, "/measures/0/correlation"),
        ({"measure": "svcca", "threshold": 1.5}, "/measures/0/threshold"),
        ({"measure": "mutual_knn", "k": 0}, "/measures/0/k"),
        ({"measure": "cknna", "k": 2.5}, "/measures/0/k"),
    ],
)
def test_options_that_are_refused(client: httpx2.Client, measure: dict[str, Any], pointer: str) -> None:
    problem = check_problem(client.post("/v1/jobs", json=request(measures=[measure])), 422, "invalid-request")
    assert {error["pointer"][: len(pointer)] for error in problem["errors"]} == {pointer}


def test_too_few_rows_for_a_measure(client: httpx2.Client) -> None:
    for measure in ({"measure": "mutual_knn", "k": 8}, {"measure": "cknna", "k": 8}):
        problem = check_problem(client.post("/v1/jobs", json=request(measures=[measure])), 422, "too-few-rows")
        assert problem["errors"][0]["pointer"] == "/measures/0/k"
    debiased = {"measure": "cka", "estimator": "debiased"}
    body = request("three", "three", [debiased])
    check_problem(client.post("/v1/jobs", json=body), 422, "too-few-rows")


def test_a_row_without_direction_is_named(client: httpx2.Client) -> None:
    zero = {"y": {"root": "lab", "path": "zero", "distance": "cosine"}}
    status = finish(client, request(measures=[{"measure": "rsa"}]) | zero)
    assert status["exception"]["type"] == "/problems/zero-vector"
    assert "Row 4 of array y (lab:zero)" in status["exception"]["detail"]


def test_asymmetric_distances_are_refused_where_pairs_are_unordered(client: httpx2.Client) -> None:
    one_way = {"x": {"root": "lab", "path": "distances/one-way", "distance": "precomputed"}}
    status = finish(client, request(measures=[{"measure": "rsa"}]) | one_way)
    assert status["exception"]["type"] == "/problems/asymmetric-distance"
    both = {"x": {"root": "lab", "path": "distances/both-ways", "distance": "precomputed"}}
    results = compare(client, request(measures=[{"measure": "rsa"}, {**KNN, "k": 3}]) | both)["results"]
    assert all(result["score"] is not None for result in results)


def test_every_measure_has_a_plan_and_a_default_that_is_told(client: httpx2.Client) -> None:
    plan = client.post("/v1/plans", json=request("large", "larger", EVERY))
    assert plan.status_code == 200, plan.text
    assert len(plan.json()["measures"]) == len(EVERY)
    told = client.get("/v1/processes/compare").json()["measures"]
    assert [(one["measure"], one["method"]) for one in told] == [
        (one.measure, one.method) for one in registry.all_measures()
    ]


def test_layers_take_measures_of_values(client: httpx2.Client) -> None:
    body = {
        "process": "layers",
        "x": {"layers": [{"root": "lab", "path": "large"}, {"root": "lab", "path": "larger"}]},
        "y": {"layers": [{"root": "lab", "path": "larger"}]},
        "measure": {"measure": "cka"},
        "rows": ROWS,
        "calibration": {"permutations": 19},
    }
    found = compare(client, body)
    single = compare(client, request("large", "larger", [{"measure": "cka"}], rows=ROWS))
    assert found["matrix"][0][0] == pytest.approx(single["results"][0]["score"], rel=1e-12)
    assert found["matrix"][1][0] == pytest.approx(1.0, abs=1e-12)
    assert found["calibration"]["pValue"] == 0.05
