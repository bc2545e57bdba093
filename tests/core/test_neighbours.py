"""Neighbour lists and mutual kNN against plain fractions, over distances, ties, repeated rows and coarse keys."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from against_oracle import lattice, spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import neighbourhoods, overlap, weights
from rational import Ranked

from ordsim_core import triplets
from ordsim_core.anchors import products
from ordsim_core.distances import Distance, Precision
from ordsim_core.neighbours import lists, screening
from ordsim_core.neighbours.lists import Ties, nearest, nearest_blocks
from ordsim_core.neighbours.overlaps import exact_total, overlaps
from ordsim_core.spaces import prepare

DATA = Path(__file__).parent.parent / "data"
CASES = json.loads((DATA / "oracle" / "cases.json").read_text())["cases"]
RNG = np.random.default_rng(7)
DISTANCES = ["euclidean", "cosine", "dot", "manhattan", "hamming"]


def all_of(rows: int) -> np.ndarray:
    return np.arange(rows)


def check(x: np.ndarray, distance: str, nearest_count: int, key_bits: int | None = None) -> None:
    """The lists of both rules must be those of fractions."""
    space = prepare(x, Distance(distance), key_bits=key_bits)
    ranked = Ranked(x.tolist(), distance)
    for ties in Ties:
        found = nearest(space, all_of(len(x)), nearest_count, ties)
        assert neighbourhoods(found) == [weights(ranked, row, nearest_count, ties) for row in range(len(x))]
        assert all(list(one) == sorted(one) for one in neighbourhoods(found))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("nearest_count", [1, 2, 5, 16])
def test_heavy_ties_and_equal_rows(distance: str, nearest_count: int) -> None:
    x = lattice(RNG, 17, 2, 2)
    if distance == "cosine":
        x[(x == 0).all(axis=1)] = 1
    check(x, distance, nearest_count)
    check(x[[0, 1, 2, 3, 3, 3, 0, 7, 8, 8, 10, 11, 12, 13, 14, 3, 16]], distance, nearest_count)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("key_bits", [None, 8, 14])
def test_keys_too_coarse_to_tell_neighbours_apart(distance: str, key_bits: int | None) -> None:
    x = RNG.standard_normal((24, 5)).round(3)
    x[11] = x[4]
    for nearest_count in (1, 3, 12, 23):
        check(x, distance, nearest_count, key_bits)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_small_cases(case: dict[str, list[list[str]]]) -> None:
    for side in ("x", "y"):
        x = np.array([[float.fromhex(value) for value in row] for row in case[side]])
        for nearest_count in {1, 2, len(x) - 1} & set(range(1, len(x))):
            check(x, "euclidean", nearest_count)
            check(x, "dot", nearest_count)


def test_precomputed_distances_are_read_by_rows() -> None:
    far = np.array([[0.0, 1, 2, 3], [3, 0, 2, 1], [1, 1, 0, 1], [2.0**-60, 2.0**-61, 5, 0]])
    found = neighbourhoods(nearest(prepare(far, Distance.PRECOMPUTED), all_of(4), 1))
    third = Fraction(1, 3)
    assert found == [{1: 1}, {3: 1}, {0: third, 1: third, 3: third}, {1: 1}]


def test_keys_that_share_their_leading_bits() -> None:
    """Twelve low bits of precomputed distances make room for row numbers, and still decide."""
    far = 1 + 2.0**-50 * RNG.permuted(np.tile(np.arange(40.0), (40, 1)), axis=1)
    found = neighbourhoods(nearest(prepare(far, Distance.PRECOMPUTED), all_of(40), 7))
    for row, near in enumerate(found):
        others = sorted((far[row, other], other) for other in range(40) if other != row)
        assert sorted(near) == sorted(other for _, other in others[:7])


def test_more_ties_than_there_is_room_for_at_first() -> None:
    """One anchor of a block has hundreds of rows about its border, the others have none."""
    angles = np.linspace(0, 6, 301)[1:]
    circle = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(angles), np.sin(angles)], axis=1)])
    space = prepare(circle, Distance.EUCLIDEAN)
    found = neighbourhoods(nearest(space, all_of(301), 3))
    ranked = Ranked(circle.tolist(), "euclidean")
    assert found == [weights(ranked, row, 3, Ties.FRACTIONAL) for row in range(301)]


def test_all_rows_equal() -> None:
    space = prepare(np.ones((200, 3)), Distance.EUCLIDEAN)
    found = nearest(space, all_of(200), 5)
    assert found.ties == 200
    assert neighbourhoods(found)[7] == {row: Fraction(5, 199) for row in range(200) if row != 7}
    same = overlaps(found, found)
    assert (same.score, same.deficit) == (1.0, 0.0)
    first = nearest(space, all_of(200), 5, Ties.INDEX)
    assert neighbourhoods(first)[3] == dict.fromkeys([0, 1, 2, 4, 5], 1)
    assert first.ties == 0


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_overlaps_of_any_two_arrays(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 12))
    nearest_count = data.draw(st.integers(1, rows - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    x, y = lattice(rng, rows, 2, 2), lattice(rng, rows, 3, 1)
    sides = spaces(x, y)
    ranked = Ranked(x.tolist(), "euclidean"), Ranked(y.tolist(), "euclidean")
    for ties in Ties:
        near = [nearest(side, all_of(rows), nearest_count, ties) for side in sides]
        found = overlaps(*near)
        expected = [overlap(*(weights(side, row, nearest_count, ties) for side in ranked)) for row in range(rows)]
        assert [Fraction(*one) for one in zip(found.above.tolist(), found.below.tolist(), strict=True)] == expected
        assert Fraction(*found.total()) == sum(expected)
        assert found.score == float(sum(expected) / (rows * nearest_count))
        assert found.deficit == float(1 - sum(expected) / (rows * nearest_count))
        assert overlaps(near[1], near[0]).total() == found.total()


@given(st.integers(0, 2**32), st.integers(3, 11))
@settings(max_examples=30, deadline=None)
def test_row_order_never_matters_with_shares(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, order = lattice(rng, rows, 2, 1), lattice(rng, rows, 2, 1), rng.permutation(rows)
    for nearest_count in (1, rows // 2, rows - 1):
        scores = []
        for sides in (spaces(x, y), spaces(x[order], y[order])):
            found = overlaps(*(nearest(side, all_of(rows), nearest_count) for side in sides))
            scores.append(Fraction(*found.total()))
        assert scores[0] == scores[1]


@given(st.integers(0, 2**32), st.integers(4, 9), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_triplets_agree_everywhere_exactly_if_neighbours_do_for_every_k(seed: int, rows: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 3))
    y = x + 0.1 * noise * (rng.random() < 0.7) * rng.standard_normal((rows, 3))
    sides = spaces(x, y)
    same = all(
        overlaps(*(nearest(side, all_of(rows), count) for side in sides)).deficit == 0 for count in range(1, rows)
    )
    assert (triplets.exact_block(*sides, 0, rows).counts.deficit == 0) == same


def test_blocks_are_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lattice(RNG, 60, 3, 2)
    space, chosen = prepare(x, Distance.EUCLIDEAN), RNG.permutation(60)[:37]
    whole = nearest(space, chosen, 4)
    monkeypatch.setattr(lists, "BLOCK_TARGETS", 60 * 5)
    parts = list(nearest_blocks(space, chosen, 4))
    assert len(parts) == 8
    assert neighbourhoods(lists.join(parts, 4)) == neighbourhoods(whole)
    assert sum((part.paths for part in parts), type(whole.paths)()) == whole.paths


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("kind", ["plain", "crowded", "repeated", "far", "offset"])
def test_float32_products_find_the_same_neighbours(distance: str, kind: str) -> None:
    x = RNG.standard_normal((280, 12))
    if kind == "crowded":
        x = x[np.arange(280) % 5] + 1e-7 * x
    elif kind == "repeated":
        x = x[RNG.integers(0, 200, 280)]
    elif kind == "far":
        x[-1] *= 1e6
    elif kind == "offset":
        x += 1e4
    space = prepare(x, Distance(distance))
    fast = screening.screened(space)
    assert fast.operand.dtype == np.float32
    for count in (1, 10, 279):
        members = lists._members(space)
        made = [
            lists._block(side, all_of(280), products(side, all_of(280)), count, Ties.FRACTIONAL, members)
            for side in (space, fast)
        ]
        assert neighbourhoods(made[0]) == neighbourhoods(made[1])
        assert made[1].paths.chains > made[0].paths.chains or count != 10 or kind != "crowded"
        chosen = lists._fast_enough(space, count, Ties.FRACTIONAL, members)
        if kind in ("crowded", "plain") and count == 10:
            assert (chosen is space) == (kind == "crowded")


def test_float32_products_are_bounded_as_those_of_float32_spaces() -> None:
    for distance in (Distance.EUCLIDEAN, Distance.COSINE, Distance.DOT):
        x = RNG.standard_normal((300, 20)).astype("f4")
        fast = screening.screened(prepare(x, distance))
        plain = prepare(x, distance, Precision.FLOAT32)
        assert np.array_equal(fast.operand, plain.operand)
        assert fast.packing.shift == plain.packing.shift
        assert (fast.packing.slack >= plain.packing.slack).all()
        assert (fast.packing.slack <= 1.1 * plain.packing.slack + 1).all()


def test_exact_keys_are_left_as_they_are() -> None:
    for values, distance in ((np.eye(300), "euclidean"), (RNG.random((300, 4)), "manhattan"), (np.eye(300), "hamming")):
        space = prepare(values, Distance(distance))
        assert screening.screened(space) is space
        assert lists._fast_enough(space, 3, Ties.INDEX, lists._members(space)) is space


def test_float32_says_how_much_may_be_wrong() -> None:
    plain = RNG.standard_normal((120, 8))
    crowded = plain[np.arange(120) % 6] + 1e-5 * RNG.standard_normal((120, 8))
    for x, nearest_count in ((crowded, 1), (crowded, 5), (crowded, 50), (plain, 5)):
        exact, fast = (
            nearest(prepare(x.astype("f4"), Distance.EUCLIDEAN, precision), all_of(120), nearest_count)
            for precision in (Precision.EXACT, Precision.FLOAT32)
        )
        pairs = zip(neighbourhoods(exact), neighbourhoods(fast), strict=True)
        wrong = sum(nearest_count - overlap(*pair) for pair in pairs)
        assert wrong <= fast.uncertified
        assert exact.uncertified == 0
        assert (fast.uncertified > 100) == (x is crowded)
        assert wrong > 0 or nearest_count == 50 or x is plain


@pytest.mark.parametrize("nearest_count", [0, 5, -1])
def test_impossible_neighbourhoods_are_refused(nearest_count: int) -> None:
    with pytest.raises(ValueError, match="k must be from 1 to 4"):
        nearest(prepare(np.eye(5), Distance.EUCLIDEAN), all_of(5), nearest_count)


def test_anchors_that_are_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="not within 5 rows"):
        nearest(prepare(np.eye(5), Distance.EUCLIDEAN), np.array([5]), 2)


def test_different_neighbourhoods_cannot_be_compared() -> None:
    space = prepare(np.eye(5), Distance.EUCLIDEAN)
    with pytest.raises(ValueError, match="k = 2 cannot be compared"):
        overlaps(nearest(space, all_of(5), 2), nearest(space, all_of(5), 3))


def test_sums_of_fractions_beyond_64_bits() -> None:
    above, below = RNG.integers(0, 2**62, 400), RNG.integers(1, 2**40, 400)
    pairs = list(zip(above.tolist(), below.tolist(), strict=True))
    assert Fraction(*exact_total(above, below)) == sum(Fraction(*pair) for pair in pairs)
    assert exact_total(above, np.ones(400, np.int64)) == (sum(above.tolist()), 1)
