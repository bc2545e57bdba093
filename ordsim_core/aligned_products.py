"""Products of rows whose last bits do not depend on which other rows are multiplied with them.

A matrix product sums in an order that depends on the shape of its operands and on the place of a row among the
others. Where rounded products are what distances are compared by, a score would then depend on how anchors are cut
into blocks. So rows are multiplied in tiles of one shape, in which each row has a place of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_TILE = 64
"""Rows of a tile: enough for a fast matrix product, and few enough for one row alone."""
TILE_BYTES = 1 << 25
"""Products of a tile, and copies of its rows, are no larger, unless two rows are."""


def tile_rows(operand: NDArray[Any]) -> int:
    """Give the rows of a tile, a power of two, for the rows of an array, (U, D), and for its copies."""
    fitting = TILE_BYTES // (8 * max(int(size) for size in operand.shape))
    return max(2, min(LARGEST_TILE, 1 << max(0, fitting.bit_length() - 1)))


def multiply(operand: NDArray[Any], numbers: NDArray[np.integer[Any]], begin: int = 0) -> NDArray[Any]:
    """Multiply some rows of an array with all of its rows from `begin` on: shape (numbers, U - begin).

    For one `begin`, a row's products are the same bits whatever other rows are asked for, and in what order.

    Parameters
    ----------
    operand : ndarray of float32 or float64, shape (U, D)
    numbers : ndarray of int, shape (n,)
        Row numbers; any may occur again.
    """
    found = np.empty((len(numbers), len(operand) - begin), operand.dtype)
    others, tile = operand[begin:].T, np.zeros((tile_rows(operand), operand.shape[1]), operand.dtype)
    different, which = np.unique(numbers, return_inverse=True)
    slots = different % len(tile)
    of_tile = _places_among_equals(slots)
    for number in range(int(of_tile.max(initial=-1)) + 1):
        members = of_tile == number
        tile[slots[members]] = operand[different[members]]
        made = tile @ others
        for place in np.flatnonzero(members[which]).tolist():
            found[place] = made[slots[which[place]]]
    return found


def _places_among_equals(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Of each value, count the equal ones before it."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values), np.int64)
    found[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return found
