"""Overlaps of neighbourhoods when the rows of one array are permuted: from lists that are kept, without distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import kernel
from ordsim_core.neighbours.overlaps import Overlaps, meeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.neighbours.lists import Neighbours


def permuted_overlaps(x: Neighbours, y: Neighbours, orders: Iterable[NDArray[np.int64]]) -> Iterator[Overlaps]:
    """Yield the overlaps of x with y, the rows of y in each of these orders.

    In order p, row i of y is what was row p[i], and j is a neighbour of i if p[j] was one of p[i]. The distances
    between rows do not change, so neither do their neighbourhoods.

    Parameters
    ----------
    x, y : Neighbours
        Of all N rows, in ascending order, with the same k.
    orders : iterable of ndarray of int64, shape (N,)
        Permutations of the row numbers.

    Raises
    ------
    ValueError
        If lists are not of all rows, or of different k, or an order is no permutation.
    """
    rows = len(x)
    if len(y) != rows or x.nearest != y.nearest:
        raise ValueError(
            f"x has the neighbours of {rows} rows and k = {x.nearest}, y of {len(y)} and k = {y.nearest}: "
            "they must be of the same rows"
        )
    seen = np.zeros(rows, np.int32)
    for order in orders:
        above, below = np.empty(rows, np.int64), np.empty(rows, np.int64)
        if not is_permutation(order, rows):
            raise ValueError(f"an order must hold each of the numbers 0 to {rows - 1} once")
        seen[:] = -1
        _permuted(
            np.ascontiguousarray(order, np.int64),
            x.start, x.rows, x.shared, x.above, x.below,
            y.start, y.rows, y.shared, y.above, y.below,
            seen, above, below,
        )  # fmt: skip
        yield Overlaps(x.nearest, above, below)


def is_permutation(order: NDArray[np.int64], rows: int) -> bool:
    """Whether an array holds each of 0 to `rows` - 1 once."""
    if order.shape != (rows,) or (rows and not (order.min() >= 0 and order.max() < rows)):
        return False
    return bool((np.bincount(order, minlength=rows) == 1).all())


@kernel
def _permuted(
    order: NDArray[np.int64],
    x_start: NDArray[np.int64],
    x_rows: NDArray[np.int32],
    x_shared: NDArray[np.bool_],
    x_above: NDArray[np.int64],
    x_below: NDArray[np.int64],
    y_start: NDArray[np.int64],
    y_rows: NDArray[np.int32],
    y_shared: NDArray[np.bool_],
    y_above: NDArray[np.int64],
    y_below: NDArray[np.int64],
    seen: NDArray[np.int32],
    above: NDArray[np.int64],
    below: NDArray[np.int64],
) -> None:
    # seen[row] is 2 i, one more where it shares its place, if it is a neighbour of what stands in row i of y.
    met = np.zeros(4, np.int64)
    for i in range(order.shape[0]):
        place = order[i]
        for j in range(y_start[place], y_start[place + 1]):
            seen[y_rows[j]] = np.int32(2 * i + np.int64(y_shared[j]))
        met[:] = 0
        for j in range(x_start[i], x_start[i + 1]):
            found = np.int64(seen[order[x_rows[j]]])
            if found >> 1 == i:
                met[2 * np.int64(x_shared[j]) + (found & 1)] += 1
        above[i], below[i] = meeting(met, x_above[i], x_below[i], y_above[place], y_below[place])
