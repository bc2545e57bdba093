"""The sums over two Gram matrices of which every measure that is linear in them is made.

K and L are the Gram matrices of the centred rows of x and y; M = (K + L) / 2 and D = L - K. Beside the three sums of
the cosine form, five sums over the diagonals suffice for the debiased estimator and for squared distances, since
the rows of K and L add up to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.cosine.cosine_form import CosineSums

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Statistic(StrEnum):
    """What a cosine is taken of.

    BIASED: the centred Gram matrices, linear CKA (Kornblith et al. 2019). DEBIASED: the U-centred ones, whose squared
    norm is N (N - 3) HSIC1 (Song et al. 2012; Székely and Rizzo 2014). DISTANCES: squared Euclidean distances of rows
    i < j. CENTRED_DISTANCES: those less their mean, so that the cosine is their Pearson correlation.
    """

    BIASED = "biased"
    DEBIASED = "debiased"
    DISTANCES = "distances"
    CENTRED_DISTANCES = "centred-distances"

    @property
    def minimum_rows(self) -> int:
        """Fewest rows of which it can be taken."""
        return {Statistic.DEBIASED: 4, Statistic.CENTRED_DISTANCES: 3}.get(self, 2)


@dataclass(frozen=True, slots=True)
class DiagonalSums:
    """Sums over the rows of m, the diagonal of M, and d, the diagonal of D.

    Attributes
    ----------
    m, d, mm, md, dd : float or Fraction
        Sums of m, d, m^2, m d and d^2.
    s, e : float
        Sums of the squares of all entries of S and of E, of which M and D are made; 0 where they were not.
    """

    m: float | Fraction
    d: float | Fraction
    mm: float | Fraction
    md: float | Fraction
    dd: float | Fraction
    s: float = 0.0
    e: float = 0.0


@dataclass(frozen=True, slots=True)
class GramSums:
    """Sums over M and D of the Gram matrices of N centred rows.

    Attributes
    ----------
    rows : int
        N.
    whole : CosineSums
        Over all N^2 entries.
    diagonal : DiagonalSums
    q_terms : float or Fraction
        Sum of the magnitudes of what <D, D> was added up from.
    columns : int
        D.
    """

    rows: int
    whole: CosineSums
    diagonal: DiagonalSums
    q_terms: float | Fraction
    columns: int = 1

    def with_rows(self, rows: int, diagonal: NDArray[np.float64]) -> GramSums:
        """Put in what a factor of the rows does not know: how many there are, and their diagonal, shape (7,)."""
        return replace(self, rows=rows, diagonal=DiagonalSums(*diagonal.tolist()))

    @property
    def _q_size(self) -> float | Fraction:
        """What <D, D> would be if nothing cancelled, neither in its terms nor inside products of rows.

        Rows of S and E that point anywhere have products of |S|^2 |E|^2 / D in all.
        """
        return max(self.q_terms, self.diagonal.s * self.diagonal.e / self.columns)

    def of(self, statistic: Statistic) -> StatisticSums:
        """Combine them into the sums of a statistic.

        Raises
        ------
        ValueError
            If it cannot be taken of so few rows.
        """
        n = self.rows
        if n < statistic.minimum_rows:
            raise ValueError(f"{statistic} needs at least {statistic.minimum_rows} rows, there are {n}")
        match statistic:
            case Statistic.BIASED:
                return StatisticSums(self.whole, self._q_size, self.whole.m2)
            case Statistic.DEBIASED:
                return self._combined(1, Fraction(1, (n - 1) * (n - 2)), Fraction(-n, n - 2))
            case Statistic.DISTANCES:
                return self._combined(2, Fraction(1), Fraction(n))
            case Statistic.CENTRED_DISTANCES:
                return self._combined(2, Fraction(-n - 1, n - 1), Fraction(n))

    def _combined(self, whole: int, products: Fraction, squares: Fraction) -> StatisticSums:
        """Add up so many times the whole, and products and squares of the diagonals."""
        gram, diagonal = self.whole, self.diagonal
        m2 = (whole * gram.m2, products * diagonal.m * diagonal.m, squares * diagonal.mm)
        t = (whole * gram.t, products * diagonal.m * diagonal.d, squares * diagonal.md)
        q = (whole * gram.q, products * diagonal.d * diagonal.d, squares * diagonal.dd)
        # Rounding may leave less than nothing of what is a squared norm.
        sums = CosineSums(max(sum(m2), 0), sum(t), max(sum(q), 0)).balanced()
        return StatisticSums(sums, whole * self._q_size + _size(q[1:]), _size(m2))


@dataclass(frozen=True, slots=True)
class StatisticSums:
    """Sums of the cosine form, with the magnitudes of what they were added up from.

    Attributes
    ----------
    sums : CosineSums
    q_terms, m2_terms : float or Fraction
        What <D, D> and <M, M> would be if nothing cancelled.
    """

    sums: CosineSums
    q_terms: float | Fraction
    m2_terms: float | Fraction

    @property
    def kappa_scale(self) -> float:
        """As of `CosineSums`."""
        return self.sums.kappa_scale

    @property
    def kappa_rotation(self) -> float:
        """Factor by which rounding reaches <D, D>: large where y is close to a rotation of x."""
        return _condition(self.q_terms, self.sums.q)

    @property
    def kappa_norm(self) -> float:
        """Factor by which rounding reaches the norms: large where few rows outweigh all others."""
        return _condition(self.m2_terms, self.sums.m2)

    def numbers(self) -> NDArray[np.float64]:
        """Give m2, t, q and both terms, float64 of shape (5,)."""
        sums = self.sums
        return np.array([float(number) for number in (sums.m2, sums.t, sums.q, self.q_terms, self.m2_terms)])

    @classmethod
    def total(cls, lines: NDArray[np.float64]) -> StatisticSums:
        """Add up `numbers`, shape (n, 5); each is rounded once, so their order does not matter."""
        m2, t, q, q_terms, m2_terms = (math.fsum(column) for column in lines.T.tolist())
        return cls(CosineSums(m2, t, q), q_terms, m2_terms)


def _size(parts: tuple[float | Fraction, ...]) -> float | Fraction:
    """Add up magnitudes."""
    return sum(part if part > 0 else -part for part in parts)


def _condition(terms: float | Fraction, total: float | Fraction) -> float:
    if terms == 0:
        return 1.0
    return max(1.0, float(terms / total)) if total > 0 else math.inf
