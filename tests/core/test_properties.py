"""What must not change the counts, and what must change them in a known way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from against_oracle import exact_triplets, five, observed, spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_cases import fit

from ordsim_core import quadruplets, triplets
from ordsim_core.counts import AgreementCounts, Paths, triplet_population
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare

settings.register_profile("core", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("core")


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Two arrays over the same rows, with ties, whose columns may lie too many binades apart for short integers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.integers(3, 40))
    sides = [
        np.ldexp(rng.integers(-spread, spread + 1, (rows, columns)).astype("f8"), rng.integers(-apart, 1, columns))
        for spread, columns, apart in (
            draw(st.tuples(st.integers(1, 20), st.integers(1, 9), st.sampled_from([0, 25]))) for _ in range(2)
        )
    ]
    return sides[0], sides[1], rng


def count(x: np.ndarray, y: np.ndarray, distance: Distance = Distance.EUCLIDEAN) -> Any:
    return exact_triplets(*spaces(x, y, distance))


@given(pairs(), st.integers(1, 2**20))
def test_translation_by_what_can_be_added_exactly(pair: Any, reach: int) -> None:
    x, y, rng = pair
    shift = rng.integers(-reach, reach + 1, x.shape[1])
    assert (((x + shift) - shift) == x).all()
    assert count(x + shift, y) == count(x, y)
    assert count(x + shift, y, Distance.MANHATTAN) == count(x, y, Distance.MANHATTAN)


@given(pairs())
def test_signed_permutation_of_columns(pair: Any) -> None:
    x, y, rng = pair
    x[~x.any(axis=1)] = 1
    permuted = x[:, rng.permutation(x.shape[1])] * rng.choice([-1.0, 1.0], x.shape[1])
    for distance in (Distance.EUCLIDEAN, Distance.COSINE, Distance.DOT, Distance.MANHATTAN, Distance.HAMMING):
        assert count(permuted, y, distance) == count(x, y, distance)


@given(pairs(), st.integers(-900, 900))
def test_scale_by_a_power_of_two(pair: Any, exponent: int) -> None:
    x, y, rng = pair
    assert count(np.ldexp(x, exponent), y) == count(x, y)
    x[~x.any(axis=1)] = 1
    each_its_own = np.ldexp(x, rng.integers(-400, 400, (len(x), 1)))
    assert count(each_its_own, y, Distance.COSINE) == count(x, y, Distance.COSINE)


@given(pairs())
def test_floats_scaled_by_a_power_of_two(pair: Any) -> None:
    x, y, rng = pair
    x = rng.standard_normal(x.shape)
    for distance in (Distance.EUCLIDEAN, Distance.DOT):
        assert count(np.ldexp(x, 700), y, distance) == count(np.ldexp(x, -700), y, distance) == count(x, y, distance)


@pytest.mark.parametrize("distance", Distance)
@pytest.mark.parametrize("exponent", [-1074, 1015])
def test_the_ends_of_the_range_of_float64(distance: Distance, exponent: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        x, y = (rng.integers(-9, 10, (9, 9)) for _ in range(2))
        x = fit(x + x.T, distance)
        assert count(np.ldexp(x.astype("f8"), exponent), y, distance) == count(x, y, distance)


@given(pairs())
def test_joint_permutation_of_rows(pair: Any) -> None:
    x, y, rng = pair
    order = rng.permutation(len(x))
    counts, agreeing, targets = count(x, y)
    permuted = count(x[order], y[order])
    assert permuted == (counts, [agreeing[row] for row in order], [targets[row] for row in order])


@given(pairs())
def test_swapping_the_sides_swaps_their_ties(pair: Any) -> None:
    x, y, _ = pair
    (concordant, discordant, tied_x, tied_y, tied_both), agreeing, targets = count(x, y)
    assert count(y, x) == ((concordant, discordant, tied_y, tied_x, tied_both), agreeing, targets)


@given(pairs(), st.lists(st.integers(0, 40), max_size=6))
def test_blocks_add_up_however_they_are_cut(pair: Any, cuts: list[int]) -> None:
    sides = spaces(*pair[:2], key_bits=20)
    rows = sides[0].rows
    whole = triplets.exact_block(*sides, 0, rows, per_target=True)
    borders = [0, *sorted(min(cut, rows) for cut in cuts), rows]
    blocks = [triplets.exact_block(*sides, *ends, per_target=True) for ends in itertools.pairwise(borders)]
    assert sum((block.counts for block in blocks), AgreementCounts()) == whole.counts
    assert np.concatenate([block.agreeing for block in blocks]).tolist() == whole.agreeing.tolist()
    assert sum(block.targets for block in blocks).tolist() == whole.targets.tolist()
    assert sum((block.paths for block in blocks), Paths()) == whole.paths
    assert whole.counts.comparisons == triplet_population(rows)
    assert int(whole.agreeing.sum()) == whole.counts.agreeing == int(whole.targets.sum()) // 2
    assert triplets.exact_block(*sides, 0, rows).targets is None


@given(pairs(), st.integers(0, 40))
def test_any_anchors_in_any_order(pair: Any, number: int) -> None:
    sides = spaces(*pair[:2])
    anchors = pair[2].permutation(sides[0].rows)[:number]
    block = triplets.exact_anchors(*sides, anchors, per_target=True)
    alone = [triplets.exact_block(*sides, anchor, anchor + 1, per_target=True) for anchor in anchors]
    assert block.counts == sum((one.counts for one in alone), AgreementCounts())
    assert block.agreeing.tolist() == [int(one.agreeing[0]) for one in alone]
    assert block.targets.tolist() == sum((one.targets for one in alone), np.zeros(sides[0].rows, int)).tolist()


@given(pairs(), st.integers(0, 50), st.sampled_from(list(Precision)))
def test_samples_and_units_add_up_however_they_are_cut(pair: Any, cut: int, precision: Precision) -> None:
    sides = spaces(*pair[:2], precision=precision)
    rows = sides[0].rows
    calls = [(triplets.sampled_range, ()), (triplets.units_range, (2,))]
    if rows >= 4:
        calls += [(quadruplets.sampled_range, ()), (quadruplets.units_range, (2,))]
    for call, size in calls:
        whole, *parts = (call(*sides, 9, *ends, *size) for ends in ((0, 50), (0, cut), (cut, 50)))
        assert parts[0].counts + parts[1].counts == whole.counts
        assert parts[0].uncertified + parts[1].uncertified == whole.uncertified
        if size:
            assert [*parts[0].agreeing, *parts[1].agreeing] == whole.agreeing.tolist()
            assert sum(whole.agreeing.tolist()) == whole.counts.agreeing


@given(pairs())
def test_an_array_agrees_with_itself_and_its_copy(pair: Any) -> None:
    x, _, rng = pair
    x = x + rng.standard_normal(x.shape)
    x[-1] = x[0]
    assert count(x, np.asfortranarray(x)).counts[1:4] == (0, 0, 0)


def test_blocks_larger_than_what_is_held_at_once() -> None:
    rng = np.random.default_rng(0)
    sides = spaces(*(rng.standard_normal((1200, 3)) for _ in range(2)))
    whole = triplets.exact_block(*sides, 0, 1200)
    parts = (triplets.exact_block(*sides, start, start + 100).counts for start in range(0, 1200, 100))
    assert five(whole.counts) == five(sum(parts, AgreementCounts()))


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    rng = np.random.default_rng(1)
    sides = spaces(*(rng.standard_normal((30, 3)) for _ in range(2)))
    first = observed(*sides)
    assert observed(*sides) == first
    assert observed(*sides[::-1]).answers.triplets.agreeing == first.answers.triplets.agreeing


def test_blocks_outside_the_rows_are_refused() -> None:
    x = prepare(np.ones((5, 2)), Distance.EUCLIDEAN)
    for start, stop in ((-1, 2), (3, 2), (0, 6)):
        with pytest.raises(ValueError, match=f"anchors {start} to {stop} are not within 5 rows"):
            triplets.exact_block(x, x, start, stop)
    for anchor in (-1, 5):
        with pytest.raises(ValueError, match="5 rows"):
            triplets.exact_anchors(x, x, np.array([0, anchor]))
    with pytest.raises(ValueError, match="x has 5 rows and y has 4"):
        triplets.exact_block(x, prepare(np.ones((4, 2)), Distance.EUCLIDEAN), 0, 1)
    two = prepare(np.ones((2, 2)), Distance.EUCLIDEAN)
    with pytest.raises(ValueError, match="at least 3 rows"):
        triplets.exact_block(two, two, 0, 2)
    empty = triplets.exact_block(x, x, 2, 2)
    assert empty.counts == AgreementCounts()
    assert empty.agreeing.shape == (0,)
