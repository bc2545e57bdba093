"""Spaces: arrays prepared for one distance, and the keys that put distances into order.

A key is a float64 that orders as the distance does. It is summed in an order that depends on nothing but the two
rows, so that equal rows have equal keys, key(i, j) = key(j, i), and no block, shard or BLAS library can change one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice
from ordsim_core._numba import Int, kernel
from ordsim_core.errors import RangeTooWideError, ZeroVectorError
from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.lattice import Lattice

HIGHEST, LOWEST = 480, -500
"""With all values below 2^HIGHEST and multiples of 2^LOWEST, sums of squares of differences of up to 2^32 columns
neither overflow nor underflow."""

COSINE_SPAN = 240
"""Binades within a row, its largest value near 1, for which squared products neither overflow nor underflow."""

TARGETS_TILE = 128


class Distance(StrEnum):
    """How the distance between two rows is measured."""

    EUCLIDEAN = "euclidean"
    COSINE = "cosine"


class Exactness(StrEnum):
    """Whether stored values are integers on a common power-of-two grid, small enough for exact arithmetic."""

    INTEGER = "integer"
    FLOAT = "float"


@dataclass(frozen=True, eq=False)
class Space:
    """An (N, D) array prepared for one distance. All arrays are read-only, float64 and C-contiguous.

    Attributes
    ----------
    values : ndarray, shape (N, D)
        The rows, scaled by powers of two, which leaves every order as it is.
    transposed : ndarray, shape (D, N)
        The same values, for kernels that run over targets.
    squared_norms : ndarray, shape (N,)
        Sums of squares of the rows for cosine distance; empty for others.
    distance : Distance
    exactness : Exactness
        Of the stored values.
    exact_order : bool
        Whether keys order, and tie, exactly as rational arithmetic on the stored values would.
    """

    values: NDArray[np.float64]
    transposed: NDArray[np.float64]
    squared_norms: NDArray[np.float64]
    distance: Distance
    exactness: Exactness
    exact_order: bool

    @property
    def rows(self) -> int:
        """N, the number of rows."""
        return int(self.values.shape[0])

    @property
    def columns(self) -> int:
        """D, the number of columns."""
        return int(self.values.shape[1])


def exactness_of(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Exactness:
    """Classify an (N, D) array of a real dtype; `checkpoint` as for `prepare`.

    Raises
    ------
    NonFiniteError, NotRepresentableError
        As `prepare`.
    """
    return _exactness(lattice.scan(values, checkpoint))


def prepare(values: NDArray[Any], distance: Distance, checkpoint: Callable[[], None] = no_checkpoint) -> Space:
    """Prepare an (N, D) array for one distance.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        bool, integers or floats of up to 64 bits, in any layout and byte order; not changed.
    distance : Distance
    checkpoint : callable
        Called between blocks of rows; may raise to give up.

    Raises
    ------
    NonFiniteError
        A value is NaN or infinite.
    NotRepresentableError
        An integer is beyond 2^53 and no float64 equals it.
    ZeroVectorError
        A row is zero under cosine distance.
    RangeTooWideError
        Values span so many powers of two that squares would overflow or underflow.
    ValueError
        The array is not two-dimensional or has no columns, or its values are not real numbers.
    """
    if values.ndim != 2:
        raise ValueError(f"an (N, D) array is needed, this one has {values.ndim} dimensions")
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise ValueError(f"values of type {values.dtype} cannot be compared")
    if values.shape[1] == 0:
        raise ValueError("the array has no columns, so all its rows are alike; it needs at least one")
    grid = lattice.scan(values, checkpoint)
    prepared = np.empty(values.shape, np.float64)
    for start, block in lattice.blocks(values, checkpoint):
        prepared[start : start + len(block)] = block
    exactness = _exactness(grid)
    if distance is Distance.COSINE:
        squared_norms, exact_order = _scale_rows(prepared, grid, checkpoint)
    else:
        _scale_all(prepared, grid, checkpoint)
        squared_norms, exact_order = np.empty(0), exactness is Exactness.INTEGER
    transposed = np.empty(prepared.shape[::-1])
    for start, stop in lattice.ranges(prepared, checkpoint):
        transposed[:, start:stop] = prepared[start:stop].T
    for array in (prepared, transposed, squared_norms):
        array.flags.writeable = False
    return Space(prepared, transposed, squared_norms, distance, exactness, exact_order)


def block_keys(space: Space, start: int, stop: int) -> NDArray[np.float64]:
    """Compute the keys of anchors `start` to `stop` - 1 to all rows: float64, shape (stop - start, N)."""
    keys = np.empty((stop - start, space.rows))
    if space.distance is Distance.COSINE:
        _cosine_block(space.values, space.transposed, space.squared_norms, start, keys)
    else:
        _euclidean_block(space.values, space.transposed, start, keys)
    return keys


def _exactness(grid: Lattice) -> Exactness:
    return Exactness.INTEGER if grid.squares_fit else Exactness.FLOAT


def _scale_all(values: NDArray[np.float64], grid: Lattice, checkpoint: Callable[[], None]) -> None:
    """Scale the whole array by one power of two, only if its squares would not fit."""
    low, high = int(grid.low.min(initial=lattice.ZERO)), int(grid.high.max(initial=-lattice.ZERO))
    if high < low or (high <= HIGHEST and low >= LOWEST):
        return
    shift = HIGHEST - high
    if low + shift < LOWEST:
        raise RangeTooWideError(high - low, HIGHEST - LOWEST)
    for start, stop in lattice.ranges(values, checkpoint):
        np.ldexp(values[start:stop], shift, out=values[start:stop])


def _scale_rows(
    values: NDArray[np.float64], grid: Lattice, checkpoint: Callable[[], None]
) -> tuple[NDArray[np.float64], bool]:
    """Scale each row by its own power of two: rows that differ by one become equal, and their cosine distance 0.

    Returns the squared norms, and whether the order of keys is exact.
    """
    zero = grid.high == -lattice.ZERO
    if zero.any():
        raise ZeroVectorError(int(zero.argmax()))
    span = grid.high - grid.low
    if (span > COSINE_SPAN).any():
        raise RangeTooWideError(int(span.max()), COSINE_SPAN, int(span.argmax()))
    # In two steps: a single power of two may itself be out of range.
    half = grid.high // 2
    steps = [shift[:, None].astype(np.int32) for shift in (-half, half - grid.high)]
    squared_norms = np.empty(len(values))
    for start, stop in lattice.ranges(values, checkpoint):
        block = values[start:stop]
        for shift in steps:
            np.ldexp(block, shift[start:stop], out=block)
        _squared_norms(np.ascontiguousarray(block.T), squared_norms[start:stop])
    # Count each row in units of its lowest bit: its squared norm is an integer n. Keys are fractions
    # g^2 / (n_i n_j) between -1 and 1, and two different ones are at least 1 / n^4 apart. If that exceeds the
    # spacing 2^-53 of floats below 1, rounding keeps them apart; all of g, g^2 and n_i n_j are exact then, so
    # equal fractions are equal floats.
    bound = np.ldexp(squared_norms, np.minimum(2 * span, 1000).astype(np.int32)).max(initial=0.0)
    return squared_norms, bool(bound < 2.0 ** (53 / 4) * (1 - 2.0**-40))


@kernel
def _euclidean_block(
    values: NDArray[np.float64], transposed: NDArray[np.float64], start: Int, keys: NDArray[np.float64]
) -> None:
    # Tiles of targets stay in the cache while anchors pass over them. Four columns a turn save traffic to the
    # accumulators; each sum still runs over the columns in order.
    anchors, rows = keys.shape
    columns = transposed.shape[0]
    whole = columns - columns % 4
    for first in range(0, rows, TARGETS_TILE):
        last = min(first + TARGETS_TILE, rows)
        for a in range(anchors):
            sums = keys[a, first:last]
            sums[:] = 0.0
            anchor = values[start + a]
            for k in range(0, whole, 4):
                a0, a1, a2, a3 = anchor[k], anchor[k + 1], anchor[k + 2], anchor[k + 3]
                t0, t1 = transposed[k, first:last], transposed[k + 1, first:last]
                t2, t3 = transposed[k + 2, first:last], transposed[k + 3, first:last]
                for j in range(last - first):
                    d0, d1, d2, d3 = a0 - t0[j], a1 - t1[j], a2 - t2[j], a3 - t3[j]
                    sums[j] = (((sums[j] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
            for k in range(whole, columns):
                a0 = anchor[k]
                t0 = transposed[k, first:last]
                for j in range(last - first):
                    d0 = a0 - t0[j]
                    sums[j] = sums[j] + d0 * d0


@kernel
def _cosine_block(
    values: NDArray[np.float64],
    transposed: NDArray[np.float64],
    squared_norms: NDArray[np.float64],
    start: Int,
    keys: NDArray[np.float64],
) -> None:
    anchors, rows = keys.shape
    columns = transposed.shape[0]
    whole = columns - columns % 4
    for first in range(0, rows, TARGETS_TILE):
        last = min(first + TARGETS_TILE, rows)
        for a in range(anchors):
            sums = keys[a, first:last]
            sums[:] = 0.0
            anchor = values[start + a]
            for k in range(0, whole, 4):
                a0, a1, a2, a3 = anchor[k], anchor[k + 1], anchor[k + 2], anchor[k + 3]
                t0, t1 = transposed[k, first:last], transposed[k + 1, first:last]
                t2, t3 = transposed[k + 2, first:last], transposed[k + 3, first:last]
                for j in range(last - first):
                    sums[j] = (((sums[j] + a0 * t0[j]) + a1 * t1[j]) + a2 * t2[j]) + a3 * t3[j]
            for k in range(whole, columns):
                a0 = anchor[k]
                t0 = transposed[k, first:last]
                for j in range(last - first):
                    sums[j] = sums[j] + a0 * t0[j]
            norm = squared_norms[start + a]
            for j in range(last - first):
                sums[j] = cosine_key(sums[j], norm, squared_norms[first + j])


@kernel
def _squared_norms(transposed: NDArray[np.float64], squared_norms: NDArray[np.float64]) -> None:
    # In the order of the products above, so that a row against itself has the key -1 exactly.
    squared_norms[:] = 0.0
    for k in range(transposed.shape[0]):
        for j in range(transposed.shape[1]):
            squared_norms[j] = squared_norms[j] + transposed[k, j] * transposed[k, j]


@kernel
def cosine_key(product: float, one_norm: float, other_norm: float) -> float:
    """Order as cosine distance does: minus the signed square of the cosine."""
    squared = product * product / (one_norm * other_norm)
    return -squared if product > 0 else squared


@kernel
def squared_distance(values: NDArray[np.float64], i: Int, j: Int) -> float:
    """Euclidean key of one pair of rows: bitwise that of the block kernel."""
    total = 0.0
    for k in range(values.shape[1]):
        difference = values[i, k] - values[j, k]
        total += difference * difference
    return total


@kernel
def inner_product(values: NDArray[np.float64], i: Int, j: Int) -> float:
    """Inner product of one pair of rows: bitwise that of the block kernel."""
    total = 0.0
    for k in range(values.shape[1]):
        total += values[i, k] * values[j, k]
    return total
