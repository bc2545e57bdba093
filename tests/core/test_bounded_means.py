"""Intervals on means of bounded values against their formulas, in fractions and long decimals."""

from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bounded import array, confidences, counts, drawn_units, units
from hypothesis import given, settings

from ordsim_core import betting, intervals, population

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.intervals import Interval

STAKE = 0.75
OF_UNITS = [intervals.maurer_pontil, betting.interval, betting.sequential]


def half_drawn(agreeing: NDArray[np.int64], each: int, confidence: float) -> Interval:
    return betting.without_replacement(agreeing, each, 2 * len(agreeing), confidence)


ALL = [*OF_UNITS, half_drawn]


# Maurer and Pontil


@pytest.mark.parametrize("each", [1, 7, 496, 2**40 + 1, 2**61])
@pytest.mark.parametrize("confidence", [0.5, 0.99, 1 - 1e-9])
def test_maurer_pontil_has_its_radius(each: int, confidence: float) -> None:
    random = np.random.default_rng(each)
    for size in (2, 3, 1000):
        agreeing = random.integers(each - each // 2, each, size, endpoint=True)
        shares = [Fraction(int(value), each) for value in agreeing]
        mean = sum(shares, Fraction(0)) / size
        variance = sum(((share - mean) ** 2 for share in shares), Fraction(0)) / (size - 1)
        with localcontext(prec=50):
            log_term = (4 / (1 - Decimal(confidence))).ln()
            spread = (2 * Decimal(variance.numerator) / variance.denominator * log_term / size).sqrt()
            radius = float(spread + 7 * log_term / (3 * (size - 1)))
        interval = intervals.maurer_pontil(agreeing, each, confidence)
        assert interval.low == pytest.approx(max(0.0, float(mean) - radius), rel=1e-10)
        assert interval.high == pytest.approx(min(1.0, float(mean) + radius), rel=1e-10)
        assert (interval.method, interval.confidence, interval.rigorous) == ("maurer-pontil", confidence, True)


def test_maurer_pontil_sees_a_variance_of_counts_beyond_what_floats_tell_apart() -> None:
    each, size = 2**61, 10**6
    agreeing = np.full(size, each - 2**54, np.int64)
    agreeing[::2] += 1
    equal = intervals.maurer_pontil(np.full(size, each - 2**54, np.int64), each, 0.99)
    found = intervals.maurer_pontil(agreeing, each, 0.99)
    assert equal.high - equal.low == pytest.approx(2 * 7 * math.log(400) / 3 / (size - 1), rel=1e-6)
    assert found.high - found.low == pytest.approx(equal.high - equal.low, rel=1e-6)


def test_one_unit_has_no_variance() -> None:
    interval = intervals.maurer_pontil(array([1]), 2, 0.9)
    assert (interval.low, interval.high) == (0.0, 1.0)


# Betting


def capital(shares: list[float], means: list[float], weights: list[float], confidence: float) -> float:
    """Largest logarithm of the capital of the bets on values above their means, over all times."""
    threshold = math.log(2 / (1 - confidence))
    total, squares = 0.5, 0.25
    log_capital, largest = 0.0, 0.0
    for place, (share, mean, weight) in enumerate(zip(shares, means, weights, strict=True)):
        if mean < 0:
            return math.inf
        variance = squares / (place + 1)
        bet = weight * math.sqrt(2 * threshold / variance)
        if mean > 0:
            bet = min(bet, STAKE / mean)
        log_capital += math.log1p(bet * (share - mean))
        largest = max(largest, log_capital)
        total += share
        squares += (share - total / (place + 2)) ** 2
    return largest


@pytest.mark.parametrize("confidence", [0.8, 0.99, 1 - 1e-9])
@pytest.mark.parametrize(("agreeing", "each"), drawn_units())
def test_betting_refutes_what_is_outside_and_little_more(
    agreeing: NDArray[np.int64], each: int, confidence: float
) -> None:
    interval = betting.interval(agreeing, each, confidence)
    threshold = math.log(2 / (1 - confidence))
    weights = [len(agreeing) ** -0.5] * len(agreeing)
    width = interval.high - interval.low
    for values, low in ((agreeing, interval.low), (each - agreeing, 1 - interval.high)):
        shares = [value / each for value in values.tolist()]
        if low > 2.0**-53:
            outside = low * (1 - 1e-15)
            assert capital(shares, [outside] * len(shares), weights, confidence) >= threshold - 1e-9
        inside = low + width * 1e-5 + 2.0**-52
        assert capital(shares, [inside] * len(shares), weights, confidence) < threshold
    assert (interval.method, interval.confidence, interval.rigorous) == ("betting", confidence, True)


@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize(("agreeing", "each"), drawn_units())
@pytest.mark.parametrize("more", [1, 7, 1000])
def test_betting_without_replacement_refutes_what_is_outside_and_little_more(
    agreeing: NDArray[np.int64], each: int, more: int, confidence: float
) -> None:
    drawn = len(agreeing)
    population = drawn + more
    interval = betting.without_replacement(agreeing, each, population, confidence)
    threshold = math.log(2 / (1 - confidence))
    growth = [population / (population - place) for place in range(drawn)]
    weights = [value / math.sqrt(sum(other**2 for other in growth)) for value in growth]
    width = interval.high - interval.low

    def evidence(values: list[int], mean: float) -> float:
        """Logarithm of the capital against this mean of the population."""
        total, means = Fraction(mean) * population * each, []
        for place, value in enumerate(values):
            means.append(float(total / each / (population - place)))
            total -= value
        return math.inf if total < 0 else capital([value / each for value in values], means, weights, confidence)

    for values, low in ((agreeing, interval.low), (each - agreeing, 1 - interval.high)):
        # The total is an integer: means between two of them are not tried.
        if low > 2.0**-53:
            assert evidence(values.tolist(), low - 1.5 / population / each - 1e-15) >= threshold - 1e-9
        assert evidence(values.tolist(), low + 1.5 / population / each + width * 1e-9 + 2.0**-51) < threshold
    assert (interval.method, interval.confidence, interval.rigorous) == ("betting", confidence, True)


def test_when_all_are_drawn_the_interval_is_the_point() -> None:
    agreeing = array([3, 5, 10, 2])
    interval = betting.without_replacement(agreeing, 10, 4, 0.99)
    assert interval.low == interval.high == 0.5
    nearly = betting.without_replacement(agreeing, 10, 5, 0.99)
    # What is left can move the mean by no more than its share.
    assert 20 / 50 * (1 - 1e-12) <= nearly.low <= nearly.high <= 30 / 50 * (1 + 1e-12)


def test_without_replacement_has_the_finite_population_correction() -> None:
    random = np.random.default_rng(3)
    shares = np.rint(random.beta(4, 1, 20_000) * 496).astype(np.int64)
    for drawn in (2_000, 10_000, 18_000, 19_800):
        interval = betting.without_replacement(shares[:drawn], 496, len(shares), 0.99)
        deviation = float(np.std(shares / 496))
        normal = 2 * deviation * math.sqrt(2 * math.log(200) / drawn * (1 - drawn / len(shares)))
        assert interval.low <= shares.mean() / 496 <= interval.high
        assert 0.7 * normal < interval.high - interval.low < 1.2 * normal


def test_a_population_too_large_for_64_bits_is_counted_in_smaller_units() -> None:
    agreeing = np.random.default_rng(8).binomial(496, 0.9, 500)
    small = betting.without_replacement(agreeing, 496, 2**30, 0.99)
    large = betting.without_replacement(agreeing << 50, 496 << 50, 2**30, 0.99)
    assert large.low <= small.low * (1 + 1e-12)
    assert large.high >= small.high * (1 - 1e-12)
    assert (large.low, large.high) == pytest.approx((small.low, small.high), rel=1e-6)


def test_values_that_drift_leave_their_mean_inside() -> None:
    agreeing = np.repeat(array([0, 1]), 500)
    for interval in (betting.interval(agreeing, 1, 0.9), betting.without_replacement(agreeing, 1, 1100, 0.9)):
        assert interval.low <= 0.5 <= interval.high


# All of them


@settings(deadline=None, max_examples=60)
@given(units(), confidences)
@pytest.mark.parametrize("method", ALL)
def test_intervals_are_within_bounds_around_the_mean_and_symmetric(
    method: Callable[..., Interval], drawn: tuple[NDArray[np.int64], int], confidence: float
) -> None:
    agreeing, each = drawn
    interval = method(agreeing, each, confidence)
    mean = sum(agreeing.tolist()) / (len(agreeing) * each)
    assert 0 <= interval.low <= mean <= interval.high <= 1
    assert interval.low < interval.high
    mirror = method(each - agreeing, each, confidence)
    assert mirror.low == pytest.approx(1 - interval.high, abs=1e-9)
    assert mirror.high == pytest.approx(1 - interval.low, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(units(), confidences, confidences)
@pytest.mark.parametrize("method", [intervals.maurer_pontil, betting.sequential])
def test_more_confidence_needs_more_width(
    method: Callable[..., Interval], drawn: tuple[NDArray[np.int64], int], one: float, other: float
) -> None:
    narrow, wide = (method(*drawn, confidence) for confidence in sorted((one, other)))
    assert wide.low <= narrow.low + 1e-12
    assert narrow.high <= wide.high + 1e-12


@pytest.mark.parametrize("method", ALL)
def test_units_out_of_range_are_refused(method: Callable[..., Interval]) -> None:
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence"):
            method(array([1, 2]), 2, confidence)
    with pytest.raises(ValueError, match="at least one unit"):
        method(array([]), 2, 0.9)
    with pytest.raises(ValueError, match="at least one unit"):
        method(array([0]), 0, 0.9)
    for wrong in ([3], [-1]):
        with pytest.raises(ValueError, match="between 0 and 2"):
            method(array(wrong), 2, 0.9)
    with pytest.raises(ValueError, match="cannot be drawn"):
        betting.without_replacement(array([1, 1]), 2, 1, 0.9)


@pytest.mark.parametrize(
    ("size", "score", "hoeffding", "exact", "divergent", "maurer", "bet"),
    [
        (10**4, 0.5, 3.26e-2, 2.59e-2, 3.25e-2, 3.74e-2, 2.96e-2),
        (10**4, 0.99, None, 5.24e-3, 6.49e-3, 9.69e-3, 6.41e-3),
        (10**5, 0.999, None, 5.26e-4, 6.53e-4, 9.72e-4, 5.98e-4),
        (10**6, 0.9, 3.26e-3, 1.55e-3, 1.95e-3, 2.10e-3, None),
        (10**7, 0.999, 1.03e-3, 5.16e-5, 6.51e-5, 7.20e-5, None),
    ],
)
def test_widths_are_those_known(
    size: int, score: float, hoeffding: float | None, exact: float, divergent: float, maurer: float, bet: float | None
) -> None:
    agreeing = np.zeros(size, np.int64)
    agreeing[: round(size * score)] = 1
    found = counts(int(agreeing.sum()), size)

    def width(interval: Interval) -> float:
        return interval.high - interval.low

    if hoeffding is not None:  # where it is not cut off at 1
        assert width(intervals.hoeffding(found, 0.99)) == pytest.approx(hoeffding, rel=0.005)
    assert width(intervals.clopper_pearson(found, 0.99)) == pytest.approx(exact, rel=0.005)
    # As many blocks as comparisons: the bound for independent values.
    assert width(population.kl(found.score, found.deficit, 3 * size, 3, 0.99)) == pytest.approx(divergent, rel=0.005)
    assert width(intervals.maurer_pontil(agreeing, 1, 0.99)) == pytest.approx(maurer, rel=0.005)
    if bet is not None:
        random = np.random.default_rng(0)
        widths = [width(betting.interval(random.permutation(agreeing), 1, 0.99)) for _ in range(20)]
        assert np.mean(widths) == pytest.approx(bet, rel=0.04)


@pytest.mark.parametrize("method", ALL)
def test_a_million_units_take_seconds(method: Callable[..., Interval]) -> None:
    agreeing = np.random.default_rng(0).binomial(496, 0.93, 10**6)
    method(agreeing[:10], 496, 0.99)
    begin = time.process_time()
    interval = method(agreeing, 496, 0.99)
    assert time.process_time() - begin < 5
    assert interval.low < 0.93 < interval.high
