"""The bounded loop: its bound, its failures, its cancellation, and what it retries."""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from distributed.client import FutureCancelledError
from shard_functions import Probe, invocations, release, run_probe

from workers.cancellation import ShardCancelled
from workers.cluster import NotConnectedError
from workers.embedded import EmbeddedCluster
from workers.errors import ProblemError
from workers.execute import STORAGE_RETRIES, bounded_map, execute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedCluster]:
    directory = tmp_path_factory.mktemp("execute")
    async with EmbeddedCluster(2, {}, directory / "staging", directory / "state") as embedded:
        await embedded.wait_for_workers()
        yield embedded


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for a condition, with a deadline."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


async def until_nothing_runs(cluster: EmbeddedCluster) -> None:
    """Wait until no worker has a task and the scheduler knows of none, waiting ones included."""
    async with asyncio.timeout(10):
        while any((await cluster.client.processing()).values()) or await cluster.client.run_on_scheduler(count_tasks):
            await asyncio.sleep(0.01)


def count_tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def probe(directory: Path, index: int, *plan: str) -> Probe:
    return Probe(f"job-{directory.name}", index, str(directory), plan)


def begun(directory: Path) -> int:
    """How many tasks were begun, on whatever worker."""
    return sum(invocations(directory, index) for index in range(50))


def start(cluster: Any, tasks: Iterable[Probe], limit: int = 4, **options: Any) -> Any:
    """Call `execute` as the tests of this module do."""
    options.setdefault("stop", asyncio.Event())
    return execute(
        cluster, run_probe, tasks, key=lambda task: f"ordsim-{task.job}-{task.index}", limit=limit, **options
    )


async def collect(results: Any) -> list[int]:
    return sorted([answer async for _, answer in results])


# ---- bounded_map


async def test_an_endless_iterator_is_taken_no_further_than_the_bound() -> None:
    taken = 0
    in_flight = 0
    most = 0

    def numbers() -> Iterable[int]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield number

    async def submit(number: int) -> int:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        return number * number

    results = bounded_map(submit, numbers(), limit=5)
    received = [await anext(results) for _ in range(100)]
    assert all(answer == number * number for number, answer in received)
    assert most == 5
    assert taken <= len(received) + 5
    await results.aclose()
    assert in_flight <= 5


async def test_the_bound_follows_a_cluster_that_grows_and_shrinks() -> None:
    room = 1
    in_flight = 0
    most = 0

    async def submit(number: int) -> int:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        return number

    results = bounded_map(submit, itertools.count(), limit=lambda: room)
    seen = []
    for now in (1, 4, 2, 0):
        room = now
        for settling in (True, False):
            for _ in range(20):
                await anext(results)
            if settling:
                most = 0
        seen.append(most)
    await results.aclose()
    assert seen == [1, 4, 2, 1]  # without any worker, one item waits for the first


async def test_everything_comes_once() -> None:
    async def submit(number: int) -> int:
        return -number

    assert sorted([pair async for pair in bounded_map(submit, range(20), limit=3)]) == [
        (number, -number) for number in range(20)
    ]
    assert [pair async for pair in bounded_map(submit, [], limit=3)] == []


async def test_the_first_failure_ends_the_refill_and_comes_after_the_results_that_were_under_way() -> None:
    gates = {number: asyncio.Event() for number in range(3)}
    begun = []

    async def submit(number: int) -> int:
        begun.append(number)
        await gates[number].wait()
        if number in (0, 1):
            raise ValueError(f"failure of {number}")
        return number

    received = []

    async def consume() -> None:
        async for item, _ in bounded_map(submit, itertools.count(), limit=3):
            received.append(item)

    consumer = asyncio.create_task(consume())
    await until(lambda: len(begun) == 3)
    gates[1].set()
    gates[2].set()
    await until(lambda: received == [2])
    gates[0].set()
    with pytest.raises(ValueError, match="failure of 1"):
        await consumer
    assert begun == [0, 1, 2]
    assert received == [2]


async def test_nothing_is_taken_after_stop() -> None:
    stop = asyncio.Event()

    async def submit(number: int) -> int:
        return number

    received = []
    async for item, _ in bounded_map(submit, itertools.count(), limit=2, stop=stop):
        received.append(item)
        stop.set()
    assert sorted(received) == [0, 1]
    assert [item async for item in bounded_map(submit, itertools.count(), limit=2, stop=stop)] == []


