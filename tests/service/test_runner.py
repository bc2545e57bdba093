"""The supervisor by itself: which jobs it starts, and what becomes of them when things go wrong."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service import runner
from service.pipeline import JobContext
from service.runner import Runner
from service.states import JobStatus
from service.status import message
from service.store import JobStore
from service.submissions import NewJob
from service.turns import Turns
from workers.errors import ProblemError
from workers.measures.plugins import Plugin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

LONG = 3600.0
SECRET = "the password is swordfish"


class FakeCluster:
    """A cluster that has as many workers as it is told, or does not answer."""

    def __init__(self) -> None:
        self.workers: int | Exception = 1
        self.different: list[str] = []

    async def worker_threads(self) -> dict[str, int]:
        if isinstance(self.workers, Exception):
            raise self.workers
        return {f"worker {number}": 1 for number in range(self.workers)}

    async def differences(self) -> list[str]:
        return self.different


async def until_stopped(pipeline: FakePipeline) -> bool:
    await pipeline.stop.wait()
    return False


class FakePipeline:
    """Notes which jobs begin, and does what the test says."""

    begun: list[str] = []  # noqa: RUF012 - emptied by the fixture
    behave: Callable[[FakePipeline], Any] = until_stopped

    def __init__(self, job: Any, context: JobContext, stop: asyncio.Event, threads: Any) -> None:
        self.job, self.store, self.stop, self.threads = job, context.store, stop, threads
        self.turns = context.turns

    async def run(self) -> bool:
        try:
            await self.turns.take(self.job.id, self.stop)
            FakePipeline.begun.append(self.job.id)
            finished: bool = await FakePipeline.behave(self)
        finally:
            self.turns.leave(self.job.id)
        return finished


async def succeed(pipeline: FakePipeline) -> bool:
    await asyncio.to_thread(pipeline.store.succeed, pipeline.job.id, "{}")
    return True


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobContext]:
    monkeypatch.setattr(runner, "Pipeline", FakePipeline)
    monkeypatch.setattr(runner, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(FakePipeline, "begun", [])
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        yield JobContext(store, FakeCluster(), tmp_path, 0.5, Turns(2, LONG))  # type: ignore[arg-type]


@asynccontextmanager
async def running(context: JobContext, turns: Turns | None = None) -> AsyncIterator[Runner]:
    supervisor = Runner(replace(context, turns=turns or Turns(2, LONG)))
    await supervisor.start()
    try:
        yield supervisor
    finally:
        await supervisor.stop()


def submit(context: JobContext, *jobs: str) -> None:
    for job in jobs:
        context.store.submit(NewJob(id=job, process="compare", request={}))


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def statuses(context: JobContext, *jobs: str) -> list[str]:
    return [context.store.get(job).status.value for job in jobs]


async def test_few_jobs_run_at_once_oldest_first(context: JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePipeline, "behave", until_stopped)
    submit(context, "a", "b", "c", "d")
    async with running(context) as supervisor:
        await wait_for(lambda: len(FakePipeline.begun) == 2)
        context.store.cancel("b")
        supervisor.wake()
        await wait_for(lambda: len(FakePipeline.begun) == 3)
        assert statuses(context, "a", "b", "c", "d") == ["running", "dismissed", "running", "accepted"]
    assert FakePipeline.begun == ["a", "b", "c"]
    # The end of the service is not the end of its jobs.
    assert statuses(context, "a", "c", "d") == ["accepted", "accepted", "accepted"]
    assert [context.store.get(job).attempt for job in "acd"] == [2, 2, 1]


@pytest.mark.parametrize("absent", [0, OSError("gone"), RuntimeError("not running"), TimeoutError()])
async def test_jobs_wait_for_the_cluster(context: JobContext, monkeypatch: pytest.MonkeyPatch, absent: Any) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    cluster: Any = context.cluster
    cluster.workers = absent
    looks = 0

    async def counted() -> dict[str, int]:
        nonlocal looks
        looks += 1
        return await FakeCluster.worker_threads(cluster)

    monkeypatch.setattr(cluster, "worker_threads", counted)
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: looks >= 3)
        assert statuses(context, "a") == ["accepted"]
        assert "until a worker is connected" in message(context.store.get("a"), supervisor.workers)
        cluster.workers = 1
        await wait_for(lambda: statuses(context, "a") == ["successful"])


async def test_a_named_problem_fails_the_job_with_its_words(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(pipeline: FakePipeline) -> bool:
        raise ProblemError("worker-lost", "A shard killed its workers.", "system")

    monkeypatch.setattr(FakePipeline, "behave", fail)
    submit(context, "a")
    async with running(context):
        await wait_for(lambda: statuses(context, "a") == ["failed"])
    exception = context.store.get("a").exception
    assert exception is not None
    assert (exception["type"], exception["status"]) == ("/problems/worker-lost", 500)
    assert (exception["detail"], exception["origin"]) == ("A shard killed its workers.", "system")


async def test_what_nobody_foresaw_goes_to_the_log_only(
    context: JobContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(pipeline: FakePipeline) -> bool:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(FakePipeline, "behave", crash)
    submit(context, "a")
    async with running(context):
        await wait_for(lambda: statuses(context, "a") == ["failed"])
    exception = context.store.get("a").exception
    assert exception is not None
    assert exception["type"] == "/problems/internal"
    assert SECRET not in str(exception)
    assert SECRET in caplog.text


async def test_another_packages_measure_is_named_where_it_may_be_at_fault(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(pipeline: FakePipeline) -> bool:
        raise RuntimeError

    monkeypatch.setattr(FakePipeline, "behave", crash)
    plugin = Plugin("theirs", "their-package", "1.2")
    monkeypatch.setattr("workers.measures.registry.plugin_of", {"theirs": plugin}.get)
    for job, body in (
        ("a", {"measures": [{"measure": "tsi"}, {"measure": "theirs"}]}),
        ("b", {"measure": {"measure": "tsi"}}),
    ):
        context.store.submit(NewJob(id=job, process="compare", request=body))
    async with running(context):
        await wait_for(lambda: statuses(context, "a", "b") == ["failed", "failed"])
    details = [(context.store.get(job).exception or {})["detail"] for job in "ab"]
    assert "theirs is of the package their-package 1.2" in details[0]
    assert "package" not in details[1]


async def test_what_breaks_while_the_service_ends_is_not_held_against_the_job(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_at_the_end(pipeline: FakePipeline) -> bool:
        await pipeline.stop.wait()
        raise ProblemError("cluster-unavailable", "gone", "system")

    monkeypatch.setattr(FakePipeline, "behave", break_at_the_end)
    submit(context, "a")
    async with running(context):
        await wait_for(lambda: FakePipeline.begun == ["a"])
    assert context.store.get("a").status is JobStatus.ACCEPTED


async def test_a_task_that_does_not_end_is_left_behind(context: JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    async def for_ever(pipeline: FakePipeline) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(FakePipeline, "behave", for_ever)
    monkeypatch.setattr(runner, "DRAIN_SECONDS", 0.05)
    submit(context, "a")
    async with asyncio.timeout(5):
        async with running(context):
            await wait_for(lambda: FakePipeline.begun == ["a"])
    assert context.store.get("a").status is JobStatus.ACCEPTED


async def test_the_supervisor_outlives_a_store_that_fails(
    context: JobContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    claim, failures = context.store.claim, iter([OSError("disk full")])

    def failing() -> Any:
        for error in failures:
            raise error
        return claim()

    monkeypatch.setattr(context.store, "claim", failing)
    submit(context, "a")
    with caplog.at_level(logging.ERROR):
        async with running(context):
            await wait_for(lambda: statuses(context, "a") == ["successful"])
    assert "disk full" in caplog.text


def failing_once(monkeypatch: pytest.MonkeyPatch, store: JobStore, *names: str) -> None:
    """Let each of these methods of the store fail the first time, as on a disk that is full for a moment."""

    def spoil(name: str) -> None:
        method, failures = getattr(store, name), iter([full_disk()])

        def spoiled(*arguments: Any) -> Any:
            for error in failures:
                raise error
            return method(*arguments)

        monkeypatch.setattr(store, name, spoiled)

    for name in names:
        spoil(name)


def full_disk() -> sqlite3.Error:
    """The error of SQLite itself when its file cannot grow."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("CREATE TABLE a (b)")
    return caught.value


