"""Stage and count tasks, alone and on clusters: one answer, however it is computed."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import random
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import pytest_asyncio
import zarr
from shard_functions import KillingShard, count_shard_after_kill, invocations

from ordsim_core import lattice, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare
from workers import cancellation, costs, environment, groups, logs, spaces, versions
from workers.cancellation import ShardCancelled
from workers.embedded import EmbeddedCluster
from workers.errors import ProblemError
from workers.execute import execute
from workers.measures import registry
from workers.measures.given import Pair
from workers.measures.protocol import Budget, MeasureOptions, PairFacts, PairShape
from workers.measures.sampled import QsiSampledOptions, TsiSampledOptions
from workers.measures.tsi_exact import TsiExactOptions
from workers.partials import Partial
from workers.preload import ensure_warm
from workers.references import Reference, Root, RowRange
from workers.running import report
from workers.subjects import Side, StagedSide
from workers.tasks import (
    ShardResult,
    ShardTask,
    StageTask,
    count_shard,
    stage_side,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from pathlib import Path

ROWS = 40
SHAPE = PairShape(ROWS, 6, 4)
OPTIONS: tuple[MeasureOptions, ...] = (
    TsiExactOptions(measure="tsi", method="exact", per_anchor=True),
    TsiSampledOptions(measure="tsi", method="sampled", samples=4000),
    QsiSampledOptions(measure="qsi", method="sampled", samples=4000),
)


def arrays() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(7)
    x = generator.standard_normal((ROWS, 6)).astype(np.float32)
    return {"x": x, "y": generator.integers(-2, 3, (ROWS, 4)).astype(np.int8)}


def write(directory: Path, name: str, values: np.ndarray) -> None:
    """Write one array with every chunk present."""
    array = zarr.create_array(
        directory / name,
        shape=values.shape,
        chunks=(16, values.shape[1]),
        dtype=values.dtype,
        overwrite=True,
        config={"write_empty_chunks": True},
    )
    array[:] = values


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    for name, values in arrays().items():
        write(directory, name, values)
    return directory


def side(name: str, distance: Distance = Distance.EUCLIDEAN, rows: RowRange | None = None) -> Side:
    return Side(Reference("lab", name, rows), distance, "error")


def shard_tasks(staged: dict[str, Any], options: MeasureOptions, seconds: float, job: str = "count") -> list[ShardTask]:
    """All shards of one measure, in an order of no meaning."""
    shards = registry.find(options.measure, options.method).shards(SHAPE, options, Budget(seconds, 2**30))
    random.Random(3).shuffle(shards)
    x, y = one_side("x", side("x"), staged["x"]), one_side("y", side("y"), staged["y"])
    return [ShardTask(job, 1, 0, x, y, options, shard, 5) for shard in shards]


def one_side(name: str, side: Side, staged: Any) -> tuple[StagedSide]:
    return (StagedSide(name, side, staged),)


def total(results: Iterable[ShardResult]) -> Partial:
    return reduce(add, (Partial.from_bytes(result.blob) for result in results), Partial())


@pytest.fixture
def worker_process(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let this process be a worker, with nothing staged or prepared yet; gives the staging directory."""
    monkeypatch.setenv("ORDSIM_ROOTS", f'{{"lab": "{data}"}}')
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path / "staging"))
    caches = (environment.from_environment, spaces.space_cache)
    for cached in caches:
        cached.cache_clear()
    yield tmp_path / "staging"
    for cached in caches:
        cached.cache_clear()


def stage(name: str, job: str = "stage", **options: Any) -> Any:
    return stage_side(StageTask(job, 1, name, side(name, **options)))  # type: ignore[arg-type]


# ---- in this process


def test_the_environment_is_read_from_variables(worker_process: Path, data: Path) -> None:
    known = environment.from_environment()
    assert known.known_roots() == {"lab": Root("lab", str(data))}
    assert known.staging_directory == worker_process
    assert known is environment.from_environment()


