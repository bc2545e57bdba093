"""Single comparisons of two distances, for samplers: quickly where that is certain, else as exactly as it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import chains, pairs, wide
from ordsim_core._numba import Int, kernel, reordering_kernel
from ordsim_core.counts import AgreementCounts, Paths
from ordsim_core.distances import Precision
from ordsim_core.pairs import COSINE, DOT, EUCLIDEAN, MANHATTAN, Rows, direct_value, same_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

UNDECIDED = 2
"""Sign of a comparison that only exact arithmetic can decide."""

TINY = 2.0**-120
"""What underflow in float32 can take from a sum; float64 has its own margin, see `spaces.LOWEST`."""

QUICK, DIRECT, CERTIFIED = range(3)
CHECKED_DIRECTLY, CHECKED_EXACTLY, DOUBTED = range(3)


@dataclass(frozen=True)
class Sampled:
    """Agreement of sampled comparisons.

    Attributes
    ----------
    counts : AgreementCounts
    paths : Paths
    uncertified : int
        Comparisons whose order is in doubt, counted for float32 precision only.
    """

    counts: AgreementCounts
    paths: Paths
    uncertified: int


@dataclass(frozen=True)
class Units:
    """Agreement of sampled units, each some comparisons that share rows.

    Attributes
    ----------
    counts : AgreementCounts
    agreeing : ndarray of int64, shape (units,)
        Agreeing comparisons of each unit.
    paths, uncertified
        As in `Sampled`.
    """

    counts: AgreementCounts
    agreeing: NDArray[np.int64]
    paths: Paths
    uncertified: int


def rigour(space: Space) -> int:
    """How far comparisons in a space go: QUICK for float32, DIRECT for float64, CERTIFIED where order is exact."""
    if space.precision is Precision.FLOAT32:
        return QUICK
    uncertified = space.packing.mode == chains.EQUAL and not space.packing.certain
    return DIRECT if uncertified else CERTIFIED


def exact_sign(space: Space, i: int, j: int, k: int, m: int) -> int:
    """Give the sign of distance (i, j) minus distance (k, m) in exact arithmetic."""
    one = pairs.exact_value(space.pairs, i, j, space.lowest)
    other = pairs.exact_value(space.pairs, k, m, space.lowest)
    return int(one > other) - int(one < other)


def new_paths() -> NDArray[np.int64]:
    """Give counters for `signs`."""
    return np.zeros(3, np.int64)


def to_paths(paths: NDArray[np.int64]) -> Paths:
    """Turn counters into paths; samples form no chains."""
    return Paths(0, int(paths[CHECKED_DIRECTLY]), int(paths[CHECKED_EXACTLY]))


def signs(space: Space, tuples: NDArray[np.int64], paths: NDArray[np.int64]) -> NDArray[np.int8]:
    """Compare distances (i, j) with (k, m), rows of `tuples`: int8 of shape (n,), -1, 0 or 1.

    `paths` is added to.
    """
    values, errors = (array.reshape(-1, 2) for array in quick_values(space, tuples.reshape(-1, 2)))
    with np.errstate(over="ignore", invalid="ignore"):  # infinite differences have the right sign
        difference = values[:, 0] - values[:, 1]
    found = (difference > 0).view(np.int8) - (difference < 0).view(np.int8)
    # Differences of values that overflowed are not numbers, and in doubt.
    doubtful = np.flatnonzero(~(np.abs(difference) > errors[:, 0] + errors[:, 1]))
    if len(doubtful):
        settled = found[doubtful]
        _careful_signs(space.pairs, rigour(space), tuples[doubtful], settled, paths)
        for place in np.flatnonzero(settled == UNDECIDED).tolist():
            settled[place] = exact_sign(space, *tuples[doubtful[place]].tolist())
        found[doubtful] = settled
    return found


def quick_values(space: Space, chosen: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give values that order as the distances of pairs of rows do, and bounds on their errors, float64 of shape (n,).

    `chosen`: int64 of shape (n, 2). Errors are infinite where nothing quick is good enough.
    """
    values, errors = np.empty(len(chosen)), np.empty(len(chosen))
    _quick_values(space.pairs, chosen, values, errors)
    if rigour(space) == DIRECT:
        errors[:] = np.inf
    return values, errors


