"""Exact QSI as it is planned: how it is cut, what a pair of rows takes, and in what memory."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core import strips
from ordsim_core.counts import quadruplet_population
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare
from ordsim_core.strip_records import MemoryStore
from workers import costs, spilling
from workers.environment import from_environment
from workers.measures import cutting, qsi_exact, registry
from workers.measures.given import Pair
from workers.measures.protocol import Budget, PairShape, Shard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

MEASURE: Any = registry.find("qsi", "exact")
OPTIONS = MEASURE.options(measure="qsi", method="exact")
LARGEST = PairShape(qsi_exact.ROWS_LIMIT, 64, 64)
AMPLE = 2**50


@pytest.fixture(autouse=True)
def worker() -> Iterator[None]:
    yield
    from_environment.cache_clear()


@pytest.mark.parametrize("seconds", [0.5, 60.0, 1e9])
def test_shards_of_the_most_rows_fit_into_memory_and_ledger(seconds: float) -> None:
    plan = strips.plan(LARGEST.rows)
    shards = MEASURE.shards(LARGEST, OPTIONS, Budget(seconds, AMPLE))
    assert [shard.start for shard in shards[1:]] == [shard.stop for shard in shards[:-1]]
    assert shards[-1].stop == plan.rows + plan.x + plan.y
    in_x = [shard for shard in shards if plan.rows <= shard.start < plan.rows + plan.x]
    largest = max(shard.stop - shard.start for shard in in_x)
    assert 8 * largest * plan.y <= qsi_exact.CELLS_BYTES + 8 * plan.y
    assert 8 * plan.x * plan.y < cutting.LEDGER_LIMIT
    least = MEASURE.memory(LARGEST, OPTIONS, Budget(seconds, 0))
    assert least >= costs.STRIP_BYTES + 3 * 8 * largest * plan.y
    assert least < 2**30
    assert sum(shard.comparisons for shard in shards) == quadruplet_population(LARGEST.rows)
    assert all(shard.comparisons >= 0 for shard in shards)


def test_cutting_takes_time_that_grows_with_the_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    additions = 0

    class Seconds(float):
        """Counts how often it is added to."""

        def __radd__(self, other: float) -> Seconds:
            nonlocal additions
            additions += 1
            return Seconds(float(self) + float(other))

        __add__ = __radd__

    monkeypatch.setattr(qsi_exact, "shard_seconds", lambda *_: Seconds(1.0))
    shards = MEASURE.shards(PairShape(20_000, 64, 64), OPTIONS, Budget(0.1, AMPLE))
    assert len(shards) > 100
    assert 0 < additions <= len(shards)


def test_what_fits_is_not_refused() -> None:
    shape = PairShape(3000, 2000, 2000)
    needed = MEASURE.memory(shape, OPTIONS, Budget(1e9, AMPLE))
    assert needed > costs.STRIP_BYTES + 16 * comb(3000, 2)
    assert needed == MEASURE.memory(shape, OPTIONS, Budget(1e9, needed))
    assert MEASURE.memory(shape, OPTIONS, Budget(1e9, needed - 1)) < needed
    for rows in (4, 3000, qsi_exact.ROWS_LIMIT):
        small = PairShape(rows, 64, 64)
        for budget in np.geomspace(1e6, 1e12, 40).astype(int).tolist():
            found = MEASURE.memory(small, OPTIONS, Budget(1e9, budget))
            assert found <= max(budget, MEASURE.memory(small, OPTIONS, Budget(1e9, 0)))


@pytest.mark.parametrize("precision", ["exact", "float32"])
def test_the_plan_says_where_pairs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    x = np.random.default_rng(4).standard_normal((60, 3)).astype("f4")
    sides = [prepare(x, Distance.EUCLIDEAN, Precision(precision)) for _ in range(2)]
    shape = PairShape(60, 3, 3, precision=precision)
    pair = Pair(*sides, described=shape)
    opened = []
    keep = spilling.disk_store

    @contextmanager
    def disk_store(directory: Path) -> Iterator[spilling.DiskStore]:
        opened.append(directory)
        with keep(directory) as store:
            yield store

    monkeypatch.setattr(spilling, "disk_store", disk_store)
    monkeypatch.setattr(strips, "STRIP_PAIRS", 300)
    shard = next(one for one in MEASURE.shards(shape, OPTIONS, Budget(1e9, AMPLE)) if one.start == 60)
    needed = MEASURE.memory(shape, OPTIONS, Budget(1e9, AMPLE))
    for room, files in ((needed, 0), (needed - 1, 1)):
        monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path))
        monkeypatch.setenv("ORDSIM_WORKER_MEMORY", str(costs.PROCESS_BYTES + costs.pair_bytes(shape) + room))
        from_environment.cache_clear()
        MEASURE.partial(pair, Shard(0, shard.start, shard.stop, 1), OPTIONS, 0, lambda: None)
        assert len(opened) == files


class WeighingStore(MemoryStore):
    """Knows how many words were kept."""

    words = 0

    def append(self, strip: int, words: NDArray[np.uint32]) -> None:
        self.words += len(words)
        super().append(strip, words)


VALUES = {
    "bytes": (np.random.default_rng(8).integers(0, 9, (30, 4)).astype("u1"), 1, False),
    "integers": (np.random.default_rng(8).integers(-900, 900, (30, 4)).astype("i4"), 4, False),
    "long integers": (np.random.default_rng(8).integers(-(2**50), 2**50, (30, 4)), 8, False),
    "whole floats": (np.random.default_rng(8).integers(-9, 9, (30, 4)).astype("f4"), 4, True),
    "floats": (np.random.default_rng(8).standard_normal((30, 4)).astype("f4"), 4, True),
}
SIDES = list(product(VALUES, Distance))
FIRST = [("floats", Distance.EUCLIDEAN), ("bytes", Distance.EUCLIDEAN), ("whole floats", Distance.PRECOMPUTED)]


@pytest.mark.parametrize("precision", ["exact", "float32"])
@pytest.mark.parametrize("one", FIRST, ids=lambda side: side if isinstance(side, str) else f"{side[0]} {side[1]}")
def test_a_pair_takes_no_more_than_is_said(one: tuple[str, Distance], precision: str) -> None:
    closest = 0.0
    for other in SIDES:
        spaces, described = [], []
        for name, distance in (one, other):
            values, itemsize, is_float = VALUES[name]
            if distance is Distance.PRECOMPUTED:
                values = np.abs(values[:, :1] - values[:, 0].astype(values.dtype))
                values = np.maximum(values, values.T)
            elif distance in (Distance.COSINE, Distance.CORRELATION):
                values = values + np.eye(30, 4, dtype=values.dtype)
                values[:, 3] += values.dtype.type(20)
            spaces.append(prepare(values, distance, Precision(precision)))
            described.append((distance, itemsize, is_float))
        (x_distance, x_itemsize, x_float), (y_distance, y_itemsize, y_float) = described
        shape = PairShape(
            30, 4, 4, x_distance, y_distance, x_itemsize, y_itemsize, x_float, y_float, precision=precision
        )
        stores = WeighingStore(), WeighingStore()
        plan = strips.StripPlan(30, 3, 3)
        strips.x_strips(*spaces, plan, 0, 3, stores[0])
        strips.y_strips(*spaces, plan, 0, 3, stores[1])
        said = costs.record_bytes(shape) * comb(30, 2)
        for store in stores:
            assert 4 * store.words <= said, other
        closest = max(closest, 4 * stores[0].words / said)
    assert closest == 1.0 or (one == FIRST[0] and precision == "float32")
