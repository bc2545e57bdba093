"""Population bounds against their definitions in long decimals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ordsim_core import betting, divergence, intervals, population
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from ordsim_core.intervals import Interval

confidences = st.sampled_from([0.5, 0.8, 0.95, 0.99, 0.999999])
orders = st.sampled_from([3, 4])


def counts(agreeing: int, comparisons: int) -> AgreementCounts:
    return AgreementCounts(concordant=agreeing, discordant=comparisons - agreeing)


def sampled(found: AgreementCounts, rows: int, order: int, confidence: float) -> Interval:
    """The population's interval from independent comparisons, as sampled measures give it."""
    return population.around(intervals.clopper_pearson(found, (1 + confidence) / 2), rows, order, confidence)


def kl(share: Fraction, other: Decimal) -> Decimal:
    """Divergence of a coin with the exact share from one with the other."""
    total = Decimal(0)
    for observed, claimed in ((share, other), (1 - share, 1 - other)):
        if observed:
            value = Decimal(observed.numerator) / observed.denominator
            total += value * (value / claimed).ln()
    return total


def check(share: Fraction, bound: Decimal, low: float, digit: Decimal) -> None:
    """The divergence exceeds the bound below `low`, and not a billionth of the distance further up."""
    if low > 0:
        assert kl(share, Decimal(low)) >= bound
    slack = (Decimal(share.numerator) / share.denominator - Decimal(low)) / 10**9 + digit
    if share:
        assert kl(share, Decimal(low) + slack) < bound


SHARES = [
    Fraction(0),
    Fraction(1, 10**15),
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(7, 10),
    Fraction(999, 1000),
    1 - Fraction(1, 10**9),
    1 - Fraction(1, 10**15),
    Fraction(1),
]


