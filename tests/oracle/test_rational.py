"""The oracle itself, on cases that can be counted by hand."""

from __future__ import annotations

from fractions import Fraction

from rational import Ranked, binomial_upper_tail, quadruplets, score, triplets


def test_three_points_on_a_line_against_their_mirror() -> None:
    x = Ranked([[0], [1], [3]], "euclidean")
    y = Ranked([[0], [2], [3]], "euclidean")
    # Anchors 0 and 2 put their targets in one order on both sides, anchor 1 turns it round.
    assert triplets(x, y) == ((2, 1, 0, 0, 0), [1, 0, 1])


def test_a_square_has_ties() -> None:
    square = Ranked([[0, 0], [0, 1], [1, 1], [1, 0]], "euclidean")
    line = Ranked([[0], [1], [10], [100]], "euclidean")
    counts, agreeing = triplets(square, line)
    assert sum(counts) == 12
    assert counts[2] == 4  # each corner has two neighbours at one distance, the line none
    assert sum(agreeing) == counts[0]
    # Two sides that face each other tie, and so do the diagonals: all three quadruplets.
    assert quadruplets(square, line) == (0, 0, 3, 0, 0)


def test_cosine_knows_no_length_and_goes_from_parallel_to_opposite() -> None:
    x = Ranked([[1, 0], [5, 0], [1, 1], [0, 2], [-3, 0]], "cosine")
    assert x.rank[0] == [-1, 0, 1, 2, 4]
    assert x.rank[2][4] == 3


def test_tail_of_a_fair_coin() -> None:
    assert binomial_upper_tail(2, 3, Fraction(1, 2)) == Fraction(1, 2)
    assert score((1, 1, 1, 0, 1)) == Fraction(1, 2)
