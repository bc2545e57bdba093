"""Confidence intervals on a score from its counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import betainccinv, betaincinv

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
        If `confidence` is not between 0 and 1, or there are no comparisons.
    """
    _check(counts, confidence)
    agreeing, comparisons = counts.agreeing, counts.comparisons
    tail = (1 - confidence) / 2
    low = float(betaincinv(agreeing, comparisons - agreeing + 1, tail)) if agreeing else 0.0
    # The complement takes the small tail as it is: 1 - tail, rounded, would move the bound inwards by 1e-10.
    high = float(betainccinv(agreeing + 1, comparisons - agreeing, tail)) if agreeing < comparisons else 1.0
    # Step outwards by more than these functions err: betaincinv is good to some units in its own last place, but
    # betainccinv only to some in the last place of 1, which for a small quantile is not the same.
    low, high = max(0.0, low * (1 - 2.0**-46)), min(1.0, high + 2.0**-48)
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