@pytest.mark.parametrize("confidence", [0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("rows", [4, 11, 1000, 10**6])
@pytest.mark.parametrize("share", SHARES)
def test_kl_bounds_have_their_divergence(share: Fraction, rows: int, confidence: float) -> None:
    for order in (3, 4):
        interval = population.kl(float(share), float(1 - share), rows, order, confidence)
        assert (interval.method, interval.confidence, interval.rigorous) == ("kl-u-statistic", confidence, True)
        assert 0 <= interval.low <= share <= interval.high <= 1
        with localcontext(prec=50):
            bound = (2 / (1 - Decimal(confidence))).ln() / (rows // order)
            check(share, bound, interval.low, Decimal(2) ** -51 * max(Decimal(float(share)), Decimal(10) ** -40))
            # The upper bound, from what disagrees.
            mirror = population.kl(float(1 - share), float(share), rows, order, confidence)
            check(1 - share, bound, mirror.low, Decimal(2) ** -51)
            assert interval.high == pytest.approx(1 - mirror.low, abs=2.0**-52)


def test_a_tiny_deficit_keeps_its_digits() -> None:
    # What 1 - score makes of this deficit is wrong by a tenth.
    deficit = 1.07e-15
    with localcontext(prec=50):
        bound = Decimal("1e-17")
        share = Fraction(deficit)
        lowest = divergence.lowest_share(deficit, 1 - deficit, float(bound))
        assert kl(share, Decimal(lowest)) >= bound
        assert kl(share, Decimal(lowest) * (1 + Decimal("1e-12"))) < bound


def test_hoeffding_has_its_radius() -> None:
    interval = population.hoeffding(0.6, 1001, 4, 0.99)
    radius = math.sqrt(math.log(200) / 500)
    assert (interval.low, interval.high) == pytest.approx((0.6 - radius, 0.6 + radius), rel=1e-14)
    assert (interval.method, interval.confidence, interval.rigorous) == ("hoeffding-u-statistic", 0.99, True)
    assert population.hoeffding(1.0, 10, 3, 0.99).high == 1.0
    assert population.hoeffding(0.0, 10, 3, 0.99).low == 0.0


@settings(deadline=None)
@given(st.integers(1, 10**9), st.data(), st.integers(4, 10**7), orders, confidences)
def test_kl_is_within_hoeffding_and_grows_with_the_score(
    comparisons: int, data: st.DataObject, rows: int, order: int, confidence: float
) -> None:
    less, more = sorted(data.draw(st.integers(0, comparisons)) for _ in range(2))
    one, other = (counts(agreeing, comparisons) for agreeing in (less, more))
    low, high = (population.kl(found.score, found.deficit, rows, order, confidence) for found in (one, other))
    assert low.low <= high.low
    assert low.high <= high.high
    wide = population.hoeffding(one.score, rows, order, confidence)
    assert wide.low - 1e-15 <= low.low <= one.score <= low.high <= wide.high + 1e-15
    mirror = population.kl(one.deficit, one.score, rows, order, confidence)
    assert (mirror.low, mirror.high) == pytest.approx((1 - low.high, 1 - low.low), abs=2.0**-50)


@settings(deadline=None)
@given(st.integers(1, 10**9), st.data(), st.integers(4, 10**7), orders, confidences, confidences)
def test_more_confidence_or_fewer_rows_need_more_width(
    comparisons: int, data: st.DataObject, rows: int, order: int, one: float, other: float
) -> None:
    found = counts(data.draw(st.integers(0, comparisons)), comparisons)
    fewer = data.draw(st.integers(4, rows))
    less, more = sorted((one, other))
    for bound in (
        lambda rows, confidence: population.kl(found.score, found.deficit, rows, order, confidence),
        lambda rows, confidence: population.hoeffding(found.score, rows, order, confidence),
        lambda rows, confidence: sampled(found, rows, order, confidence),
    ):
        narrow, wide = bound(rows, less), bound(fewer, more)
        assert 0 <= wide.low <= narrow.low <= found.score <= narrow.high <= wide.high <= 1


@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize(("agreeing", "comparisons"), [(0, 50), (17, 50), (50, 50), (999_990, 10**6), (10**9, 10**9)])
@pytest.mark.parametrize("rows", [3, 100, 10**6])
def test_sampled_spends_half_on_each(agreeing: int, comparisons: int, rows: int, confidence: float) -> None:
    found = counts(agreeing, comparisons)
    interval = sampled(found, rows, 3, confidence)
    assert (interval.method, interval.confidence, interval.rigorous) == ("kl-u-statistic", confidence, True)
    exact = intervals.clopper_pearson(found, (1 + confidence) / 2)
    with localcontext(prec=50):
        bound = (4 / (1 - Decimal(confidence))).ln() / (rows // 3)
        check(Fraction(exact.low), bound, interval.low, Decimal(2) ** -49)
        check(1 - Fraction(exact.high), bound, 1 - interval.high, Decimal(2) ** -49)
    within = population.kl(found.score, found.deficit, rows, 3, confidence)
    assert interval.low < within.low or within.low == 0
    assert interval.high > within.high or within.high == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.integers(3, 10**6), confidences)
def test_any_rigorous_interval_on_the_exact_score_can_be_widened(
    shares: list[int], rows: int, confidence: float
) -> None:
    sampling = betting.interval(np.array(shares, np.int64), 10, (1 + confidence) / 2)
    interval = population.around(sampling, rows, 3, confidence)
    assert 0 <= interval.low <= sampling.low <= sampling.high <= interval.high <= 1
    assert (interval.method, interval.confidence, interval.rigorous) == ("kl-u-statistic", confidence, True)


def test_an_exact_score_costs_no_confidence() -> None:
    found = counts(7, 10)
    around = population.around(intervals.exact(found, 0.9), 300, 3, 0.9)
    alone = population.kl(found.score, found.deficit, 300, 3, 0.9)
    assert (around.low, around.high) == pytest.approx((alone.low, alone.high), abs=1e-15)


def test_wrong_arguments_are_named() -> None:
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence"):
            population.kl(0.5, 0.5, 10, 3, confidence)
        with pytest.raises(ValueError, match="confidence"):
            population.hoeffding(0.5, 10, 3, confidence)
        with pytest.raises(ValueError, match="confidence"):
            sampled(counts(1, 2), 10, 3, confidence)
    for order in (3, 4):
        with pytest.raises(ValueError, match=f"needs {order} rows"):
            population.kl(0.5, 0.5, order - 1, order, 0.9)
        with pytest.raises(ValueError, match=f"needs {order} rows"):
            population.hoeffding(0.5, order - 1, order, 0.9)
    with pytest.raises(ValueError, match="add up to 1"):
        population.kl(0.5, 0.4, 10, 3, 0.9)
    with pytest.raises(ValueError, match="between 0 and 1"):
        population.hoeffding(1.5, 10, 3, 0.9)
    with pytest.raises(ValueError, match="at least 0"):
        divergence.lowest_share(0.5, 0.5, -1.0)
    with pytest.raises(ValueError, match="higher confidence"):
        population.around(intervals.clopper_pearson(counts(1, 2), 0.9), 10, 3, 0.9)


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 50))
def test_divergence_bounds_are_lower_for_larger_divergences(share: float, bound: float) -> None:
    assume(share == 0 or share > 1e-300)
    lowest = divergence.lowest_share(share, 1 - share, bound)
    assert 0 <= lowest <= share
    assert divergence.lowest_share(share, 1 - share, bound * 2) <= lowest
