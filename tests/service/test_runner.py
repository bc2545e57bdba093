"""The supervisor by itself: which jobs it starts, and what becomes of them when things go wrong."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest

from service import runner
from service.pipeline import Surroundings
from service.runner import Runner
from service.states import JobStatus
from service.status import message
from service.store import JobStore, NewJob
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

SECRET = "the password is swordfish"


class FakeCluster:
    """A cluster that has as many workers as it is told, or does not answer."""

    def __init__(self) -> None:
        self.workers: int | Exception = 1

    async def worker_count(self) -> int:
        if isinstance(self.workers, Exception):
            raise self.workers
        return self.workers


async def until_stopped(pipeline: FakePipeline) -> bool:
    await pipeline.stop.wait()
    return False


class FakePipeline:
    """Notes which jobs begin, and does what the test says."""

    begun: list[str] = []  # noqa: RUF012 - emptied by the fixture
    behave: Callable[[FakePipeline], Any] = until_stopped

    def __init__(self, job: Any, around: Surroundings, stop: asyncio.Event) -> None:
        self.job, self.store, self.stop = job, around.store, stop

    async def run(self) -> bool:
        FakePipeline.begun.append(self.job.id)
        finished: bool = await FakePipeline.behave(self)
        return finished


async def succeed(pipeline: FakePipeline) -> bool:
    await asyncio.to_thread(pipeline.store.succeed, pipeline.job.id, "{}")
    return True


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surroundings]:
    monkeypatch.setattr(runner, "Pipeline", FakePipeline)
    monkeypatch.setattr(runner, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(FakePipeline, "begun", [])
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        yield Surroundings(store, FakeCluster(), {}, tmp_path, 0.5)  # type: ignore[arg-type]


@asynccontextmanager
async def running(around: Surroundings, max_running: int = 2) -> AsyncIterator[Runner]:
    supervisor = Runner(around, max_running)
    await supervisor.start()
    try:
        yield supervisor
    finally:
        await supervisor.stop()


def submit(around: Surroundings, *jobs: str) -> None:
    for job in jobs:
        around.store.submit(NewJob(id=job, process="compare", request={}))


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def statuses(around: Surroundings, *jobs: str) -> list[str]:
    return [around.store.get(job).status.value for job in jobs]


async def test_few_jobs_run_at_once_oldest_first(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePipeline, "behave", until_stopped)
    submit(around, "a", "b", "c", "d")
    async with running(around) as supervisor:
        await wait_for(lambda: len(FakePipeline.begun) == 2)
        around.store.cancel("b")
        supervisor.wake()
        await wait_for(lambda: len(FakePipeline.begun) == 3)
        assert statuses(around, "a", "b", "c", "d") == ["running", "dismissed", "running", "accepted"]
    assert FakePipeline.begun == ["a", "b", "c"]
    # The end of the service is not the end of its jobs.
    assert statuses(around, "a", "c", "d") == ["running", "running", "accepted"]


@pytest.mark.parametrize("absent", [0, OSError("gone"), RuntimeError("not running"), TimeoutError()])
async def test_jobs_wait_for_the_cluster(around: Surroundings, monkeypatch: pytest.MonkeyPatch, absent: Any) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    cluster: Any = around.cluster
    cluster.workers = absent
    looks = 0

    async def counted() -> int:
        nonlocal looks
        looks += 1
        return await FakeCluster.worker_count(cluster)

    monkeypatch.setattr(cluster, "worker_count", counted)
    submit(around, "a")
    async with running(around) as supervisor:
        await wait_for(lambda: looks >= 3)
        assert statuses(around, "a") == ["accepted"]
        assert "until a worker is connected" in message(around.store.get("a"), supervisor.workers)
        cluster.workers = 1
        await wait_for(lambda: statuses(around, "a") == ["successful"])


async def test_a_named_problem_fails_the_job_with_its_words(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(pipeline: FakePipeline) -> bool:
        raise ProblemError("worker-lost", "A shard killed its workers.", "system")

    monkeypatch.setattr(FakePipeline, "behave", fail)
    submit(around, "a")
    async with running(around):
        await wait_for(lambda: statuses(around, "a") == ["failed"])
    exception = around.store.get("a").exception
    assert exception is not None
    assert (exception["type"], exception["status"]) == ("/problems/worker-lost", 500)
    assert (exception["detail"], exception["origin"]) == ("A shard killed its workers.", "system")


async def test_what_nobody_foresaw_goes_to_the_log_only(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(pipeline: FakePipeline) -> bool:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(FakePipeline, "behave", crash)
    submit(around, "a")
    async with running(around):
        await wait_for(lambda: statuses(around, "a") == ["failed"])
    exception = around.store.get("a").exception
    assert exception is not None
    assert exception["type"] == "/problems/internal"
    assert SECRET not in str(exception)
    assert SECRET in caplog.text


async def test_what_breaks_while_the_service_ends_is_not_held_against_the_job(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_at_the_end(pipeline: FakePipeline) -> bool:
        await pipeline.stop.wait()
        raise ProblemError("cluster-unavailable", "gone", "system")

    monkeypatch.setattr(FakePipeline, "behave", break_at_the_end)
    submit(around, "a")
    async with running(around):
        await wait_for(lambda: FakePipeline.begun == ["a"])
    assert around.store.get("a").status is JobStatus.RUNNING


async def test_a_task_that_does_not_end_is_left_behind(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    async def for_ever(pipeline: FakePipeline) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(FakePipeline, "behave", for_ever)
    monkeypatch.setattr(runner, "DRAIN_SECONDS", 0.05)
    submit(around, "a")
    async with asyncio.timeout(5):
        async with running(around):
            await wait_for(lambda: FakePipeline.begun == ["a"])
    assert around.store.get("a").status is JobStatus.RUNNING


async def test_the_supervisor_outlives_a_store_that_fails(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    claim, failures = around.store.claim, iter([OSError("disk full")])

    def failing() -> Any:
        for error in failures:
            raise error
        return claim()

    monkeypatch.setattr(around.store, "claim", failing)
    submit(around, "a")
    with caplog.at_level(logging.ERROR):
        async with running(around):
            await wait_for(lambda: statuses(around, "a") == ["successful"])
    assert "disk full" in caplog.text


async def test_those_who_wait_are_told(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    async with running(around) as supervisor:
        with supervisor.expecting("a") as event, supervisor.expecting("b") as other:
            submit(around, "a")
            supervisor.wake()
            async with asyncio.timeout(10):
                await event.wait()
            assert not other.is_set()
            await asyncio.to_thread(supervisor.announce, "b")
            async with asyncio.timeout(10):
                await other.wait()