async def test_leaving_the_loop_cancels_what_runs() -> None:
    ended = []

    async def submit(number: int) -> int:
        try:
            if number:
                await asyncio.Event().wait()
        finally:
            ended.append(number)
        return number

    results = bounded_map(submit, itertools.count(), limit=4)
    assert await anext(results) == (0, 0)
    await results.aclose()
    assert sorted(ended) == [0, 1, 2, 3]


# ---- execute on a cluster


async def test_every_task_runs_once_and_nothing_is_kept(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    assert await collect(start(cluster, [probe(tmp_path, i) for i in range(25)])) == list(range(25))
    assert [invocations(tmp_path, i) for i in range(25)] == [1] * 25
    assert not cluster.client.futures
    await until_nothing_runs(cluster)


async def test_never_more_futures_than_the_limit(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    results = start(cluster, (probe(tmp_path, i) for i in itertools.count()), limit=3)
    async for task, _ in results:
        assert len(cluster.client.futures) <= 3
        if task.index > 20:
            break
    await results.aclose()
    assert not cluster.client.futures


@pytest.mark.parametrize("errors", [1, STORAGE_RETRIES])
async def test_storage_errors_are_retried(cluster: EmbeddedCluster, tmp_path: Path, errors: int) -> None:
    tasks = [probe(tmp_path, 0, *["storage"] * errors), probe(tmp_path, 1)]
    assert await collect(start(cluster, tasks)) == [0, 1]
    assert (invocations(tmp_path, 0), invocations(tmp_path, 1)) == (errors + 1, 1)


@pytest.mark.parametrize(
    ("action", "slug", "times"),
    [
        ("storage", "storage-unavailable", STORAGE_RETRIES + 1),
        ("forbidden", "storage-unavailable", 1),
        ("full", "out-of-space", 1),
    ],
)
async def test_storage_errors_that_stay_are_named_without_paths(
    cluster: EmbeddedCluster, tmp_path: Path, action: str, slug: str, times: int
) -> None:
    with pytest.raises(ProblemError) as caught:
        await collect(start(cluster, [probe(tmp_path, 0, *[action] * 9)]))
    assert (caught.value.slug, caught.value.origin) == (slug, "system")
    assert "secret" not in caught.value.detail
    assert invocations(tmp_path, 0) == times


async def test_problems_arrive_as_they_were_raised_and_are_never_retried(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError) as caught:
        await collect(start(cluster, [probe(tmp_path, 0, "problem")]))
    problem = caught.value
    assert (problem.slug, problem.origin, problem.pointer) == ("zero-vector", "data", "/y/path")
    assert problem.detail == "Row 7 of array y is a zero vector."
    assert invocations(tmp_path, 0) == 1


async def test_defects_are_never_retried(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a defect"):
        await collect(start(cluster, [probe(tmp_path, 0, "value")]))
    assert invocations(tmp_path, 0) == 1


async def test_a_failure_ends_the_other_shards_of_the_job_soon(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    # Task 1 is held for ever unless it is told; the failure of task 0 must reach it.
    tasks = [probe(tmp_path, 0, "value"), *(probe(tmp_path, i, "hold") for i in range(1, 50))]
    async with asyncio.timeout(10):
        with pytest.raises(ValueError, match="a defect"):
            await collect(start(cluster, tasks))
    assert begun(tmp_path) <= 4
    await until_nothing_runs(cluster)


async def test_cancelling_ends_running_shards_and_leaves_none(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    stop = asyncio.Event()
    tasks = (probe(tmp_path, i, *(["hold"] if i else [])) for i in itertools.count())
    running = asyncio.create_task(collect(start(cluster, tasks, limit=6, stop=stop)))
    await until(lambda: begun(tmp_path) == 3)  # one that ends, two that are held
    stop.set()
    async with asyncio.timeout(2):
        assert await running == [0]
    assert not any((await cluster.client.processing()).values())
    await until_nothing_runs(cluster)
    assert begun(tmp_path) <= 7


async def test_a_cancelled_attempt_does_not_touch_the_next(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    await cluster.cancel(f"job-{tmp_path.name}", 1)
    with pytest.raises(ShardCancelled):
        await collect(start(cluster, [probe(tmp_path, 0, "hold")]))
    second = Probe(f"job-{tmp_path.name}", 1, str(tmp_path), ("hold",), attempt=2)
    running = asyncio.create_task(collect(start(cluster, [second])))
    await until(lambda: invocations(tmp_path, 1) == 1)
    release(tmp_path)
    assert await running == [1]


async def test_shards_that_do_not_listen_are_abandoned_at_the_deadline(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    stop = asyncio.Event()
    tasks = [probe(tmp_path, i, "deaf") for i in range(8)]
    running = asyncio.create_task(collect(start(cluster, tasks, stop=stop, deadline=0.3)))
    await until(lambda: begun(tmp_path) == 2)
    stop.set()
    async with asyncio.timeout(5):
        assert await running == []
    assert not cluster.client.futures
    release(tmp_path)


async def test_leaving_the_loop_cancels_the_futures(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    results = start(cluster, (probe(tmp_path, i, *(["hold"] if i else [])) for i in range(9)))
    assert (await anext(results))[1] == 0
    await until(lambda: begun(tmp_path) == 3)
    await results.aclose()
    assert not cluster.client.futures
    release(tmp_path)
    await until_nothing_runs(cluster)
    assert begun(tmp_path) <= 5


async def test_tasks_lost_with_the_connection_to_the_scheduler_run_again(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    running = asyncio.create_task(collect(start(cluster, [probe(tmp_path, i, "hold") for i in range(4)])))
    await until(lambda: begun(tmp_path) == 2)
    cluster.client.scheduler_comm.comm.abort()
    release(tmp_path)
    assert await running == [0, 1, 2, 3]
    assert begun(tmp_path) >= 2 + 4  # those that were held when the connection went, and all of them again
    assert cluster.client.status == "running"


async def test_a_worker_killed_by_its_shard_is_replaced_and_the_shard_runs_again(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    tasks = [probe(tmp_path, 0, "kill"), *(probe(tmp_path, i) for i in range(1, 6))]
    assert await collect(start(cluster, tasks)) == [0, 1, 2, 3, 4, 5]
    assert invocations(tmp_path, 0) == 2
    await cluster.wait_for_workers()


async def test_a_shard_without_memory_says_what_to_do(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="--worker-memory") as caught:
        await collect(start(cluster, [probe(tmp_path, 0, "exhaust")]))
    assert (caught.value.slug, caught.value.origin) == ("worker-lost", "system")
    assert invocations(tmp_path, 0) == 1


async def test_a_shard_that_kills_every_worker_is_given_up(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    await cluster.client.run_on_scheduler(allow_one_failure)
    with pytest.raises(ProblemError) as caught:
        await collect(start(cluster, [probe(tmp_path, 0, *["kill"] * 9)]))
    assert (caught.value.slug, caught.value.origin) == ("worker-lost", "system")
    assert "2 times" in caught.value.detail
    assert "memory" in caught.value.detail
    assert invocations(tmp_path, 0) == 2
    await cluster.wait_for_workers()


def allow_one_failure(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 1


async def test_a_shard_that_cannot_look_ends_with_its_process(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    processes = set((await cluster.client.run(os.getpid)).values())
    stop = asyncio.Event()
    running = asyncio.create_task(collect(start(cluster, [probe(tmp_path, 0, *["busy"] * 9)], stop=stop, deadline=1e6)))
    await until(lambda: begun(tmp_path) == 1)
    stop.set()
    async with asyncio.timeout(120):
        assert await running == []
    await cluster.wait_for_workers()
    # One was ended, and one is new; the other had nothing to do with it.
    await until_async(lambda: _one_of(cluster, processes))
    assert not cluster.client.futures


async def _one_of(cluster: EmbeddedCluster, before: set[int]) -> bool:
    now = set((await cluster.client.run(os.getpid, on_error="ignore")).values())
    return len(now) == len(before) and len(now & before) == len(before) - 1


async def until_async(condition: Any) -> None:
    async with asyncio.timeout(120):
        while not await condition():
            await asyncio.sleep(0.02)


# ---- execute without a cluster: a scheduler that does not come back


class LostClient:
    """A client whose futures are all lost, and which gives up reconnecting after a while."""

    def __init__(self) -> None:
        self.status = "running"
        self.released = 0

    def submit(self, *arguments: Any, key: str, pure: bool, priority: float) -> Any:
        return LostFuture(self)


class LostFuture:
    def __init__(self, client: LostClient) -> None:
        self._client = client

    def __await__(self) -> Any:
        self._client.status = "connecting"
        asyncio.get_running_loop().call_soon(setattr, self._client, "status", "closed")
        yield from asyncio.sleep(0).__await__()
        raise FutureCancelledError("key", "scheduler-connection-lost")

    def release(self) -> None:
        self._client.released += 1


class LostDispatcher:
    def __init__(self) -> None:
        self.client = LostClient()

    async def cancel(self, job: str, attempt: int) -> bool:
        raise AssertionError("nothing is in flight any more")


class DeafCluster:
    """A cluster that cannot be reached, with tasks that only end when their futures are cancelled."""

    status = "running"

    def __init__(self) -> None:
        self.submitted: list[DeafFuture] = []
        self.told = 0

    @property
    def client(self) -> DeafCluster:
        return self

    def submit(self, *arguments: Any, key: str, pure: bool, priority: float) -> DeafFuture:
        self.submitted.append(DeafFuture())
        return self.submitted[-1]

    async def cancel(self, job: str, attempt: int) -> bool:
        self.told += 1
        raise OSError("nobody listens")


class DeafFuture:
    def __init__(self) -> None:
        self.end = asyncio.get_running_loop().create_future()

    def __await__(self) -> Any:
        return self.end.__await__()

    async def cancel(self) -> None:
        self.end.set_exception(FutureCancelledError("key", "by the client"))

    def release(self) -> None:
        pass


async def test_the_deadline_holds_although_workers_cannot_be_told(tmp_path: Path) -> None:
    cluster, stop = DeafCluster(), asyncio.Event()
    tasks = (probe(tmp_path, i) for i in itertools.count())
    running = asyncio.create_task(collect(start(cluster, tasks, limit=3, stop=stop, deadline=0.1)))
    await until(lambda: len(cluster.submitted) == 3)
    stop.set()
    async with asyncio.timeout(10):
        assert await running == []
    assert cluster.told > 0
    assert len(cluster.submitted) == 3


async def test_what_fails_after_the_job_was_stopped_is_no_failure_of_the_job(tmp_path: Path) -> None:
    cluster, stop = DeafCluster(), asyncio.Event()
    running = asyncio.create_task(collect(start(cluster, [probe(tmp_path, i) for i in range(2)], stop=stop)))
    await until(lambda: len(cluster.submitted) == 2)
    stop.set()
    cluster.submitted[0].end.set_result(7)
    cluster.submitted[1].end.set_exception(ValueError("torn off"))
    assert await running == [7]


async def test_a_scheduler_that_stays_away_is_reported(tmp_path: Path) -> None:
    dispatcher = LostDispatcher()
    with pytest.raises(ProblemError) as caught:
        await collect(start(dispatcher, [probe(tmp_path, 0)]))
    assert (caught.value.slug, caught.value.origin) == ("cluster-unavailable", "system")
    assert dispatcher.client.released == 1


class ReplacingDispatcher:
    """A cluster whose first client is given up; for a while there is none, and then another."""

    def __init__(self) -> None:
        self.lost = LostClient()
        self.found = DeafCluster()
        self.asked = 0

    @property
    def client(self) -> Any:
        if self.lost.status == "running":
            return self.lost
        self.asked += 1
        if self.asked <= 3:
            raise NotConnectedError("not yet")
        return self.found

    async def cancel(self, job: str, attempt: int) -> bool:
        raise AssertionError("nothing was cancelled")


async def test_tasks_wait_for_a_client_that_is_replaced(tmp_path: Path) -> None:
    dispatcher = ReplacingDispatcher()
    running = asyncio.create_task(collect(start(dispatcher, [probe(tmp_path, 0)])))
    await until(lambda: bool(dispatcher.found.submitted))
    dispatcher.found.submitted[0].end.set_result(5)
    assert await running == [5]
    assert dispatcher.asked >= 4
    assert dispatcher.lost.released == 1
