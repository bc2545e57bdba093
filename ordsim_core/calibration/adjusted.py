"""p-values of many scores at once: how rarely chance makes any of them so large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.calibration.values import reaches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def westfall_young(statistics: NDArray[Any]) -> NDArray[np.float64]:
    """Adjust p-values by the largest of all statistics under permutations that they share.

    Step-down maxT (Westfall and Young 1993, algorithm 2.8): the scores in descending order, each against the largest
    null value of itself and all behind it, and no p-value smaller than one before it. The probability of any false
    rejection is at most the level where one permutation makes all true nulls come true at once: of one array against
    others that have nothing to do with it. Among three and more arrays of which none has to do with another, one shared
    permutation of rows is not enough for that, and the level holds nearly; `holm` holds whatever the case.

    Parameters
    ----------
    statistics : ndarray of int64 or float64, shape (1 + K, scores)
        Observed ones first, then those of each permutation; on one scale. Ties count as exceedances.
        Where these are all permutations there are rather than draws, the shares are the same.

    Returns
    -------
    ndarray of float64, shape (scores,)
        (1 + exceedances) / (1 + K) at least.

    Raises
    ------
    ValueError
        If there are no permutations.
    NonFiniteStatisticError
        If a value is NaN or infinite.
    """
    if statistics.ndim != 2 or len(statistics) < 2:
        raise ValueError(f"at least one permutation is needed, not statistics of shape {statistics.shape}")
    draws = len(statistics) - 1
    order = np.argsort(-statistics[0], kind="stable")
    # The largest of each score and all behind it.
    largest = np.maximum.accumulate(statistics[1:, order][:, ::-1], axis=1)[:, ::-1]
    found = np.empty(len(order))
    for place, score in enumerate(order):
        reached = reaches(statistics[0, score].item(), largest[:, place])
        found[score] = (1 + np.count_nonzero(reached)) / (1 + draws)
    found[order] = np.maximum.accumulate(found[order])
    return found


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust p-values whatever their dependence (Holm 1979), float64 of the same length.

    For scores whose permutations have nothing in common.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * np.arange(len(values), 0, -1)
    found = np.empty(len(values))
    found[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return found
