"""TSI and QSI as one would write them with well-known libraries: what the fast path is compared with.

Distances by scikit-learn, order by argsort, discordant pairs by scipy's merge sort under `kendalltau`; the authors'
published implementation does the same. QSI takes `pdist` and one count over all pairs, less the triplets.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats._stats import _kendall_dis
from sklearn.metrics.pairwise import euclidean_distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256


def distances(values: NDArray[Any], anchors: NDArray[np.int64]) -> NDArray[Any]:
    """Give distances from some rows to all, shape (anchors, N)."""
    found: NDArray[Any] = euclidean_distances(values[anchors], values)
    return found


def count_anchors(x: NDArray[Any], y: NDArray[Any], anchors: NDArray[np.int64]) -> int:
    """Count agreeing comparisons of anchors whose distances are the rows of `x` and `y`."""
    agreeing = 0
    for anchor, from_x, from_y in zip(anchors.tolist(), x, y, strict=True):
        agreeing += count_agreeing(np.delete(from_x, anchor), np.delete(from_y, anchor))
    return agreeing


def count_agreeing(x: NDArray[Any], y: NDArray[Any]) -> int:
    """Count the pairs of elements that two lists of distances order alike, a tie in both being alike."""
    order = np.argsort(y)
    x, y = x[order], _dense_ranks(y[order])
    order = np.argsort(x, kind="stable")
    x, y = _dense_ranks(x[order]), y[order]
    discordant = int(_kendall_dis(x, y))
    changes = np.r_[True, (x[1:] != x[:-1]) | (y[1:] != y[:-1]), True]
    tied_both = _pairs(np.diff(np.nonzero(changes)[0]))
    return comb(len(x), 2) - discordant - _pairs(np.bincount(x)) - _pairs(np.bincount(y)) + 2 * tied_both


def triplets(x: NDArray[Any], y: NDArray[Any]) -> int:
    """Count the agreeing comparisons of exact TSI."""
    agreeing = 0
    for start in range(0, len(x), BLOCK):
        anchors = np.arange(start, min(start + BLOCK, len(x)))
        agreeing += count_anchors(distances(x, anchors), distances(y, anchors), anchors)
    return agreeing


def quadruplets(x: NDArray[Any], y: NDArray[Any]) -> int:
    """Count the agreeing comparisons of exact QSI."""
    return count_agreeing(pdist(x), pdist(y)) - triplets(x, y)


def _dense_ranks(ordered: NDArray[Any]) -> NDArray[np.intp]:
    ranks: NDArray[np.intp] = np.r_[True, ordered[1:] != ordered[:-1]].cumsum(dtype=np.intp)
    return ranks


def _pairs(counts: NDArray[Any]) -> int:
    counts = counts.astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