@reordering_kernel
def _squared(values: NDArray[Any], i: Int, j: Int) -> Any:
    total = values[i, 0] - values[i, 0]
    for column in range(values.shape[1]):
        difference = values[i, column] - values[j, column]
        total += difference * difference
    return total


@reordering_kernel
def _product(values: NDArray[Any], i: Int, j: Int) -> Any:
    total = values[i, 0] - values[i, 0]
    for column in range(values.shape[1]):
        total += values[i, column] * values[j, column]
    return total


@reordering_kernel
def _city(values: NDArray[Any], i: Int, j: Int) -> Any:
    total = values[i, 0] - values[i, 0]
    for column in range(values.shape[1]):
        total += abs(values[i, column] - values[j, column])
    return total


@kernel
def _quick_values(
    rows: Rows, chosen: NDArray[np.int64], values: NDArray[np.float64], errors: NDArray[np.float64]
) -> None:
    # One short loop a distance, so that rows are fetched far ahead of the sums over them.
    stored, relative, absolute = rows.values, rows.quick_relative, rows.quick_absolute
    if rows.kind == EUCLIDEAN:
        for place in range(chosen.shape[0]):
            value = np.float64(_squared(stored, chosen[place, 0], chosen[place, 1]))
            values[place], errors[place] = value, relative * value + TINY
    elif rows.kind == COSINE or rows.kind == DOT:
        for place in range(chosen.shape[0]):
            i, j = chosen[place, 0], chosen[place, 1]
            value, lengths = -np.float64(_product(stored, i, j)), rows.norms[i] * rows.norms[j]
            if rows.kind == COSINE:
                value /= lengths
                lengths = 1.0
            values[place], errors[place] = value, relative * abs(value) + absolute * lengths + TINY
    elif rows.kind == MANHATTAN:
        for place in range(chosen.shape[0]):
            value = np.float64(_city(stored, chosen[place, 0], chosen[place, 1]))
            values[place], errors[place] = value, relative * value + TINY
    else:
        for place in range(chosen.shape[0]):
            i, j = chosen[place, 0], chosen[place, 1]
            values[place], errors[place] = direct_value(rows, i, j)


@kernel
def _careful_sign(rows: Rows, rigour: Int, i: Int, j: Int, k: Int, m: Int, paths: NDArray[np.int64]) -> Int:
    """Compare distance (i, j) with (k, m), which were too close to each other for a quick comparison.

    Returns -1, 0 or 1, or UNDECIDED.
    """
    one, one_error = direct_value(rows, i, j)
    other, other_error = direct_value(rows, k, m)
    paths[CHECKED_DIRECTLY] += 2
    sign = np.int64(one > other) - np.int64(one < other)
    if rigour == DIRECT or abs(one - other) > one_error + other_error or one_error + other_error == 0.0:
        return sign
    if rows.kind == COSINE and rows.whole:
        paths[CHECKED_EXACTLY] += 2
        above, below = pairs.squared_cosine(rows, i, j)
        other_above, other_below = pairs.squared_cosine(rows, k, m)
        return -pairs.compare_fractions(above, below, other_above, other_below)
    low = min(min(rows.low[i], rows.low[j]), min(rows.low[k], rows.low[m]))
    high = max(max(rows.high[i], rows.high[j]), max(rows.high[k], rows.high[m]))
    paths[CHECKED_EXACTLY] += 2
    if not pairs.fits_wide(rows, np.int64(low), np.int64(high)):
        return np.int64(UNDECIDED)
    one_high, one_low = wide.squared_distance(rows.values, i, j, np.int64(low))
    other_high, other_low = wide.squared_distance(rows.values, k, m, np.int64(low))
    if one_high != other_high:
        return np.int64(1) if one_high > other_high else np.int64(-1)
    return np.int64(one_low > other_low) - np.int64(one_low < other_low)


@kernel
def _careful_signs(
    rows: Rows, rigour: Int, tuples: NDArray[np.int64], found: NDArray[np.int8], paths: NDArray[np.int64]
) -> None:
    for place in range(tuples.shape[0]):
        i, j, k, m = tuples[place, 0], tuples[place, 1], tuples[place, 2], tuples[place, 3]
        if same_pair(rows, i, j, k, m):
            found[place] = 0
        elif rigour == QUICK:
            # The quick sign is taken. Under this rigour no distance is without error.
            paths[DOUBTED] += 1
        else:
            found[place] = _careful_sign(rows, rigour, i, j, k, m, paths)
