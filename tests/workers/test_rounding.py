"""What rounding for storage leaves of every measure's deficit: real embeddings against rounded copies of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from ordsim_core.distances import Distance
from service.entries import MeasureEntry
from service.schemas import worker_options
from workers.environment import from_environment
from workers.measures import registry, resolved, rounding
from workers.measures.given import Grid, Pair, Values
from workers.measures.protocol import GRID, SPACES, Budget, MeasureOptions, Outcome, PairFacts, PairShape
from workers.operands import InMemory
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = Path(__file__).parent.parent / "data" / "sample" / "text_L6_f32.npy"
ROWS = 400
DENSE = {"measure": "mutual_knn", "k": 10}

EVERY: list[dict[str, Any]] = [
    {"measure": "tsi", "method": "exact"},
    {"measure": "tsi", "method": "units", "units": 20_000},
    {"measure": "tsi", "method": "sampled", "samples": 1_000_000},
    {"measure": "tsi", "method": "anchors", "anchors": 200},
    {"measure": "tsi", "method": "batched", "batches": 3, "batch_size": 200},
    {"measure": "qsi", "method": "exact"},
    {"measure": "qsi", "method": "sampled", "samples": 1_000_000},
    {"measure": "cka", "estimator": "biased"},
    {"measure": "cka", "estimator": "debiased"},
    {"measure": "cka", "kernel": "rbf"},
    {"measure": "cka", "kernel": "distance"},
    {"measure": "rsa", "correlation": "pearson"},
    {"measure": "rsa", "correlation": "spearman"},
    {"measure": "rsa", "correlation": "cosine", "method": "sampled", "samples": 50_000},
    {"measure": "procrustes"},
    DENSE,
    {"measure": "mutual_knn", "k": 10, "method": "anchors", "anchors": 300},
    {"measure": "cknna", "k": 10},
]
"""Not CCA and its like: 400 rows of 384 columns agree whatever was done to them."""


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path))
    from_environment.cache_clear()
    yield
    from_environment.cache_clear()


def layer() -> np.ndarray:
    return np.load(SAMPLE)[:ROWS]


def options_of(sent: dict[str, Any]) -> MeasureOptions:
    entry: MeasureOptions = TypeAdapter(MeasureEntry).validate_python(sent)
    return worker_options(entry)[1]


def judged(sent: dict[str, Any], x: np.ndarray, y: np.ndarray, distance: Distance = Distance.EUCLIDEAN) -> Any:
    """Give deficit and resolution of a measure, as a job's one shard and its end do."""
    options = options_of(sent)
    measure = registry.find(*options.label)
    one, other = InMemory(x, distance), InMemory(y, distance)
    shape = PairShape(len(x), x.shape[1], y.shape[1], distance, distance)
    given: Any
    if measure.needs == GRID:
        given = Grid((one,), (other,), shape)
    elif measure.needs == SPACES:
        given = Pair(one.space(), other.space(), None, shape)
    else:
        given = Values(x, y, distance, distance, None, lambda _, compute: compute())
    total = Partial()
    for shard in measure.shards(shape, options, Budget(1e9, 1 << 40)):
        total += measure.partial(given, shard, options, 0, lambda: None)
    total += resolved.examine(options, one, other, lambda: None)
    outcome: Outcome = measure.finish(total, PairFacts(shape), options, 0.99)
    return outcome.deficit, resolved.resolution(options, total, outcome, identical=False)


@pytest.mark.parametrize("sent", EVERY, ids=lambda sent: " ".join(map(str, sent.values())))
def test_a_rounded_copy_is_below_resolution_and_another_layer_is_not(sent: dict[str, Any]) -> None:
    x = layer()
    deficit, resolution = judged(sent, x, x.astype("f2").astype("f4"))
    assert resolution["effectivePrecision"] == {"x": "float32", "y": "float16"}
    assert resolution["verdictUnderlying"] == "below-resolution", (deficit, resolution)
    assert resolution["floorStorage"] > 0
    if "k" not in sent:  # of so few rows, one neighbour more or less is much
        assert 0.4 < deficit / resolution["floorStorage"] < 2
    _, apart = judged(sent, x, (x + 0.1 * np.roll(x, 1, axis=0)).astype("f4"))
    assert apart["verdict"] == "resolved"


