"""Inputs on which tools of this kind were reported to go wrong: rounding, ties, and the width of counters.

The numbers K2 to K4 are those of the kinds of fault in the list that the reports were collected in.
"""

from __future__ import annotations

import numpy as np
import pytest
import rational
from against_oracle import check, exact_quadruplets, exact_triplets, in_triplets, observed, spaces

from ordsim_core import triplets
from ordsim_core.counts import quadruplet_population, triplet_population
from ordsim_core.distances import Distance, Precision

RNG = np.random.default_rng(20261130)
INTEGERS = [RNG.integers(-9, 10, (8, 4)) for _ in range(2)]
NEAR = 4096 + INTEGERS[0] * 2.0**-10
NORMAL = RNG.standard_normal((10, 48)).astype("f4")
NEAR_DUPLICATES = np.concatenate([NORMAL[:5], NORMAL[:5] + (RNG.standard_normal((5, 48)) * 1e-6).astype("f4")])
THREE_EQUAL = INTEGERS[0][[0, 1, 2, 3, 4, 1, 1, 7]].astype("f4")

SAME_ORDER = {
    "K2 an offset that float32 norms drown in": (NEAR.astype("f4"), INTEGERS[0].astype("f4"), "euclidean"),
    "K2 near duplicates, and the same widened": (NEAR_DUPLICATES, NEAR_DUPLICATES.astype("f8"), "euclidean"),
    "K2 itself": (NORMAL, NORMAL.copy(), "euclidean"),
    "K2 itself by angle": (NORMAL, NORMAL.copy(order="F"), "cosine"),
    "K2 near duplicates by angle": (NEAR_DUPLICATES, NEAR_DUPLICATES.astype("f8"), "cosine"),
    "K3 three equal rows, itself": (THREE_EQUAL, THREE_EQUAL.copy(), "euclidean"),
    "K3 all the same on both sides": (np.ones((6, 3), "f4"), np.full((6, 2), 2, "f4"), "euclidean"),
}
COLLINEAR = np.outer(2.0 ** np.arange(8), [3.0, -1.0, 2.0, 5.0])
OTHERS = {
    "K2 powers of two times one direction": (COLLINEAR, INTEGERS[1].astype("f8"), "cosine"),
    "K3 binary features": (*(RNG.integers(0, 2, (10, 6)).astype("u1") for _ in range(2)), "euclidean"),
    "K3 published": (np.array([[0.0], [1], [100], [102]]), np.array([[0.0], [1], [100], [101]]), "euclidean"),
    "K3 three equal rows": (THREE_EQUAL, INTEGERS[1].astype("f4"), "euclidean"),
}


@pytest.mark.parametrize(("x", "y", "distance"), SAME_ORDER.values(), ids=SAME_ORDER.keys())
def test_the_same_order_scores_one_exactly(x: np.ndarray, y: np.ndarray, distance: str) -> None:
    check(x, y, distance, distance)
    sides = spaces(x, y, distance, distance)
    counts = triplets.exact_block(*sides, 0, len(x)).counts
    assert (counts.score, counts.deficit) == (1.0, 0.0)
    assert all(found[1:4] == (0, 0, 0) for found in observed(*sides).answers.counts)


@pytest.mark.parametrize(("x", "y", "distance"), OTHERS.values(), ids=OTHERS.keys())
def test_ties_and_near_ties(x: np.ndarray, y: np.ndarray, distance: str) -> None:
    check(x, y, distance, distance)
    check(y, x, distance, distance)


def test_one_direction_ties_everywhere() -> None:
    counts = exact_triplets(*spaces(COLLINEAR, INTEGERS[1], "cosine", "cosine")).counts
    assert counts[:2] == (0, 0)
    assert counts[3] == 0


def test_k4_more_triplets_than_32_bits_hold() -> None:
    line = np.arange(1300, dtype="f4")[:, None]
    counts = exact_triplets(*spaces(line, line[::-1])).counts
    assert counts[1:4] == (0, 0, 0)
    assert sum(counts) == triplet_population(1300) == 1300 * 1299 * 1298 // 2 > 2**30
    counts = exact_quadruplets(*spaces(line, line[::-1]))
    assert counts[1:4] == (0, 0, 0)
    assert sum(counts) == quadruplet_population(1300) > 2**38


@pytest.mark.parametrize("precision", Precision)
def test_k4_two_values_against_none(precision: Precision) -> None:
    rows = 3000
    x, y = (np.arange(rows, dtype="i4") % 2)[:, None], np.ones((rows, 1), "i4")
    counts, agreeing, _ = exact_triplets(*spaces(x, y, precision=precision))
    same, other = rows // 2 - 1, rows // 2
    tied = same * (same - 1) // 2 + other * (other - 1) // 2
    assert agreeing == [tied] * rows
    assert counts == (0, 0, 0, rows * same * other, rows * tied)


def by_groups(groups: dict[tuple[int, int], int]) -> tuple[rational.Counts, dict[tuple[int, int], int]]:
    """Compare all pairs of elements, given how many have each value in x and y; and one element of each group."""
    doubled, agreeing = [0] * 5, dict.fromkeys(groups, 0)
    for one, size in groups.items():
        for other, others in groups.items():
            partners = others - (one == other)
            kind = rational.kind(*(rational.sign(a - b) for a, b in zip(one, other, strict=True)))
            doubled[kind] += size * partners
            agreeing[one] += partners * (kind in (0, 4))
    return tuple(count // 2 for count in doubled), agreeing


@pytest.mark.parametrize("distance", [Distance.EUCLIDEAN, Distance.MANHATTAN])
def test_k4_many_ties_in_a_long_order(distance: Distance) -> None:
    """One anchor, at 0, and 2 * 10^5 targets in 7 classes: the tied pairs of either side are beyond 32 bits."""
    rng = np.random.default_rng(18139)
    rows, anchor = 200_001, 77_777
    classes = [rng.integers(1, 8, rows), rng.integers(1, 8, rows)]
    classes[1] = np.where(rng.random(rows) < 0.3, classes[0], classes[1])
    for side in classes:
        side[anchor] = 0
    x, y = (side * rng.choice([-1, 1], rows) for side in classes)
    block = triplets.exact_anchors(
        *spaces(x[:, None], y[:, None].astype("f4") / 4, distance, distance), np.array([anchor]), per_target=True
    )
    pairs = list(zip(*(side.tolist() for side in classes), strict=True))
    groups = {pair: 0 for pair in pairs if pair != (0, 0)}
    for pair in pairs:
        if pair in groups:
            groups[pair] += 1
    counts, agreeing = by_groups(groups)
    assert min(counts[2], counts[3]) + counts[4] > 2**31
    assert in_triplets(block) == (counts, [counts[0] + counts[4]], [agreeing.get(pair, 0) for pair in pairs])
