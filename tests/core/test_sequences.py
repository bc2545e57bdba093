"""Intervals that hold whenever one stops, against their formulas, in long decimals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bounded import array, confidences, counts, drawn_units, units
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core import betting, intervals
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mixture(shares: list[float], mean: float) -> float:
    """Logarithm of the average capital of constant bets on values above the mean, each risking a share of it."""
    stakes = [0.9375, 0.875, 0.75] + [2.0**-power for power in range(1, 33)]
    logs = [math.fsum(math.log1p(stake * (share - mean) / mean) for share in shares) for stake in stakes]
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(log - largest) for log in logs) / len(stakes))


@pytest.mark.parametrize("confidence", [0.8, 0.99, 1 - 1e-9])
@pytest.mark.parametrize(("agreeing", "each"), drawn_units())
def test_sequential_units_refute_what_is_outside_and_little_more(
    agreeing: NDArray[np.int64], each: int, confidence: float
) -> None:
    interval = betting.sequential(agreeing, each, confidence)
    threshold = math.log(2 / (1 - confidence))
    width = interval.high - interval.low
    for values, low in ((agreeing, interval.low), (each - agreeing, 1 - interval.high)):
        shares = [value / each for value in values.tolist()]
        if low > 2.0**-53:
            assert mixture(shares, low) >= threshold - 1e-9
        inside = low + width * 1e-5 + 2.0**-52
        assert mixture(shares, inside) < threshold
    assert (interval.method, interval.confidence, interval.rigorous) == ("sequential", confidence, True)


@pytest.mark.parametrize(("agreeing", "each"), [drawn for drawn in drawn_units() if drawn[1] < 2**40])
def test_a_tally_of_units_is_all_it_takes(agreeing: NDArray[np.int64], each: int) -> None:
    tally = np.bincount(agreeing, minlength=each + 1)
    assert betting.sequential_tally(tally, 0.95) == betting.sequential(agreeing, each, 0.95)


def test_a_tally_of_more_levels_than_are_told_apart() -> None:
    agreeing = (np.random.default_rng(4).beta(30, 10, 60_000) * 2**18).astype(np.int64)
    tally = np.bincount(agreeing, minlength=2**18 + 1)
    interval = betting.sequential_tally(tally, 0.99)
    assert interval == betting.sequential(agreeing, 2**18, 0.99)
    fine = betting.sequential(agreeing >> 5, 2**13, 0.99)
    assert interval.high - interval.low == pytest.approx(fine.high - fine.low, rel=0.02)


@pytest.mark.parametrize("tally", [array([0, 0]), array([3]), array([2, -1]), np.ones(3), np.ones((2, 2), np.int64)])
def test_tallies_that_say_nothing_are_refused(tally: NDArray[np.int64]) -> None:
    with pytest.raises(ValueError, match="at least one unit"):
        betting.sequential_tally(tally, 0.9)


def test_sequential_units_round_down_when_shares_are_all_different() -> None:
    random = np.random.default_rng(4)
    each = 2**40
    agreeing = (random.beta(30, 10, 60_000) * each).astype(np.int64)
    fine = betting.sequential(agreeing, each, 0.99)
    coarse = betting.sequential(agreeing >> 28, each >> 28, 0.99)
    assert fine.high - fine.low == pytest.approx(coarse.high - coarse.low, rel=0.02)
    assert fine.low <= agreeing.mean() / each <= fine.high


def log_factorial(number: int) -> Decimal:
    """Stirling's series, whose first term that is left out is below 10^-25 from 500 on."""
    if number < 500:
        return Decimal(math.factorial(number)).ln()
    n = Decimal(number)
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7) + 1 / (1188 * n**9)
    return n * n.ln() - n + (2 * pi * n).ln() / 2 + series


