"""Intervals on correlations of independently drawn pairs of values, by the delta method on Fisher's scale.

The variance of a correlation is that of its influence function, which takes no assumption on how the values are
distributed; atanh then makes the interval fit between -1 and 1. Right in the limit of many samples, not proven for any
number of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from ordsim_core.intervals import Interval, check_confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.cosine.cosine_form import CosineSums

METHOD = "fisher-z"


def of_moments(
    sums: CosineSums, fourth: dict[tuple[int, int], float], samples: int, deficit: float, confidence: float
) -> Interval | None:
    """Bound a Pearson or cosine correlation of sampled pairs.

    With u and v the values over their root mean squares, the deficit has the influence function
    (u - v)^2 / 2 - D (u^2 + v^2) / 2, a quadratic form in m and d.

    Parameters
    ----------
    sums : CosineSums
    fourth : dict
        Sums of m^a d^b for a + b = 4, about the means if those are taken off.
    samples : int
    deficit : float
        1 less the correlation.
    confidence : float

    Returns
    -------
    Interval or None
        None where all samples agree, or disagree, as far as their variance says.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1.
    """
    whole = sums.m2 + sums.q / 4
    of_x, of_y = (whole - sums.t) / samples, (whole + sums.t) / samples
    one, other = math.sqrt(of_x), math.sqrt(of_y)
    stretch = 2 * sums.t / samples / ((one + other) * one * other)
    apart = -(one + other) / (2 * one * other)
    inverse, lean = 1 / of_x + 1 / of_y, 1 / of_y - 1 / of_x
    mm = (stretch**2 - deficit * inverse) / 2
    md = stretch * apart - deficit * lean / 2
    dd = apart**2 / 2 - deficit * inverse / 8
    variance = math.fsum(
        (
            mm * mm * fourth[4, 0],
            2 * mm * md * fourth[3, 1],
            (md * md + 2 * mm * dd) * fourth[2, 2],
            2 * md * dd * fourth[1, 3],
            dd * dd * fourth[0, 4],
        )
    )
    return _fisher(deficit, variance / samples / samples, confidence)


def of_ranks(x: NDArray[np.float64], y: NDArray[np.float64], deficit: float, confidence: float) -> Interval | None:
    """Bound Spearman's correlation of sampled pairs of values, float64 of shape (samples,), ties as they come.

    Ranks depend on all samples: that too is in the influence function. Returns and errors are those of `of_moments`.
    """
    (u, groups_x), (v, groups_y) = _shares(x), _shares(y)
    cross, of_x, of_y = (float(np.mean(one * other)) for one, other in ((u, v), (u, u), (v, v)))
    on_cross = u * v + _beyond(groups_x, v) + _beyond(groups_y, u) - 3 * cross
    on_x, on_y = (
        w * w + 2 * _beyond(groups, w) - 3 * size for w, groups, size in ((u, groups_x, of_x), (v, groups_y, of_y))
    )
    score = cross / math.sqrt(of_x * of_y)
    influence = on_cross / math.sqrt(of_x * of_y) - score / 2 * (on_x / of_x + on_y / of_y)
    return _fisher(deficit, float(np.mean(influence * influence)) / len(x), confidence)


def _shares(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give the share of values below each, and half of those equal to it, less 1/2; and the groups of equal values."""
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    shares = (np.cumsum(sizes) - sizes / 2) / len(values) - 0.5
    return shares[groups], groups


def _beyond(groups: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average weights over values that are larger than each, those equal to it counting half."""
    totals = np.bincount(groups, weights)
    beyond: NDArray[np.float64] = (np.sum(weights) - np.cumsum(totals) + totals / 2)[groups] / len(groups)
    return beyond


def _fisher(deficit: float, variance: float, confidence: float) -> Interval | None:
    check_confidence(confidence)
    spread = deficit * (2 - deficit)
    if not variance > 0 or not spread > 0:
        return None
    middle = math.log((2 - deficit) / deficit) / 2
    reach = float(special.ndtri((1 + confidence) / 2)) * math.sqrt(variance) / spread
    return Interval(math.tanh(middle - reach), math.tanh(middle + reach), METHOD, confidence, False)
