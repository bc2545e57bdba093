"""What must not change the counts, and what must change them in a known way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from against_oracle import exact_triplets, five
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core import triplets
from ordsim_core.counts import AgreementCounts, triplet_population
from ordsim_core.distances import Distance, prepare

settings.register_profile("core", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("core")


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Two arrays over the same rows, on lattices coarse enough for ties, and a source of choices."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.integers(3, 40))
    sides = [
        rng.integers(-spread, spread + 1, (rows, columns)).astype(np.float64)
        for spread, columns in (draw(st.tuples(st.integers(1, 20), st.integers(1, 9))) for _ in range(2))
    ]
    return sides[0], sides[1], rng


def count(x: np.ndarray, y: np.ndarray, distance: Distance = Distance.EUCLIDEAN) -> Any:
    return exact_triplets(prepare(x, distance), prepare(y, Distance.EUCLIDEAN))


@given(pairs(), st.integers(-(2**20), 2**20))
def test_translation_on_a_lattice(pair: Any, shift: int) -> None:
    x, y, _ = pair
    assert count(x + shift, y) == count(x, y)


@given(pairs())
def test_signed_permutation_of_columns(pair: Any) -> None:
    x, y, rng = pair
    signs = rng.choice([-1.0, 1.0], x.shape[1])
    assert count(x[:, rng.permutation(x.shape[1])] * signs, y) == count(x, y)


@given(pairs(), st.integers(-1000, 1000))
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
    assert count(np.ldexp(x, 700), y) == count(np.ldexp(x, -700), y) == count(x, y)


@given(pairs())
def test_joint_permutation_of_rows(pair: Any) -> None:
    x, y, rng = pair
    order = rng.permutation(len(x))
    counts, agreeing = count(x, y)
    permuted, agreeing_permuted = count(x[order], y[order])
    assert permuted == counts
    assert agreeing_permuted == [agreeing[row] for row in order]


@given(pairs())
def test_swapping_the_sides_swaps_their_ties(pair: Any) -> None:
    x, y, _ = pair
    (concordant, discordant, tied_x, tied_y, tied_both), agreeing = count(x, y)
    assert count(y, x) == ((concordant, discordant, tied_y, tied_x, tied_both), agreeing)


@given(pairs(), st.lists(st.integers(0, 40), max_size=6))
def test_blocks_add_up_however_they_are_cut(pair: Any, cuts: list[int]) -> None:
    x, y = (prepare(side, Distance.EUCLIDEAN) for side in pair[:2])
    whole = triplets.exact_block(x, y, 0, x.rows)
    borders = [0, *sorted(min(cut, x.rows) for cut in cuts), x.rows]
    blocks = [triplets.exact_block(x, y, *ends) for ends in itertools.pairwise(borders)]
    assert sum((block.counts for block in blocks), AgreementCounts()) == whole.counts
    assert np.concatenate([block.agreeing for block in blocks]).tolist() == whole.agreeing.tolist()
    assert whole.counts.comparisons == triplet_population(x.rows)
    assert int(whole.agreeing.sum()) == whole.counts.agreeing


@given(pairs())
def test_an_array_agrees_with_itself_and_its_copy(pair: Any) -> None:
    x, _, rng = pair
    x = x + rng.standard_normal(x.shape)
    x[-1] = x[0]
    counts, _ = count(x, np.asfortranarray(x))
    assert counts[1:4] == (0, 0, 0)


def test_blocks_larger_than_what_is_held_at_once() -> None:
    rng = np.random.default_rng(0)
    x, y = (prepare(rng.standard_normal((1200, 3)), Distance.EUCLIDEAN) for _ in range(2))
    whole = triplets.exact_block(x, y, 0, 1200)
    assert five(whole.counts) == five(
        sum((triplets.exact_block(x, y, start, start + 100).counts for start in range(0, 1200, 100)), AgreementCounts())
    )


def test_blocks_outside_the_rows_are_refused() -> None:
    x = prepare(np.ones((5, 2)), Distance.EUCLIDEAN)
    for start, stop in ((-1, 2), (3, 2), (0, 6)):
        with pytest.raises(ValueError, match=f"anchors {start} to {stop} are not within 5 rows"):
            triplets.exact_block(x, x, start, stop)
    with pytest.raises(ValueError, match="x has 5 rows and y has 4"):
        triplets.exact_block(x, prepare(np.ones((4, 2)), Distance.EUCLIDEAN), 0, 1)
    two = prepare(np.ones((2, 2)), Distance.EUCLIDEAN)
    with pytest.raises(ValueError, match="at least 3 rows"):
        triplets.exact_block(two, two, 0, 2)
    empty = triplets.exact_block(x, x, 2, 2)
    assert empty.counts == AgreementCounts()
    assert empty.agreeing.shape == (0,)
