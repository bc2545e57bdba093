"""One bounded asynchronous loop: submit, collect, retry, cancel.

`bounded_map` is the loop and knows nothing of Dask; `execute` gives it a `submit` that does.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import uuid
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from distributed import KilledWorker
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError

from workers import faults, versions
from workers.cancellation import ShardCancelled
from workers.cluster import NotConnectedError
from workers.errors import ProblemError
from workers.running import Task, report

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

log = logging.getLogger(__name__)

STORAGE_RETRIES = 3
LOSSES_LIMIT = 20
"""Times that one task may be lost with its scheduler before the loss is reported."""

FIRST_PAUSE = 0.1
"""Seconds before the first retry of a storage error; doubled each time."""

TELL_SECONDS = 2.0
TELL_AGAIN = 0.5
"""Seconds between two broadcasts of a cancellation: a worker may have started in between."""

PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)


class Dispatcher(Protocol):
    """What `execute` needs of a cluster."""

    @property
    def client(self) -> Any:
        """An asynchronous client, on the running loop; NotConnectedError while there is none but may be again."""

    async def cancel(self, job: str, attempt: int) -> bool:
        """Tell every worker that the attempt is cancelled; False if one of them ended over it."""


Item = TypeVar("Item")
Result = TypeVar("Result")
TaskType = TypeVar("TaskType", bound=Task)


async def bounded_map(
    submit: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    limit: int | Callable[[], int],
    stop: asyncio.Event | None = None,
) -> AsyncGenerator[tuple[Item, Result], None]:
    """Yield (item, result) as results come, with never more than `limit` items in flight.

    Items are taken one by one as there is room, so they may be endless. A `limit` that is a function is asked
    whenever there may be room, because a cluster grows and shrinks; one item is in flight whatever it says.

    After the first failure, or once `stop` is set, no more are taken: what runs is awaited, its results are
    yielded, and the failure is raised last. Leaving the loop early (`aclose`) cancels what runs.
    """
    source = iter(items)
    running: dict[asyncio.Future[Result], Item] = {}
    failure: BaseException | None = None
    try:
        while True:
            room = max(1, limit() if callable(limit) else limit) - len(running)
            while failure is None and room > 0 and not (stop is not None and stop.is_set()):
                try:
                    item = next(source)
                except StopIteration:
                    break
                running[asyncio.ensure_future(submit(item))] = item
                room -= 1
            if not running:
                break
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            failure = failure or next((error for future in done if (error := future.exception())), None)
            for future in done:
                item = running.pop(future)
                if future.exception() is None:
                    yield item, future.result()
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    if failure is not None:
        raise failure


async def execute(
    cluster: Dispatcher,
    function: Callable[[TaskType], Result],
    tasks: Iterable[TaskType],
    *,
    key: Callable[[TaskType], str],
    limit: int | Callable[[], int],
    stop: asyncio.Event,
    place: Callable[[TaskType], float] = lambda _: 0.0,
    deadline: float = 30.0,
) -> AsyncGenerator[tuple[TaskType, Result], None]:
    """Run `function` on the cluster for each task and yield (task, result) as results come.

    Parameters
    ----------
    cluster : Dispatcher
        Where to run.
    function : callable
        Importable on the workers, a pure function of its task: a task may run more than once.
    tasks : iterable
        Taken as there is room; may be a generator over what is missing from the ledger.
    key : callable
        A readable name for a task; made unique here, because Dask answers an equal key with the old result.
    limit : int or callable
        Most tasks in flight, usually a small multiple of the cluster's threads; a function is asked at every refill.
    stop : asyncio.Event
        Set to cancel: nothing more is submitted, workers are told, and the loop ends when no task is left.
    place : callable
        Where a task stands in line, asked when it is submitted: those of lower places run first.
    deadline : float
        Seconds after `stop` after which tasks that still run are abandoned.

    Raises
    ------
    ProblemError
        As the function raised it, or worker-lost, storage-unavailable, out-of-space, cluster-unavailable.
    """
    run = _Run(cluster, function, key, place, stop, deadline)
    teller = asyncio.create_task(run.tell_workers())
    try:
        async with contextlib.aclosing(bounded_map(run.submit, tasks, limit, stop)) as results:
            async for task, answer in results:
                if answer is not None:
                    yield task, answer.value
    finally:
        teller.cancel()
        await asyncio.gather(teller, return_exceptions=True)


class _Answer(Generic[Result]):
    """A result: told apart from None, which stands for a task that was cancelled."""

    def __init__(self, value: Result) -> None:
        self.value = value


class _Run(Generic[TaskType, Result]):
    """The state of one call of `execute`."""

    def __init__(
        self,
        cluster: Dispatcher,
        function: Callable[[TaskType], Result],
        key: Callable[[TaskType], str],
        place: Callable[[TaskType], float],
        stop: asyncio.Event,
        deadline: float,
    ) -> None:
        self._cluster = cluster
        self._function = function
        self._key = key
        self._place = place
        self._stop = stop
        self._failed = asyncio.Event()
        self._deadline = deadline
        self._nonce = uuid.uuid4().hex[:8]
        self._submissions = 0
        # Strong references: Dask cancels a task when the last one to its future goes.
        self._futures: dict[Any, TaskType] = {}

    @property
    def _halted(self) -> bool:
        return self._stop.is_set() or self._failed.is_set()

    async def submit(self, task: TaskType) -> _Answer[Result] | None:
        """Run one task to its end, through retries; None when it was cancelled."""
        try:
            return await self._through_retries(task)
        except Exception as error:
            if self._stop.is_set() or (self._failed.is_set() and isinstance(error, ShardCancelled)):
                if not isinstance(error, ShardCancelled):
                    self._log(f"a shard of a stopped job failed: {error}", task)
                return None
            # The job cannot succeed any more: let its other shards end soon.
            self._failed.set()
            raise

    async def _through_retries(self, task: TaskType) -> _Answer[Result] | None:
        storage_errors = 0
        losses = 0
        while not self._halted:
            try:
                return _Answer(await self._once(task))
            except KilledWorker as error:
                raise ProblemError(
                    "worker-lost",
                    f"A shard killed its workers {error.allowed_failures + 1} times, most likely for lack of "
                    "memory. Give the workers more memory, or compare fewer rows.",
                    "system",
                ) from error
            except (FutureCancelledError, CommClosedError, ClosedClientError, NotConnectedError) as error:
                if self._halted:
                    return None
                losses += 1
                if losses > LOSSES_LIMIT:
                    raise faults.unavailable() from error
                self._log("resubmitting a shard that was lost with its scheduler", task)
                await self._connected()
            except MemoryError as error:
                raise faults.too_large() from error
            except OSError as error:
                storage_errors += 1
                if isinstance(error, PERMANENT) or storage_errors > STORAGE_RETRIES:
                    raise faults.storage_problem(error) from error
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise faults.storage_problem(error) from error
                self._log(f"resubmitting a shard after a storage error: {error}", task)
                await self._pause(FIRST_PAUSE * 2 ** (storage_errors - 1))
        return None

    async def _once(self, task: TaskType) -> Result:
        self._submissions += 1
        name = f"{self._key(task)}-{self._nonce}-{self._submissions}"
        future = self._cluster.client.submit(
            report,
            self._function,
            task,
            dict(versions.installed()),
            key=name,
            pure=False,
            priority=-self._place(task),
        )
        self._futures[future] = task
        try:
            result: Result | ShardCancelled | ProblemError = await future
            if isinstance(result, ShardCancelled | ProblemError):
                raise result
            return result
        except asyncio.CancelledError:
            # The consumer left: without this the task would run, or wait in the queue, for nobody.
            with contextlib.suppress(Exception):
                await future.cancel()
            raise
        finally:
            del self._futures[future]
            future.release()

    async def _connected(self) -> None:
        """Wait until the client, which reconnects by itself, has found a scheduler again."""
        while (status := self._connection()) not in ("running", "closed") and not self._halted:
            await self._pause(FIRST_PAUSE)
        if status == "closed":
            raise faults.unavailable()

    def _connection(self) -> str:
        try:
            return str(self._cluster.client.status)
        except NotConnectedError:
            return "connecting"

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the job is stopped."""
        # Not `wait_for`: on Python 3.11 it loses a cancellation that comes together with the event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def tell_workers(self) -> None:
        """Once the job is stopped or has failed, tell its workers, and give up waiting at the deadline."""
        events = [asyncio.create_task(event.wait()) for event in (self._stop, self._failed)]
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for event in events:
                event.cancel()
        loop = asyncio.get_running_loop()
        end = loop.time() + self._deadline
        while True:
            ended = False
            for job, attempt in {(task.job, task.attempt) for task in self._futures.values()}:
                # Whatever becomes of it, it is told again, and the deadline holds.
                with contextlib.suppress(OSError):
                    async with asyncio.timeout(TELL_SECONDS):
                        ended = not await self._cluster.cancel(job, attempt) or ended
            # What runs elsewhere was told as long ago; what a lost worker had must not begin again.
            if ended or loop.time() >= end:
                for future in list(self._futures):
                    await future.cancel()
            await asyncio.sleep(min(TELL_AGAIN, max(0.0, end - loop.time())) or TELL_AGAIN)

    def _log(self, message: str, task: TaskType) -> None:
        log.warning("%s", message, extra={"job": task.job, "attempt": task.attempt, "task": self._key(task)})
