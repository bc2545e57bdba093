"""What measures say they take, against what numpy allocates for one shard."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core import spaces
from ordsim_core.distances import Distance, Precision
from workers import costs
from workers.measures import registry
from workers.measures.given import Pair
from workers.measures.protocol import Budget, PairShape

if TYPE_CHECKING:
    from pathlib import Path

SHORT = Budget(0.2, 2**40)


def mapped(path: Path, values: np.ndarray) -> np.ndarray:
    staged = np.memmap(path, values.dtype, "w+", shape=values.shape)
    staged[:] = values
    return staged


def check(arrays: list[np.ndarray], distance: Distance, precision: str, most: float, **fields: Any) -> None:
    """One shard takes no more than is said, which is not `most` times as much but for what is always set aside."""
    x, y = arrays
    pair_shape = PairShape(
        len(x),
        x.shape[1],
        y.shape[1],
        distance,
        distance,
        x.itemsize,
        y.itemsize,
        x.dtype.kind == "f",
        y.dtype.kind == "f",
        precision,
    )
    pair = Pair(*(spaces.prepare(side, distance, Precision(precision)) for side in arrays), described=pair_shape)
    measure = registry.find(fields["measure"], fields["method"])
    options = measure.options.model_validate(fields)
    shard = measure.shards(pair_shape, options, SHORT)[0]
    tracemalloc.start()
    try:
        measure.partial(pair, shard, options, 0, lambda: None).to_bytes()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    said = measure.memory(pair_shape, options, SHORT)
    assert peak <= said <= most * peak + 32 * 2**20


@pytest.mark.parametrize("members", [2, 32, 200])
@pytest.mark.parametrize("drawn", [{"units": 200}, {"width": 0.001}], ids=["units", "width"])
def test_units_of_which_everything_is_in_doubt(tmp_path: Path, members: int, drawn: dict[str, Any]) -> None:
    values = np.random.default_rng(1).integers(0, 2, (900, 3)).astype("u1")
    # Rows at three distances from each other: most comparisons tie.
    arrays = [mapped(tmp_path / name, values) for name in "xy"]
    check(arrays, Distance.HAMMING, "exact", 2, measure="tsi", method="units", targets=members, **drawn)


@pytest.mark.parametrize("shape", [(2000, 2), (300, 6000)])
@pytest.mark.parametrize("fields", [{"method": "exact"}, {"method": "anchors", "anchors": 300}], ids=["exact", "some"])
def test_anchors(tmp_path: Path, shape: tuple[int, int], fields: dict[str, Any]) -> None:
    values = np.random.default_rng(1).standard_normal(shape).astype("f4")
    arrays = [mapped(tmp_path / name, values) for name in "xy"]
    check(arrays, Distance.EUCLIDEAN, "exact", 8, measure="tsi", **fields)


@pytest.mark.parametrize("precision", ["exact", "float32"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1"])
@pytest.mark.parametrize("distance", list(Distance))
def test_batches(tmp_path: Path, distance: Distance, dtype: str, precision: str) -> None:
    rows, columns = 1200, 1200 if distance is Distance.PRECOMPUTED else 900
    values = (20 * np.random.default_rng(1).standard_normal((rows, columns))).astype(dtype)
    if distance is Distance.PRECOMPUTED:
        values = np.maximum(np.abs(values), np.abs(values.T))
    arrays = [mapped(tmp_path / name, values) for name in "xy"]
    for measure in ("tsi", "qsi"):
        fields = {"measure": measure, "method": "batched", "batches": 1, "batch_size": 1000}
        check(arrays, distance, precision, 6, **fields)


def test_a_batch_for_qsi_of_several_strips(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((3000, 5)).astype("f4")
    arrays = [mapped(tmp_path / name, values) for name in "xy"]
    check(arrays, Distance.COSINE, "exact", 6, measure="qsi", method="batched", batches=1, batch_size=2500)


def test_what_a_batch_copies_is_counted() -> None:
    shape = PairShape(1000, 300, 200)
    assert costs.selected_bytes(shape) == costs.pair_bytes(shape) + 4 * 1000 * 500
    both = PairShape(1000, 300, 200, Distance.COSINE, Distance.EUCLIDEAN, 4, 8)
    assert costs.selected_bytes(both) == costs.pair_bytes(both) + 8 * 1000 * 500
