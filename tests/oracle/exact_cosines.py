"""Cosines of Gram matrices and of squared distances in fractions; only the last square root is rounded, to 60 digits.

Plain Python that imports nothing of ours: N^2 D products of fractions, for small arrays.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DIGITS = 60


def cosine(x: Any, y: Any, statistic: str) -> tuple[Decimal, Decimal] | None:
    """Give similarity and deficit of two arrays; None where undefined.

    `statistic` is "biased", "debiased", "distances" or "centred-distances".
    """
    vectors = [_STATISTICS[statistic](_fractions(values)) for values in (x, y)]
    (xx, xy), (_, yy) = ([_inner(one, other) for other in vectors] for one in vectors)
    if xx == 0 or yy == 0:
        return None
    with localcontext(prec=DIGITS):
        norms = (_decimal(xx) * _decimal(yy)).sqrt()
        similarity = _decimal(xy) / norms
        if xy <= 0:
            return similarity, 1 - similarity
        return similarity, _decimal(xx * yy - xy * xy) / (norms * (norms + _decimal(xy)))


def _fractions(values: Any) -> list[list[Fraction]]:
    return [[Fraction(value) for value in row] for row in values.tolist()]


def _gram(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    count = len(rows)
    means = [sum(column) / count for column in zip(*rows, strict=True)]
    centred = [[value - mean for value, mean in zip(row, means, strict=True)] for row in rows]
    return [[_inner(one, other) for other in centred] for one in centred]


def _biased(rows: list[list[Fraction]]) -> list[Fraction]:
    return [value for row in _gram(rows) for value in row]


def _debiased(rows: list[list[Fraction]]) -> list[Fraction]:
    """U-centre: Székely and Rizzo 2014."""
    gram, n = _gram(rows), len(rows)
    for place in range(n):
        gram[place][place] = Fraction(0)
    sums = [sum(row) for row in gram]
    whole = sum(sums) / ((n - 1) * (n - 2))
    return [gram[i][j] - sums[i] / (n - 2) - sums[j] / (n - 2) + whole for i in range(n) for j in range(n) if i != j]


def _distances(rows: list[list[Fraction]]) -> list[Fraction]:
    return [
        sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    ]


def _centred_distances(rows: list[list[Fraction]]) -> list[Fraction]:
    found = _distances(rows)
    mean = sum(found) / len(found)
    return [value - mean for value in found]


_STATISTICS: dict[str, Callable[[list[list[Fraction]]], list[Fraction]]] = {
    "biased": _biased,
    "debiased": _debiased,
    "distances": _distances,
    "centred-distances": _centred_distances,
}


def _inner(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
