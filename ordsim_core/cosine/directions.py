"""Sums and differences of rows that are centred and scaled to unit length, for correlation distances.

The correlation distance of two rows is half the squared Euclidean distance of their directions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.errors import ZeroVectorError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def directions(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    first: int,
    shifts: NDArray[np.float64],
    sums: NDArray[np.float64],
    differences: NDArray[np.float64],
) -> None:
    """Write S and E of the directions of rows, less shifts.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n, Dx) and (n, Dy)
        The narrower one's directions are padded with zeros. Where neither is narrower, E is made of y - x, and small
        with it.
    first : int
        Number of the first row, for errors.
    shifts, sums, differences
        As of `exact_rows.sum_and_difference`.

    Raises
    ------
    ZeroVectorError
        If a row is constant.
    """
    _refuse_constant(x, first)
    _refuse_constant(y, first)
    if x.shape == y.shape:
        row = int(_directions(x, y, shifts, sums, differences))
        if row >= 0:
            raise ZeroVectorError(first + row, "correlation")
        return
    unit_x, unit_y = np.zeros_like(sums), np.zeros_like(sums)
    for values, unit in ((x, unit_x), (y, unit_y)):
        centred = values - values[:, :1]
        centred -= centred.mean(axis=1, keepdims=True)
        unit[:, : values.shape[1]] = centred / np.sqrt(np.einsum("ij,ij->i", centred, centred))[:, None]
    sums[:] = (unit_x + unit_y - shifts[0]) - shifts[1]
    differences[:] = (unit_y - unit_x - shifts[2]) - shifts[3]


def _refuse_constant(values: NDArray[np.float64], first: int) -> None:
    row = int(_constant_row(values))
    if row >= 0:
        raise ZeroVectorError(first + row, "correlation")


@kernel
def _constant_row(values: NDArray[np.float64]) -> Int:
    """Find the first row whose values are all equal; -1 if there is none."""
    for row in range(values.shape[0]):
        column = 1
        while column < values.shape[1] and values[row, column] == values[row, 0]:
            column += 1
        if column == values.shape[1]:
            return row
    return -1


@kernel
def _directions(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    shifts: NDArray[np.float64],
    sums: NDArray[np.float64],
    differences: NDArray[np.float64],
) -> Int:
    """Write them; the first row that is too short for the range of float64, -1 if there is none."""
    columns = x.shape[1]
    change = np.empty(columns)
    for row in range(x.shape[0]):
        of_x, of_y = sums[row], differences[row]
        # Less the first column, so that an offset of the whole row costs no digits.
        first_x, first_y = x[row, 0], y[row, 0]
        for column in range(columns):
            of_x[column] = x[row, column] - first_x
            of_y[column] = y[row, column] - first_y
            change[column] = (y[row, column] - x[row, column]) - (first_y - first_x)
        mean_x, mean_y, mean = _total(of_x) / columns, _total(of_y) / columns, _total(change) / columns
        for column in range(columns):
            of_x[column] -= mean_x
            of_y[column] -= mean_y
            change[column] -= mean
        square_x, square_y = _inner(of_x, of_x), _inner(of_y, of_y)
        if square_x == 0 or square_y == 0:
            return row
        length_x, length_y = math.sqrt(square_x), math.sqrt(square_y)
        inverse_x, inverse_y = 1 / length_x, 1 / length_y
        # y/|y| - x/|x|, without subtracting the two: |y| - |x| is (x + y)(y - x) / (|x| + |y|).
        lean = _inner(of_x, change) + _inner(of_y, change)
        of_change = (inverse_x + inverse_y) / 2
        of_sum = lean / (length_x + length_y) * inverse_x * inverse_y / 2
        for column in range(columns):
            total = of_x[column] + of_y[column]
            unit_sum = of_x[column] * inverse_x + of_y[column] * inverse_y
            unit_change = change[column] * of_change - total * of_sum
            sums[row, column] = (unit_sum - shifts[0, column]) - shifts[1, column]
            differences[row, column] = (unit_change - shifts[2, column]) - shifts[3, column]
    return -1


@kernel
def _total(values: NDArray[np.float64]) -> float:
    """Add up in four sums, so that one addition need not wait for the last; always in the same order."""
    one = two = three = four = 0.0
    whole = values.shape[0] // 4 * 4
    for column in range(0, whole, 4):
        one += values[column]
        two += values[column + 1]
        three += values[column + 2]
        four += values[column + 3]
    for column in range(whole, values.shape[0]):
        one += values[column]
    return (one + two) + (three + four)


@kernel
def _inner(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Add up products as `_total` does."""
    one = two = three = four = 0.0
    whole = left.shape[0] // 4 * 4
    for column in range(0, whole, 4):
        one += left[column] * right[column]
        two += left[column + 1] * right[column + 1]
        three += left[column + 2] * right[column + 2]
        four += left[column + 3] * right[column + 3]
    for column in range(whole, left.shape[0]):
        one += left[column] * right[column]
    return (one + two) + (three + four)
