"""Entries of kernel matrices, in twice the precision: inner products of rows, and distances between them.

Only single entries are computed, those of neighbours. Sums are made in twice the precision: they err by about
(D / 4)^2 2^-106 of the sum of the sizes of their terms (Ogita, Rump and Oishi 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.neighbours import doubled
from ordsim_core.pairs import COSINE, DOT, EUCLIDEAN, HAMMING, MANHATTAN, PRECOMPUTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.neighbours.doubled import Doubled
    from ordsim_core.neighbours.lists import Neighbours
    from ordsim_core.spaces import Space

BLOCK_ROWS = 256
"""Anchors whose neighbours are gathered at a time, where values have to be widened or scaled first."""
BLOCK_VALUES = 1 << 20
ORDINARY = 400
"""With values between 2^-ORDINARY and 2^ORDINARY products neither overflow nor lose bits to underflow."""
LANES = 4
"""Sums that are made side by side, none waiting for another."""


def linear_entries(
    values: NDArray[Any], exponent: int, anchors: NDArray[np.int64], neighbours: Neighbours
) -> NDArray[np.float64]:
    """Give the inner products of some rows with their neighbours, in units of 4^exponent.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Of any real dtype.
    exponent : int
        Values are below 2^exponent in size: see `exponent_of`.
    anchors : ndarray of int64
        Row numbers.
    neighbours : Neighbours
        Of these anchors.

    Returns
    -------
    ndarray of float64, shape (entries, 2)
        High and low parts.
    """
    found = np.empty((len(neighbours.rows), 2))
    if values.dtype in (np.float32, np.float64) and abs(exponent) <= ORDINARY:
        columns = np.ascontiguousarray(values)
        columns.flags.writeable = False
        _fill(DOT, columns, _NO_NORMS, anchors, neighbours.start, neighbours.rows, found)
        return -np.ldexp(found, -2 * exponent)
    for begin in range(0, len(anchors), BLOCK_ROWS):
        stop = min(begin + BLOCK_ROWS, len(anchors))
        start = neighbours.start[begin : stop + 1]
        near = neighbours.rows[start[0] : start[-1]]
        rows, places = np.unique(np.concatenate([anchors[begin:stop], near]), return_inverse=True)
        gathered = np.ldexp(values[rows].astype(np.float64), -exponent)
        gathered.flags.writeable = False
        own, others = places[: stop - begin], places[stop - begin :].astype(np.int32)
        _fill(DOT, gathered, _NO_NORMS, own, start - start[0], others, found[start[0] : start[-1]])
    return -found


def distance_entries(space: Space, anchors: NDArray[np.int64], neighbours: Neighbours) -> NDArray[np.float64]:
    """Give the distances of some rows to their neighbours, float64 of shape (entries, 2): high and low parts.

    Euclidean, Manhattan and Hamming distances, one minus the cosine, minus the inner product, or what is stored: all up
    to the power of two by which `spaces.prepare` may have scaled the array.
    """
    rows = space.pairs
    norms = _NO_NORMS
    if rows.kind == COSINE:
        norms = np.empty((space.rows, 2))
        _squared_lengths(rows.values, np.union1d(anchors, neighbours.rows), norms)
    found = np.empty((len(neighbours.rows), 2))
    _fill(rows.kind, rows.values, norms, anchors, neighbours.start, neighbours.rows, found)
    return found


def exponent_of(values: NDArray[Any]) -> int:
    """Give the smallest e so that all values of an (N, D) array are below 2^e in size; 0 if all are zero."""
    largest = 0.0
    step = max(1, BLOCK_VALUES // max(values.shape[1], 1))
    for begin in range(0, len(values), step):
        largest = max(largest, float(np.abs(values[begin : begin + step].astype(np.float64)).max(initial=0.0)))
    return int(np.frexp(largest)[1]) if largest else 0


_NO_NORMS = np.zeros((0, 2))


@kernel
def _fill(
    kind: Int,
    values: NDArray[Any],
    norms: NDArray[np.float64],
    anchors: NDArray[np.int64],
    start: NDArray[np.int64],
    rows: NDArray[np.int32],
    found: NDArray[np.float64],
) -> None:
    lanes = np.empty((2, LANES))
    for a in range(anchors.shape[0]):
        for place in range(start[a], start[a + 1]):
            found[place, 0], found[place, 1] = _entry(kind, values, norms, anchors[a], np.int64(rows[place]), lanes)


@kernel
def _squared_lengths(values: NDArray[Any], rows: NDArray[np.int64], norms: NDArray[np.float64]) -> None:
    lanes = np.empty((2, LANES))
    for row in rows:
        norms[row, 0], norms[row, 1] = _sum(DOT, values, row, row, lanes)


@kernel
def _entry(
    kind: Int, values: NDArray[Any], norms: NDArray[np.float64], i: Int, j: Int, lanes: NDArray[np.float64]
) -> Doubled:
    if kind == PRECOMPUTED:
        return np.float64(values[i, j]), 0.0
    high, low = _sum(kind, values, i, j, lanes)
    if kind == EUCLIDEAN:
        return doubled.root(high, low)
    if kind == DOT:
        return -high, -low
    if kind == COSINE:
        length, length_low = doubled.multiply(norms[i, 0], norms[i, 1], norms[j, 0], norms[j, 1])
        length, length_low = doubled.root(length, length_low)
        high, low = doubled.divide(high, low, length, length_low)
        return doubled.add(1.0, 0.0, -high, -low)
    return high, low


@kernel
def _sum(kind: Int, values: NDArray[Any], i: Int, j: Int, lanes: NDArray[np.float64]) -> Doubled:
    lanes[:] = 0.0
    for k in range(values.shape[1]):
        one, other = np.float64(values[i, k]), np.float64(values[j, k])
        term, lost = _term(kind, one, other)
        lane = k % LANES
        lanes[0, lane], rest = doubled.exact_sum(lanes[0, lane], term)
        lanes[1, lane] += rest + lost
    high, low = doubled.renormalised(lanes[0, 0], lanes[1, 0])
    for lane in range(1, LANES):
        more, more_low = doubled.renormalised(lanes[0, lane], lanes[1, lane])
        high, low = doubled.add(high, low, more, more_low)
    return high, low


@kernel
def _term(kind: Int, one: float, other: float) -> Doubled:
    if kind == HAMMING:
        return (1.0 if one != other else 0.0), 0.0
    if kind in (EUCLIDEAN, MANHATTAN):
        difference, lost = doubled.exact_sum(one, -other)
        if kind == MANHATTAN:
            return abs(difference), (lost if difference >= 0.0 else -lost)
        square, rest = doubled.exact_product(difference, difference)
        return square, rest + 2.0 * difference * lost
    return doubled.exact_product(one, other)
