"""Intervals against exact tails: they hold what they promise, and give away no more than rounding."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from rational import Counts, Ranked, binomial_upper_tail, quadruplets, score, triplets

from ordsim_core import intervals
from ordsim_core.counts import AgreementCounts, quadruplet_population, triplet_population

METHODS = [intervals.exact, intervals.hoeffding, intervals.clopper_pearson]


def counts(agreeing: int, comparisons: int) -> AgreementCounts:
    return AgreementCounts(concordant=agreeing, discordant=comparisons - agreeing)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99, 0.999999])
@pytest.mark.parametrize("comparisons", [1, 2, 7, 60])
def test_clopper_pearson_against_exact_tails(comparisons: int, confidence: float) -> None:
    tail = (1 - Fraction(confidence)) / 2
    for agreeing in range(comparisons + 1):
        interval = intervals.clopper_pearson(counts(agreeing, comparisons), confidence)
        assert 0 <= interval.low < interval.high <= 1
        assert (interval.method, interval.confidence, interval.rigorous) == ("clopper-pearson", confidence, True)
        low, high = Fraction(interval.low), Fraction(interval.high)
        nearly = Fraction(10**10 + 1, 10**10)
        if agreeing == 0:
            assert low == 0
        else:
            assert binomial_upper_tail(agreeing, comparisons, low) <= tail
            assert binomial_upper_tail(agreeing, comparisons, low * nearly) > tail
        if agreeing == comparisons:
            assert high == 1
        else:  # at most `agreeing` successes are at least `comparisons - agreeing` failures
            assert binomial_upper_tail(comparisons - agreeing, comparisons, 1 - high) <= tail
            assert binomial_upper_tail(comparisons - agreeing, comparisons, 1 - high / nearly) > tail


@pytest.mark.parametrize("confidence", [0.95, 0.99, 0.999999])
@pytest.mark.parametrize("comparisons", [10**3, 10**6, 10**9])
def test_clopper_pearson_with_many_samples_and_few_disagreements(comparisons: int, confidence: float) -> None:
    with localcontext(prec=60):
        tail = (1 - Decimal(confidence)) / 2
        for disagreeing in range(4):
            interval = intervals.clopper_pearson(counts(comparisons - disagreeing, comparisons), confidence)
            low, high = Decimal(interval.low), Decimal(interval.high)
            # Rounding outwards may cost a thousandth of the distance to 1, and some units in the last place of 1.
            slack = (1 - low) / 10**3 + Decimal(10) ** -13
            assert _few_failures(disagreeing, comparisons, low) <= tail
            assert _few_failures(disagreeing, comparisons, low + slack) > tail
            if interval.high < 1:
                assert 1 - _few_failures(disagreeing - 1, comparisons, high) <= tail
                assert 1 - _few_failures(disagreeing - 1, comparisons, high - slack) > tail
            assert interval.low < interval.high
            # And the mirror image, near 0.
            mirror = intervals.clopper_pearson(counts(disagreeing, comparisons), confidence)
            assert _few_failures(disagreeing, comparisons, 1 - Decimal(mirror.high)) <= tail
            assert mirror.high == pytest.approx(1 - interval.low, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("confidence", [0.95, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("comparisons", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("score", [0.5, 0.9, 0.999, 0.999999, 0.1, 0.001])
def test_clopper_pearson_with_many_samples(score: float, comparisons: int, confidence: float) -> None:
    agreeing = round(comparisons * score)
    interval = intervals.clopper_pearson(counts(agreeing, comparisons), confidence)
    with localcontext(prec=60):
        tail = (1 - Decimal(confidence)) / 2
        for successes, bound in (
            (agreeing, Decimal(interval.low)),
            (comparisons - agreeing, 1 - Decimal(interval.high)),
        ):
            assert _upper_tail(successes, comparisons, bound) <= tail
            # A millionth of the distance is given away at most, or what float64 cannot tell apart.
            slack = (Decimal(successes) / comparisons - bound) / 10**6 + Decimal(2) ** -52
            assert _upper_tail(successes, comparisons, bound + slack) > tail


def test_bounds_are_not_given_where_they_were_not_verified() -> None:
    with pytest.raises(ValueError, match="up to"):
        intervals.clopper_pearson(counts(10**13, 2 * 10**13), 0.99)


def _upper_tail(successes: int, trials: int, probability: Decimal) -> Decimal:
    """Probability of so many successes or more: the first term in 60 digits, the others by their ratios."""
    failures = trials - successes
    first = (
        _log_factorial(trials)
        - _log_factorial(successes)
        - _log_factorial(failures)
        + successes * probability.ln()
        + failures * (1 - probability).ln()
    ).exp()
    terms = min(failures, 12 * math.isqrt(int(trials * probability * (1 - probability))) + 200)
    odds = np.longdouble(str(probability / (1 - probability)))
    places = np.arange(terms, dtype=np.longdouble)
    ratios = (np.longdouble(failures) - places) / (np.longdouble(successes + 1) + places) * odds
    return first * (1 + Decimal(float(np.cumprod(ratios).sum())))


def _log_factorial(number: int) -> Decimal:
    """Stirling's series, whose first term that is left out is below 10^-25 from 500 on."""
    if number < 500:
        return Decimal(math.factorial(number)).ln()
    n = Decimal(number)
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    bernoulli = (Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66))
    series = sum(
        Decimal(number.numerator) / number.denominator / (2 * k * (2 * k - 1)) / n ** (2 * k - 1)
        for k, number in enumerate(bernoulli, 1)
    )
    return n * n.ln() - n + (2 * pi * n).ln() / 2 + series


