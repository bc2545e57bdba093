"""Differences of two scores, of X with A and of X with B, from comparisons that both share.

What both scores have in common cancels out: an interval on the difference is narrower than two intervals on the scores
say, and holds whether or not those overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special

from ordsim_core import betting, coincidence, intervals, jackknife, population
from ordsim_core.counts import triplet_population
from ordsim_core.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts


@dataclass(frozen=True, slots=True)
class DifferenceInterval(Interval):
    """Bounds on a difference of two scores, within [-1, 1]; attributes are those of `Interval`."""


@dataclass(frozen=True, slots=True)
class JackknifeDifference(DifferenceInterval):
    """Bounds on the difference of a population's scores by a standard error: asymptotic.

    Attributes
    ----------
    standard_error : float
        Estimate of the standard deviation of the difference.
    unit : str
        What is taken to be drawn independently: "row" or "group".
    p_value : float or None
        Of no difference, two-sided; below 1 - confidence if and only if the bounds leave out 0. None where the
        variance is 0.
    """

    standard_error: float
    unit: Literal["row", "group"]
    p_value: float | None


@dataclass(frozen=True, eq=False)
class ExactScore:
    """An exact TSI, as `triplets.exact_block` counts it per target.

    Attributes
    ----------
    agreeing, targets : ndarray of int64, shape (N,)
        Agreeing comparisons in which each row is the anchor, and a target.
    counts : AgreementCounts
        All N (N - 1)(N - 2) / 2 comparisons.
    """

    agreeing: NDArray[np.int64]
    targets: NDArray[np.int64]
    counts: AgreementCounts

    def __post_init__(self) -> None:
        """Raise ValueError unless these are the counts of all comparisons."""
        rows = len(self.agreeing)
        if self.agreeing.shape != (rows,) or self.targets.shape != (rows,):
            raise ValueError("agreeing comparisons by anchor and by target are two equally long arrays")
        if rows < 3 or self.counts.comparisons != triplet_population(rows):
            raise ValueError(f"{self.counts.comparisons} comparisons are not all those of {rows} rows")
        sums = intervals.exact_sum(self.agreeing), intervals.exact_sum(self.targets)
        if sums != (self.counts.agreeing, 2 * self.counts.agreeing):
            raise ValueError(f"{sums} comparisons agree by anchor and by target, of {self.counts.agreeing} in all")


def sampled(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    each: int,
    confidence: float,
    method: Callable[[NDArray[np.int64], int, float], Interval] = betting.interval,
) -> DifferenceInterval:
    """Bound the difference of two exact scores from independent units that were compared for both.

    Parameters
    ----------
    one, other : ndarray of int64, shape (units,)
        Agreeing comparisons of every unit, with A and with B, in draw order: see `profiles.agreeing_by_unit`.
    each : int
        Comparisons in a unit.
    confidence : float
    method : callable
        Bounds the mean of shares: `betting.interval`, `intervals.maurer_pontil`. Of a difference d within [-1, 1],
        (1 + d) / 2 is one.

    Raises
    ------
    ValueError
        If the arrays differ in length, or as the method does for either of them.
    """
    if one.shape != other.shape:
        raise ValueError(f"differences need the same units on both sides, not {one.shape} and {other.shape}")
    intervals.check_units(one, each)
    intervals.check_units(other, each)
    return _of_shares(method(each + one - other, 2 * each, confidence))


def around(sampling: DifferenceInterval, rows: int, order: int, confidence: float) -> DifferenceInterval:
    """Bound the difference of a population's scores, of which the rows are independent draws.

    Parameters
    ----------
    sampling : DifferenceInterval
        On the difference of the exact scores of these rows, from `sampled` or `exact`.
    rows, order, confidence
        As for `population.around`.

    Raises
    ------
    ValueError
        As `population.around` does.
    """
    low, high = (1 + sampling.low) / 2, (1 + sampling.high) / 2
    low, high = max(0.0, math.nextafter(low, 0.0)), min(1.0, math.nextafter(high, 1.0))
    shares = Interval(low, high, sampling.method, sampling.confidence, sampling.rigorous)
    return _of_shares(population.around(shares, rows, order, confidence))


def exact(one: AgreementCounts, other: AgreementCounts, confidence: float) -> DifferenceInterval:
    """Give the interval of a difference that was counted in full: the difference itself.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, or the numbers of comparisons differ or are 0.
    """
    intervals.check_confidence(confidence)
    difference = float(_difference(one, other))
    return DifferenceInterval(difference, difference, "none-exact", confidence, True)


def jackknifed(
    one: ExactScore,
    other: ExactScore,
    confidence: float,
    groups: NDArray[Any] | None = None,
    coincident: tuple[AgreementCounts, AgreementCounts] | None = None,
) -> JackknifeDifference:
    """Bound the difference of the scores of the population that the rows, or their groups, were drawn from.

    The difference of two U-statistics is one of the differences of their kernels, and its projections are the
    differences of theirs. All else is as in `jackknife.interval`: quantiles, what groups are, and what becomes of
    comparisons within them. Where the variance is 0 bounds are those of `population.kl`.

    Parameters
    ----------
    one, other : ExactScore
        Of X with A, and of X with B.
    confidence : float
        Reached in the limit of many units.
    groups : ndarray, shape (N,), optional
        A label for every row. Rows with the same one were drawn together.
    coincident : pair of AgreementCounts, optional
        With A and with B, the same comparisons of rows not all of different groups: all of them, or a uniform sample.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, the scores are of different numbers of rows, there are fewer than 3
        groups, or `coincident` comes without groups or comparisons.
    """
    intervals.check_confidence(confidence)
    rows = len(one.agreeing)
    if len(other.agreeing) != rows:
        raise ValueError(f"scores of {rows} and of {len(other.agreeing)} rows have no common projection")
    involving = (one.agreeing - other.agreeing) + (one.targets - other.targets)
    if groups is None:
        if coincident is not None:
            raise ValueError("without groups there are no coincident comparisons")
        sums, sizes = involving.tolist(), [1] * rows
    else:
        sums, sizes = _by_group(involving, groups)
    within = 0 if groups is None else coincidence.population(np.array(sizes, np.int64))
    others = one.counts.comparisons - within
    low, high = _between(one.counts, other.counts, within, coincident)
    total, units = one.counts.agreeing - other.counts.agreeing, len(sums)
    squares = sum((rows * own - 3 * size * total) ** 2 for own, size in zip(sums, sizes, strict=True))
    unit: Literal["row", "group"] = "row" if groups is None else "group"
    if squares == 0 or units == 3:
        below, above = (_population(share, units, confidence) for share in (low, high))
        return JackknifeDifference(below.low, above.high, below.method, confidence, False, 0.0, unit, None)
    error = math.sqrt(Fraction(units * (units - 1) * squares, (units - 3) ** 2 * rows**2 * others**2))
    return _by_error(float(low), float(high), error, units, confidence, unit)


def _difference(one: AgreementCounts, other: AgreementCounts) -> Fraction:
    if one.comparisons != other.comparisons or one.comparisons < 1:
        raise ValueError(f"{one.comparisons} and {other.comparisons} comparisons cannot be the same ones")
    return Fraction(one.agreeing - other.agreeing, one.comparisons)


def _by_group(involving: NDArray[np.int64], groups: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Sum by group, in Python's integers: a sum may not fit into 64 bits."""
    if groups.shape != involving.shape:
        raise ValueError(f"{len(involving)} rows need as many group labels, not an array of shape {groups.shape}")
    _, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 3:
        raise ValueError(f"a jackknife over groups needs at least 3 of them, not {len(sizes)}")
    ordered = involving[np.argsort(member, kind="stable")].astype(object)
    return np.add.reduceat(ordered, np.cumsum(sizes) - sizes).tolist(), sizes.tolist()


