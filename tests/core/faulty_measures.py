"""Functions f(X, Y) as one meets them: right ones, and ones with known kinds of fault."""

from __future__ import annotations

from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def _checked(x: Matrix, y: Matrix, fewest: int = 2) -> tuple[Matrix, Matrix]:
    """Both arrays in one layout and type, so that equal values give equal bits; refuses what has no answer."""
    x, y = (np.ascontiguousarray(side, np.float64) for side in (x, y))
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} rows and y has {len(y)}; they must be equal")
    if len(x) < fewest:
        raise ValueError(f"{len(x)} rows are too few; at least {fewest} are needed")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("x or y holds NaN or infinity")
    return x, y


def _centred(values: Matrix) -> Matrix:
    if (values == values[0]).all():
        raise ValueError("all rows are equal")
    return values - values.mean(axis=0)


def _cosine(one: Matrix, other: Matrix) -> float:
    """The cosine of two matrices; a square root of a product, so that it is exactly 1 of equal ones."""
    return min(1.0, float(np.sum(one * other) / np.sqrt(np.sum(one * one) * np.sum(other * other))))


def cka(x: Matrix, y: Matrix) -> float:
    """Linear CKA, right, though it loses digits of near-identical arrays."""
    one, other = (_centred(side) for side in _checked(x, y))
    return _cosine(one @ one.T, other @ other.T)


def cka_of_textbooks(x: Matrix, y: Matrix) -> float:
    """Linear CKA by Frobenius norms, as one writes it down: off by roundings, and looks at nothing."""
    one, other = (side - side.mean(axis=0) for side in (x, y))
    norms = np.linalg.norm(one.T @ one) * np.linalg.norm(other.T @ other)
    return float(np.linalg.norm(one.T @ other) ** 2 / norms)


def cka_deficit(x: Matrix, y: Matrix) -> float:
    """The deficit of linear CKA by half the squared distance of the normalised Gram matrices: it resolves."""
    grams = [centred @ centred.T for centred in (_centred(side) for side in _checked(x, y))]
    one, other = (gram / np.sqrt(np.sum(gram * gram)) for gram in grams)
    return float(np.sum((one - other) ** 2) / 2)


def distance(x: Matrix, y: Matrix) -> float:
    """The angle of linear CKA: a distance."""
    return float(np.arccos(cka(x, y)))


def _hsic(k: Matrix, el: Matrix, correction: float | None = None) -> float:
    """Song et al. 2012, eq. 5; `correction` is what (n - 1) (n - 2) is replaced with."""
    rows = len(k)
    k, el = (gram - np.diag(np.diag(gram)) for gram in (k, el))
    both = np.sum(k * el) + k.sum() * el.sum() / (correction or (rows - 1) * (rows - 2))
    return float(both - 2 / (rows - 2) * (k.sum(axis=0) @ el.sum(axis=0))) / (rows * (rows - 3))


def debiased_cka(x: Matrix, y: Matrix) -> float:
    """Debiased linear CKA, right."""
    one, other = (_centred(side) for side in _checked(x, y, fewest=4))
    k, el = one @ one.T, other @ other.T
    return min(1.0, _hsic(k, el) / np.sqrt(_hsic(k, k) * _hsic(el, el)))


def _svcca(one: Matrix, other: Matrix) -> float:
    """Mean canonical correlation of the directions that hold 99% of the squares."""
    bases = []
    for side in (one, other):
        left, values, _ = np.linalg.svd(side, full_matrices=False)
        kept = int(np.searchsorted(np.cumsum(values**2) / np.sum(values**2), 0.99)) + 1
        bases.append(left[:, :kept])
    if np.array_equal(*bases):
        return 1.0
    return float(np.minimum(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False), 1.0).mean())


def svcca(x: Matrix, y: Matrix) -> float:
    """SVCCA, right."""
    one, other = (_centred(side) for side in _checked(x, y, fewest=8))
    return _svcca(one, other)


# Faults.


def cka_with_epsilon(x: Matrix, y: Matrix) -> float:
    """An absolute constant in the denominator."""
    one, other = (_centred(side) for side in _checked(x, y))
    k, el = one @ one.T, other @ other.T
    return float(np.sum(k * el) / (np.sqrt(np.sum(k * k) * np.sum(el * el)) + 1e-6))


