"""Sums of squares and products in integers of 128 bits, and in Python's integers where those do not suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HALF = np.uint64(0xFFFFFFFF)
_BITS_32 = np.uint64(32)

DIFFERENCE_BITS = 61
"""Values of up to this many bits have differences that fit 64-bit integers."""
SUM_BITS = 127


@kernel
def multiply(one: np.uint64, other: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Give the product of two 64-bit integers as (high, low) 64 bits."""
    one_low, one_high = one & _HALF, one >> _BITS_32
    other_low, other_high = other & _HALF, other >> _BITS_32
    low = one_low * other_low
    middle = one_high * other_low + (low >> _BITS_32)
    carried = one_low * other_high + (middle & _HALF)
    high = one_high * other_high + (middle >> _BITS_32) + (carried >> _BITS_32)
    return high, (carried << _BITS_32) | (low & _HALF)


@kernel
def squared_distance(values: NDArray[Any], i: Int, j: Int, low: Int) -> tuple[np.uint64, np.uint64]:
    """Sum the squared differences of two rows, counted in units of 2^low, as (high, low) 64 bits.

    Exact where values are multiples of 2^low below 2^(low + DIFFERENCE_BITS), and the sum fits 128 bits.
    """
    scale = 2.0 ** np.float64(-low)
    high_sum, low_sum = np.uint64(0), np.uint64(0)
    for k in range(values.shape[1]):
        difference = np.int64(np.float64(values[i, k]) * scale) - np.int64(np.float64(values[j, k]) * scale)
        magnitude = np.uint64(abs(difference))
        high, low_part = multiply(magnitude, magnitude)
        low_sum += low_part
        high_sum += high + np.uint64(low_sum < low_part)
    return high_sum, low_sum


def integer_row(values: NDArray[Any], row: int, low: int) -> list[int]:
    """Give a row in units of 2^low, a power of two that all its values are multiples of, as Python integers."""
    found = []
    for value in values[row].tolist():
        numerator, denominator = float(value).as_integer_ratio()
        # Denominators are powers of two: shift by their exponent, and by low.
        shift = -low - (denominator.bit_length() - 1)
        found.append(numerator << shift if shift >= 0 else numerator >> -shift)
    return found


def dense_ranks(keys: Sequence[Any]) -> list[int]:
    """Rank keys of any ordered type from 0, equal ones alike."""
    rank = {key: place for place, key in enumerate(sorted(set(keys)))}
    return [rank[key] for key in keys]
