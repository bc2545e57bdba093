"""Intervals on the mean of bounded values, by betting against every candidate (Waudby-Smith and Ramdas 2024).

Values are shares: integer counts out of `each`, one a unit, in the order in which they were drawn. Against the claim
that the mean is m, one player bets on higher values, another on lower ones, each starting with 1: their capitals
prod(1 + b (x - m)) and prod(1 - b (x - m)) have expectation 1 if the claim is true, whatever the bets make of the
values before. So either of them ever gets to 2 / delta with a probability of at most delta (Ville 1939). The interval
is of the means against which none did. The first capital falls with m and the second grows: the ends are found by
bisection, both by the same code, the upper one on what disagrees.

Unless said otherwise the bets are those of the hedged capital process: b = w sqrt(2 ln(2 / delta) / variance), where
the variance is that of the values before, and none risks more than the share `capital.STAKE` of the capital.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import capital, intervals
from ordsim_core.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEVELS = 2**14
"""Up to which different shares are told apart when they are tallied."""

_ROUNDING = 2.0**-48
"""More than rounding can add to one factor of a capital."""

_TOTAL_BITS = 62
"""That the total of a population may have in a kernel."""


def interval(agreeing: NDArray[np.int64], each: int, confidence: float) -> Interval:
    """Bound the mean of independent, identically distributed shares; their number was chosen beforehand.

    Parameters
    ----------
    agreeing : ndarray of int64, shape (units,)
        Agreeing comparisons of every unit, in draw order.
    each : int
        Comparisons in a unit.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are no units, or a count is not between 0 and `each`.
    """
    intervals.check_units(agreeing, each)
    intervals.check_confidence(confidence)
    weights = np.full(len(agreeing), len(agreeing) ** -0.5)
    log_threshold, threshold = _thresholds(confidence, len(agreeing))
    ends = []
    for counts in (agreeing, each - agreeing):
        shares = counts / np.float64(each)
        bets = capital.bets(shares, weights, log_threshold)
        ends.append(capital.lowest_mean(shares, bets, _mean(counts, each), threshold))
    return _enclosing(ends[0], _mean(agreeing, each), 1 - ends[1], "betting", confidence)


def sequential(agreeing: NDArray[np.int64], each: int, confidence: float) -> Interval:
    """Bound the mean of independent, identically distributed shares, however it was decided when to stop.

    Every player spreads the initial capital evenly over many constant bets, of which some will have been nearly right
    whenever the drawing stops: a mixture of martingales (Robbins 1970). Only how often each share came up matters.
    Bets that follow the variance, without knowing when to stop, make intervals 1.4 to 2 times as wide.

    Parameters
    ----------
    agreeing : ndarray of int64, shape (units,)
        Agreeing comparisons of every unit so far.
    each : int
        Comparisons in a unit.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are no units, or a count is not between 0 and `each`.
    """
    intervals.check_units(agreeing, each)
    values, times = np.unique(agreeing, return_counts=True)
    return _sequential(values, times, each, confidence)


def sequential_tally(tally: NDArray[np.int64], confidence: float) -> Interval:
    """Give the interval of `sequential` from how often each count came up.

    Parameters
    ----------
    tally : ndarray of int64, shape (each + 1,)
        How many units have 0, 1, ... agreeing comparisons; fewer than 2^31 in all.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are no units, or a number of units is negative.
    """
    if tally.ndim != 1 or tally.dtype != np.int64 or len(tally) < 2 or tally.min() < 0 or not tally.any():
        raise ValueError("an interval needs at least one unit, and how many units have 0, 1, ... agreeing comparisons")
    values = np.flatnonzero(tally)
    return _sequential(values, tally[values], len(tally) - 1, confidence)


def _sequential(values: NDArray[np.int64], times: NDArray[np.int64], each: int, confidence: float) -> Interval:
    intervals.check_confidence(confidence)
    units = int(times.sum())
    log_threshold = math.log(2 * len(capital.STAKES) / (1 - confidence)) + (units + 8) * _ROUNDING
    ends, means = [], []
    for counts, often in ((values, times), (each - values[::-1], times[::-1])):
        # Exact, as counts have up to 62 bits, and there are fewer than 2^31 units.
        total = (int(np.dot(counts >> 32, often)) << 32) + int(np.dot(counts & 0xFFFFFFFF, often))
        means.append(total / (units * each))
        levels, in_levels = _levels(counts, often)
        ends.append(capital.lowest_of_mixture(levels / np.float64(each), in_levels, means[-1], log_threshold))
    return _enclosing(ends[0], means[0], 1 - ends[1], "sequential", confidence)


def without_replacement(agreeing: NDArray[np.int64], each: int, population: int, confidence: float) -> Interval:
    """Bound the mean of `population` shares from some of them, drawn without replacement.

    A claimed mean says what the mean of those not drawn yet is, and that is what the bets are on. As fewer are left,
    a false claim goes ever more wrong on them, and bets grow in proportion: widths then shrink by the factor
    sqrt(1 - drawn / population) of the finite population correction. When all are drawn, the interval is their mean.

    Parameters
    ----------
    agreeing : ndarray of int64, shape (drawn,)
        Agreeing comparisons of every drawn unit, in draw order.
    each : int
        Comparisons in a unit.
    population : int
        Units that there are.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are no units or more than `population`, or a count is not
        between 0 and `each`.
    """
    intervals.check_units(agreeing, each)
    intervals.check_confidence(confidence)
    drawn = len(agreeing)
    if drawn > population:
        raise ValueError(f"{drawn} units cannot be drawn from {population} without replacement")
    point = _mean(agreeing, each)
    if drawn == population:
        return Interval(point, point, "betting", confidence, True)
    left = population - np.arange(drawn, dtype=np.float64)
    weights = (population / left) / math.sqrt(np.sum((population / left) ** 2))
    low = _lowest_of_population(agreeing, each, population, weights, confidence)
    high = 1 - _lowest_of_population(each - agreeing, each, population, weights, confidence)
    return _enclosing(low, point, high, "betting", confidence)


def _lowest_of_population(
    agreeing: NDArray[np.int64], each: int, population: int, weights: NDArray[np.float64], confidence: float
) -> float:
    # Smaller units, where totals would not fit into 64 bits: shares are rounded down, which lowers the bound.
    shift = max(0, (population * each).bit_length() - _TOTAL_BITS)
    if shift:
        agreeing, each = agreeing >> shift, (each >> shift) + 1
    log_threshold, threshold = _thresholds(confidence, len(agreeing))
    bets = capital.bets(agreeing / np.float64(each), weights, log_threshold)
    total = intervals.exact_sum(agreeing)
    start = total * population // len(agreeing)
    lowest = int(capital.lowest_total(agreeing, bets, each, population, total, start, threshold))
    return math.nextafter(lowest / (population * each), 0.0)


def _mean(counts: NDArray[np.int64], each: int) -> float:
    return intervals.exact_sum(counts) / (len(counts) * each)


def _thresholds(confidence: float, units: int) -> tuple[float, float]:
    """Give ln(2 / delta), and 2 / delta with what rounding can add to a capital."""
    threshold = 2 / (1 - confidence)
    return math.log(threshold), threshold * math.exp((units + 8) * _ROUNDING)


def _levels(values: NDArray[np.int64], times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Round ascending counts down where there are too many different ones, and add up how often they came up."""
    if len(values) <= _LEVELS:
        return values, times
    step = (values[-1] - values[0]) // _LEVELS + 1
    levels, first = np.unique(values[0] + (values - values[0]) // step * step, return_index=True)
    return levels, np.add.reduceat(times, first)


def _enclosing(low: float, point: float, high: float, method: str, confidence: float) -> Interval:
    """Widen the bounds by their rounding, and to the mean of the values, which drifting values may leave outside."""
    low, high = min(math.nextafter(low, 0.0), point), max(math.nextafter(high, 2.0), point)
    return Interval(max(0.0, low), min(1.0, high), method, confidence, True)
