"""Intervals on the score of the population that the rows come from, where they are independent draws from it.

A score is a U-statistic: the average, over all sets of `order` rows (3 for TSI, 4 for QSI), of a kernel within [0, 1].
It is an average of averages over floor(N / order) independent sets (Hoeffding 1963, section 5b). By the convexity of
the exponential function, Chernoff's bound for as many independent values holds for it too.
"""

from __future__ import annotations

import math

from ordsim_core import divergence, intervals
from ordsim_core.intervals import Interval

METHOD = "kl-u-statistic"


def kl(score: float, deficit: float, rows: int, order: int, confidence: float) -> Interval:
    """Bound the population's score from the exact score of its rows: k kl(score, bound) <= ln(2 / delta).

    k = floor(rows / order); Hoeffding 1963, theorem 1 and section 5b, before its exponent is weakened.

    Parameters
    ----------
    score, deficit : float
        The exact score and 1 less it, each correctly rounded: a tiny deficit keeps its digits.
    rows : int
        Rows, independent draws from the population.
    order : int
        Rows in a comparison: 3 for TSI, 4 for QSI.
    confidence : float
        1 - delta.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are fewer rows than a comparison needs, or score and deficit are
        not shares that add up to 1.
    """
    intervals.check_confidence(confidence)
    bound = math.log(2 / (1 - confidence)) / _blocks(rows, order)
    low = divergence.lowest_share(score, deficit, bound)
    high = 1 - divergence.lowest_share(deficit, score, bound)
    return Interval(low, min(1.0, math.nextafter(high, 2.0)), METHOD, confidence, True)


def hoeffding(score: float, rows: int, order: int, confidence: float) -> Interval:
    """Bound the population's score from the exact score of its rows (Hoeffding 1963, section 5b).

    The radius is sqrt(ln(2 / delta) / (2 floor(rows / order))). Never narrower than `kl`, which jobs use: the form in
    which the bound is known, for those who want to compare with it.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1, there are fewer rows than a comparison needs, or the score is not
        within [0, 1].
    """
    intervals.check_confidence(confidence)
    if not 0 <= score <= 1:
        raise ValueError(f"a score lies between 0 and 1, not at {score}")
    radius = math.sqrt(math.log(2 / (1 - confidence)) / (2 * _blocks(rows, order)))
    return Interval(max(0.0, score - radius), min(1.0, score + radius), "hoeffding-u-statistic", confidence, True)


def around(sampling: Interval, rows: int, order: int, confidence: float) -> Interval:
    """Bound the population's score from an interval on the exact score of its rows.

    The interval's own delta is taken out of 1 - `confidence`; `kl` gets the rest of it.

    Raises
    ------
    ValueError
        If the interval is not rigorous or leaves nothing of 1 - `confidence`, or as `kl` does.
    """
    intervals.check_confidence(confidence)
    rest = (1 - confidence) - (1 - sampling.confidence)
    if sampling.method == "none-exact":
        rest = 1 - confidence
    if not sampling.rigorous or rest <= 0:
        raise ValueError("only a rigorous interval of a higher confidence can be widened to the population")
    # Both ends grow with the score. What 1 - low and 1 - high lose, a unit in the last place of 1, is less than what
    # any number of rows can tell apart.
    low = kl(sampling.low, 1 - sampling.low, rows, order, 1 - rest).low
    high = kl(sampling.high, 1 - sampling.high, rows, order, 1 - rest).high
    return Interval(max(0.0, low - 2.0**-52), min(1.0, high + 2.0**-52), METHOD, confidence, True)


def _blocks(rows: int, order: int) -> int:
    if rows < order:
        raise ValueError(f"a comparison needs {order} rows, there are {rows}")
    return rows // order
