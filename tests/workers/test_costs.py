"""The cost model and the cutting that follows it."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare
from workers import costs
from workers.measures import cutting
from workers.measures.protocol import PairShape, Shard
from workers.spaces import weight

if TYPE_CHECKING:
    from pathlib import Path

MODELS = [costs.anchor_seconds, costs.triplet_seconds, costs.quadruplet_seconds]

each = st.floats(1e-9, 10.0)
budgets = st.floats(1e-6, 60.0)


@pytest.mark.parametrize("model", MODELS)
def test_costs_grow_with_the_columns_of_either_side(model) -> None:
    small = model(PairShape(1000, 10, 10))
    assert 0 < small < model(PairShape(1000, 500, 10))
    assert model(PairShape(1000, 500, 10)) == pytest.approx(model(PairShape(1000, 10, 500)))


def test_an_anchor_costs_more_the_more_targets_it_has() -> None:
    assert costs.anchor_seconds(PairShape(2000, 10, 10)) > 1.9 * costs.anchor_seconds(PairShape(1000, 10, 10))


@pytest.mark.parametrize("precision", [Precision.EXACT, Precision.FLOAT32], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4"])
@pytest.mark.parametrize("distance", list(Distance))
def test_prepared_arrays_take_no_more_than_is_said(
    tmp_path: Path, distance: Distance, dtype: str, precision: Precision
) -> None:
    rows, columns = 1500, 1500 if distance is Distance.PRECOMPUTED else 200
    values = (20 * np.random.default_rng(1).standard_normal((rows, columns))).astype(dtype)
    staged = np.memmap(tmp_path / "values", values.dtype, "w+", shape=values.shape)
    staged[:] = values
    prepare(staged, distance, precision)  # compiles
    tracemalloc.start()
    try:
        space = prepare(staged, distance, precision)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    shape = PairShape(
        rows,
        columns,
        columns,
        distance,
        distance,
        x_itemsize=values.itemsize,
        y_itemsize=values.itemsize,
        x_float=dtype[0] == "f",
        y_float=dtype[0] == "f",
        precision=precision,
    )
    held = costs.pair_bytes(shape) // 2
    assert weight(space) <= held <= 2 * weight(space) + 2**20
    assert peak <= held + costs.preparing_bytes(shape)


def test_the_first_array_may_need_more_than_both_later() -> None:
    shape = PairShape(1000, 10**6, 10)
    mirrored = PairShape(1000, 10, 10**6)
    assert costs.pair_bytes(shape) == costs.pair_bytes(mirrored)
    assert costs.preparing_bytes(mirrored) > costs.preparing_bytes(shape) > 10**9


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(0, 3000), each, budgets)
def test_shards_cover_every_position_once(length: int, seconds_each: float, seconds: float) -> None:
    shards = cutting.shards(length, seconds_each, seconds, 7)
    assert [position for shard in shards for position in range(shard.start, shard.stop)] == list(range(length))
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert all(shard.comparisons == 7 * (shard.stop - shard.start) > 0 for shard in shards)


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(1, 20_000), each, budgets)
def test_shards_keep_to_their_budget_where_a_position_does(length: int, seconds_each: float, seconds: float) -> None:
    shards = cutting.shards(length, seconds_each, seconds, 1)
    sizes = {shard.stop - shard.start for shard in shards}
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) == 1 or max(sizes) * seconds_each <= seconds * (1 + 1e-9)


def test_an_absurd_number_of_shards_becomes_longer_shards() -> None:
    shards = cutting.shards(10**12, 1e-3, 0.5, 1)
    assert len(shards) == cutting.SHARDS_LIMIT
    assert sum(shard.comparisons for shard in shards) == 10**12
    assert shards[-1].stop == 10**12


def test_shards_that_write_much_into_the_ledger_get_longer() -> None:
    each = cutting.LEDGER_LIMIT // 10
    shards = cutting.shards(1000, 1.0, 1.0, 1, ledger_bytes=each)
    assert len(shards) == 10
    assert shards[-1].stop == 1000
    assert len(cutting.shards(1000, 1.0, 1.0, 1, ledger_bytes=8)) == 1000
    assert len(cutting.shards(1000, 1.0, 1.0, 1, ledger_bytes=2 * cutting.LEDGER_LIMIT)) == 1


def test_nothing_to_do_is_no_shard() -> None:
    assert cutting.shards(0, 1.0, 1.0, 1) == []


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_budget_must_be_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        cutting.shards(10, 1.0, seconds, 1)


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(0, 1000), st.integers(1, 2000), st.floats(1e-4, 10.0))
def test_tiles_walk_through_the_shard(start: int, length: int, seconds_each: float) -> None:
    tiles = list(cutting.tiles(Shard(0, start, start + length, length), seconds_each))
    assert [position for tile in tiles for position in range(*tile)] == list(range(start, start + length))
    longest = max(stop - first for first, stop in tiles)
    assert longest == 1 or longest * seconds_each <= cutting.TILE_SECONDS * (1 + 1e-9)
