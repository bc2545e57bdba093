"""Compiled loops that make the distances of one tile of pairs, or of a list of pairs.

Sums may be taken in any order, which makes them vectorise: on one machine the same each time, and within a few
roundings of each other on different ones, as products of matrices are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel, reordering_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEAR = 2.0**-7
"""A squared distance below this part of the squared lengths of both rows is computed again from their difference:
elsewhere a product of matrices loses no more than seven bits."""


@reordering_kernel
def squared_difference(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Sum the squared differences of two rows."""
    total = 0.0
    for k in range(left.shape[0]):
        difference = left[k] - right[k]
        total += difference * difference
    return total


@reordering_kernel
def product_of_differences(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    other_left: NDArray[np.float64],
    other_right: NDArray[np.float64],
) -> float:
    """Multiply the difference of two rows with the difference of two others."""
    total = 0.0
    for k in range(left.shape[0]):
        total += (left[k] - right[k]) * (other_left[k] - other_right[k])
    return total


@kernel
def squares(
    products: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    left_squares: NDArray[np.float64],
    right_squares: NDArray[np.float64],
) -> None:
    """Turn inner products of rows into their squared distances, in place."""
    for i in range(products.shape[0]):
        row, own = products[i], left_squares[i]
        near = np.int64(0)
        for j in range(row.shape[0]):
            lengths = own + right_squares[j]
            row[j] = lengths - 2.0 * row[j]
            near += np.int64(row[j] < NEAR * lengths)
        if near > 0:
            for j in range(row.shape[0]):
                if row[j] < NEAR * (own + right_squares[j]):
                    row[j] = squared_difference(left[i], right[j])


@kernel
def changed_squares(
    products: NDArray[np.float64],
    cross: NDArray[np.float64],
    left: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    right: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    left_squares: NDArray[np.float64],
    right_squares: NDArray[np.float64],
    left_changes: NDArray[np.float64],
    right_changes: NDArray[np.float64],
) -> None:
    """Turn inner products into squared distances in x, and into the change of these from x to y, in place.

    Parameters
    ----------
    products : ndarray of float64, shape (m, n)
        Of rows of x.
    cross : ndarray of float64, shape (m, n)
        s_i . e_j + e_i . s_j.
    left, right : tuple of ndarray of float64, shape (m, D) and (n, D)
        Rows of x, sums s of x and y, differences e = y - x.
    left_squares, right_squares, left_changes, right_changes : ndarray of float64
        x_i . x_i and s_i . e_i.
    """
    for i in range(products.shape[0]):
        row, change = products[i], cross[i]
        own, own_change = left_squares[i], left_changes[i]
        near = np.int64(0)
        for j in range(row.shape[0]):
            lengths = own + right_squares[j]
            row[j] = lengths - 2.0 * row[j]
            change[j] = (own_change + right_changes[j]) - change[j]
            near += np.int64(row[j] < NEAR * lengths)
        if near > 0:
            for j in range(row.shape[0]):
                if row[j] < NEAR * (own + right_squares[j]):
                    row[j] = squared_difference(left[0][i], right[0][j])
                    change[j] = product_of_differences(left[1][i], right[1][j], left[2][i], right[2][j])


@kernel
def rooted_changes(squared: NDArray[np.float64], changes: NDArray[np.float64]) -> None:
    """Turn squared distances and their changes into distances and the changes of these, in place."""
    for i in range(squared.shape[0]):
        row, change = squared[i], changes[i]
        for j in range(row.shape[0]):
            own = np.sqrt(row[j])
            both = own + np.sqrt(max(row[j] + change[j], 0.0))
            row[j] = own
            change[j] = change[j] / both if both > 0.0 else 0.0


@reordering_kernel
def city_blocks(left: NDArray[np.float64], right: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    """Write the sums of absolute differences of rows, shape (m, n)."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            total = 0.0
            for k in range(left.shape[1]):
                total += abs(left[i, k] - right[j, k])
            found[i, j] = total


@reordering_kernel
def changed_city_blocks(
    left: tuple[NDArray[np.float64], NDArray[np.float64]],
    right: tuple[NDArray[np.float64], NDArray[np.float64]],
    found: NDArray[np.float64],
    changes: NDArray[np.float64],
) -> None:
    """Write the sums of absolute differences of rows of x, and by how much those of y are larger.

    `left`, `right`: rows of x and differences e = y - x.
    """
    for i in range(left[0].shape[0]):
        for j in range(right[0].shape[0]):
            total, change = 0.0, 0.0
            for k in range(left[0].shape[1]):
                one = left[0][i, k] - right[0][j, k]
                moved = left[1][i, k] - right[1][j, k]
                total += abs(one)
                # Of the same sign on both sides, the change is that of the value itself.
                plain = moved if one > 0.0 else -moved
                change += plain if abs(moved) < abs(one) else abs(one + moved) - abs(one)
            found[i, j] = total
            changes[i, j] = change


@reordering_kernel
def unlike(left: NDArray[np.float64], right: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    """Write the number of columns in which rows differ."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            total = np.int64(0)
            for k in range(left.shape[1]):
                total += np.int64(left[i, k] != right[j, k])
            found[i, j] = np.float64(total)


@kernel
def collect(
    squared: NDArray[np.float64],
    diagonal: bool,
    low: float,
    high: float,
    values: NDArray[np.float64],
    places: NDArray[np.int64],
) -> tuple[Int, Int]:
    """Count the entries below `low`, and write those from `low` to `high` with their place in the tile.

    Returns
    -------
    below, within : int
    """
    below, within = np.int64(0), np.int64(0)
    width = squared.shape[1]
    for i in range(squared.shape[0]):
        for j in range(i + 1 if diagonal else 0, width):
            value = squared[i, j]
            below += np.int64(value < low)
            if low <= value <= high:
                values[within] = value
                places[within] = i * width + j
                within += 1
    return below, within
