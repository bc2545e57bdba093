"""Linear CKA without loss of digits, for arrays of a few dozen rows: what near-identical arrays are checked against.

The deficit comes from A = Xc Xc^T and B = Yc Yc^T by M = (A + B) / 2 and Delta = B - A, where Delta is computed from
the difference of the arrays, not of the matrices: with E = Y - X and S = X + Y, both centred, Delta = (S E^T + E S^T)
/ 2 and M = (S S^T + E E^T) / 4. Then 1 - s = (m t - c^2) / (n (n + m - t / 4)) with m = <M, M>, c = <M, Delta>,
t = <Delta, Delta> and n^2 = (m + t / 4)^2 - c^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
Deficit: TypeAlias = Callable[[Matrix, Matrix], float]


def linear_cka_deficit(x: Matrix, y: Matrix) -> float:
    """Deficit of linear CKA (Kornblith et al. 2019) between arrays of shapes (N, D) and (N, D)."""
    middle, change = _middle_and_change(x, y)
    return _deficit(middle, change)


def debiased_linear_cka_deficit(x: Matrix, y: Matrix) -> float:
    """Deficit of linear CKA with the unbiased estimator of HSIC (Song et al. 2012; Nguyen et al. 2021)."""
    middle, change = _middle_and_change(x, y)
    return _deficit(_u_centred(middle), _u_centred(change))


def linear_cka(x: Matrix, y: Matrix, *, debiased: bool) -> float:
    """Linear CKA between arrays of shapes (N, DX) and (N, DY), as its definition says."""
    grams = [centred @ centred.T for centred in (side - side.mean(axis=0) for side in (x, y))]
    one, other = (_u_centred(gram) for gram in grams) if debiased else grams
    return float(np.vdot(one, other) / math.sqrt(np.vdot(one, one) * np.vdot(other, other)))


def recognise(values: list[float], pairs: list[tuple[Matrix, Matrix]], tolerance: float) -> tuple[str, Deficit] | None:
    """Find which of the two forms of linear CKA has these values, if either has.

    Parameters
    ----------
    values : list of float
        Similarities of the pairs.
    pairs : list of (x, y)
    tolerance : float
        How far a value may be off.
    """
    forms: dict[bool, tuple[str, Deficit]] = {
        False: ("linear CKA", linear_cka_deficit),
        True: ("debiased linear CKA", debiased_linear_cka_deficit),
    }
    for debiased, named in forms.items():
        exact = [linear_cka(x, y, debiased=debiased) for x, y in pairs]
        if all(abs(value - right) <= tolerance for value, right in zip(values, exact, strict=True)):
            return named
    return None


def _middle_and_change(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    difference = _centred(y - x)
    total = _centred(x - x.mean(axis=0) + (y - x.mean(axis=0)))
    half = total @ difference.T / 2
    return (total @ total.T + difference @ difference.T) / 4, half + half.T


def _centred(values: Matrix) -> Matrix:
    once: Matrix = values - values.mean(axis=0)
    twice: Matrix = once - once.mean(axis=0)
    return twice


def _u_centred(gram: Matrix) -> Matrix:
    """Centre so that the sum of products of two is n (n - 3) times the unbiased HSIC (Szekely and Rizzo 2014)."""
    rows = len(gram)
    hollow = gram - np.diag(np.diag(gram))
    sums: Matrix = hollow.sum(axis=0)
    centred: Matrix = hollow - (sums[:, None] + sums) / (rows - 2) + sums.sum() / ((rows - 1) * (rows - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


def _deficit(middle: Matrix, change: Matrix) -> float:
    squared, crossed, moved = (float(np.vdot(*two)) for two in ((middle, middle), (middle, change), (change, change)))
    norms = math.sqrt((squared + moved / 4) ** 2 - crossed**2)
    return max(squared * moved - crossed**2, 0.0) / (norms * (norms + squared - moved / 4))
