"""Measures of feature spaces under permutations: what does not change is computed once, then a product for each order.

Permuting the rows of Y leaves its means, norms and subspaces as they are, so every permutation costs one product of
D x D columns (and a singular value decomposition of it where the measure is made of those). Scores here are plain
ones, good for comparing with each other: observed and permuted ones are rounded alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

CONSTANT = "all rows are equal, so there is nothing to compare"
RANK_ROUNDINGS = 16
"""Singular values below so many roundings of the largest, for each row and column, are noise."""


class Kind(StrEnum):
    """What is computed from the columns of two centred arrays."""

    CKA = "cka"
    CKA_DEBIASED = "cka-debiased"
    PROCRUSTES = "procrustes"
    CCA = "cca"
    PWCCA = "pwcca"


class UndefinedError(ValueError):
    """The measure is not defined for an array; the message says why."""


@dataclass(frozen=True, eq=False)
class Features:
    """What a measure needs of one array.

    Attributes
    ----------
    columns : ndarray of float64, shape (N, R)
        Centred columns; orthonormal ones where the measure compares subspaces.
    diagonal : ndarray of float64, shape (N,)
        Squared length of each centred row.
    norm : float
        Square root of the measure of the array with itself.
    weights : ndarray of float64, shape (R, D)
        The array's own centred columns in terms of the orthonormal ones.
    centred : ndarray of float64, shape (N, D)
        The array less its means.
    kind : Kind
    threshold : float or None
    """

    columns: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    norm: float
    weights: NDArray[np.float64]
    centred: NDArray[np.float64]
    kind: Kind
    threshold: float | None

    def reordered(self, order: NDArray[np.integer]) -> Features:
        """Give the same of the array with its rows in another order; of rows that repeat, everything changes."""
        if not np.array_equal(np.bincount(order, minlength=len(self.diagonal)), np.ones(len(self.diagonal), np.int64)):
            return features(self.centred[order], self.kind, self.threshold)
        return replace(self, columns=self.columns[order], diagonal=self.diagonal[order])


def features(values: NDArray[Any], kind: Kind, threshold: float | None = None) -> Features:
    """Compute what does not change when rows are permuted.

    Parameters
    ----------
    values : ndarray, shape (N, D)
    kind : Kind
    threshold : float, optional
        Of subspaces: keep as few directions as have this share of the variance (SVCCA, Raghu et al. 2017).

    Raises
    ------
    UndefinedError
        If all rows are equal, the debiased self-similarity is not positive, or the columns of which subspaces are
        compared span all dimensions that the rows have.
    """
    centred = unit_sized(np.asarray(values, np.float64))
    centred = centred - centred.mean(axis=0)
    centred = unit_sized(centred - centred.mean(axis=0))
    diagonal = np.einsum("ij,ij->i", centred, centred)
    nothing = np.empty((0, 0))
    if not diagonal.any():
        raise UndefinedError(CONSTANT)
    if kind in (Kind.CCA, Kind.PWCCA):
        basis, weights = _basis(centred, threshold)
        return Features(basis, diagonal, 1.0, weights, centred, kind, threshold)
    if kind is Kind.PROCRUSTES:
        return Features(centred, diagonal, float(np.sqrt(diagonal.sum())), nothing, centred, kind, None)
    squared = float(np.square(centred.T @ centred).sum())
    if kind is Kind.CKA_DEBIASED:
        largest = squared + 3 * float(diagonal.sum()) ** 2 / len(diagonal)
        squared = _unbiased(squared, diagonal, diagonal)
        if not squared > len(diagonal) * np.finfo(np.float64).eps * largest:  # the rest is rounding
            raise UndefinedError("the debiased similarity of the array with itself is not positive")
    return Features(centred, diagonal, squared**0.5, nothing, centred, kind, None)


def scores(
    xs: Sequence[Features],
    y: Features,
    orders: Sequence[NDArray[np.integer]],
    checkpoint: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Compute the measure of each x and y with its rows in each order.

    Parameters
    ----------
    xs : sequence of Features
    y : Features
    orders : sequence of ndarray of integers, shape (N,)
        The row of y that takes each row's place.
    checkpoint : callable
        Called between orders; may raise to give up.

    Returns
    -------
    ndarray of float64, shape (orders, xs)
    """
    found = np.empty((len(orders), len(xs)))
    for place, order in enumerate(orders):
        checkpoint()
        moved = y.reordered(order)
        found[place] = [_score(x, moved) for x in xs]
    return found


def unit_sized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale by a power of two, so that neither squares nor their sums leave the range of float64."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    scaled: NDArray[np.float64] = np.ldexp(values, -exponent)
    return scaled


def _score(x: Features, y: Features) -> float:
    product, kind = x.columns.T @ y.columns, x.kind
    if kind is Kind.CKA:
        return float(np.square(product).sum()) / (x.norm * y.norm)
    if kind is Kind.CKA_DEBIASED:
        return _unbiased(float(np.square(product).sum()), x.diagonal, y.diagonal) / (x.norm * y.norm)
    if kind is Kind.PROCRUSTES:
        return float(np.linalg.svd(product, compute_uv=False).sum()) / (x.norm * y.norm)
    directions, correlations, _ = np.linalg.svd(product, full_matrices=False)
    if kind is Kind.CCA:
        return min(1.0, float(correlations.mean()))
    # Morcos, Raghu and Bengio 2018: each direction weighs as much as it has of x.
    weights = np.abs(directions.T @ x.weights).sum(axis=1)
    return min(1.0, float(np.average(correlations, weights=weights)))


def _unbiased(squared: float, one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """N (N - 3) HSIC1 of centred arrays (Song et al. 2012), from the squared norm of their product."""
    rows = len(one)
    traces = float(one.sum()) * float(other.sum()) / ((rows - 1) * (rows - 2))
    found: float = squared + traces - rows / (rows - 2) * float(one @ other)
    return found


def _basis(centred: NDArray[np.float64], threshold: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    rank = int(np.count_nonzero(sizes > sizes[0] * RANK_ROUNDINGS * max(centred.shape) * np.finfo(np.float64).eps))
    if threshold is not None:
        shares = np.cumsum(np.square(sizes)) / np.square(sizes).sum()
        rank = min(rank, int(np.searchsorted(shares, threshold)) + 1)
    if rank >= len(centred) - 1:
        raise UndefinedError(
            f"the columns span all {rank} dimensions that {len(centred)} rows have, so every correlation is 1 whatever "
            "the values"
        )
    return np.ascontiguousarray(left[:, :rank]), sizes[:rank, None] * right[:rank]
