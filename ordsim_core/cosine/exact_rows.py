"""Sums and differences of two rows to nearly twice the digits of float64, less shifts.

Rounding y - x, or c x, would set a floor under deficits where a difference is a small part of an offset that all rows
share. The error of a sum (Knuth 1969) and of a product (Dekker 1971; Veltkamp's splitting) is a float64 itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordsim_core._numba import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPLITTER = 134217729.0
"""2^27 + 1: splits 53 bits into halves whose products are exact."""


@kernel
def _pair(value: float, other: float, factor: float) -> tuple[float, float, float, float]:
    """Give ``other + factor * value`` and ``other - factor * value``, each as a rounded number and its error."""
    product, rest = value, 0.0
    if factor != 1.0:
        product = factor * value
        split = factor * SPLITTER
        factor_high = split - (split - factor)
        factor_low = factor - factor_high
        split = value * SPLITTER
        high = split - (split - value)
        low = value - high
        rest = ((factor_high * high - product) + factor_high * low + factor_low * high) + factor_low * low
    total = other + product
    part = total - other
    total_rest = ((other - (total - part)) + (product - part)) + rest
    change = other - product
    part = change - other
    change_rest = ((other - (change - part)) - (product + part)) - rest
    return total, total_rest, change, change_rest


@kernel
def sum_and_difference(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    factor: float,
    shifts: NDArray[np.float64],
    sums: NDArray[np.float64],
    differences: NDArray[np.float64],
) -> None:
    """Write ``y + factor * x`` and ``y - factor * x``, less shifts.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n, D)
    factor : float
    shifts : ndarray of float64, shape (4, D)
        What to subtract from sums, high and low part, and from differences, high and low part.
    sums, differences : ndarray of float64, shape (n, D)
        Written.
    """
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            total, total_rest, change, change_rest = _pair(x[row, column], y[row, column], factor)
            sums[row, column] = (total - shifts[0, column]) + (total_rest - shifts[1, column])
            differences[row, column] = (change - shifts[2, column]) + (change_rest - shifts[3, column])


@kernel
def add_up(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    factor: float,
    shifts: NDArray[np.float64],
    totals: NDArray[np.float64],
    origin: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> None:
    """Add up the rows that `sum_and_difference` would write, and see how far values spread.

    Parameters
    ----------
    x, y, factor, shifts
        As of `sum_and_difference`.
    totals : ndarray of float64, shape (2, D)
        Increased by the sum over rows of sums, and of differences.
    origin : ndarray of float64, shape (2, D)
        A row of x, and one of y.
    spread : ndarray of float64, shape (3, D)
        Raised to the largest magnitude of x less its origin, of y less its own, and of ``y - factor * x``.
    """
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            total, total_rest, change, change_rest = _pair(x[row, column], y[row, column], factor)
            totals[0, column] += (total - shifts[0, column]) + (total_rest - shifts[1, column])
            totals[1, column] += (change - shifts[2, column]) + (change_rest - shifts[3, column])
            # Infinity stays, since nothing exceeds it.
            of_x, of_y = abs(x[row, column] - origin[0, column]), abs(y[row, column] - origin[1, column])
            of_both = abs(change)
            spread[0, column] = of_x if of_x > spread[0, column] else spread[0, column]
            spread[1, column] = of_y if of_y > spread[1, column] else spread[1, column]
            spread[2, column] = of_both if of_both > spread[2, column] else spread[2, column]


def add_exactly(high: NDArray[np.float64], low: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the rounded sum, and what rounding left out."""
    total = high + low
    part = total - high
    return total, (high - (total - part)) + (low - part)
