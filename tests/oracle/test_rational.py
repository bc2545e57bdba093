"""The oracle itself: on cases that can be counted by hand, and against the plainest enumeration of fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import pytest
from rational import (
    Ranked,
    anchor_triplets,
    binomial_upper_tail,
    quadruplet_kind,
    quadruplet_unit,
    quadruplets,
    score,
    tally,
    triplet_kind,
    triplet_unit,
    triplets,
)

DISTANCES = ["euclidean", "cosine", "correlation", "dot", "manhattan", "hamming", "precomputed"]


def plain_distance(rows: list[list[Any]], distance: str, i: int, j: int) -> Fraction:
    """The textbook formula, or what orders as it does."""
    one, other = ([Fraction(value) for value in rows[row]] for row in (i, j))
    if distance == "correlation":
        one, other = ([value - sum(row) / len(row) for value in row] for row in (one, other))
    both = list(zip(one, other, strict=True))
    product = sum((a * b for a, b in both), Fraction(0))
    match distance:
        case "euclidean":
            return sum(((a - b) ** 2 for a, b in both), Fraction(0))
        case "manhattan":
            return sum((abs(a - b) for a, b in both), Fraction(0))
        case "hamming":
            return Fraction(len(both) - sum(a == b for a, b in both), len(both))
        case "dot":
            return -product
        case "precomputed":
            return one[j]
    return -product * abs(product) / (sum(a * a for a in one) * sum(b * b for b in other))


def random_rows(generator: random.Random, distance: str, size: int) -> list[list[Any]]:
    columns = size if distance == "precomputed" else generator.randint(2, 5)
    draw = generator.choice(
        [lambda: generator.randint(-2, 2), lambda: generator.gauss(0, 1), lambda: generator.choice([-0.0, 0.0, 5e-324])]
    )
    rows = [[draw() for _ in range(columns)] for _ in range(size)]
    for i, row in enumerate(rows):
        if distance == "precomputed":
            row[:i] = [rows[j][i] for j in range(i)]
        elif len(set(row)) == 1:
            row[0] += 1  # a zero or constant row has no angle
    return rows


@pytest.mark.parametrize("distance", DISTANCES)
def test_ranks_are_in_the_order_of_fractions(distance: str) -> None:
    generator = random.Random(distance)
    for _ in range(20):
        rows = random_rows(generator, distance, 7)
        ranked = Ranked(rows, distance)
        pairs = list(combinations(range(7), 2))
        plain = {pair: plain_distance(rows, distance, *pair) for pair in pairs}
        pairs.sort(key=plain.__getitem__)
        for one, other in pairwise(pairs):
            ranks = [ranked.rank[i][j] for i, j in (one, other)]
            assert ranks[1] - ranks[0] == (plain[one] != plain[other])
        assert all(ranked.rank[i][j] == ranked.rank[j][i] for i, j in pairs)


@pytest.mark.parametrize("seed", range(10))
def test_counts_are_those_of_enumeration(seed: int) -> None:
    generator = random.Random(seed)
    size = 3 + seed % 6
    x_rows, y_rows = (random_rows(generator, "cosine", size) for _ in range(2))
    x, y = Ranked(x_rows, "cosine"), Ranked(y_rows, "euclidean")
    kinds = {
        (i, j, k): triplet_kind(x, y, i, j, k)
        for i in range(size)
        for j, k in combinations(range(size), 2)
        if i not in (j, k)
    }
    agreeing = [comparison for comparison, kind in kinds.items() if kind in (0, 4)]
    assert triplets(x, y) == (
        tally(kinds.values()),
        [sum(anchor == row for anchor, _, _ in agreeing) for row in range(size)],
        [sum(row in targets for _, *targets in agreeing) for row in range(size)],
    )
    anchors = [anchor_triplets(x_rows, y_rows, "cosine", "euclidean", row) for row in range(size)]
    assert [one for anchor in anchors for one in anchor.agreeing] == triplets(x, y).agreeing
    assert quadruplets(x, y) == tally(
        quadruplet_kind(x, y, *one, *other)
        for one, other in combinations(combinations(range(size), 2), 2)
        if not set(one) & set(other)
    )


def test_units_compare_all_pairs_of_their_own() -> None:
    x, y = (Ranked(random_rows(random.Random(3), "euclidean", 8), "euclidean") for _ in range(2))
    assert sum(triplet_unit(x, y, 5, 0, 7, 2, 4)) == sum(quadruplet_unit(x, y, 5, 0, 7, 2, 4, 1, 3, 6)) == 6
    everyone = [triplet_unit(x, y, row, *(other for other in range(8) if other != row)) for row in range(8)]
    assert tuple(map(sum, zip(*everyone, strict=True))) == triplets(x, y).counts


def test_three_points_on_a_line_against_their_mirror() -> None:
    x = Ranked([[0], [1], [3]], "euclidean")
    y = Ranked([[0], [2], [3]], "euclidean")
    # Anchors 0 and 2 put their targets in one order on both sides, anchor 1 turns it round.
    assert triplets(x, y) == ((2, 1, 0, 0, 0), [1, 0, 1], [1, 2, 1])


def test_a_square_has_ties() -> None:
    square = Ranked([[0, 0], [0, 1], [1, 1], [1, 0]], "euclidean")
    line = Ranked([[0], [1], [10], [100]], "euclidean")
    counts, agreeing, targets = triplets(square, line)
    assert sum(counts) == 12
    assert counts[2] == 4  # each corner has two neighbours at one distance, the line none
    assert sum(agreeing) == sum(targets) // 2 == counts[0]
    # Two sides that face each other tie, and so do the diagonals: all three quadruplets.
    assert quadruplets(square, line) == (0, 0, 3, 0, 0)


def test_cosine_knows_no_length_and_goes_from_parallel_to_opposite() -> None:
    x = Ranked([[1, 0], [5, 0], [1, 1], [0, 2], [-3, 0]], "cosine")
    assert x.rank[0] == [-1, 0, 1, 2, 4]
    assert x.rank[2][4] == 3
    for rows in ([[1, 2], [0, -0.0]], [[1.5, 1.5], [0, 1]]):
        with pytest.raises(ZeroDivisionError):
            Ranked(rows, "correlation")


def test_tail_of_a_fair_coin() -> None:
    assert binomial_upper_tail(2, 3, Fraction(1, 2)) == Fraction(1, 2)
    assert score((1, 1, 1, 0, 1)) == Fraction(1, 2)