def test_the_floor_is_measured_on_few_rows_and_says_on_how_many() -> None:
    x = np.random.default_rng(0).standard_normal((3000, 8)).astype("f2")
    found = rounding.of(options_of({"measure": "tsi", "method": "exact"}))
    assert found is not None
    _, resolution = judged({"measure": "tsi", "method": "anchors", "anchors": 5}, x, x[::-1].copy())
    assert resolution["floorRows"] == found.rows < len(x)


@pytest.mark.parametrize("distance", [Distance.HAMMING, Distance.PRECOMPUTED])
def test_values_that_were_never_rounded_have_no_floor(distance: Distance) -> None:
    x = np.abs(np.subtract.outer(np.arange(40.0) ** 2, np.arange(40.0) ** 2))
    _, resolution = judged(DENSE, x, x[::-1, ::-1].copy(), distance)
    assert resolution["floorStorage"] is None
    assert resolution["question"] == "stored-arrays"
    assert resolved.NO_ROUNDING[distance] in resolution["storageReason"]


@pytest.mark.parametrize("sent", [{"measure": "rsa", "correlation": "cosine"}, {"measure": "cka", "kernel": "rbf"}])
def test_a_multiple_is_not_told_apart_by_rounding(sent: dict[str, Any]) -> None:
    x = layer()[:100].astype("f8")  # of 24 bits, so that three times as much is exact
    deficit, resolution = judged(sent, x, 3 * x)
    assert deficit <= 2 * resolution["floorArithmetic"] < 1e-30
    assert resolution["verdictStored"] == "below-resolution"


VALUED = [sent for sent in EVERY if sent["measure"] in ("cka", "rsa", "procrustes")]


@pytest.mark.parametrize("size", [2.0**-600, 2.0**-270, 2.0**70, 2.0**270, 2.0**500])
@pytest.mark.parametrize("sent", VALUED, ids=lambda sent: " ".join(map(str, sent.values())))
def test_neither_deficits_nor_floors_depend_on_the_unit_of_values(sent: dict[str, Any], size: float) -> None:
    x = layer()[:60, :20].astype("f8")
    y = (x + 0.1 * np.roll(x, 1, axis=0)).astype("f4").astype("f8")
    deficit, resolution = judged(sent, x, y)
    for one, other in ((x * size, y), (x, y * size), (x * size, y * size)):
        scaled, found = judged(sent, one, other)
        assert scaled == pytest.approx(deficit, rel=1e-12)
        assert found["floorStorage"] == pytest.approx(resolution["floorStorage"], rel=1e-6)
        assert found["verdict"] == resolution["verdict"]


@pytest.mark.parametrize("size", [2.0**-270, 2.0**270])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "distance"])
def test_batches_do_not_depend_on_the_unit_of_values(kernel: str, size: float) -> None:
    x, sent = layer()[:60, :20].astype("f8"), {"measure": "cka", "kernel": kernel, "estimator": "minibatch"}
    y = x + 0.1 * np.roll(x, 1, axis=0)
    expected, _ = judged({**sent, "batch_size": 20}, x, y)
    for one, other in ((x * size, y), (x * size, y * size)):
        assert judged({**sent, "batch_size": 20}, one, other)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bandwidth", [1.0, 1e3, 1e6])
def test_a_wide_kernel_keeps_its_digits(bandwidth: float) -> None:
    """A kernel much wider than the distances is, but for a factor and a part that centring takes off, linear."""
    rng = np.random.default_rng(0)
    x, change = rng.standard_normal((2, 30, 4)) * min(1.0, bandwidth / 1e3)
    y = x + 1e-6 * change
    deficit, _ = judged({"measure": "cka", "kernel": "rbf", "bandwidth": bandwidth}, x, y)
    linear, _ = judged({"measure": "cka"}, x, y)
    assert deficit == pytest.approx(linear, rel=1e-4)


def test_a_row_that_is_zero_has_no_direction_and_no_floor() -> None:
    x = np.random.default_rng(0).standard_normal((30, 4))
    y = np.vstack([x[1:], np.zeros((1, 4))])
    _, resolution = judged(DENSE, x, y)
    assert resolution["floorStorage"] > 0
    found = resolved.examine(
        options_of(DENSE),
        *(InMemory(side, Distance.COSINE) for side in (x, y)),
        lambda: None,
    )
    assert b"undefined" in found.vector(resolved.PIECE).tobytes()
