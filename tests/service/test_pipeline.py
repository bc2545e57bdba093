"""One attempt at one job, with the cluster left out."""

from __future__ import annotations

import asyncio
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from service import pipeline
from service.pipeline import IN_FLIGHT, JobContext, Pipeline
from service.store import JobStore, NewJob
from tests.service.conftest import request
from workers.references import Reference, RowRange
from workers.staging import StagedArray
from workers.tasks import IdentifiersTask, check_rows, count_shard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

STAGED = StagedArray("file", 8, 3, "float32", "sha256:00", "float", 0, 0, 8)
IDS = {name: {"root": "lab", "path": f"ids/{name}"} for name in "xy"}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[JobContext]:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        yield JobContext(store, SimpleNamespace(), tmp_path, 0.5)  # type: ignore[arg-type]


def attempt(context: JobContext, threads: dict[str, int], **fields: Any) -> Pipeline:
    """A job that was just claimed."""
    context.store.submit(NewJob(id="a", process="compare", request={**request(), **fields}))
    job = context.store.claim()
    assert job is not None
    return Pipeline(job, context, asyncio.Event(), lambda: threads)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[Any], Any]]:
    """Function, tasks and limit of each call of `execute`, which stops before its first task."""
    found: list[tuple[Any, list[Any], Any]] = []
    execute = pipeline.execute.execute

    async def stopped(cluster: Any, function: Any, tasks: Any, *, limit: Any, **others: Any) -> AsyncIterator[Any]:
        if isinstance(cluster, SimpleNamespace):
            found.append((function, list(tasks), limit))
            return
        # A service of the session may be at work beside this test.
        async for pair in execute(cluster, function, tasks, limit=limit, **others):
            yield pair

    monkeypatch.setattr(pipeline.execute, "execute", stopped)
    return found


async def test_shards_in_flight_follow_the_workers(context: JobContext, calls: list[Any]) -> None:
    threads = {"first": 1}
    assert not await attempt(context, threads)._count(STAGED, STAGED)
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
    assert not await attempt(context, {}, **body, ids=IDS)._check_identifiers(8)
    x, y = Reference("lab", "ids/x", RowRange(2, 10)), Reference("lab", "ids/y", RowRange(0, 8))
    assert calls == [(check_rows, [IdentifiersTask("a", 1, x, y)], 1)]


async def test_without_identifiers_there_is_nothing_to_compare(context: JobContext, calls: list[Any]) -> None:
    assert await attempt(context, {})._check_identifiers(8)
    assert calls == []
