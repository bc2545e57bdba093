"""Numbers of twice the precision: unevaluated sums of two float64, high + low, of about 106 bits.

Addition after Knuth and multiplication after Dekker (1971), as in Hida, Li and Bailey (2001). Results err by a few
units of 2^-104, relative for products, quotients and roots, and for sums of numbers of one sign. Neither overflow nor
underflow is cared for: callers scale.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ordsim_core._numba import kernel

Doubled: TypeAlias = tuple[float, float]

ROUNDOFF = 2.0**-104


@kernel
def exact_sum(a: float, b: float) -> Doubled:
    """Give the rounded sum of two numbers and what it lost."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@kernel
def exact_product(a: float, b: float) -> Doubled:
    """Give the rounded product of two numbers below 2^996 and what it lost."""
    product = a * b
    split = 134217729.0 * a
    a_high = split - (split - a)
    split = 134217729.0 * b
    b_high = split - (split - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def renormalised(high: float, low: float) -> Doubled:
    """Bring a sum of which the first is the larger number into the form that others expect."""
    total = high + low
    return total, low - (total - high)


@kernel
def add(a: float, a_low: float, b: float, b_low: float) -> Doubled:
    """Give a + b."""
    high, lost = exact_sum(a, b)
    low, lost_low = exact_sum(a_low, b_low)
    high, lost = renormalised(high, lost + low)
    return renormalised(high, lost + lost_low)


@kernel
def multiply(a: float, a_low: float, b: float, b_low: float) -> Doubled:
    """Give a b."""
    high, lost = exact_product(a, b)
    return renormalised(high, lost + (a * b_low + a_low * b))


@kernel
def divide(a: float, a_low: float, b: float, b_low: float) -> Doubled:
    """Give a / b, where b is not 0."""
    first = a / b
    high, low = multiply(first, 0.0, b, b_low)
    rest, rest_low = add(a, a_low, -high, -low)
    second = rest / b
    high, low = multiply(second, 0.0, b, b_low)
    rest, _ = add(rest, rest_low, -high, -low)
    high, low = renormalised(first, second)
    return add(high, low, rest / b, 0.0)


@kernel
def root(a: float, a_low: float) -> Doubled:
    """Give the square root of a number that is not negative."""
    if a <= 0.0:
        return 0.0, 0.0
    first = np.sqrt(a)
    high, low = exact_product(first, first)
    rest, rest_low = add(a, a_low, -high, -low)
    return renormalised(first, (rest + rest_low) / (2.0 * first))
