"""Measures that compare matrices of all pairs of rows, under permutations: rows and columns change places together.

Whatever is done to a matrix before it is compared (centring, ranks, norms) commutes with that, and is done once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from ordsim_core._numba import kernel
from ordsim_core.distances import Distance
from ordsim_core.nulls.features import CONSTANT, UndefinedError, unit_sized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SMALL = 0.25
"""Exponents of RBF kernels whose entries are near 1."""
VARIES = 2.0**-40
"""Entries that vary by less than this part of the largest do so by rounding: they count as all equal."""

METRICS = {
    Distance.EUCLIDEAN: "euclidean",
    Distance.COSINE: "cosine",
    Distance.CORRELATION: "correlation",
    Distance.MANHATTAN: "cityblock",
    Distance.HAMMING: "hamming",
}
"""Names in scipy."""


def distances(values: NDArray[Any], distance: Distance, *, scaled: bool = False) -> NDArray[np.float64]:
    """Measure all distances, float64 of shape (N, N).

    Parameters
    ----------
    values : ndarray, shape (N, D)
        For precomputed distances (N, N).
    distance : Distance
    scaled : bool
        Scale values by a power of two, so that squares stay in the range of float64: for what does not depend on the
        scale.
    """
    wide = np.asarray(values, np.float64)
    if scaled:
        wide = unit_sized(wide)
    if distance is Distance.PRECOMPUTED:
        return wide
    if distance is Distance.DOT:
        products: NDArray[np.float64] = -(wide @ wide.T)
        return products
    found: NDArray[np.float64] = squareform(pdist(wide, METRICS[distance]))
    return found


def radial(between: NDArray[np.float64], bandwidth: float | None) -> NDArray[np.float64]:
    """Turn Euclidean distances into the RBF kernel, or into what it is more than 1; the bandwidth is their median.

    Raises
    ------
    UndefinedError
        If the median distance is 0.
    """
    if bandwidth is None:
        bandwidth = float(np.median(squareform(between, checks=False)))
    if not bandwidth > 0:
        raise UndefinedError("the median distance is 0, so there is no bandwidth")
    exponents = -np.square(between / bandwidth) / 2
    # Near 1, what a kernel has less than 1 has more digits; to centred kernels it is the same.
    kernels: NDArray[np.float64] = np.expm1(exponents) if exponents.min() > -SMALL else np.exp(exponents)
    return kernels


def centred(entries: NDArray[np.float64], *, debiased: bool) -> NDArray[np.float64]:
    """Centre a kernel matrix and bring it to norm 1: the inner product of two such is their CKA.

    `debiased` : U-centring (Szekely and Rizzo 2014), whose inner product is N (N - 3) HSIC1.

    Raises
    ------
    UndefinedError
        If nothing is left.
    """
    rows = len(entries)
    if debiased:
        found = entries - np.diag(np.diag(entries))
        sums = found.sum(axis=0)
        found -= (sums[:, None] + sums[None, :]) / (rows - 2)
        found += sums.sum() / ((rows - 1) * (rows - 2))
        np.fill_diagonal(found, 0.0)
    else:
        means = entries.mean(axis=0)
        found = entries - means[:, None] - means[None, :] + means.mean()
    return _normalised(found, float(np.abs(entries).max()))


def dissimilarities(
    between: NDArray[np.float64], correlation: Literal["pearson", "spearman", "cosine"]
) -> NDArray[np.float64]:
    """Prepare distances so that the inner product of two such matrices is their correlation over all pairs of rows.

    Raises
    ------
    UndefinedError
        If all distances are equal, or 0 for the cosine.
    """
    condensed = squareform(between, checks=False)
    if correlation == "spearman":
        condensed = stats.rankdata(condensed)
    if correlation != "cosine":
        condensed = condensed - condensed.mean()
    return _normalised(squareform(condensed), float(np.abs(between).max()))


def _normalised(found: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    norm = float(np.linalg.norm(found))
    if norm <= len(found) * VARIES * largest:
        raise UndefinedError(CONSTANT)
    return found / norm


def inner_products(
    xs: Sequence[NDArray[np.float64]],
    y: NDArray[np.float64],
    orders: Sequence[NDArray[np.integer]],
    checkpoint: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Multiply each x with y whose rows and columns are in each order, entry by entry, and add up.

    Parameters
    ----------
    xs : sequence of ndarray of float64, shape (N, N)
    y : ndarray of float64, shape (N, N)
    orders : sequence of ndarray of integers, shape (N,)
        The row of y that takes each row's place.
    checkpoint : callable
        Called between orders; may raise to give up.

    Returns
    -------
    ndarray of float64, shape (orders, xs)
        Cosines, where all have norm 1.
    """
    found = np.empty((len(orders), len(xs)))
    for place, order in enumerate(orders):
        checkpoint()
        rows = np.ascontiguousarray(order, np.int64)
        for column, x in enumerate(xs):
            found[place, column] = _inner_product(x, y, rows)
    return found


@kernel
def _inner_product(x: NDArray[np.float64], y: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    # Row by row, so that a row of y stays in the cache while its entries are looked up.
    total = 0.0
    for i in range(x.shape[0]):
        own, other = x[i], y[rows[i]]
        part = 0.0
        for j in range(x.shape[1]):
            part += own[j] * other[rows[j]]
        total += part
    return total