def _between(
    one: AgreementCounts,
    other: AgreementCounts,
    within: int,
    coincident: tuple[AgreementCounts, AgreementCounts] | None,
) -> tuple[Fraction, Fraction]:
    """Give the least and the largest difference that is possible of the comparisons of three different groups."""
    total = one.agreeing - other.agreeing
    least, most = Fraction(-within), Fraction(within)
    if coincident is not None and within > 0:
        least = most = within * _difference(*coincident)
    others = one.comparisons - within
    # A sampled share may claim more than there can be.
    low, high = (max(Fraction(-1), min(Fraction(1), (total - taken) / others)) for taken in (most, least))
    return low, high


def _population(difference: Fraction, units: int, confidence: float) -> DifferenceInterval:
    share = (1 + difference) / 2
    return _of_shares(population.kl(float(share), float(1 - share), units, 3, confidence))


def _by_error(
    least: float, most: float, error: float, units: int, confidence: float, unit: Literal["row", "group"]
) -> JackknifeDifference:
    radius = -float(special.stdtrit(units - 1, (1 - confidence) / 2)) * error
    low, high = max(-1.0, least - radius), min(1.0, most + radius)
    nearest = max(least, -most, 0.0)
    p_value = min(1.0, 2 * float(special.stdtr(units - 1, -nearest / error)))
    return JackknifeDifference(low, high, jackknife.METHOD, confidence, False, error, unit, p_value)


def _of_shares(interval: Interval) -> DifferenceInterval:
    low, high = math.nextafter(2 * interval.low - 1, -2.0), math.nextafter(2 * interval.high - 1, 2.0)
    return DifferenceInterval(max(-1.0, low), min(1.0, high), interval.method, interval.confidence, interval.rigorous)
