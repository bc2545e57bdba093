"""Rounded products, and the counts made of them, are the same however anchors are cut into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ordsim_core import aligned_products, anchors, quadruplets, strips, triplets
from ordsim_core.counts import AgreementCounts
from ordsim_core.distances import Distance, Precision
from ordsim_core.neighbours.lists import nearest
from ordsim_core.nulls import rank_tables
from ordsim_core.spaces import Space, prepare

PRODUCTS = [Distance.EUCLIDEAN, Distance.COSINE, Distance.DOT]
ROUNDED = [Precision.FLOAT32, Precision.FLOAT64]
DTYPES = {Precision.FLOAT32: "f4", Precision.FLOAT64: "f8"}


def gaussian(rows: int, columns: int, distance: Distance, precision: Precision, seed: int = 0) -> Space:
    values = np.random.default_rng(seed).standard_normal((rows, columns)).astype(DTYPES[precision])
    return prepare(values, distance, precision)


SHAPES = [(2000, 64), (65, 3), (64, 200), (63, 63), (1, 5), (130, 1), (511, 257), (300, 1000)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids="{0[0]}x{0[1]}".format)
def test_products_of_a_row_are_the_same_bits_in_any_company(shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    operand = rng.standard_normal(shape).astype(dtype)
    every = aligned_products.multiply(operand, np.arange(shape[0]))
    np.testing.assert_allclose(every, operand.astype("f8") @ operand.T.astype("f8"), rtol=1e-6, atol=2e-4)
    assert every.dtype == operand.dtype
    for count in (1, 15, 65, 130):
        asked = rng.integers(0, shape[0], count)
        assert (aligned_products.multiply(operand, asked) == every[asked]).all()
    for start in (1, shape[0] - 1):
        asked = np.arange(start, min(shape[0], start + 90))
        assert (aligned_products.multiply(operand, asked) == every[asked]).all()
    assert aligned_products.multiply(operand, np.arange(0)).shape == (0, shape[0])


def test_products_with_later_rows_alone() -> None:
    operand = np.random.default_rng(0).standard_normal((300, 50)).astype("f4")
    some = aligned_products.multiply(operand, np.arange(70, 200), 70)
    assert some.shape == (130, 230)
    assert (aligned_products.multiply(operand, np.array([150, 71]), 70) == some[[80, 1]]).all()


@pytest.mark.parametrize(
    ("shape", "rows"), [((10, 3), 64), ((2**16, 9), 64), ((2**16 + 1, 9), 32), ((9, 2**20), 4), ((2, 2**25), 2)]
)
def test_tiles_are_bounded(shape: tuple[int, int], rows: int) -> None:
    operand = np.broadcast_to(np.float32(0), shape)
    assert aligned_products.tile_rows(operand) == rows


@pytest.mark.parametrize("precision", ROUNDED)
@pytest.mark.parametrize(("rows", "columns"), [(2000, 64), (700, 24), (400, 129)])
def test_triplets_do_not_depend_on_blocks(rows: int, columns: int, precision: Precision) -> None:
    x, y = (gaussian(rows, columns, Distance.EUCLIDEAN, precision, seed) for seed in (1, 2))
    at_once = triplets.exact_block(x, y, 0, 80, per_target=True)
    one_by_one = [triplets.exact_block(x, y, anchor, anchor + 1, per_target=True) for anchor in range(80)]
    assert sum((block.counts for block in one_by_one), AgreementCounts()) == at_once.counts
    assert [int(block.agreeing[0]) for block in one_by_one] == at_once.agreeing.tolist()
    assert sum(block.uncertified for block in one_by_one) == at_once.uncertified
    assert (sum(block.targets for block in one_by_one if block.targets is not None) == at_once.targets).all()
    borders = [0, 7, 71, 72, 79, 80]
    odd = [triplets.exact_block(x, y, *block) for block in pairwise(borders)]
    assert np.concatenate([block.agreeing for block in odd]).tolist() == at_once.agreeing.tolist()
    scattered = np.random.default_rng(3).permutation(80)
    assert (triplets.exact_anchors(x, y, scattered).agreeing == at_once.agreeing[scattered]).all()


@pytest.mark.parametrize("precision", ROUNDED)
@pytest.mark.parametrize("distance", PRODUCTS)
def test_what_anchors_are_ranked_by_does_not_depend_on_blocks(distance: Distance, precision: Precision) -> None:
    """Bits of products, of which few are seen in counts: also where rows repeat."""
    values = np.random.default_rng(4).standard_normal((900, 40)).astype(DTYPES[precision])
    values[500:550] = values[100:150]
    space = prepare(values, distance, precision)
    assert anchors.tile_rows(space) == aligned_products.LARGEST_TILE
    every = anchors.products(space, np.arange(900))
    for start, stop in ((0, 1), (99, 102), (480, 611), (899, 900)):
        assert (anchors.products(space, np.arange(start, stop)) == every[start:stop]).all()
    assert (every[500:550] == every[100:150]).all()


def test_certified_orders_need_no_tiles() -> None:
    whole = np.random.default_rng(0).integers(0, 9, (50, 4)).astype("f4")
    assert anchors.tile_rows(gaussian(50, 4, Distance.EUCLIDEAN, Precision.FLOAT32)) > 1
    assert anchors.tile_rows(prepare(whole, Distance.EUCLIDEAN, Precision.FLOAT32)) == 1
    assert anchors.tile_rows(prepare(whole, Distance.MANHATTAN, Precision.FLOAT32)) == 1
    assert anchors.tile_rows(prepare(np.random.default_rng(0).standard_normal((50, 4)), Distance.COSINE)) == 1


@pytest.mark.parametrize("precision", ROUNDED)
def test_ranks_and_neighbours_do_not_depend_on_blocks(precision: Precision) -> None:
    space = gaussian(500, 30, Distance.EUCLIDEAN, precision)
    ranks = rank_tables.target_ranks(space, 0, 500)
    near = nearest(space, np.arange(500), 200)
    for start, stop in ((0, 1), (63, 65), (7, 300), (499, 500)):
        assert (rank_tables.target_ranks(space, start, stop) == ranks[start:stop]).all()
        part = nearest(space, np.arange(start, stop), 200)
        assert part.rows.tolist() == near.rows[near.start[start] : near.start[stop]].tolist()


@pytest.mark.parametrize("precision", ROUNDED)
def test_quadruplets_do_not_depend_on_shards(precision: Precision) -> None:
    x, y = (gaussian(301, 20, Distance.EUCLIDEAN, precision, seed) for seed in (1, 2))
    plan = strips.StripPlan(301, 5, 5)
    found = strips.all_strips(x, y, plan)
    everything = strips.agreement(plan, found.counts, found.cells)
    shards = [strips.x_strips(x, y, plan, *ends) for ends in ((0, 1), (1, 4), (4, 5))]
    counts = sum((shard.counts for shard in shards[1:]), shards[0].counts)
    for first in range(5):
        counts += strips.y_strips(x, y, plan, first, first + 1)
    assert strips.agreement(plan, counts, np.concatenate([shard.cells for shard in shards])) == everything
    of_triplets = sum((triplets.exact_block(x, y, row, row + 1).counts for row in range(301)), AgreementCounts())
    assert quadruplets.without_triplets(everything, of_triplets).counts == quadruplets.exact_counts(x, y).counts


@pytest.mark.parametrize("precision", ROUNDED)
def test_samples_do_not_depend_on_ranges(precision: Precision) -> None:
    x, y = (gaussian(300, 70, Distance.EUCLIDEAN, precision, seed) for seed in (1, 2))
    for draw in (triplets.sampled_range, quadruplets.sampled_range):
        parts = [draw(x, y, 3, *ends).counts for ends in ((0, 1), (1, 18), (18, 4000))]
        assert sum(parts, AgreementCounts()) == draw(x, y, 3, 0, 4000).counts
    for draw_units in (triplets.units_range, quadruplets.units_range):
        every = draw_units(x, y, 3, 0, 300, 9).agreeing
        assert [int(draw_units(x, y, 3, unit, unit + 1, 9).agreeing[0]) for unit in range(60)] == every[:60].tolist()
