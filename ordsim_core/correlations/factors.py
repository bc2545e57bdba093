"""The triangular factor of centred columns, row block by row block: all that canonical correlations depend on.

It is the factor of [1, X - m, Z - m'], for fixed rows m and m' near the means: the column of ones centres exactly. Z is
Y, or Y - X where both arrays have as many columns: if they hardly differ all digits of the difference are kept, and if
they are equal it is exactly zero, for no rotation makes anything else of columns of zeros. Householder factors err
column by column, however small a column is beside others (Higham 2002, chapter 19).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack

from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ordsim_core.correlations.pilots import Pilot

BLOCK_VALUES = 1 << 20
"""Values of a block of rows that is folded into the factor at a time, unless that has even more."""
PANEL = 32
"""Columns that are rotated at a time."""


def factor(
    x: NDArray[Any], y: NDArray[Any], pilot: Pilot, checkpoint: Callable[[], None] = no_checkpoint
) -> NDArray[np.float64]:
    """Give the factor of some rows of two arrays, of any real dtype.

    Returns
    -------
    ndarray of float64, shape (min(rows, W), W)
        Upper triangular; W = 1 + Dx + Dy. Those of other rows join it by `fold`.
    """
    width = 1 + x.shape[1] + y.shape[1]
    step = block_rows(width)
    found = np.zeros((0, width))
    for begin in range(0, len(x), step):
        checkpoint()
        found = fold(found, _columns(x[begin : begin + step], y[begin : begin + step], pilot))
    return found


def block_rows(width: int) -> int:
    """Give how many rows are folded at a time."""
    return max(BLOCK_VALUES // width, width)


def fold(upper: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the factor of the rows of both, of which the first is a factor already."""
    width = block.shape[1]
    if len(upper) < width:
        return np.asarray(np.linalg.qr(np.concatenate([upper, block]), mode="r"))
    columns = np.asfortranarray(upper), np.asfortranarray(block)
    folded, _, _, status = lapack.dtpqrt(0, min(PANEL, width), *columns, overwrite_a=True, overwrite_b=True)
    if status != 0:
        raise RuntimeError(f"LAPACK's dtpqrt refused its argument {-status}")
    return np.triu(folded)


def fold_all(factors: Iterable[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    """Join the factors of consecutive blocks of rows, in their order."""
    found = np.zeros((0, width))
    for one in factors:
        found = fold(found, one)
    return found


def _columns(x: NDArray[Any], y: NDArray[Any], pilot: Pilot) -> NDArray[np.float64]:
    """Give the rows of [1, X - m, Z - m']."""
    one, other = pilot.x.scaled(x), pilot.y.scaled(y)
    width = 1 + one.shape[1] + other.shape[1]
    block = np.empty((len(one), width))
    block[:, 0] = 1.0
    last = block[:, 1 + one.shape[1] :]
    np.subtract(one, pilot.x.centre, out=block[:, 1 : 1 + one.shape[1]])
    if not pilot.layout.difference:
        np.subtract(other, pilot.y.centre, out=last)
        return block
    # What rounding takes from the difference is added when the centre, which may be much larger, is gone.
    difference = other - one
    back = difference - other
    lost = (other - (difference - back)) - (one + back)
    np.subtract(difference, pilot.y.centre - pilot.x.centre, out=last)
    last += lost
    last[:, pilot.x.constant & pilot.y.constant] = 0.0
    return block
