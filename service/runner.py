"""The supervisor: takes accepted jobs from the store, runs a few at once, and cancels what is to be cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from typing import TYPE_CHECKING

from service import errors, storage
from service.pipeline import Pipeline
from service.states import StoreError
from service.status import Crew
from workers import logs
from workers.errors import ProblemError
from workers.measures import registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from service.pipeline import JobContext
    from service.records import Job

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
"""How often the supervisor looks for itself, if nobody wakes it."""

CLUSTER_SECONDS = 5.0
RECOVERIES_LIMIT = 5
"""Attempts in a row that may break off without a new shard in the ledger, before the job is given up."""

ROOM_SECONDS = 5.0
"""How long to wait on a full disk before a job that met it is tried again."""

DRAIN_SECONDS = 3.0
"""Time that running shards have when the service stops; a tile of work is far shorter."""


class Runner:
    """Runs jobs until it is stopped. `wake` and `workers` may be used from any thread."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._store = context.store
        self._wake = asyncio.Event()
        self._cancellation = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._supervisors: list[asyncio.Task[None]] = []
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._without_room: set[str] = set()
        self._closing = False
        self._threads: Mapping[str, int] = {}
        self._workload: Mapping[str, float] = {}
        self._differences: list[str] = []
        self._silence = ""

    @property
    def workers(self) -> int:
        """How many workers were connected when the supervisor last looked."""
        return len(self._threads)

    @property
    def without_room(self) -> int:
        """How many jobs wait because the disk of the state directory is full."""
        return len(self._without_room)

    @property
    def crew(self) -> Crew:
        """Who worked on what when the supervisor last looked."""
        return Crew(self.workers, sum(self._threads.values()), self._workload)

    async def start(self) -> None:
        """Take up what an earlier service left unfinished, and begin."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._store.recover)
        # Apart: a cancellation must not wait for a cluster that is slow to answer.
        looks = ((self._look, self._wake), (self._stop_cancelled, self._cancellation))
        self._supervisors = [asyncio.create_task(self._supervise(look, event)) for look, event in looks]

    async def stop(self) -> None:
        """End soon: running jobs go back into the queue, and go on at the next start."""
        self._closing = True
        for supervisor in self._supervisors:
            supervisor.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)
        for stop in self._stops.values():
            stop.set()
        tasks = list(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await asyncio.to_thread(self._store.recover, broken_off=False)
        except sqlite3.Error:
            log.exception("running jobs could not be put back into the queue; the next start does it")

    def wake(self) -> None:
        """Make the supervisor look at the store now: a job was submitted or cancelled."""
        if self._loop is not None and not self._loop.is_closed():
            for event in (self._wake, self._cancellation):
                self._loop.call_soon_threadsafe(event.set)

    async def _supervise(self, look: Callable[[], Awaitable[None]], wake: asyncio.Event) -> None:
        while not self._closing:
            wake.clear()
            try:
                await look()
            except Exception:
                # The queue must outlive a full disk or a lost scheduler: look again at the next tick.
                log.exception("the supervisor could not look after the queue")
            # Not `wait_for`: on Python 3.11 it loses a cancellation that comes together with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await wake.wait()

    async def _stop_cancelled(self) -> None:
        for job in await asyncio.to_thread(self._store.cancelled):
            if job in self._stops:
                self._stops[job].set()

    async def _look(self) -> None:
        self._threads = await self._count_threads()
        await self._take_up_adrift()
        self._workload = await asyncio.to_thread(self._store.workload)
        while self.workers and self._context.turns.wanted:
            claimed = await asyncio.to_thread(self._store.claim)
            if claimed is None:
                break
            self._stops[claimed.id] = asyncio.Event()
            self._running[claimed.id] = asyncio.create_task(self._run(claimed))
            await asyncio.sleep(0)  # it asks for its turn

    async def _take_up_adrift(self) -> None:
        """Look after jobs that run in the store alone: their end could not be written down when it came."""
        adrift = set(await asyncio.to_thread(self._store.running)) - self._running.keys()
        if not adrift:
            return
        log.warning("taking up again what nobody runs: %s", ", ".join(sorted(adrift)))
        await asyncio.to_thread(self._store.recover, adrift)

    async def _count_threads(self) -> Mapping[str, int]:
        try:
            async with asyncio.timeout(CLUSTER_SECONDS):
                threads = await self._context.cluster.worker_threads()
            differences = await self._context.cluster.differences() if threads else []
        except (OSError, TimeoutError, RuntimeError) as error:
            self._note_silence(str(error) or type(error).__name__)
            return {}
        self._note_silence("")
        if differences != self._differences:
            self._differences = differences
            for difference in differences:
                log.error("no job is started: %s", difference)
        return {} if differences else threads

    def _note_silence(self, reason: str) -> None:
        """Say why the cluster does not answer, once, and that it does again."""
        if reason != self._silence:
            log.warning("the cluster %s", f"does not answer: {reason}" if reason else "answers again")
        self._silence = reason

    async def _run(self, job: Job) -> None:
        """Run one job to its end, whatever that is."""
        with logs.bound(request_id=job.request_id, job=job.id, attempt=job.attempt):
            await self._run_logged(job)

    async def _run_logged(self, job: Job) -> None:
        log.info("job %s starts", job.id)
        try:
            if job.recoveries >= RECOVERIES_LIMIT:
                raise _given_up(job)
            finished = await Pipeline(job, self._context, self._stops[job.id], lambda: self._threads).run()
            if not finished and not self._closing:
                await self._dismiss(job)
            log.info("job %s ends", job.id)
        except ProblemError as error:
            log.warning("job %s failed: %s", job.id, error)
            await self._fail(job, error)
        except Exception as error:
            if storage.is_full(error):
                await self._wait_for_room(job)
                return
            log.exception("job %s failed", job.id)
            await self._fail(job, storage.problem_of(error) or _unforeseen(job))
        finally:
            self._without_room.discard(job.id)
            # A job that was put back into the queue may have been taken up again already.
            if self._running.get(job.id) is asyncio.current_task():
                del self._running[job.id], self._stops[job.id]
            self._wake.set()

    async def _dismiss(self, job: Job) -> None:
        try:
            await asyncio.to_thread(self._store.dismiss, job.id)
        except StoreError:
            log.info("job %s had finished when it was cancelled", job.id)
        except sqlite3.Error:
            # It was cancelled, and did not fail: the supervisor dismisses it as soon as the store can be written.
            log.exception("job %s could not be marked as dismissed", job.id)

    async def _wait_for_room(self, job: Job) -> None:
        """Put a job back into the queue as soon as that can be written down: what it counted is in the ledger."""
        self._without_room.add(job.id)
        while not self._closing:
            log.error("job %s waits: the disk that holds the state directory is full; free space there", job.id)
            await asyncio.sleep(ROOM_SECONDS)
            with contextlib.suppress(sqlite3.Error):
                await asyncio.to_thread(self._store.recover, {job.id}, broken_off=False)
                return

    async def _fail(self, job: Job, error: ProblemError) -> None:
        if self._closing:
            return  # what breaks while the cluster is taken down says nothing about the job
        problem = errors.of_error(error, instance=f"/v1/jobs/{job.id}", request_id=job.request_id)
        try:
            await asyncio.to_thread(self._store.fail, job.id, problem)
        except (StoreError, sqlite3.Error):
            log.exception("job %s could not be marked as failed", job.id)


def _unforeseen(job: Job) -> ProblemError:
    """What a client is told of an error that nobody foresaw; another package's measures may be at fault."""
    detail = f"The service failed on this job. Its log has the reason under job {job.id}."
    entries = job.request.get("measures") or [job.request.get("measure") or {}]
    for name in dict.fromkeys(str(entry.get("measure")) for entry in entries):
        if plugin := registry.plugin_of(name):
            detail += (
                f" The measure {name} is of the package {plugin.distribution} {plugin.version}, whose fault it may be."
            )
    return ProblemError("internal", detail, "system")


def _given_up(job: Job) -> ProblemError:
    return ProblemError(
        "internal",
        f"The service broke off {job.recoveries} times in a row while this job ran, and the job got no further in "
        "between, so it is not tried again. It may need more memory than there is; the service's log says more. "
        "Mend that, or compare fewer rows, then submit it again.",
        "system",
    )
