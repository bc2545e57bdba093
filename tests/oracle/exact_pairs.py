"""Distances of all pairs of rows, and what RSA and CKA make of them, in decimals of 60 digits.

Plain Python that imports nothing of ours, for small arrays.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 60

Table = list[list[Decimal]]


def rsa(x: Any, y: Any, distance: str, *, centred: bool) -> tuple[Decimal, Decimal]:
    """Similarity and deficit: Pearson's correlation of the distances if `centred`, else their cosine."""
    with localcontext(prec=DIGITS):
        vectors = []
        for values in (x, y):
            table = distances(values, distance)
            upper = [table[i][j] for i in range(len(table)) for j in range(i + 1, len(table))]
            mean = sum(upper) / len(upper) if centred else Decimal(0)
            vectors.append([value - mean for value in upper])
        return cosine(*vectors)


def cka(x: Any, y: Any, kernel: str, *, debiased: bool, bandwidth: Decimal | None = None) -> tuple[Decimal, Decimal]:
    """Similarity and deficit of two kernels: "rbf", with the median as bandwidth unless one is given, or a distance."""
    with localcontext(prec=DIGITS):
        centre = u_centred if debiased else double_centred
        return cosine(
            *(centre(rbf(values, bandwidth) if kernel == "rbf" else distances(values, kernel)) for values in (x, y))
        )


def distances(values: Any, distance: str) -> Table:
    """All distances of one array."""
    rows = [[Decimal(value) for value in row] for row in values.tolist()]
    if distance == "precomputed":
        return rows
    if distance in ("cosine", "correlation"):
        rows = [_direction(row, distance == "correlation") for row in rows]
    return [[_one(distance, one, other) for other in rows] for one in rows]


def rbf(values: Any, bandwidth: Decimal | None = None) -> Table:
    """The RBF kernel."""
    table = distances(values, "euclidean")
    sigma = median(table) if bandwidth is None else bandwidth
    return [[(-(value * value) / (2 * sigma * sigma)).exp() for value in row] for row in table]


def median(table: Table) -> Decimal:
    """The median over all pairs of different rows."""
    upper = sorted(table[i][j] for i in range(len(table)) for j in range(i + 1, len(table)))
    return (upper[(len(upper) - 1) // 2] + upper[len(upper) // 2]) / 2


def double_centred(table: Table) -> list[Decimal]:
    """H K H."""
    n = len(table)
    means = [sum(row) / n for row in table]
    whole = sum(means) / n
    return [table[i][j] - means[i] - means[j] + whole for i in range(n) for j in range(n)]


def u_centred(table: Table) -> list[Decimal]:
    """Székely and Rizzo 2014."""
    n = len(table)
    sums = [sum(value for j, value in enumerate(row) if j != i) for i, row in enumerate(table)]
    whole = sum(sums) / ((n - 1) * (n - 2))
    return [table[i][j] - sums[i] / (n - 2) - sums[j] / (n - 2) + whole for i in range(n) for j in range(n) if i != j]


def cosine(one: Sequence[Decimal], other: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """Similarity and deficit of two vectors."""
    norms = (_inner(one, one) * _inner(other, other)).sqrt()
    similarity = _inner(one, other) / norms
    return similarity, 1 - similarity


def _one(distance: str, one: Sequence[Decimal], other: Sequence[Decimal]) -> Decimal:
    if distance == "dot":
        return -_inner(one, other)
    if distance == "hamming":
        return Decimal(sum(a != b for a, b in zip(one, other, strict=True)))
    if distance == "manhattan":
        return sum((abs(a - b) for a, b in zip(one, other, strict=True)), Decimal(0))
    squared = sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Decimal(0))
    return squared.sqrt() if distance == "euclidean" else squared / 2


def _direction(row: list[Decimal], less_mean: bool) -> list[Decimal]:
    mean = sum(row) / len(row) if less_mean else Decimal(0)
    row = [value - mean for value in row]
    length = _inner(row, row).sqrt()
    return [value / length for value in row]


def _inner(one: Sequence[Decimal], other: Sequence[Decimal]) -> Decimal:
    return sum((a * b for a, b in zip(one, other, strict=True)), Decimal(0))
