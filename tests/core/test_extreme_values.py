"""Values near the ends of float64: counts are right, and nothing that overflows on the way is heard of.

Warnings are errors in these tests, as in all others.
"""

from __future__ import annotations

import numpy as np
import pytest
from against_oracle import check, exact_quadruplets, exact_triplets, expected, spaces

from ordsim_core import comparisons, packing, pairs
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare

RANGES = [(-100, 140), (-140, 145), (140, -100), (0, 150), (-307, -200), (120, 300)]


@pytest.mark.parametrize("far", [1, 4, 8])
@pytest.mark.parametrize("powers", RANGES, ids=str)
def test_rows_of_very_different_lengths(powers: tuple[int, int], far: int) -> None:
    rng = np.random.default_rng(far)
    x, y = rng.integers(-9, 10, (2, 9, 3)).astype("f8")
    x *= np.where(np.arange(9) < far, 2.0 ** (powers[0] * 3.32 // 1), 2.0 ** (powers[1] * 3.32 // 1))[:, None]
    check(x, y + 0.5)


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("distance", [Distance.EUCLIDEAN, Distance.MANHATTAN, Distance.DOT, Distance.COSINE])
def test_decimal_rows_of_very_different_lengths(distance: Distance, precision: Precision) -> None:
    rng = np.random.default_rng(1)
    for rows in (1, 5):
        values = rng.standard_normal((9, 3)) * np.where(np.arange(9) < rows, 1e140, 1e-5)[:, None]
        space = prepare(values, distance, precision)
        exact_triplets(space, space)
        assert exact_quadruplets(space, space)[1:4] == (0, 0, 0)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_stored_distances_up_to_the_largest(dtype: str) -> None:
    largest = np.finfo(dtype).max
    rng = np.random.default_rng(0)
    values = (rng.choice([-1, 1], (8, 8)) * rng.choice([1, 0.95, 0.5], (8, 8)) * largest).astype(dtype)
    table = np.triu(values) + np.triu(values, 1).T
    check(table, table[::-1, ::-1].copy(), "precomputed", "precomputed")


def test_signs_of_differences_beyond_float64() -> None:
    table = np.array([[0, 1.7e308, -1.7e308], [1.7e308, 0, 1.7e308], [-1.7e308, 1.7e308, 0]])
    space = prepare(table, Distance.PRECOMPUTED)
    tuples = np.array([[0, 1, 0, 2], [0, 2, 0, 1], [0, 1, 1, 2], [0, 2, 2, 0]])
    assert comparisons.signs(space, tuples, comparisons.new_paths()).tolist() == [1, -1, 0, 0]


@pytest.mark.parametrize("distance", ["hamming", "manhattan", "euclidean", "cosine"])
def test_the_largest_values(distance: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([-1.7e308, 1.7e308, 1e308], (7, 2))
    sides = spaces(values, values[::-1].copy(), distance, distance)
    wanted = expected(values, values[::-1].copy(), distance, distance)
    assert exact_triplets(*sides) == wanted.triplets
    assert exact_quadruplets(*sides) == wanted.quadruplets


def test_slack_of_far_rows_under_bounds_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with more columns than a bound on rounding can be given for."""
    monkeypatch.setattr(packing, "gamma", lambda *_: pairs.UNBOUNDED)
    values = np.random.default_rng(0).standard_normal((9, 3))
    values[0] *= 1e148
    check(values, values[:, ::-1].copy())
    check(values, values[:, ::-1].copy(), "euclidean", "dot")
