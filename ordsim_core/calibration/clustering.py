"""The order in which a matrix of scores shows what belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

if TYPE_CHECKING:
    from numpy.typing import NDArray


def dendrogram_order(scores: NDArray[np.float64]) -> list[int]:
    """Order items so that similar ones stand side by side.

    The leaves of average linkage on 1 - score (Sokal and Michener 1958), turned so that neighbours are as similar as
    the tree permits (Bar-Joseph, Gifford and Jaakkola 2001).

    Parameters
    ----------
    scores : ndarray of float64, shape (M, M)
        Symmetric.

    Returns
    -------
    list of int
        Positions from 0.
    """
    if len(scores) < 3:
        return list(range(len(scores)))
    apart = 1.0 - scores
    np.fill_diagonal(apart, 0.0)
    condensed = squareform(apart, checks=False)
    tree = hierarchy.linkage(condensed, "average", optimal_ordering=True)
    order: list[int] = hierarchy.leaves_list(tree).tolist()
    return order