def test_count_shard_equals_the_core(worker_process: Path) -> None:
    staged = {name: stage(name) for name in ("x", "y")}
    (task,) = shard_tasks(staged, OPTIONS[0], 60.0)
    result = count_shard(task)
    x, y = (prepare(values, Distance.EUCLIDEAN) for values in arrays().values())
    block = triplets.exact_block(x, y, 0, ROWS)
    partial = Partial.from_bytes(result.blob)
    assert partial.counts == block.counts
    assert partial.vector("per_anchor").tolist() == block.agreeing.tolist()
    assert result.seconds > 0
    assert result.worker == "no worker"


def test_a_node_without_the_staged_copy_makes_its_own(worker_process: Path) -> None:
    staged = {name: stage(name) for name in ("x", "y")}
    (task,) = shard_tasks(staged, OPTIONS[1], 60.0)
    expected = count_shard(task)
    spaces.space_cache.cache_clear()
    for path in sorted(worker_process.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert count_shard(task).blob == expected.blob
    assert list(worker_process.iterdir())


def test_a_node_that_reads_other_values_refuses(worker_process: Path) -> None:
    staged = {name: stage(name) for name in ("x", "y")}
    other = replace(staged["y"], fingerprint="sha256:" + "0" * 64, file="0" * 64 + ".npy")
    (task,) = shard_tasks({**staged, "y": other}, OPTIONS[1], 60.0)
    with pytest.raises(ProblemError) as caught:
        count_shard(task)
    assert (caught.value.slug, caught.value.origin) == ("corrupt-data", "data")
    assert "Array y (lab:y) changed" in caught.value.detail


ZERO_ROW = np.array([[1.0, 1], [2, 1], [0, 0], [3, 1]])
WIDE_ROW = np.array([[1.0, 1], [2, 1], [1e300, 1e-300], [3, 1]])


@pytest.mark.parametrize("rows", [None, RowRange(1, 4)])
@pytest.mark.parametrize(
    ("values", "distance", "slug", "place"),
    [
        (ZERO_ROW, Distance.COSINE, "zero-vector", "Row 2 of array y (lab:bad) is a zero vector"),
        (WIDE_ROW, Distance.COSINE, "over-limit", "The values of array y (lab:bad) in row 2 span"),
        (WIDE_ROW, Distance.EUCLIDEAN, "over-limit", "The values of array y (lab:bad) span"),
    ],
)
def test_what_the_core_refuses_is_told_in_stored_rows(
    worker_process: Path, data: Path, values, distance, slug: str, place: str, rows: RowRange | None
) -> None:
    write(data, "bad", values)
    bad = side("bad", distance, rows)
    staged = stage_side(StageTask("job", 1, "y", bad))
    x, y = one_side("x", side("x"), stage("x")), one_side("y", bad, staged)
    task = ShardTask("job", 1, 0, x, y, OPTIONS[1], FIRST, 0)
    with pytest.raises(ProblemError) as caught:
        count_shard(task)
    assert (caught.value.slug, caught.value.origin) == (slug, "data")
    assert place in caught.value.detail


@pytest.mark.parametrize("distance", list(Distance))
def test_preparing_a_large_array_can_be_cancelled(
    worker_process: Path, monkeypatch: pytest.MonkeyPatch, distance: Distance
) -> None:
    ensure_warm()  # before the core is tampered with
    square = RowRange(0, 6) if distance is Distance.PRECOMPUTED else None
    cancelled = replace(side("x", distance, square), reference=Reference("lab", "x", square, square))
    staged = stage_side(StageTask(f"large {distance}", 1, "x", cancelled))
    both = one_side("x", cancelled, staged)
    task = ShardTask(f"large {distance}", 1, 0, both, both, OPTIONS[1], FIRST, 0)
    blocks = lattice.blocks

    def cancelling(*arguments: Any) -> Any:
        cancellation.cancel(f"large {distance}", 1)
        return blocks(*arguments)

    monkeypatch.setattr(lattice, "blocks", cancelling)
    monkeypatch.setattr(lattice, "_scan", None)  # the first block is not even looked at
    with pytest.raises(ShardCancelled):
        count_shard(task)


@pytest.mark.parametrize(
    ("distance", "precision", "used"),
    [
        (Distance.CORRELATION, Precision.EXACT, "float64"),
        (Distance.CORRELATION, Precision.FLOAT32, "float64"),
        (Distance.EUCLIDEAN, Precision.FLOAT32, "float32"),
        (Distance.EUCLIDEAN, Precision.EXACT, "exact"),
    ],
)
def test_a_partial_says_with_which_distances_it_was_counted(
    worker_process: Path, data: Path, distance: Distance, precision: Precision, used: str
) -> None:
    write(data, "fractions", np.random.default_rng(3).standard_normal((ROWS, 5)))
    # y is of integers, and exact at any precision: the weaker side counts.
    sides = {"x": side("fractions", distance), "y": side("y")}
    sides = {name: replace(one, precision=precision) for name, one in sides.items()}
    staged: dict[str, Any] = {name: stage_side(StageTask("job", 1, name, one)) for name, one in sides.items()}  # type: ignore[arg-type]
    x, y = (one_side(name, sides[name], staged[name]) for name in ("x", "y"))
    task = ShardTask("job", 1, 0, x, y, OPTIONS[1], FIRST, 0)
    assert Partial.from_bytes(count_shard(task).blob).precision == used
    exact = replace(task, x=y)
    assert Partial.from_bytes(count_shard(exact).blob).precision == "exact"


def test_spaces_of_other_jobs_make_room_for_a_shard(worker_process: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDSIM_WORKER_MEMORY", str(costs.PROCESS_BYTES + 2**20))
    staged = {name: stage(name) for name in ("x", "y")}
    (task,) = shard_tasks(staged, OPTIONS[1], 60.0)
    count_shard(task)
    kept = spaces.space_cache()
    pair = kept.held_bytes
    cosine, dot = (one_side("x", side("x", distance), staged["x"]) for distance in (Distance.COSINE, Distance.DOT))
    other = replace(task, x=cosine, y=dot)
    count_shard(other)
    assert kept.held_bytes > pair  # there is room for four
    count_shard(replace(task, memory_bytes=2**20))
    assert kept.held_bytes == pair


def test_a_shard_is_given_the_groups_of_its_rows(worker_process: Path, data: Path, monkeypatch: Any) -> None:
    seen: list[Any] = []
    measure = registry.find("tsi", "sampled")
    count = measure.partial

    def partial(pair: Pair, *others: Any) -> Partial:
        seen.append(pair.groups)
        return count(pair, *others)

    monkeypatch.setattr(measure, "partial", partial)
    groups.read_again.cache_clear()
    reference = write_ids(data, "labels", [7] * 20 + [3] * 20)
    staged = {name: stage(name) for name in ("x", "y")}
    (task,) = shard_tasks(staged, OPTIONS[1], 60.0)
    digest = groups.number(np.array([7] * 20 + [3] * 20)).digest
    count_shard(task)
    count_shard(replace(task, groups=(groups.Labels(reference), digest)))
    assert seen[0] is None
    assert seen[1].tolist() == [0] * 20 + [1] * 20


def write_ids(directory: Path, name: str, values: list[int]) -> Reference:
    zarr.create_array(directory / name, data=np.array(values), overwrite=True)
    return Reference("lab", name)


FIRST = registry.find("tsi", "sampled").shards(SHAPE, OPTIONS[1], Budget(60.0, 2**30))[0]


def test_a_cancelled_attempt_neither_stages_nor_counts(worker_process: Path) -> None:
    staged = {name: stage(name) for name in ("x", "y")}
    (task,) = shard_tasks(staged, OPTIONS[0], 60.0, job="cancelled")
    cancellation.cancel("cancelled", 1)
    with pytest.raises(ShardCancelled):
        count_shard(task)
    count_shard(replace(task, attempt=2))


def test_a_process_remembers_a_bounded_number_of_cancelled_attempts(monkeypatch) -> None:
    monkeypatch.setattr(cancellation, "REMEMBERED", 3)
    monkeypatch.setattr(cancellation, "_cancelled", type(cancellation._cancelled)())
    for job in "abcde":
        cancellation.cancel(job, 1)
    cancellation.cancel("c", 1)
    cancellation.cancel("f", 1)
    assert [job for job in "abcdef" if cancellation.is_cancelled(job, 1)] == ["c", "e", "f"]


def test_logs_say_which_shard_of_which_job(
    worker_process: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = {name: stage(name) for name in ("x", "y")}
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.Lines("json", {}))
    logger = logging.getLogger("workers.tasks")
    monkeypatch.setattr(logger, "handlers", [handler])
    with caplog.at_level(logging.INFO, logger="workers.tasks"):
        tasks = shard_tasks(staged, OPTIONS[0], 1e-5, job="logged")
        report(count_shard, replace(tasks[0], request_id="r-1"), versions.installed())
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["message"] for line in lines] == ["counting", "counted"]
    for line in lines:
        about = (line["request_id"], line["job"], line["attempt"], line["position"], line["shard"], line["measure"])
        assert about == ("r-1", "logged", 1, 0, tasks[0].shard.index, "tsi exact")
    assert lines[1]["seconds"] > 0


# ---- on clusters


on_the_clusters_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cluster(data: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedCluster]:
    """A cluster that begins with one worker."""
    directory = tmp_path_factory.mktemp("tasks")
    roots = {"lab": Root("lab", str(data))}
    async with EmbeddedCluster(1, roots, directory / "staging", directory / "state") as one:
        yield one


async def run(cluster: EmbeddedCluster, function: Any, tasks: Iterable[Any]) -> list[tuple[Any, Any]]:
    results = execute(cluster, function, tasks, key=lambda task: f"ordsim-{task.job}", limit=6, stop=asyncio.Event())
    return [result async for result in results]


async def staged_on(cluster: EmbeddedCluster) -> dict[str, Any]:
    tasks = [StageTask("stage", 1, name, side(name)) for name in ("x", "y")]  # type: ignore[arg-type]
    return {task.name: staged for task, staged in await run(cluster, stage_side, tasks)}


@pytest.fixture(scope="module")
def expected() -> dict[MeasureOptions, Partial]:
    """All totals, computed here in one shard."""
    x, y = (prepare(values, Distance.EUCLIDEAN) for values in arrays().values())
    return {
        options: measure.partial(Pair(x, y), shard, options, 5, lambda: None)
        for options in OPTIONS
        for measure in [registry.find(options.measure, options.method)]
        for shard in measure.shards(SHAPE, options, Budget(1e9, 2**30))
    }


def check(results: list[tuple[Any, ShardResult]], options: MeasureOptions, expected: Any) -> None:
    """Compare the total of a run, and let the measure's own check see it."""
    found = total(result for _, result in results)
    assert found.counts == expected[options].counts
    outcome = registry.find(options.measure, options.method).finish(found, PairFacts(SHAPE, "float64"), options, 0.99)
    for name in outcome.artifacts:
        assert np.array_equal(found.vector(name), expected[options].vector(name))


@on_the_clusters_loop
@pytest.mark.parametrize("workers", [1, 2, 3])
async def test_counts_are_the_same_with_any_number_of_workers(
    cluster: EmbeddedCluster, workers: int, expected: Any
) -> None:
    cluster.scale(workers)
    await cluster.wait_for_workers()
    staged = await staged_on(cluster)
    used = set()
    for options in OPTIONS:
        results = await run(cluster, count_shard, shard_tasks(staged, options, 2e-5))
        check(results, options, expected)
        used |= {result.worker for _, result in results}
    assert used == set(await cluster.worker_threads())
    assert len(used) == workers


@on_the_clusters_loop
@pytest.mark.parametrize("seconds", [5e-6, 1e-4, 1.0])
async def test_counts_are_the_same_with_any_shard_size(cluster: EmbeddedCluster, seconds: float, expected: Any) -> None:
    await cluster.wait_for_workers()
    staged = await staged_on(cluster)
    for options in OPTIONS:
        check(await run(cluster, count_shard, shard_tasks(staged, options, seconds)), options, expected)


@on_the_clusters_loop
async def test_counts_are_the_same_when_a_worker_is_killed_in_the_middle(
    cluster: EmbeddedCluster, tmp_path: Path, expected: Any
) -> None:
    await cluster.wait_for_workers()
    staged = await staged_on(cluster)
    for options in OPTIONS[:2]:
        directory = tmp_path / options.method
        directory.mkdir()
        shards = shard_tasks(staged, options, 1e-5)
        middle = shards[len(shards) // 2].shard.index
        tasks = [KillingShard(task, str(directory), kills=task.shard.index == middle) for task in shards]
        check(await run(cluster, count_shard_after_kill, tasks), options, expected)
        assert invocations(directory, middle) == 2