def _few_failures(failures: int, trials: int, probability: Decimal) -> Decimal:
    """Probability of at most this many failures, successes having this probability."""
    return sum(math.comb(trials, k) * (1 - probability) ** k * probability ** (trials - k) for k in range(failures + 1))


def test_hoeffding_has_its_radius_and_stays_within_the_unit_interval() -> None:
    interval = intervals.hoeffding(counts(6_000, 10_000), 0.99)
    radius = math.sqrt(math.log(2 / 0.01) / 20_000)
    assert interval.low == pytest.approx(0.6 - radius, rel=1e-12)
    assert interval.high == pytest.approx(0.6 + radius, rel=1e-12)
    assert (interval.method, interval.rigorous) == ("hoeffding", True)
    assert intervals.hoeffding(counts(10, 10), 0.99).high == 1.0
    assert intervals.hoeffding(counts(0, 10), 0.99).low == 0.0
    assert intervals.hoeffding(counts(10, 10), 0.99).low < 1.0


def test_doubts_bound_the_score_even_where_both_sides_have_them() -> None:
    # Each side counts its own doubts: a comparison may be counted twice, and among quadruplets that of triplets too.
    for uncertified, low, high in ((0, 0.6, 0.6), (3, 0.3, 0.9), (6, 0.0, 1.0), (10, 0.0, 1.0), (25, 0.0, 1.0)):
        interval = intervals.arithmetic(counts(6, 10), uncertified)
        assert (interval.low, interval.high) == (low, high)
        assert (interval.method, interval.confidence, interval.rigorous) == ("float32-bound", 1.0, True)
    with pytest.raises(ValueError, match="-1 comparisons"):
        intervals.arithmetic(counts(6, 10), -1)


def test_an_exact_score_is_its_own_interval() -> None:
    interval = intervals.exact(counts(1, 3), 0.99)
    assert interval.low == interval.high == 1 / 3
    assert (interval.method, interval.confidence, interval.rigorous) == ("none-exact", 0.99, True)


def test_sample_sizes() -> None:
    assert intervals.samples_for(0.001, 0.01) == 2_649_159
    assert intervals.samples_for(0.05, 0.05) == 738
    for epsilon, delta in ((0.3, 0.5), (0.01, 0.001), (0.0071, 0.049)):
        enough = intervals.samples_for(epsilon, delta)
        assert 2 * math.exp(-2 * enough * epsilon**2) <= delta * (1 + 1e-12)
        assert 2 * math.exp(-2 * (enough - 1) * epsilon**2) > delta * (1 - 1e-12)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_arguments_out_of_range_are_named(bad: float) -> None:
    for method in METHODS:
        with pytest.raises(ValueError, match="confidence"):
            method(counts(1, 2), bad)
    with pytest.raises(ValueError, match="epsilon"):
        intervals.samples_for(bad, 0.5)
    with pytest.raises(ValueError, match="delta"):
        intervals.samples_for(0.5, bad)


@pytest.mark.parametrize("method", METHODS)
def test_no_comparisons_have_no_interval(method: type) -> None:
    with pytest.raises(ValueError, match="comparison"):
        method(AgreementCounts(), 0.9)


@pytest.mark.parametrize(("measure", "population"), [("tsi", triplet_population(5)), ("qsi", quadruplet_population(5))])
def test_baseline_is_the_average_over_all_permutations(measure: str, population: int) -> None:
    def count(x: Ranked, y: Ranked) -> Counts:
        return triplets(x, y)[0] if measure == "tsi" else quadruplets(x, y)

    x_rows = [[0, 0], [1, 0], [0, 1], [1, 1], [3, 1]]
    y_rows = [[0], [1], [2], [5], [5]]
    x = Ranked(x_rows, "euclidean")
    found = [count(x, Ranked([y_rows[row] for row in order], "euclidean")) for order in permutations(range(5))]
    average = sum((score(one) for one in found), Fraction(0)) / len(found)
    assert found[0][2] + found[0][4] > 0
    for one in found:
        total = AgreementCounts(*one)
        assert total.comparisons == population
        assert total.baseline == pytest.approx(float(average), rel=1e-14)
        assert total.score <= total.attainable_maximum + 1e-15


def test_counts_larger_than_64_bits_add_up() -> None:
    huge = AgreementCounts(2**70, 1, 2, 3, 4) + AgreementCounts(2**70, 1, 1, 1, 1)
    assert huge == AgreementCounts(2**71, 2, 3, 4, 5)
    assert huge.deficit == 9 / (2**71 + 14)
    assert np.isfinite(intervals.hoeffding(huge, 0.9).low)
