"""Sums and products whose rounding errors are kept: differences, and squared distances in twice the precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordsim_core._numba import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@kernel
def scaled_difference(
    values: NDArray[np.float64],
    other: NDArray[np.float64],
    factor: float,
    centre: NDArray[np.float64],
    shift: NDArray[np.float64],
    scaled: NDArray[np.float64],
    difference: NDArray[np.float64],
) -> None:
    """Write factor * values - centre and other - factor * values - shift, each as if it were rounded once.

    Rounding errors of products and of differences come out exactly, and are put back.
    """
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            product, lost = _two_product(factor, values[i, k])
            plain, rest = _two_sum(other[i, k], -product)
            scaled[i, k] = (product - centre[k]) + lost
            difference[i, k] = (plain - shift[k]) + (rest - lost)


@kernel
def careful_squares(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    other_left: NDArray[np.float64],
    other_right: NDArray[np.float64],
    weight: tuple[float, float],
    found: NDArray[np.float64],
    changes: NDArray[np.float64],
) -> None:
    """Write squared distances of rows of x, and by how much those of y, times the weight, are larger.

    Both are summed in twice the precision: the change is right to about 2^-100 of the squared distances.
    """
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            own, own_rest = _careful_square(left[i], right[j])
            other, other_rest = _careful_square(other_left[i], other_right[j])
            product, rest = _two_product(weight[0], other)
            rest += weight[0] * other_rest + weight[1] * other
            plain, lost = _two_sum(product, -own)
            found[i, j] = own
            changes[i, j] = plain + (lost + (rest - own_rest))


@kernel
def _careful_square(left: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[float, float]:
    total, error = 0.0, 0.0
    for k in range(left.shape[0]):
        difference, lost = _two_sum(left[k], -right[k])
        square, rest = _two_product(difference, difference)
        total, carried = _two_sum(total, square)
        error += carried + (rest + 2.0 * difference * lost)
    return _two_sum(total, error)


@kernel
def _two_sum(one: float, other: float) -> tuple[float, float]:
    # The rounding error of a sum is a float64 itself (Knuth 1969).
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


@kernel
def _two_product(one: float, other: float) -> tuple[float, float]:
    # So is that of a product (Dekker 1971).
    product = one * other
    split = 134217729.0 * one
    high = split - (split - one)
    low = one - high
    split = 134217729.0 * other
    other_high = split - (split - other)
    other_low = other - other_high
    return product, ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
