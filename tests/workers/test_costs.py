"""The cost model and the cutting that follows it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers import costs
from workers.measures import cutting
from workers.measures.protocol import PairShape, Shard

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
