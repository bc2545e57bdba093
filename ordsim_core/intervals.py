"""Confidence intervals on a score from its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ordsim_core import binomial

if TYPE_CHECKING:
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


def _check(counts: AgreementCounts, confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if counts.comparisons < 1:
        raise ValueError("an interval needs at least one comparison")
