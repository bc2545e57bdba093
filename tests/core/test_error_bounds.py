"""Bounds on rounding errors, where there are so many columns that nothing is known of a rounded sum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ordsim_core import comparisons, packing, pairs
from ordsim_core.distances import KINDS, Distance, Precision
from ordsim_core.spaces import prepare

ROUNDOFFS = [pairs.FLOAT32_ROUNDOFF, pairs.UNIT_ROUNDOFF]
SUMS = [Distance.EUCLIDEAN, Distance.MANHATTAN, Distance.COSINE, Distance.DOT]


@pytest.mark.parametrize("roundoff", ROUNDOFFS)
def test_bounds_grow_with_the_number_of_roundings_and_never_turn_over(roundoff: float) -> None:
    bits = round(-math.log2(roundoff))
    operations = sorted({2**power + step for power in range(2, bits + 9) for step in (-4, -1, 0, 1, 5)})
    bounds = [pairs.gamma(number, roundoff) for number in operations]
    assert bounds == sorted(bounds)
    for number, bound in zip(operations, bounds, strict=True):
        share = number * roundoff
        assert math.isfinite(bound)
        assert bound >= (share / (1 - share) if share < 0.5 else 2.0)


@pytest.mark.parametrize("columns", [2**23, 2**24 - 5, 2**24 - 4, 2**24 - 3, 2**24 + 5, 2**30])
@pytest.mark.parametrize("distance", SUMS)
def test_quick_values_of_too_many_columns_decide_nothing(distance: Distance, columns: int) -> None:
    """Comparisons are left to float64, and come out right."""
    values = np.random.default_rng(0).standard_normal((20, 5)).astype("f4")
    space = prepare(values, distance)
    tuples = np.random.default_rng(1).integers(0, 20, (500, 4))
    tuples = tuples[(tuples[:, 0] != tuples[:, 1]) & (tuples[:, 2] != tuples[:, 3])]
    wanted = comparisons.signs(space, tuples, comparisons.new_paths())
    relative, absolute = pairs.quick_bounds(KINDS[distance], columns, pairs.FLOAT32_ROUNDOFF)
    assert max(relative, absolute) > 1.5
    object.__setattr__(space, "pairs", space.pairs._replace(quick_relative=relative, quick_absolute=absolute))
    paths = comparisons.new_paths()
    assert (comparisons.signs(space, tuples, paths) == wanted).all()
    same = [pairs.same_pair(space.pairs, *one) for one in tuples]
    assert paths[comparisons.CHECKED_DIRECTLY] == 2 * (len(tuples) - sum(same))


def test_keys_of_too_many_columns_decide_nothing() -> None:
    """As `packing` has it: any two keys are in doubt."""
    bound = pairs.gamma(2**24 + 5, pairs.FLOAT32_ROUNDOFF)
    assert packing._relative(4.1 * bound) == 0
    assert packing._slack(np.array([1 + 2 * bound * 2.0**50])) == int(packing.LARGEST_SLACK) + 1


@pytest.mark.parametrize("precision", Precision)
def test_bounds_of_ordinary_arrays_are_small(precision: Precision) -> None:
    space = prepare(np.random.default_rng(0).standard_normal((20, 500)).astype("f4"), Distance.EUCLIDEAN, precision)
    assert 0 < space.pairs.relative < 1e-12
    assert 0 < space.pairs.quick_relative < 1e-4
