"""The distance of one pair of rows: directly from the stored values with an error bound, and in exact arithmetic.

Bounds: any order of summation, with or without fused multiplication (Higham 2002, chapter 3; Ogita, Rump and Oishi
2005 for products of twice the precision). `value` orders as the distance does.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordsim_core import wide
from ordsim_core._numba import Int, kernel, reordering_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

EUCLIDEAN, COSINE, DOT, MANHATTAN, HAMMING, PRECOMPUTED = range(6)

WHOLE_LENGTH = 2.0**15.5 * (1 - 2.0**-40)

UNIT_ROUNDOFF = 2.0**-53
FLOAT32_ROUNDOFF = 2.0**-24
UNBOUNDED = 2.0**20
"""Stands for a relative error that nothing is known of: no two values differ by so many times their size.

Not infinity, which times zero is no number.
"""


def gamma(operations: int, roundoff: float = UNIT_ROUNDOFF) -> float:
    """Bound the relative error of this many roundings: k u / (1 - k u), rounded up; `UNBOUNDED` from k u = 1/2 on."""
    if operations * roundoff >= 0.5:
        return UNBOUNDED
    return 1.001 * operations * roundoff / (1 - operations * roundoff)


class Rows(NamedTuple):
    """What kernels know of the rows of a space. Rows are never NaN or infinite, and squares of them fit float64.

    Attributes
    ----------
    kind : int
        One of the constants above.
    values : ndarray of float32 or float64, shape (N, D)
        Stored values, or, where only directions count, each row scaled by its own power of two.
    number : ndarray of int32, shape (N,)
        Number of each row's distinct row.
    low, high : ndarray of int16, shape (N,)
        Values of a row are multiples of 2^low and below 2^high.
    norms : ndarray of float64, shape (N,)
        Lengths of the rows for cosine and dot; else empty.
    relative, absolute : float
        Error of a direct value: relative |value| + absolute |row i| |row j|.
    quick_relative, quick_absolute : float
        The same of a value computed in the type of `values`.
    whole : bool
        For cosine: whether each row, counted in units of its lowest bit, has a squared length below 2^31. Cosines are
        then fractions of integers that fit 64 bits.
    """

    kind: int
    values: NDArray[Any]
    number: NDArray[np.int32]
    low: NDArray[np.int16]
    high: NDArray[np.int16]
    norms: NDArray[np.float64]
    relative: float
    absolute: float
    quick_relative: float
    quick_absolute: float
    whole: bool


def quick_bounds(kind: int, columns: int, roundoff: float) -> tuple[float, float]:
    """Give the `quick_relative` and `quick_absolute` of `Rows` for values of this unit roundoff."""
    if kind in (COSINE, DOT):
        return 16 * UNIT_ROUNDOFF, gamma(columns + 4, roundoff)
    if kind in (HAMMING, PRECOMPUTED):
        return 0.0, 0.0
    return gamma(columns + 4, roundoff), 0.0


def direct_bounds(kind: int, columns: int) -> tuple[float, float]:
    """Give the `relative` and `absolute` of `Rows`."""
    if kind in (COSINE, DOT):
        # A product in twice the precision errs by u |g| + gamma_D^2 |x||y|; lengths and divisions by a few u more.
        return 16 * UNIT_ROUNDOFF, 2 * gamma(columns + 2) ** 2
    if kind in (HAMMING, PRECOMPUTED):
        return 0.0, 0.0
    return gamma(columns + 4), 0.0


@reordering_kernel
def squared_distance(values: NDArray[Any], i: Int, j: Int) -> float:
    """Sum the squared differences of two rows in float64, in any order."""
    total = 0.0
    for k in range(values.shape[1]):
        difference = np.float64(values[i, k]) - np.float64(values[j, k])
        total += difference * difference
    return total


@reordering_kernel
def city_block(values: NDArray[Any], i: Int, j: Int) -> float:
    """Sum the absolute differences of two rows in float64, in any order."""
    total = 0.0
    for k in range(values.shape[1]):
        total += abs(np.float64(values[i, k]) - np.float64(values[j, k]))
    return total


@reordering_kernel
def differing(values: NDArray[Any], i: Int, j: Int) -> float:
    """Count the columns in which two rows differ."""
    total = np.int64(0)
    for k in range(values.shape[1]):
        total += np.int64(values[i, k] != values[j, k])
    return np.float64(total)


@reordering_kernel
def plain_product(values: NDArray[Any], i: Int, j: Int) -> float:
    """Inner product of two rows in float64, in any order."""
    total = 0.0
    for k in range(values.shape[1]):
        total += np.float64(values[i, k]) * np.float64(values[j, k])
    return total


@kernel
def squared_cosine(rows: Rows, i: Int, j: Int) -> tuple[Int, np.uint64]:
    """Give the signed square of a cosine as a fraction (numerator, denominator) of integers, for `whole` rows."""
    one, other = 2.0 ** np.float64(-rows.low[i]), 2.0 ** np.float64(-rows.low[j])
    product = np.int64(plain_product(rows.values, i, j) * one * other)
    length, other_length = np.rint((rows.norms[i] * one) ** 2), np.rint((rows.norms[j] * other) ** 2)
    # Integers before they are multiplied: the product has up to 62 bits.
    return product * abs(product), np.uint64(length) * np.uint64(other_length)


@kernel
def cosine_order(rows: Rows, i: Int, j: Int) -> tuple[np.uint64, np.uint64]:
    """Give an integer, as (high 63 bits, low 63 bits), that orders and ties as cosine distances of `whole` rows do.

    It is the signed square of the cosine to 125 binary places, from the largest down: fractions with denominators
    below 2^62 are equal or further apart than 2^-124.
    """
    above, below = squared_cosine(rows, i, j)
    high, rest = _quotient(np.uint64(abs(np.int64(above))), below, 62)
    low, _ = _quotient(rest, below, 63)
    one = np.uint64(1) << np.uint64(62)
    if above < 0:
        return one + high, low
    if low == np.uint64(0):
        return one - high, low
    return one - high - np.uint64(1), (np.uint64(1) << np.uint64(63)) - low


@kernel
def _quotient(above: np.uint64, below: np.uint64, bits: Int) -> tuple[np.uint64, np.uint64]:
    # above 2^bits / below, rounded down, and what remains; above <= below < 2^62.
    found = above // below
    rest = above - found * below
    for _ in range(bits):
        rest <<= np.uint64(1)
        fits = np.uint64(rest >= below)
        rest -= fits * below
        found = (found << np.uint64(1)) | fits
    return found, rest


@kernel
def compare_fractions(one: Int, one_below: np.uint64, other: Int, other_below: np.uint64) -> Int:
    """Give the sign of one / one_below - other / other_below, of integers below 2^62."""
    if (one < 0) != (other < 0):
        return np.int64(-1) if one < 0 else np.int64(1)
    left_high, left = wide.multiply(np.uint64(abs(np.int64(one))), other_below)
    right_high, right = wide.multiply(np.uint64(abs(np.int64(other))), one_below)
    larger = np.int64(left_high > right_high or (left_high == right_high and left > right))
    smaller = np.int64(left_high < right_high or (left_high == right_high and left < right))
    return smaller - larger if one < 0 else larger - smaller


@kernel
def inner_product(values: NDArray[Any], i: Int, j: Int) -> float:
    """Inner product of two rows as if computed in twice the precision, then rounded (Ogita, Rump, Oishi 2005)."""
    total, error = 0.0, 0.0
    for k in range(values.shape[1]):
        one, other = np.float64(values[i, k]), np.float64(values[j, k])
        product = one * other
        # Split both into halves of 26 bits: the product's rounding error comes out exactly (Dekker 1971).
        split = 134217729.0 * one
        one_high = split - (split - one)
        split = 134217729.0 * other
        other_high = split - (split - other)
        one_low, other_low = one - one_high, other - other_high
        lost = ((one_high * other_high - product) + one_high * other_low + one_low * other_high) + one_low * other_low
        added = total + product
        back = added - total
        error += ((total - (added - back)) + (product - back)) + lost
        total = added
    return total + error


@kernel
def norms(values: NDArray[Any], found: NDArray[np.float64]) -> None:
    """Write the lengths of rows, right to a few units in the last place."""
    for row in range(values.shape[0]):
        found[row] = np.sqrt(inner_product(values, row, row))


@kernel
def direct_value(rows: Rows, i: Int, j: Int) -> tuple[float, float]:
    """Give (value, error): a float64 that orders as the distance of rows i and j does, and a bound on its error."""
    if rows.kind == EUCLIDEAN:
        value = squared_distance(rows.values, i, j)
    elif rows.kind == COSINE:
        product = plain_product(rows.values, i, j) if rows.whole else inner_product(rows.values, i, j)
        value = -product / (rows.norms[i] * rows.norms[j])
        return value, rows.relative * abs(value) + rows.absolute
    elif rows.kind == DOT:
        value = -inner_product(rows.values, i, j)
        return value, rows.relative * abs(value) + rows.absolute * rows.norms[i] * rows.norms[j]
    elif rows.kind == MANHATTAN:
        value = city_block(rows.values, i, j)
    elif rows.kind == HAMMING:
        value = differing(rows.values, i, j)
    else:
        value = np.float64(rows.values[i, j])
    return value, rows.relative * value


@kernel
def same_pair(rows: Rows, i: Int, j: Int, k: Int, m: Int) -> bool:
    """Whether equal rows make the distances (i, j) and (k, m) equal, before any arithmetic."""
    if rows.kind == PRECOMPUTED:
        return bool(i == k and j == m)
    a, b, c, d = rows.number[i], rows.number[j], rows.number[k], rows.number[m]
    if a == b and c == d and rows.kind != DOT:
        return True
    return bool((a == c and b == d) or (a == d and b == c))


@kernel
def fits_wide(rows: Rows, low: Int, high: Int) -> bool:
    """Whether squared distances of rows between these powers of two can be summed exactly in 128 bits."""
    bits = high - low
    width, columns = np.int64(0), rows.values.shape[1]
    while (np.int64(1) << width) < columns:
        width += 1
    return bool(rows.kind == EUCLIDEAN and bits <= wide.DIFFERENCE_BITS and 2 * (bits + 1) + width <= wide.SUM_BITS)


def exact_value(rows: Rows, i: int, j: int, low: int) -> int | Fraction:
    """Give the distance of two rows in exact arithmetic, as a number that orders as it does.

    Parameters
    ----------
    rows : Rows
        Of any kind but HAMMING and PRECOMPUTED, whose direct values are exact.
    low : int
        All values are multiples of 2^low; the same for all pairs that are compared.
    """
    one, other = wide.integer_row(rows.values, i, low), wide.integer_row(rows.values, j, low)
    if rows.kind == EUCLIDEAN:
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
    if rows.kind == MANHATTAN:
        return sum(abs(a - b) for a, b in zip(one, other, strict=True))
    product = sum(a * b for a, b in zip(one, other, strict=True))
    if rows.kind == DOT:
        return -product
    squares = sum(a * a for a in one) * sum(b * b for b in other)
    return Fraction(-product * abs(product), squares)