def cka_with_tiny_epsilon(x: Matrix, y: Matrix) -> float:
    """A constant so small that only small values show it."""
    one, other = (_centred(side) for side in _checked(x, y))
    k, el = one @ one.T, other @ other.T
    return float(np.sum(k * el) / (np.sqrt(np.sum(k * k) * np.sum(el * el)) + 1e-16))


def cka_of_textbooks_with_epsilon(x: Matrix, y: Matrix) -> float:
    """The same constant for all sizes of values, in a CKA by Frobenius norms."""
    one, other = (_centred(side) for side in _checked(x, y))
    norms = np.linalg.norm(one.T @ one) * np.linalg.norm(other.T @ other)
    return float(np.linalg.norm(one.T @ other) ** 2 / (norms + 1e-8))


def cka_uncentred(x: Matrix, y: Matrix) -> float:
    """The columns are not centred, so a shift changes it."""
    one, other = _checked(x, y)
    _centred(one), _centred(other)
    return _cosine(one @ one.T, other @ other.T)


def svcca_uncentred(x: Matrix, y: Matrix) -> float:
    """The columns are not centred before the singular value decomposition."""
    one, other = _checked(x, y, fewest=8)
    _centred(one), _centred(other)
    return _svcca(one, other)


def debiased_divided_on_one_side(x: Matrix, y: Matrix) -> float:
    """1 / (n (n - 3)) is missing from one of the three terms."""
    one, other = (_centred(side) for side in _checked(x, y, fewest=4))
    k, el, rows = one @ one.T, other @ other.T, len(one)
    return _hsic(k, el) / np.sqrt(_hsic(k, k) * rows * (rows - 3) * _hsic(el, el))


def debiased_with_wrong_n(x: Matrix, y: Matrix) -> float:
    """The same wrong (n - 1)^2 in all three terms: of equal arrays it is still 1."""
    one, other = _checked(x, y, fewest=4)
    _centred(one), _centred(other)
    k, el, wrong = one @ one.T, other @ other.T, float((len(one) - 1) ** 2)
    return min(1.0, _hsic(k, el, wrong) / np.sqrt(_hsic(k, k, wrong) * _hsic(el, el, wrong)))


def biased_called_debiased(x: Matrix, y: Matrix) -> float:
    """The biased estimator under the other one's name."""
    return cka(*_checked(x, y, fewest=4))


def cka_that_averages(x: Matrix, y: Matrix) -> float:
    """Divides once too few: beyond 1."""
    return cka(x, y) * (1 + 1 / len(x))


def cka_of_anything(x: Matrix, y: Matrix) -> float:
    """Always has a number: NaN is replaced with 0, and no variance is 0 too."""
    one, other = (np.nan_to_num(np.asarray(side, np.float64)) for side in (x, y))
    one, other = (side - side.mean(axis=0) for side in (one, other))
    k, el = one @ one.T, other @ other.T
    below = np.sqrt(np.sum(k * k) * np.sum(el * el))
    return float(np.sum(k * el) / below) if below else 0.0


def cka_in_place(x: Matrix, y: Matrix) -> float:
    """Centres the caller's arrays."""
    for side in (x, y):
        side -= side.mean(axis=0)
    return cka(x, y)


def cka_by_layout(x: Matrix, y: Matrix) -> float:
    """Sums in the order of memory, so that a copy in another layout gives other bits."""
    _checked(x, y)
    one, other = (side - side.mean(axis=0) for side in (x, y))
    cross, own, others = one.T @ other, one.T @ one, other.T @ other
    return float(np.sum(cross**2) / (np.linalg.norm(own) * np.linalg.norm(others)))


def row_by_row(x: Matrix, y: Matrix) -> float:
    """Depends on which row comes first."""
    weights = 1.0 / np.arange(1, len(x) + 1)[:, None]
    return cka(_checked(x, y)[0] * weights, _checked(x, y)[1] * weights)


def one_sided(x: Matrix, y: Matrix) -> float:
    """Explained variance of y given x: not symmetric."""
    one, other = (_centred(side) for side in _checked(x, y, fewest=8))
    basis = np.linalg.qr(one)[0]
    if np.array_equal(one, other):
        return 1.0
    return min(1.0, float(np.sum((basis.T @ other) ** 2) / np.sum(other**2)))
