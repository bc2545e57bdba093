"""Sums over two Gram matrices from D x D moments of centred rows: memory and time do not grow with N squared.

With S = X + Y and E = Y - X, both centred, K + L = (S S' + E E') / 2 and L - K = (S E' + E S') / 2, so that
everything follows from S'S, S'E and E'E. Where E is small, its moments are small with all their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import blas

from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.cosine.gram_sums import DiagonalSums, GramSums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.cosine.alignment import Reader


DIAGONAL = 7
"""Sums in `DiagonalSums`."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of some rows; those of all rows are their sum, in the order of the rows.

    Attributes
    ----------
    ss, se, ee : ndarray of float64, shape (D, D)
        S'S, S'E and E'E. Of the first and the last, the upper triangle alone.
    diagonal : ndarray of float64, shape (7,)
        As `DiagonalSums`.
    """

    ss: NDArray[np.float64]
    se: NDArray[np.float64]
    ee: NDArray[np.float64]
    diagonal: NDArray[np.float64]

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.ss + other.ss, self.se + other.se, self.ee + other.ee, self.diagonal + other.diagonal)


def block_moments(
    reader: Reader, start: int, stop: int, checkpoint: Callable[[], None], with_diagonal: bool = True
) -> Moments:
    """Add up the moments of rows start <= row < stop, chunk by chunk; the diagonal only if it is needed."""
    columns = reader.alignment.columns
    ss, se, ee = (np.zeros((columns, columns), order="F") for _ in range(3))
    diagonal = np.zeros(DIAGONAL)
    for sums, differences in reader.chunks(start, stop):
        checkpoint()
        s, e = sums.T, differences.T
        # The accumulators have the order that BLAS adds to in place.
        ss = blas.dsyrk(1.0, s, beta=1.0, c=ss, overwrite_c=True)
        se = blas.dgemm(1.0, s, e, beta=1.0, c=se, trans_b=True, overwrite_c=True)
        ee = blas.dsyrk(1.0, e, beta=1.0, c=ee, overwrite_c=True)
        if with_diagonal:
            diagonal += diagonal_sums(sums, differences)
    diagonal[-2:] = ss.trace(), ee.trace()
    return Moments(ss, se, ee, diagonal)


def gram_sums(sums: NDArray[np.float64], differences: NDArray[np.float64]) -> GramSums:
    """Give the sums of some rows of S and E at once."""
    s, e = sums.T, differences.T
    found = Moments(s @ sums, s @ differences, e @ differences, diagonal_sums(sums, differences))
    return from_moments(len(sums), found)


def diagonal_sums(sums: NDArray[np.float64], differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up what `DiagonalSums` holds, of some rows of S and E; float64 of shape (7,)."""
    s, e = _row_products(sums, sums), _row_products(differences, differences)
    m, d = (s + e) / 4, _row_products(sums, differences)
    return np.array([m.sum(), d.sum(), m @ m, m @ d, d @ d, s.sum(), e.sum()])


def from_moments(rows: int, moments: Moments) -> GramSums:
    """Turn the moments of all rows into sums over Gram matrices."""
    ss, se, ee = _whole(moments.ss), moments.se, _whole(moments.ee)
    straight, turned = _inner(ss, ee), _inner(se, se.T)
    whole = CosineSums(
        (_inner(ss, ss) + 2 * _inner(se, se) + _inner(ee, ee)) / 16,
        (_inner(ss, se) + _inner(ee, se)) / 4,
        max((straight + turned) / 2, 0.0),
    )
    terms = (straight + abs(turned)) / 2
    return GramSums(rows, whole, DiagonalSums(*moments.diagonal.tolist()), terms, len(ss))


def _row_products(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.einsum("ij,ij->i", one, other)
    return found


def _whole(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mirror the upper triangle."""
    found: NDArray[np.float64] = np.triu(upper) + np.triu(upper, 1).T
    return found


def _inner(one: NDArray[Any], other: NDArray[Any]) -> float:
    """<one, other>, with columns of both signs added up exactly."""
    return math.fsum(np.einsum("ij,ij->j", one, other).tolist())