def log_evidence(successes: int, failures: int, share: Decimal) -> Decimal:
    """Logarithm of B(k + 1/2, n - k + 1/2) / pi, by factorials, over the likelihood of the share."""
    trials = successes + failures
    average = (
        log_factorial(2 * successes)
        + log_factorial(2 * failures)
        - log_factorial(successes)
        - log_factorial(failures)
        - log_factorial(trials)
        - trials * Decimal(4).ln()
    )
    return average - successes * share.ln() - failures * (1 - share).ln()


@pytest.mark.parametrize("confidence", [0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("comparisons", [1, 2, 9, 31, 32, 100, 10**4, 10**8, 10**12, 10**15])
def test_sequential_against_the_mixture(comparisons: int, confidence: float) -> None:
    few = {0, 1, 2, 40, comparisons // 3, comparisons // 2}
    for disagreeing in sorted({count for count in few if count <= comparisons}):
        interval = intervals.sequential(counts(comparisons - disagreeing, comparisons), confidence)
        mirror = intervals.sequential(counts(disagreeing, comparisons), confidence)
        assert mirror.low == pytest.approx(1 - interval.high, rel=1e-9, abs=2.0**-52)
        assert mirror.high == pytest.approx(1 - interval.low, rel=1e-9)
        with localcontext(prec=60):
            threshold = -(1 - Decimal(confidence)).ln()
            for successes, bound, digit in (
                (comparisons - disagreeing, Decimal(interval.low), Decimal(2) ** -51),
                (disagreeing, 1 - Decimal(interval.high), Decimal(2) ** -51),
                (disagreeing, Decimal(mirror.low), Decimal(2) ** -50 * disagreeing / comparisons),
            ):
                failures = comparisons - successes
                if successes == 0:
                    assert bound == 0
                    continue
                if bound > 0:
                    assert log_evidence(successes, failures, bound) >= threshold
                # A billionth of the distance is given away at most, or what float64 cannot tell apart.
                slack = (Decimal(successes) / comparisons - bound) / 10**9 + digit
                assert log_evidence(successes, failures, bound + slack) < threshold


def test_sequential_counts_larger_than_64_bits() -> None:
    interval = intervals.sequential(AgreementCounts(2**80, 2**75), 0.99)
    assert interval.low <= 32 / 33 <= interval.high
    assert interval.high - interval.low < 1e-11


@settings(deadline=None, max_examples=60)
@given(units(), confidences, st.randoms(use_true_random=False))
def test_sequential_units_grow_with_every_share_in_any_order(
    drawn: tuple[NDArray[np.int64], int], confidence: float, random: st.DataObject
) -> None:
    agreeing, each = drawn
    less = betting.sequential(agreeing, each, confidence)
    shuffled = agreeing.tolist()
    random.shuffle(shuffled)
    assert betting.sequential(array(shuffled), each, confidence) == less
    raised = array([random.randint(value, each) for value in shuffled])
    more = betting.sequential(raised, each, confidence)
    assert more.low >= less.low - 1e-6
    assert more.high >= less.high - 1e-6


@settings(deadline=None)
@given(st.integers(1, 10**12), st.data(), confidences)
def test_sequential_grows_with_what_agrees(comparisons: int, data: st.DataObject, confidence: float) -> None:
    less, more = sorted(data.draw(st.integers(0, comparisons)) for _ in range(2))
    one, other = (intervals.sequential(counts(agreeing, comparisons), confidence) for agreeing in (less, more))
    assert 0 <= one.low <= less / comparisons <= one.high <= 1
    assert one.low <= other.low
    assert one.high <= other.high


def test_sequences_are_not_much_wider_than_intervals() -> None:
    found = counts(900_000, 10**6)
    fixed, sequence = intervals.clopper_pearson(found, 0.99), intervals.sequential(found, 0.99)
    assert sequence.high - sequence.low < 1.9 * (fixed.high - fixed.low)
    agreeing = np.random.default_rng(1).binomial(496, 0.9, 100_000)
    fixed, sequence = betting.interval(agreeing, 496, 0.99), betting.sequential(agreeing, 496, 0.99)
    assert sequence.high - sequence.low < 1.6 * (fixed.high - fixed.low)
