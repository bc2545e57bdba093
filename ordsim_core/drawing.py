"""Counting sampled comparisons: independent tuples, and units of many comparisons that share rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import kernel
from ordsim_core.comparisons import DOUBTED, Sampled, Units, new_paths, quick_values, signs, to_paths
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

_AT_ONCE = 1 << 14
"""Comparisons drawn at a time: their rows' numbers stay in the cache."""
_DOUBTS = 1 << 18
"""Comparisons of units at a time: each may be in doubt, and is then kept in 16 bytes."""


def count_tuples(x: Space, y: Space, draw: Callable[[int, int], NDArray[np.int64]], start: int, stop: int) -> Sampled:
    """Count samples `start` to `stop` - 1, each a comparison of distance (i, j) with (k, m).

    `draw` gives a range of them, int64 of shape (samples, 4).
    """
    counts, paths = np.zeros(9, np.int64), new_paths()
    for first in range(start, stop, _AT_ONCE):
        tuples = draw(first, min(first + _AT_ONCE, stop))
        counts += np.bincount(_outcomes(x, y, tuples, paths), minlength=9)
    return Sampled(_five(counts), to_paths(paths), int(paths[DOUBTED]))


def count_units(x: Space, y: Space, draw: Callable[[int, int], NDArray[np.int64]], start: int, stop: int) -> Units:
    """Count units `start` to `stop` - 1, each all comparisons among some pairs of rows.

    `draw` gives a range of them, int64 of shape (units, pairs, 2).
    """
    counts, paths = np.zeros(9, np.int64), new_paths()
    agreeing = np.empty(stop - start, np.int64)
    each = draw(start, start + 1).shape[1]
    comparisons = each * (each - 1) // 2
    step = max(1, min(_AT_ONCE // each, _DOUBTS // max(1, comparisons)))
    for first in range(start, stop, step):
        units = draw(first, min(first + step, stop))
        flat = units.reshape(-1, 2)
        sides = [quick_values(space, flat) for space in (x, y)]
        own = np.zeros((len(units), 9), np.int64)
        doubtful = np.empty((len(units) * comparisons, 2), np.int64)
        doubts = _count_certain(*sides[0], *sides[1], own, doubtful)
        # What a quick look leaves in doubt is compared one by one.
        for begin in range(0, doubts, _AT_ONCE):
            found = doubtful[begin : min(begin + _AT_ONCE, doubts)]
            outcomes = _outcomes(x, y, np.concatenate((flat[found[:, 0]], flat[found[:, 1]]), axis=1), paths)
            np.add.at(own, (found[:, 0] // each, outcomes), 1)
        agreeing[first - start : first - start + len(units)] = own[:, 0] + own[:, 4] + own[:, 8]
        counts += own.sum(axis=0)
    return Units(_five(counts), agreeing, to_paths(paths), int(paths[DOUBTED]))


def _outcomes(x: Space, y: Space, tuples: NDArray[np.int64], paths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compare distances (i, j) with (k, m) in both spaces: 3 (sign in x + 1) + sign in y + 1."""
    return 3 * (signs(x, tuples, paths).astype(np.int64) + 1) + signs(y, tuples, paths) + 1


def _five(outcomes: NDArray[np.int64]) -> AgreementCounts:
    by_x_and_y = outcomes.reshape(3, 3)
    below, tied, above = ([int(count) for count in row] for row in by_x_and_y)
    return AgreementCounts(
        concordant=below[0] + above[2],
        discordant=below[2] + above[0],
        tied_x=tied[0] + tied[2],
        tied_y=below[1] + above[1],
        tied_both=tied[1],
    )


@kernel
def _count_certain(
    values_x: NDArray[np.float64],
    errors_x: NDArray[np.float64],
    values_y: NDArray[np.float64],
    errors_y: NDArray[np.float64],
    own: NDArray[np.int64],
    doubtful: NDArray[np.int64],
) -> int:
    # Counts what is certain into outcomes 0 (concordant) and 2 (discordant); returns how many pairs of pairs are not.
    each = values_x.shape[0] // own.shape[0]
    doubts = 0
    for unit in range(own.shape[0]):
        base = unit * each
        for a in range(base + 1, base + each):
            concordant, certain = np.int64(0), np.int64(0)
            for b in range(base, a):
                in_x, in_y = values_x[a] - values_x[b], values_y[a] - values_y[b]
                concordant += np.int64((in_x > 0.0) == (in_y > 0.0))
                certain += np.int64((abs(in_x) > errors_x[a] + errors_x[b]) & (abs(in_y) > errors_y[a] + errors_y[b]))
            if certain == a - base:
                own[unit, 0] += concordant
                own[unit, 2] += certain - concordant
                continue
            for b in range(base, a):
                in_x, in_y = values_x[a] - values_x[b], values_y[a] - values_y[b]
                if abs(in_x) > errors_x[a] + errors_x[b] and abs(in_y) > errors_y[a] + errors_y[b]:
                    own[unit, 0 if (in_x > 0.0) == (in_y > 0.0) else 2] += 1
                else:
                    doubtful[doubts, 0], doubtful[doubts, 1] = a, b
                    doubts += 1
    return doubts
