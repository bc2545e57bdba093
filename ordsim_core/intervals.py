"""Confidence intervals on a score from its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import binomial, divergence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds on a score, within [0, 1].

    Attributes
    ----------
    low, high : float
        The bounds.
    method : str
        How they were found.
    confidence : float
        Probability, at least this large if `rigorous`, that they enclose the true value.
    rigorous : bool
        Whether the probability is proven for every sample size, not only in the limit.
    """

    low: float
    high: float
    method: str
    confidence: float
    rigorous: bool


def exact(counts: AgreementCounts, confidence: float) -> Interval:
    """Give the interval of a score that was counted in full: the score itself.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or there are no comparisons.
    """
    _check(counts, confidence)
    return Interval(counts.score, counts.score, "none-exact", confidence, True)


def hoeffding(counts: AgreementCounts, confidence: float) -> Interval:
    """Bound the exact score from independent uniform comparisons (Hoeffding 1963; Soares et al., Corollary 4).

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or there are no comparisons.
    """
    _check(counts, confidence)
    radius = math.sqrt(math.log(2 / (1 - confidence)) / (2 * counts.comparisons))
    return Interval(max(0.0, counts.score - radius), min(1.0, counts.score + radius), "hoeffding", confidence, True)


def clopper_pearson(counts: AgreementCounts, confidence: float) -> Interval:
    """Bound the exact score from independent uniform comparisons, exactly (Clopper and Pearson 1934).

    Tail probabilities are split evenly. Never of zero width: even when all comparisons agree, the lower bound
    is (alpha / 2)^(1 / n).

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or there are no comparisons, or more than 2^40.
    """
    _check(counts, confidence)
    agreeing, comparisons = counts.agreeing, counts.comparisons
    tail = (1 - confidence) / 2
    # The upper bound is the lower bound of what disagrees. Logarithms keep the digits of shares near 1.
    low = math.exp(binomial.log_lowest_share(agreeing, comparisons, tail))
    high = -math.expm1(binomial.log_lowest_share(comparisons - agreeing, comparisons, tail))
    low, high = math.nextafter(low, 0.0), math.nextafter(high, 1.0)
    return Interval(low, high, "clopper-pearson", confidence, True)


def maurer_pontil(agreeing: NDArray[np.int64], each: int, confidence: float) -> Interval:
    """Bound the mean of independent, identically distributed shares by their variance (Maurer and Pontil 2009).

    The radius is sqrt(2 V ln(4 / delta) / n) + 7 ln(4 / delta) / (3 (n - 1)): theorem 4 there, on both sides. Jobs use
    `betting.interval`, which is narrower; this has a formula that can be checked by hand, and is one of the bounds
    that `nulls.differences` takes, and what the benchmarks compare with.

    Parameters
    ----------
    agreeing : ndarray of int64, shape (units,)
        Agreeing comparisons of every unit.
    each : int
        Comparisons in a unit.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are no units, or a count is not between 0 and `each`.
    """
    check_confidence(confidence)
    check_units(agreeing, each)
    units, total = len(agreeing), exact_sum(agreeing)
    if units == 1:
        return Interval(0.0, 1.0, "maurer-pontil", confidence, True)
    # About the integer nearest to the mean, so that no digits are lost where counts differ little.
    middle = (2 * total + units) // (2 * units)
    deviations = (agreeing - middle) / each
    shift = (total - units * middle) / (units * each)
    variance = max(0.0, float(np.sum(np.square(deviations))) - units * shift * shift) / (units - 1)
    log_term = math.log(4 / (1 - confidence))
    radius = math.sqrt(2 * variance * log_term / units) + 7 * log_term / (3 * (units - 1))
    radius *= 1 + 2.0**-40  # more than rounding can take away
    score = total / (units * each)
    return Interval(max(0.0, score - radius), min(1.0, score + radius), "maurer-pontil", confidence, True)


