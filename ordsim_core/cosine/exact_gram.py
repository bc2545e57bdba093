"""Sums over two small Gram matrices in whole numbers, for what no rounded arithmetic would resolve."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.cosine.gram_sums import DiagonalSums, GramSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRODUCTS_LIMIT = 1 << 18
"""Most products of whole numbers, N^2 D: a fraction of a second."""


def exact_gram_sums(x: NDArray[Any], y: NDArray[Any]) -> GramSums:
    """Sum over Gram matrices of equal trace, without rounding; neither array may be constant.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Of any real type; columns may differ in number.

    Returns
    -------
    GramSums
        Of fractions.
    """
    k, trace_k = _gram(x)
    other, trace_other = _gram(y)
    k, other = k * trace_other, other * trace_k
    # Twice M and twice D, in units of the trace.
    total, difference = k + other, 2 * (other - k)
    unit = 2 * trace_k * trace_other
    m, d = total.diagonal(), difference.diagonal()

    def share(products: NDArray[np.object_]) -> Fraction:
        return Fraction(int(products.sum()), unit * unit)

    whole = CosineSums(share(total * total), share(total * difference), share(difference * difference))
    diagonal = DiagonalSums(
        Fraction(int(m.sum()), unit), Fraction(int(d.sum()), unit), share(m * m), share(m * d), share(d * d)
    )
    return GramSums(len(x), whole, diagonal, whole.q)


def _gram(values: NDArray[Any]) -> tuple[NDArray[np.object_], int]:
    """Give a multiple of the Gram matrix of centred rows in Python integers, and its trace."""
    ratios = [[_integer_ratio(value) for value in row] for row in values.tolist()]
    unit = max(denominator for row in ratios for _, denominator in row)
    whole = np.array([[number * (unit // denominator) for number, denominator in row] for row in ratios], dtype=object)
    centred = len(whole) * whole - whole.sum(axis=0)
    gram = centred @ centred.T
    return gram, int(gram.trace())


def _integer_ratio(value: float | int | bool) -> tuple[int, int]:
    return value.as_integer_ratio()
