"""From a deficit and its floors to a verdict and a sentence."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from ordsim_core.resolution.formats import FLOAT16, FLOAT32
from ordsim_core.resolution.grids import Grid
from ordsim_core.resolution.precision import StoragePrecision
from ordsim_core.resolution.resolving import Resolution, resolve
from ordsim_core.resolution.sides import Side, plain_side
from ordsim_core.resolution.verdicts import Question, Verdict, judge

SINGLE = StoragePrecision("float32", 2.0**-24, FLOAT32)
HALF = StoragePrecision("float16", 2.0**-11, FLOAT16)
INT8 = StoragePrecision("int8", 2.0**-8, FLOAT16, Grid(1.0, 255))


NO_FORMULA = "there is no formula for it"


def side(precision: StoragePrecision, floor: float | None) -> Side:
    return Side(precision, floor, None if floor is not None else NO_FORMULA, 0.25)


def found(deficit: float, **how: Any) -> Resolution:
    return resolve(deficit, how.pop("method", "moments"), side(HALF, 1e-8), side(HALF, 3e-8), **how)


@pytest.mark.parametrize(
    ("deficit", "verdict"),
    [
        (0.0, Verdict.BELOW_RESOLUTION),
        (1e-12, Verdict.BELOW_RESOLUTION),
        (7.9e-8, Verdict.BELOW_RESOLUTION),
        (8.1e-8, Verdict.MARGINAL),
        (3.9e-7, Verdict.MARGINAL),
        (4e-7, Verdict.RESOLVED),
        (1.0, Verdict.RESOLVED),
        (1.4, Verdict.RESOLVED),
    ],
)
def test_the_underlying_values(deficit: float, verdict: Verdict) -> None:
    resolution = found(deficit)
    assert resolution.floor_storage == pytest.approx(4e-8)
    assert (resolution.verdict, resolution.question) == (verdict, Question.UNDERLYING)
    assert resolution.verdict_underlying is verdict
    assert resolution.verdict_stored is (Verdict.RESOLVED if deficit else Verdict.BELOW_RESOLUTION)
    assert resolution.eta_equivalent == pytest.approx(2 * deficit**0.5)


def test_equal_arrays_are_identical() -> None:
    resolution = found(0.0, identical=True, method="identical")
    assert {resolution.verdict, resolution.verdict_stored, resolution.verdict_underlying} == {Verdict.IDENTICAL}


def test_no_deficit_of_arrays_that_differ_is_not_identity() -> None:
    resolution = found(0.0)
    assert resolution.verdict_stored is Verdict.BELOW_RESOLUTION
    assert "differ in nothing that this measure sees" in resolution.sentence


def test_the_arithmetic_answers_for_the_stored_arrays() -> None:
    assert found(1e-16, method="naive").verdict_stored is Verdict.BELOW_RESOLUTION
    assert found(2e-15, method="naive").verdict_stored is Verdict.MARGINAL
    assert found(1e-14, method="naive").verdict_stored is Verdict.RESOLVED
    assert found(1e-3, relative_error=0.2).verdict_stored is Verdict.MARGINAL
    assert found(1e-3, relative_error=0.6).verdict_stored is Verdict.BELOW_RESOLUTION
    assert found(1e-3, relative_error=0.6).floor_arithmetic == pytest.approx(6e-4)


def test_comparisons_in_doubt_are_a_floor_of_counts() -> None:
    plain = plain_side(np.linspace(0, 1, 60).reshape(20, 3) ** 2, NO_FORMULA)
    resolution = resolve(1e-6, "counts", plain, plain, uncertain=2e-6)
    assert resolution.verdict is resolution.verdict_stored is Verdict.BELOW_RESOLUTION
    assert (resolution.question, resolution.floor_storage) == (Question.STORED, None)
    assert resolution.storage_reason == f"x and y: {NO_FORMULA}"
    resolution = resolve(1e-6, "counts", plain, plain)
    assert resolution.verdict is Verdict.RESOLVED
    assert "cannot come from rounding" in resolution.sentence
    assert resolution.eta_equivalent is None


def test_one_floor_is_not_enough() -> None:
    resolution = resolve(1e-6, "moments", side(SINGLE, None), side(HALF, 1e-9))
    assert resolution.storage_reason == f"x: {NO_FORMULA}"
    assert resolution.verdict_underlying is None
    assert f"(x: {NO_FORMULA})" in resolution.sentence


@pytest.mark.parametrize("deficit", [-1e-20, float("nan"), float("inf")])
def test_what_is_no_deficit_is_refused(deficit: float) -> None:
    with pytest.raises(ValueError, match="finite, non-negative"):
        found(deficit)


def test_marginal_says_how_marginal() -> None:
    assert "3.0 times the floors" in found(1.2e-7).sentence


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [(SINGLE, INT8, "values of y are"), (INT8, HALF, "values of x are"), (INT8, INT8, "values of x and y are")],
)
def test_counts_are_told_apart_from_rounded_values(x: StoragePrecision, y: StoragePrecision, said: str) -> None:
    sentence = resolve(1e-9, "moments", side(x, 1e-8), side(y, 1e-8)).sentence
    assert said in sentence


def test_a_large_change_has_no_equivalent_size() -> None:
    assert "of the size of x" in found(1e-3).sentence
    assert "of the size of x" not in found(0.9).sentence


def test_plain_data() -> None:
    document = dataclasses.asdict(found(1e-6))
    assert json.loads(json.dumps(document))["effective_precision"] == {"x": "float16", "y": "float16"}
    assert document["verdict"] == "resolved"


def test_without_floors_any_deficit_is_resolved() -> None:
    assert judge(1e-300, 0.0) is Verdict.RESOLVED
    assert judge(0.0, 0.0) is Verdict.BELOW_RESOLUTION