async def test_a_job_whose_end_could_not_be_written_down_is_taken_up_again(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    failing_once(monkeypatch, context.store, "succeed", "fail")
    submit(context, "a")
    async with running(context):
        await wait_for(lambda: statuses(context, "a") == ["successful"])
    assert FakePipeline.begun == ["a", "a"]
    assert context.store.get("a").attempt == 2


async def test_a_cancelled_job_is_dismissed_although_the_store_failed(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", until_stopped)
    failing_once(monkeypatch, context.store, "dismiss")
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: FakePipeline.begun == ["a"])
        context.store.cancel("a")
        supervisor.wake()
        await wait_for(lambda: statuses(context, "a") == ["dismissed"])


async def test_a_cancelled_job_adrift_is_dismissed(context: JobContext) -> None:
    async with running(context, Turns(0, LONG)):
        submit(context, "a")
        context.store.claim()
        context.store.cancel("a")
        await wait_for(lambda: statuses(context, "a") == ["dismissed"])


async def test_a_job_waits_for_room_on_a_full_disk(context: JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ROOM_SECONDS", 0.05)
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    room = asyncio.Event()
    real = context.store.recover

    def recover(*arguments: Any, **options: Any) -> None:
        if arguments and not room.is_set():
            raise full_disk()
        real(*arguments, **options)

    failing_once(monkeypatch, context.store, "succeed")
    monkeypatch.setattr(context.store, "recover", recover)
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: supervisor.without_room == 1)
        assert statuses(context, "a") == ["running"]
        room.set()
        await wait_for(lambda: statuses(context, "a") == ["successful"])
        assert supervisor.without_room == 0
    assert FakePipeline.begun == ["a", "a"]
    assert (context.store.get("a").attempt, context.store.get("a").recoveries) == (2, 0)


async def test_a_job_that_is_taken_up_again_at_once_has_one_run(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, again = context.store.recover, threading.Event()

    def recover(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        if arguments:  # the next run begins before the one that put the job back has come to its end
            assert again.wait(10)

    async def without_room(pipeline: FakePipeline) -> bool:
        if len(FakePipeline.begun) == 1:
            raise full_disk()
        again.set()
        return await until_stopped(pipeline)

    monkeypatch.setattr(runner, "ROOM_SECONDS", 0.0)
    monkeypatch.setattr(context.store, "recover", recover)
    monkeypatch.setattr(FakePipeline, "behave", without_room)
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: again.is_set() and supervisor.without_room == 0)
        submit(context, "b")
        await wait_for(lambda: "b" in FakePipeline.begun)
    assert FakePipeline.begun == ["a", "a", "b"]


async def test_a_job_that_takes_the_service_down_is_given_up(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    submit(context, "poison", "good")
    for _ in range(runner.RECOVERIES_LIMIT):
        assert context.store.claim().id == "poison"  # type: ignore[union-attr]
        context.store.recover()  # the service was killed and started again
    async with running(context):
        await wait_for(lambda: statuses(context, "poison", "good") == ["failed", "successful"])
    assert FakePipeline.begun == ["good"]
    exception = context.store.get("poison").exception
    assert exception is not None
    assert exception["type"] == "/problems/internal"
    assert "5 times in a row" in exception["detail"]


async def test_stopping_in_order_is_never_held_against_a_job(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", until_stopped)
    submit(context, "a")
    for stops in range(runner.RECOVERIES_LIMIT + 1):
        async with running(context):
            await wait_for(lambda stops=stops: len(FakePipeline.begun) == stops + 1)  # type: ignore[misc]
    assert statuses(context, "a") == ["accepted"]
    assert (context.store.get("a").attempt, context.store.get("a").recoveries) == (runner.RECOVERIES_LIMIT + 2, 0)


async def test_running_jobs_learn_of_workers_that_come(context: JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    async def look(pipeline: FakePipeline) -> bool:
        while not pipeline.stop.is_set():
            seen.append(len(pipeline.threads()))
            await asyncio.sleep(0.005)
        return False

    monkeypatch.setattr(FakePipeline, "behave", look)
    cluster: Any = context.cluster
    submit(context, "a")
    async with running(context):
        await wait_for(lambda: 1 in seen)
        cluster.workers = 3
        await wait_for(lambda: 3 in seen)


async def test_a_short_job_does_not_wait_for_the_end_of_long_ones(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []

    async def work(pipeline: FakePipeline) -> bool:
        """Work off shards; of these, job `short` has three, the others more than anybody waits for."""
        while pipeline.job.id != "short" or served.count("short") < 3:
            if pipeline.stop.is_set():
                return False
            if pipeline.turns.over(pipeline.job.id):
                await pipeline.turns.take(pipeline.job.id, pipeline.stop)
            served.append(pipeline.job.id)
            await asyncio.sleep(0)
        return await succeed(pipeline)

    monkeypatch.setattr(FakePipeline, "behave", work)
    monkeypatch.setattr(runner, "TICK_SECONDS", 0.001)
    submit(context, "long", "longer", "longest", "short", "last")
    async with running(context, Turns(1, 0.002)):
        await wait_for(lambda: statuses(context, "short") == ["successful"])
        # None of the others is stuck either: their turns come again and again.
        await wait_for(lambda: "last" in served)
        rounds = len(served)
        for job in ("long", "longer", "longest", "last"):
            await wait_for(lambda job=job: job in served[rounds:])  # type: ignore[misc]
        assert statuses(context, "long", "last") == ["running", "running"]


async def test_no_job_starts_on_workers_of_another_version(
    context: JobContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", succeed)
    cluster: Any = context.cluster
    cluster.different = ["numba is 0.1 at worker a but 0.2 here"]
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: "numba is 0.1" in caplog.text)
        assert (statuses(context, "a"), supervisor.workers) == (["accepted"], 0)
        cluster.different = []
        await wait_for(lambda: statuses(context, "a") == ["successful"])


async def test_a_cancellation_does_not_wait_for_the_cluster(
    context: JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePipeline, "behave", until_stopped)
    silent, asked = asyncio.Event(), asyncio.Event()

    async def answer_late() -> dict[str, int]:
        if silent.is_set():
            asked.set()
            await asyncio.Event().wait()
        return {"worker": 1}

    monkeypatch.setattr(context.cluster, "worker_threads", answer_late)
    submit(context, "a")
    async with running(context) as supervisor:
        await wait_for(lambda: FakePipeline.begun == ["a"])
        silent.set()
        await asked.wait()
        context.store.cancel("a")
        supervisor.wake()
        await wait_for(lambda: statuses(context, "a") == ["dismissed"])
