"""Rows of which only the direction counts, as for cosine and correlation distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice
from ordsim_core.errors import RangeTooWideError, ZeroVectorError
from ordsim_core.lattice import Lattice

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.distances import Distance

SPAN = 240
"""Binades within a row, its largest value near 1, for which squared products neither overflow nor underflow."""
FLOAT32_SPAN = 120
"""The same for values that float32 holds as normal numbers."""
WHOLE_BITS = 52


def scaled_rows(
    values: NDArray[Any], grid: Lattice, distance: Distance, checkpoint: Callable[[], None]
) -> tuple[NDArray[Any], Lattice]:
    """Scale each row by its own power of two, so that rows that differ by one become equal.

    Raises
    ------
    ZeroVectorError, RangeTooWideError
        For the first row without a direction, and for a row with values too far apart.
    """
    zero = grid.high == -lattice.ZERO
    if zero.any():
        raise ZeroVectorError(int(zero.argmax()), distance.value)
    span = grid.high - grid.low
    if (span > SPAN).any():
        raise RangeTooWideError(int(span.max()), SPAN, int(span.argmax()))
    narrow = values.dtype == np.float32 and bool((span <= FLOAT32_SPAN).all())
    scaled = np.empty(values.shape, np.float32 if narrow else np.float64)
    # In two steps: a single power of two may itself be out of range.
    half = (grid.high // 2).astype(np.int32)[:, None]
    rest = (grid.high.astype(np.int32)[:, None]) - half
    for start, stop in lattice.ranges(values, checkpoint):
        block = values[start:stop].astype(np.float64)
        np.ldexp(block, -half[start:stop], out=block)
        scaled[start:stop] = np.ldexp(block, -rest[start:stop])
    return scaled, Lattice(grid.low - grid.high, np.zeros_like(grid.high), grid.spread)


def centred_rows(
    values: NDArray[Any], grid: Lattice, checkpoint: Callable[[], None]
) -> tuple[NDArray[np.float64], bool]:
    """Subtract from each row its mean, or, for whole numbers small enough, D times the row minus its sum.

    Returns the rows as float64, and whether they are exact. Constant rows become zero.
    """
    columns = values.shape[1]
    centred = np.empty(values.shape)
    low, high = grid.lowest, int(grid.high.max(initial=-lattice.ZERO))
    whole = high < low or columns * 2.0 ** min(high - low, 1000) < 2.0**WHOLE_BITS
    for start, stop in lattice.ranges(values, checkpoint):
        block = values[start:stop].astype(np.float64)
        if whole and high >= low:
            block = np.ldexp(block, -low)
            centred[start:stop] = columns * block - block.sum(axis=1, keepdims=True)
            continue
        constant = (block == block[:, :1]).all(axis=1)
        # Column by column: numpy's own order of summation along a row depends on the processor.
        mean = np.zeros(len(block))
        for column in block.T:
            mean += column
        block -= (mean / columns)[:, None]
        block[constant] = 0.0
        centred[start:stop] = block
    return centred, whole
