"""Inputs on which tools of this kind were reported to go wrong: measures beside TSI and QSI (K9), undefined ones (K6),
and p-values (K10). The numbers are those of the kinds of fault that the reports were collected in.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.workers.test_permuted import grid, options_of, outcome, permuted, staging
from workers.measures import registry
from workers.measures.calibration import Calibration
from workers.measures.permuted import STATISTICS, PermutedOptions

__all__ = ["staging"]  # a fixture

RNG = np.random.default_rng(20261130)
WHOLE_X, WHOLE_Y = (RNG.integers(-9, 10, (8, 4)) for _ in range(2))
X, Y = WHOLE_X.astype("f4"), WHOLE_Y.astype("f4")
COLUMN = np.array([[1.0], [-1], [0], [0]])
TURNED = RNG.standard_normal((40, 6))

EVERY = [
    ("cka", "linear", {}),
    ("cka", "linear", {"estimator": "debiased"}),
    ("cka", "rbf", {}),
    ("cka", "distance", {}),
    ("rsa", "exact", {}),
    ("rsa", "exact", {"correlation": "spearman"}),
    ("procrustes", "exact", {}),
    ("cca", "exact", {}),
    ("mutual_knn", "exact", {"k": 4}),
    ("cknna", "exact", {"k": 4}),
]


def find(measure: str, method: str, more: dict[str, Any], x: Any, y: Any) -> Any:
    found = registry.find(measure, method)
    return outcome(found, options_of(found, **more), x, y)


def test_cka_by_hand() -> None:
    half = find("cka", "linear", {}, COLUMN, np.array([[1.0], [-1], [1], [-1]]))
    assert (half.score, half.deficit) == (0.5, 0.5)
    nothing = find("cka", "linear", {}, COLUMN, np.array([[0.0], [0], [1], [-1]]))
    assert (nothing.score, nothing.deficit) == (0.0, 1.0)


def test_a_tiny_deficit_keeps_its_digits() -> None:
    x = WHOLE_X.astype("f8")
    y = x.copy()
    y[0, 0] += 2.0**-30
    found = find("cka", "linear", {}, x, y)
    # In fractions, with the columns' means taken off.
    a, b = (
        [[Fraction(value) - sum(map(Fraction, column)) / 8 for value in column] for column in values.T.tolist()]
        for values in (x, y)
    )

    def squared(one: Any, other: Any) -> Fraction:
        return sum((sum(p * q for p, q in zip(c, d, strict=True)) ** 2 for c in one for d in other), Fraction(0))

    both, own, others = squared(a, b), squared(a, a), squared(b, b)
    # 1 - s = (1 - s^2) / (1 + s), and s is 1 to far more digits than the deficit has.
    expected = (own * others - both**2) / (own * others) / 2
    assert found.deficit == pytest.approx(float(expected), rel=1e-9)
    assert 1e-23 < found.deficit < 1e-19


@pytest.mark.parametrize(("measure", "method", "more"), EVERY)
def test_signed_permutations_of_columns_change_nothing(measure: str, method: str, more: dict[str, Any]) -> None:
    other = TURNED[:, [3, 0, 5, 1, 4, 2]] * np.array([1, -1, 1, 1, -1, 1])
    found = find(measure, method, more, TURNED, other)
    assert found.score == pytest.approx(1.0, abs=1e-15)
    assert 0 <= found.deficit <= 1e-15


@pytest.mark.parametrize(("measure", "method", "more"), EVERY)
def test_small_arrays_are_no_less_similar(measure: str, method: str, more: dict[str, Any]) -> None:
    whole, small = (find(measure, method, more, x, Y) for x in (X, X * np.float32(2.0**-16)))
    assert small.score == pytest.approx(whole.score, rel=1e-13)


@pytest.mark.parametrize(("measure", "method", "more"), EVERY)
def test_an_array_and_itself(measure: str, method: str, more: dict[str, Any]) -> None:
    for other in (X, X.copy(), np.asfortranarray(X)):
        found = find(measure, method, more, X, np.ascontiguousarray(other))
        assert (found.score, found.deficit) == (1.0, 0.0)


def test_debiased_cka_of_independent_arrays_is_about_zero() -> None:
    scores = [
        find("cka", "linear", {"estimator": "debiased"}, *np.random.default_rng(seed).standard_normal((2, 32, 8))).score
        for seed in range(20)
    ]
    assert abs(np.mean(scores)) < 0.03


@pytest.mark.parametrize(("measure", "method", "more"), [one for one in EVERY if one[0] not in ("mutual_knn", "cknna")])
def test_an_array_of_equal_rows_has_no_score(measure: str, method: str, more: dict[str, Any]) -> None:
    found = find(measure, method, more, np.full((8, 4), 3, "f4"), Y)
    assert found.score is None
    assert found.deficit is None
    assert found.reason


def test_neighbours_among_equal_rows_share_their_places() -> None:
    equal = X[[0, 1, 2, 3, 4, 1, 1, 7]]
    for measure in ("mutual_knn", "cknna"):
        found = find(measure, "exact", {"k": 2}, equal, equal.copy())
        assert (found.score, found.deficit) == (1.0, 0.0)


@pytest.mark.parametrize(("measure", "method", "more"), [("tsi", "exact", {}), ("qsi", "exact", {}), *EVERY])
def test_when_all_permutations_tie_p_is_one(measure: str, method: str, more: dict[str, Any]) -> None:
    inner = options_of(registry.find(measure, method), **more)
    wanted = PermutedOptions(inner=inner, calibration=Calibration(permutations=99))
    total, found = permuted(wanted, grid(np.ones((8, 3)), Y))
    assert found.calibration is not None
    if STATISTICS not in total.pieces:  # undefined, which is no p-value at all
        assert found.calibration["pValue"] is None
        return
    assert found.calibration["pValue"] == 1.0
    assert found.calibration["score"] == 0.0


def test_a_p_value_is_never_zero() -> None:
    inner = options_of(registry.find("tsi", "exact"))
    _, found = permuted(PermutedOptions(inner=inner, calibration=Calibration(permutations=99)), grid(X, X.copy()))
    assert found.calibration is not None
    assert found.calibration["pValue"] == 0.01
