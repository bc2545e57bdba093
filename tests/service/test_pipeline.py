"""One attempt at one job, with the cluster left out."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service import finishing
from service.counting import IN_FLIGHT
from service.pipeline import JobContext, Pipeline
from service.preparing import Preparation, Prepared, Stopped
from service.schemas import JobRequest
from service.states import JobStatus
from service.store import JobStore
from service.submissions import NewJob
from service.turns import Turns
from tests.service.conftest import EXACT, SAMPLED, request
from workers import execute
from workers.cluster import Resources
from workers.groups import Labels
from workers.inspection import GroupsTask, SelectionTask, check_symmetry, read_groups, select_rows
from workers.references import Reference, RowRange
from workers.selection import Candidate
from workers.staging import StagedArray
from workers.tasks import count_shard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

STAGED = StagedArray("file", 8, 3, "float32", "sha256:00", "float", 0, 0, 8)
IDS = {name: {"root": "lab", "path": f"ids/{name}"} for name in "xy"}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[JobContext]:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        yield JobContext(store, SimpleNamespace(resources=resources), tmp_path, 0.5, Turns(1, 3600.0))  # type: ignore[arg-type]


async def resources() -> Resources:
    return Resources(1, 2**30)


def attempt(context: JobContext, threads: dict[str, int], **fields: Any) -> Pipeline:
    """A job that was just claimed."""
    context.store.submit(NewJob(id="a", process="compare", request={**request(), **fields}))
    job = context.store.claim()
    assert job is not None
    return Pipeline(job, context, asyncio.Event(), lambda: threads)


def preparation(context: JobContext, **fields: Any) -> Preparation:
    """The first steps of a job that was just claimed."""
    job = attempt(context, {}, **fields)
    return Preparation(job.job, job.request, context.cluster, job.stop, context.shares)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[Any], Any]]:
    """Function, tasks and limit of each call of `execute`, which stops before its first task."""
    found: list[tuple[Any, list[Any], Any]] = []
    original = execute.execute

    async def stopped(cluster: Any, function: Any, tasks: Any, *, limit: Any, **others: Any) -> AsyncIterator[Any]:
        if isinstance(cluster, SimpleNamespace):
            found.append((function, list(tasks), limit))
            return
        # A service of the session may be at work beside this test.
        async for pair in original(cluster, function, tasks, limit=limit, **others):
            yield pair

    monkeypatch.setattr(execute, "execute", stopped)
    return found


async def test_shards_in_flight_follow_the_workers(context: JobContext, calls: list[Any]) -> None:
    threads = {"first": 1}
    pipeline = attempt(context, threads)
    pipeline.stop.set()
    assert not await pipeline._count(Prepared({"x": STAGED, "y": STAGED}))
    ((function, _, limit),) = calls
    assert function is count_shard
    assert limit() == IN_FLIGHT
    threads |= {"second": 1, "third": 4}
    assert limit() == 6 * IN_FLIGHT
    threads.clear()
    assert limit() == IN_FLIGHT


async def test_identifiers_are_compared_on_a_worker(context: JobContext, calls: list[Any]) -> None:
    body: dict[str, Any] = {"x": {"root": "lab", "path": "x", "rows": {"start": 2, "stop": 10}}}
    # Stopped before the task was done: nothing is known, so the job does not go on.
    with pytest.raises(Stopped):
        await preparation(context, **body, ids=IDS, missing_chunks="fill").choose()
    x = Candidate("x", Reference("lab", "x", RowRange(2, 10)), identifiers=Reference("lab", "ids/x", RowRange(2, 10)))
    y = Candidate("y", Reference("lab", "y"), identifiers=Reference("lab", "ids/y"))
    ((function, (task,), _),) = calls
    assert function is select_rows
    assert task.selection.missing_chunks == "fill"
    assert [replace(one, index_pointer="") for one in task.selection.arrays] == [x, y]
    assert isinstance(task, SelectionTask)
    assert task.selection.plain


async def test_without_identifiers_there_is_nothing_to_compare(context: JobContext, calls: list[Any]) -> None:
    assert await preparation(context).choose() is None
    assert calls == []


async def test_groups_are_read_on_a_worker(context: JobContext, calls: list[Any]) -> None:
    groups = {"root": "lab", "path": "labels"}
    with pytest.raises(Stopped):
        await preparation(context, groups=groups, rows={"start": 2, "stop": 6}, missing_chunks="fill").read_groups(
            Prepared({"x": STAGED, "y": STAGED})
        )
    labels = Labels(Reference("lab", "labels", RowRange(2, 6)))
    assert calls == [(read_groups, [GroupsTask("a", 1, labels, "fill")], 1)]


async def test_symmetry_is_checked_where_distances_are_given_and_a_measure_needs_it(
    context: JobContext, calls: list[Any]
) -> None:
    given = {"root": "lab", "path": "x", "distance": "precomputed"}
    staged = Prepared({"x": STAGED, "y": STAGED})
    job = preparation(context, x=given, measures=[EXACT])
    await job.check_symmetry(staged)
    assert calls == []
    needing = JobRequest.model_validate({**request(measures=[EXACT, SAMPLED]), "x": given})
    with pytest.raises(Stopped):
        await replace(job, request=needing).check_symmetry(staged)
    ((function, (task,), _),) = calls
    assert function is check_symmetry
    assert (task.name, task.array.side.distance, task.measure) == ("x", "precomputed", "qsi (sampled)")


async def test_a_job_that_is_stopped_while_it_finishes_writes_nothing(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    added_up, go_on = threading.Event(), threading.Event()

    def add_up(*_: Any) -> tuple[list[Any], list[int]]:
        added_up.set()
        assert go_on.wait(30)
        outcome = SimpleNamespace(artifacts={"per_anchor": np.zeros(3)})
        return [(SimpleNamespace(label=("tsi", "exact")), outcome)], []

    monkeypatch.setattr(finishing, "outcomes", add_up)
    pipeline = attempt(context, {"first": 1})
    prepared = Prepared({"x": STAGED, "y": STAGED})
    thread = asyncio.create_task(pipeline._finished(prepared))
    assert await asyncio.to_thread(added_up.wait, 30)
    pipeline.stop.set()
    async with asyncio.timeout(30):
        with pytest.raises(Stopped):
            await thread  # although the sums are not there yet
    context.store.dismiss(pipeline.job.id)
    go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert not list(context.artifacts_directory.rglob("*.npy"))
    assert context.store.get(pipeline.job.id).status is JobStatus.DISMISSED
