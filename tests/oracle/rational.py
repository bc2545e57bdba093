"""Exact answers by enumeration in plain Python: every finite float and every integer is a fraction.

Imports nothing that it is used to check. Work grows as N^4: for small cases only.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

Counts = tuple[int, int, int, int, int]
"""Concordant, discordant, tied in x only, in y only, in both."""


class Ranked:
    """Rows with a distance: `rank[i][j]` is the dense rank of the exact distance among all pairs of rows."""

    def __init__(self, rows: list[list[Any]], distance: str) -> None:
        exact = [[Fraction(value) for value in row] for row in rows]
        measure = {"euclidean": squared_distance, "cosine": cosine_key}[distance]
        keys = {(i, j): measure(exact[i], exact[j]) for i, j in combinations(range(len(rows)), 2)}
        place = {key: number for number, key in enumerate(sorted(set(keys.values())))}
        self.size = len(rows)
        self.rank = [[-1] * len(rows) for _ in rows]
        for (i, j), key in keys.items():
            self.rank[i][j] = self.rank[j][i] = place[key]


def squared_distance(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def cosine_key(one: list[Fraction], other: list[Fraction]) -> Fraction:
    """Minus the signed square of the cosine, which grows as the cosine distance does."""
    product = sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    return -product * abs(product) / lengths


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def kind(in_x: int, in_y: int) -> int:
    """Which of the five counts a comparison with these signs goes to."""
    if in_x == 0:
        return 4 if in_y == 0 else 2
    if in_y == 0:
        return 3
    return 0 if in_x == in_y else 1


def triplet_kind(x: Ranked, y: Ranked, i: int, j: int, k: int) -> int:
    return kind(sign(x.rank[i][j] - x.rank[i][k]), sign(y.rank[i][j] - y.rank[i][k]))


def quadruplet_kind(x: Ranked, y: Ranked, i: int, j: int, k: int, m: int) -> int:
    return kind(sign(x.rank[i][j] - x.rank[k][m]), sign(y.rank[i][j] - y.rank[k][m]))


def triplets(x: Ranked, y: Ranked) -> tuple[Counts, list[int]]:
    """Counts over all (anchor, {j, k}), and the agreeing ones of each anchor."""
    counts = [0] * 5
    agreeing = []
    for i in range(x.size):
        own = [0] * 5
        for j, k in combinations([row for row in range(x.size) if row != i], 2):
            own[triplet_kind(x, y, i, j, k)] += 1
        agreeing.append(own[0] + own[4])
        counts = [a + b for a, b in zip(counts, own, strict=True)]
    return tuple(counts), agreeing


def quadruplets(x: Ranked, y: Ranked) -> Counts:
    """Counts over all unordered pairs of disjoint pairs."""
    counts = [0] * 5
    pairs = list(combinations(range(x.size), 2))
    for (i, j), (k, m) in combinations(pairs, 2):
        if len({i, j, k, m}) == 4:
            counts[quadruplet_kind(x, y, i, j, k, m)] += 1
    return tuple(counts)


def score(counts: Counts) -> Fraction:
    return Fraction(counts[0] + counts[4], sum(counts))


def binomial_upper_tail(successes: int, trials: int, probability: Fraction) -> Fraction:
    """Probability of at least `successes`."""
    return sum(
        (comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes, trials + 1)),
        Fraction(0),
    )
