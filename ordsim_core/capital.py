"""Kernels of the intervals by betting: bets, capitals, and the ends of the means that the capitals do not refute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

STAKE = 0.75
"""Largest share of the capital that may be lost in one bet."""

STAKES = np.concatenate([1 - 2.0 ** -np.arange(4.0, 1.0, -1), 2.0 ** -np.arange(1.0, 33.0)])
"""Shares of the capital that the constant bets of a mixture risk."""

_RESCALE = 2.0**500
"""Capitals below the inverse of this are multiplied by it, so that they do not vanish."""

Shares = NDArray[np.float64]


@kernel
def bets(shares: Shares, weights: Shares, log_threshold: float) -> Shares:
    """Give the bet on every share, from those before it."""
    bets = np.empty_like(weights)
    total, squares = 0.5, 0.25  # as if a share of 1/2 with a variance of 1/4 had been seen
    for unit in range(len(shares)):
        bets[unit] = weights[unit] * math.sqrt(2 * log_threshold * (unit + 1) / squares)
        total += shares[unit]
        deviation = shares[unit] - total / (unit + 2)
        squares += deviation * deviation
    return bets


def lowest_mean(shares: Shares, bets: Shares, point: float, threshold: float) -> float:
    """Give a mean that the bets refute, as high a one as bisection finds below `point`; 0 if they refute none."""

    def refuted(mean: float) -> bool:
        return bool(_refuted(shares, bets, mean, threshold))

    if not refuted(0.0):
        return 0.0
    return point if refuted(point) else _highest(refuted, point)


def lowest_of_mixture(shares: Shares, times: NDArray[np.int64], point: float, log_threshold: float) -> float:
    """Give a mean that the mixture of constant bets refutes, as high a one as bisection finds below `point`."""
    return _highest(lambda mean: bool(_refuted_by_mixture(shares, times, mean, log_threshold)), point)


def _highest(refuted: Callable[[float], bool], point: float) -> float:
    """Find the highest mean below `point` that is refuted, to a millionth of its distance from the point."""
    low, high = 0.0, point
    while high - low > (point - high) * 2.0**-20 and low < (low + high) / 2 < high:
        middle = (low + high) / 2
        if refuted(middle):
            low = middle
        else:
            high = middle
    return low


@kernel
def _refuted(shares: Shares, bets: Shares, mean: float, threshold: float) -> bool:
    """Tell whether the bets on shares above the mean ever make the capital reach the threshold."""
    largest = STAKE / mean if mean > 0 else np.inf
    capital = 1.0
    depth = 0
    for unit in range(len(shares)):
        capital *= 1 + min(bets[unit], largest) * (shares[unit] - mean)
        if depth == 0 and capital >= threshold:
            return True
        if capital < 1 / _RESCALE:
            capital *= _RESCALE
            depth += 1
        elif depth > 0 and capital > 1:
            capital /= _RESCALE
            depth -= 1
    return False


@kernel
def _refuted_by_mixture(shares: Shares, times: NDArray[np.int64], mean: float, log_threshold: float) -> bool:
    """Tell whether the sum of the capitals of all constant bets has reached the threshold."""
    largest, total = -np.inf, 0.0  # the sum is total exp(largest)
    for stake in STAKES:
        log_capital = size = 0.0
        for place in range(len(shares)):
            term = times[place] * math.log1p(stake * (shares[place] - mean) / mean)
            log_capital += term
            size += abs(term)
        log_capital -= size * (len(shares) + 8) * 2.0**-52  # more than rounding can add to the sum
        if log_capital > largest:
            total = total * math.exp(largest - log_capital) + 1
            largest = log_capital
        else:
            total += math.exp(log_capital - largest)
    return largest + math.log(total) >= log_threshold


@kernel
def lowest_total(
    agreeing: NDArray[np.int64], bets: Shares, each: Int, population: Int, total: Int, point: Int, threshold: float
) -> Int:
    """Give the lowest total of the population that is not refuted; from `total`, that of the drawn, to `point`."""
    low, high = total - 1, point
    if _refuted_total(agreeing, bets, each, population, point, threshold):
        return point
    while high - low > 1:
        middle = low + (high - low) // 2
        if _refuted_total(agreeing, bets, each, population, middle, threshold):
            low = middle
        else:
            high = middle
    return high


@kernel
def _refuted_total(
    agreeing: NDArray[np.int64], bets: Shares, each: Int, population: Int, total: Int, threshold: float
) -> bool:
    """Tell whether the bets ever make the capital reach the threshold, or so little cannot be left."""
    capital = 1.0
    depth = 0
    left = population
    for unit in range(len(agreeing)):
        mean = total / (left * each)
        bet = bets[unit]
        if bet * mean > STAKE:
            bet = STAKE / mean
        capital *= 1 + bet * (agreeing[unit] / each - mean)
        total -= agreeing[unit]
        left -= 1
        if total < 0 or (depth == 0 and capital >= threshold):
            return True
        if capital < 1 / _RESCALE:
            capital *= _RESCALE
            depth += 1
        elif depth > 0 and capital > 1:
            capital /= _RESCALE
            depth -= 1
    return False
