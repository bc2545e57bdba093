"""Standard error of an exact TSI over the rows, or the groups of rows, that might have been drawn instead.

Asymptotic: the first-order (Hajek) projection of a U-statistic of order 3 (Hoeffding 1948).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special

from ordsim_core import coincidence, intervals, population
from ordsim_core.counts import AgreementCounts, triplet_population
from ordsim_core.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


METHOD = "jackknife"


@dataclass(frozen=True, slots=True)
class JackknifeInterval(Interval):
    """Bounds on a population's score by a standard error.

    Attributes
    ----------
    standard_error : float
        Estimate of the standard deviation of the score.
    unit : str
        What is taken to be drawn independently: "row" or "group".
    """

    standard_error: float
    unit: Literal["row", "group"]


def interval(
    agreeing: NDArray[np.int64],
    targets: NDArray[np.int64],
    counts: AgreementCounts,
    confidence: float,
    groups: NDArray[Any] | None = None,
    coincident: AgreementCounts | None = None,
) -> JackknifeInterval:
    """Bound the score of the population that the rows, or their groups, were drawn from.

    The projection of row i is q_i = (A_i + T_i) / (3 C(N - 1, 2)), whose mean is the score U: A_i comparisons agree
    with i as the anchor, T_i with i as a target. Of rows, the delete-one variance is 9 (N - 1) / (N (N - 3)^2) times
    the sum of (q_i - U)^2, exactly. Of G groups, the sum of q_i - U in each takes the place of a row's own, and the
    variance is 9 G (G - 1) / (N^2 (G - 3)^2) times the sum of their squares; groups of one row are rows. Quantiles are
    Student's, with a degree of freedom less than units.

    Where groups are drawn, the population's score is that of three different groups, each weighing as much as it has
    rows: the limit as groups grow many. Comparisons within groups, often quite unlike those between, are taken out: as
    many as `coincident` says agree, or else the interval is widened to whatever may; errors grow as comparisons shrink.

    Where the variance is 0, as it is when everything agrees, or there are just three units, the standard error is 0,
    and bounds and method are those of `population.kl`; for groups, with as many rows as there are groups.

    Parameters
    ----------
    agreeing : ndarray of int64, shape (N,)
        Agreeing comparisons in which each row is the anchor.
    targets : ndarray of int64, shape (N,)
        Agreeing comparisons in which each row is a target.
    counts : AgreementCounts
        All N (N - 1)(N - 2) / 2 comparisons.
    confidence : float
        Reached in the limit of many units.
    groups : ndarray, shape (N,), optional
        A label for every row. Rows with the same one were drawn together.
    coincident : AgreementCounts, optional
        Comparisons of rows not all of different groups: all of them, or a uniform sample of, say, 100,000.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, the arrays are not those of all comparisons, there are fewer than 3
        groups, or `coincident` comes without groups or comparisons.
    """
    intervals.check_confidence(confidence)
    _check(agreeing, targets, counts)
    if groups is None:
        if coincident is not None:
            raise ValueError("without groups there are no coincident comparisons")
        return _by_row(agreeing + targets, counts, confidence)
    return _by_group(agreeing + targets, counts, confidence, groups, coincident)


def _by_row(involving: NDArray[np.int64], counts: AgreementCounts, confidence: float) -> JackknifeInterval:
    rows = len(involving)
    squares = sum((rows * own - 3 * counts.agreeing) ** 2 for own in involving.tolist())
    if squares == 0:  # as always with 3 rows
        bound = population.kl(counts.score, counts.deficit, rows, 3, confidence)
        return JackknifeInterval(bound.low, bound.high, bound.method, confidence, False, 0.0, "row")
    pairs = counts.comparisons // rows
    error = math.sqrt((rows - 1) * squares / (rows**3 * (rows - 3) ** 2 * pairs**2))
    return _around(counts.score, counts.score, error, rows, confidence, "row")


def _by_group(
    involving: NDArray[np.int64],
    counts: AgreementCounts,
    confidence: float,
    groups: NDArray[Any],
    coincident: AgreementCounts | None,
) -> JackknifeInterval:
    rows = len(involving)
    if groups.shape != (rows,):
        raise ValueError(f"{rows} rows need as many group labels, not an array of shape {groups.shape}")
    _, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    units = len(sizes)
    if units < 3:
        raise ValueError(f"a jackknife over groups needs at least 3 of them, not {units}")
    within = coincidence.population(sizes)
    low, high = _between(counts, within, coincident)
    sums = zip(_group_sums(involving, member, sizes), sizes.tolist(), strict=True)
    squares = sum((rows * own - 3 * size * counts.agreeing) ** 2 for own, size in sums)
    if squares == 0 or units == 3:
        below = population.kl(float(low), float(1 - low), units, 3, confidence)
        above = population.kl(float(high), float(1 - high), units, 3, confidence)
        return JackknifeInterval(below.low, above.high, below.method, confidence, False, 0.0, "group")
    # What varies is the share of the comparisons between groups.
    others = counts.comparisons - within
    # The cluster-robust variance, with G / (G - 1), falls short with few groups; leaving out one of them, it does not.
    error = math.sqrt(units * (units - 1) * squares / ((units - 3) ** 2 * rows**2 * others**2))
    return _around(float(low), float(high), error, units, confidence, "group")


def _between(counts: AgreementCounts, within: int, coincident: AgreementCounts | None) -> tuple[Fraction, Fraction]:
    """Give the least and the largest share that may agree of the comparisons of rows of three different groups."""
    least, most = Fraction(0), Fraction(within)
    if coincident is not None and within > 0:
        if coincident.comparisons < 1:
            raise ValueError("there are no coincident comparisons")
        least = most = Fraction(coincident.agreeing * within, coincident.comparisons)
    others = counts.comparisons - within
    low, high = ((counts.agreeing - agreeing) / others for agreeing in (most, least))
    # A sampled share may claim more than there can be.
    return min(max(low, Fraction(0)), Fraction(1)), min(max(high, Fraction(0)), Fraction(1))


def _around(
    least: float, most: float, error: float, units: int, confidence: float, unit: Literal["row", "group"]
) -> JackknifeInterval:
    radius = -float(special.stdtrit(units - 1, (1 - confidence) / 2)) * error
    low, high = max(0.0, least - radius), min(1.0, most + radius)
    return JackknifeInterval(low, high, METHOD, confidence, False, error, unit)


def _group_sums(involving: NDArray[np.int64], member: NDArray[np.intp], sizes: NDArray[np.int64]) -> list[int]:
    """Sum by group in two halves, as a sum may not fit into 64 bits."""
    ordered = involving[np.argsort(member, kind="stable")]
    starts = np.cumsum(sizes) - sizes
    upper = np.add.reduceat(ordered >> 32, starts).tolist()
    lower = np.add.reduceat(ordered & 0xFFFFFFFF, starts).tolist()
    return [(high << 32) + low for high, low in zip(upper, lower, strict=True)]


def _check(agreeing: NDArray[np.int64], targets: NDArray[np.int64], counts: AgreementCounts) -> None:
    rows = len(agreeing)
    if agreeing.shape != (rows,) or targets.shape != (rows,) or {agreeing.dtype, targets.dtype} != {np.dtype(np.int64)}:
        raise ValueError("agreeing comparisons by anchor and by target are two equally long arrays of int64")
    if counts.comparisons != triplet_population(rows) or rows < 3:
        raise ValueError(f"{counts.comparisons} comparisons are not all those of {rows} rows")
    sums = intervals.exact_sum(agreeing), intervals.exact_sum(targets)
    if sums != (counts.agreeing, 2 * counts.agreeing):
        raise ValueError(f"{sums} comparisons agree by anchor and by target, of {counts.agreeing} in all")