def sequential(counts: AgreementCounts, confidence: float) -> Interval:
    """Bound the exact score from independent uniform comparisons, however it was decided when to stop.

    Of the shares p for which the likelihood of the comparisons is more than delta times its average over the
    Beta(1/2, 1/2) distribution. The ratio of average to likelihood is a martingale if p is true, so it ever gets to
    1 / delta with a probability of at most delta (Ville 1939; Robbins 1970).

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or there are no comparisons.
    """
    _check(counts, confidence)
    agreeing, comparisons = counts.agreeing, counts.comparisons
    # The likelihood of p is exp(-n kl(score, p)) times the largest one.
    evidence = _log_mixture_loss(agreeing, comparisons - agreeing) - math.log(1 - confidence)
    bound = evidence / comparisons
    low = divergence.lowest_share(counts.score, counts.deficit, bound)
    high = 1 - divergence.lowest_share(counts.deficit, counts.score, bound)
    return Interval(low, min(1.0, math.nextafter(high, 2.0)), "sequential", confidence, True)


def arithmetic(counts: AgreementCounts, uncertified: int) -> Interval:
    """Bound the score of comparisons of which so many were too close for the arithmetic to be sure of.

    A bound on errors, not on chance: the confidence is 1.

    Parameters
    ----------
    counts : AgreementCounts
    uncertified : int
        Comparisons whose order is in doubt, an upper bound. Each side counts its own, and exact QSI those of the
        triplets that it takes off too: there may be more than comparisons, which says nothing of the score.

    Raises
    ------
    ValueError
        If there are no comparisons, or `uncertified` is negative.
    """
    _check(counts, 0.5)
    if uncertified < 0:
        raise ValueError(f"{uncertified} comparisons cannot be uncertified: a number of comparisons is not negative")
    low = max(0, counts.agreeing - uncertified) / counts.comparisons
    high = min(counts.comparisons, counts.agreeing + uncertified) / counts.comparisons
    return Interval(low, high, "float32-bound", 1.0, True)


def samples_for(epsilon: float, delta: float) -> int:
    """Give the samples after which the score is within `epsilon` with probability 1 - `delta`.

    ceil(ln(2 / delta) / (2 epsilon^2)), Soares et al. 2026, Corollary 4.

    Raises
    ------
    ValueError
        If either is not between 0 and 1, naming it.
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {value}")
    return math.ceil(math.log(2 / delta) / (2 * epsilon * epsilon))


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless the confidence is between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")


def check_units(agreeing: NDArray[np.int64], each: int) -> None:
    """Raise ValueError unless these are one or more counts out of `each`."""
    if agreeing.ndim != 1 or agreeing.dtype != np.int64 or len(agreeing) == 0 or each < 1:
        raise ValueError("an interval needs at least one unit, and at least one comparison in each")
    if agreeing.min() < 0 or agreeing.max() > each:
        raise ValueError(f"agreeing comparisons of a unit must lie between 0 and {each}")


def exact_sum(counts: NDArray[np.int64]) -> int:
    """Give the sum of counts, which may be beyond 64 bits."""
    return (int(np.sum(counts >> 32)) << 32) + int(np.sum(counts & 0xFFFFFFFF))


def _check(counts: AgreementCounts, confidence: float) -> None:
    check_confidence(confidence)
    if counts.comparisons < 1:
        raise ValueError("an interval needs at least one comparison")


def _log_mixture_loss(successes: int, failures: int) -> float:
    """Give the logarithm of the largest likelihood of a share over the average one under Beta(1/2, 1/2).

    max p^k (1 - p)^(n - k) pi / B(k + 1/2, n - k + 1/2). Stirling's approximations of the three gamma functions cancel,
    so none of them is computed.
    """
    trials = successes + failures
    return (
        math.log(math.pi * (trials + 0.5) / 2) / 2
        + (trials * math.log1p(1 / (2 * trials)) - 0.5)
        + _half_stirling_error(trials + 0.5)
        - _half_stirling_error(successes)
        - _half_stirling_error(failures)
    )


def _half_stirling_error(number: float) -> float:
    """Logarithm of gamma(number + 1/2), less number (ln number - 1) + ln(2 pi) / 2."""
    if number == 0:
        return -math.log(2) / 2
    if number < 32:
        return math.lgamma(number + 0.5) - number * (math.log(number) - 1) - math.log(2 * math.pi) / 2
    inverse = 1 / number
    square = inverse * inverse
    return -inverse * (1 / 24 - square * (7 / 2880 - square * (31 / 40320 - square * 127 / 430080)))
