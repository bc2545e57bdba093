"""Where tasks run, as whoever gives tasks sees it: workers, what they have, and whether they can take tasks now."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distributed.system import MEMORY_LIMIT

from workers import cancellation, preload, versions
from workers.measures import plugins, registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
"""How long to wait for each answer that readiness is judged by: a stopped process gives none."""

SILENT_SECONDS = 20.0
"""A worker that was not heard from for so long, who speaks twice a second, is stopped or cut off."""

MEMORY_SHARE = 0.8
"""Of the machine's memory, what all workers may use together, where nothing else is said: the rest is for the
service, and for the pages of staged arrays."""


class NotConnectedError(ConnectionError):
    """There is no connection to a scheduler now; it is being sought."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What there is to compute with: tasks that run at once, and the private memory, in bytes, of each."""

    threads: int
    worker_memory: int


class Cluster(ABC):
    """A Dask cluster and the one client of this process, both on the running event loop.

    Use as an async context manager. Workers come up in the background: ask `readiness`, or wait with
    `wait_for_workers`.
    """

    def __init__(self, worker_memory: int) -> None:
        self._worker_memory = worker_memory
        # Any: Dask's own annotations are those of the synchronous client.
        self._client: Any = None
        self._checked: dict[frozenset[str], list[str]] = {}
        self._compared: tuple[frozenset[str], list[str]] = (frozenset(), [])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @abstractmethod
    async def start(self) -> None:
        """Begin to have a client, and workers in the background."""

    @abstractmethod
    async def close(self) -> None:
        """End the client, and whatever was started; harmless when done twice."""

    @property
    def client(self) -> Any:
        """The asynchronous client; RuntimeError before `start` and after `close`."""
        if self._client is None:
            raise RuntimeError("the cluster is not running")
        return self._client

    async def worker_threads(self) -> dict[str, int]:
        """Threads of each connected worker by its address."""
        return dict(await self.client.nthreads())

    async def worker_count(self) -> int:
        """Number of connected workers."""
        return len(await self.worker_threads())

    async def threads(self) -> int:
        """Number of tasks that can run at once."""
        return sum((await self.worker_threads()).values())

    async def resources(self) -> Resources:
        """Say what tasks may use now, with the memory that was described where workers have no limits of Dask's."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                identity = await self.client.scheduler.identity(n_workers=-1)
        except (OSError, RuntimeError) as error:  # a TimeoutError is an OSError
            log.warning("the cluster does not say what its workers have: %s", type(error).__name__)
            return Resources(0, self._worker_memory)
        workers = [(int(worker["nthreads"]), worker.get("memory_limit")) for worker in identity["workers"].values()]
        limits = [int(limit) // max(1, threads) for threads, limit in workers if limit]
        return Resources(sum(threads for threads, _ in workers), min([*limits, self._worker_memory]))

    async def cancel(self, job: str, attempt: int) -> bool:
        """Tell every worker that this attempt of the job is cancelled; those that left are passed over.

        Told again, a worker ends whose shard goes on all the same. The answer says whether all are still there.
        """
        found = await self.client.run(cancellation.cancel_or_end, job, attempt, on_error="return")
        return not any(isinstance(answer, Exception) for answer in found.values())

    async def readiness(self) -> list[str]:
        """Say why the cluster cannot take tasks now; an empty list when it can."""
        if reason := self._unconnected():
            return [reason]
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                heard = await self._heard()
            addresses = frozenset(heard)
            if not addresses:
                return [self._no_worker()]
            reasons: list[str] = []
            if addresses not in self._checked:
                reasons = await self._check(addresses)
                # Remembered only when all is well: a worker that compiles now will have compiled later.
                self._checked = {} if reasons else {addresses: reasons}
            return [*reasons, *_silent(heard), *self._missing(len(addresses))]
        except OSError as error:
            return [f"the scheduler does not answer ({type(error).__name__})"]

    async def _heard(self) -> dict[str, float]:
        """Seconds since the scheduler heard from each worker, by its address."""
        now = await self.client.run_on_scheduler(time.time)  # by the clock that `last_seen` is of
        found = (await self.client.scheduler.identity(n_workers=-1))["workers"]
        return {address: now - worker["last_seen"] for address, worker in found.items()}

    def _unconnected(self) -> str | None:
        """Say why no scheduler can be asked now."""
        if self._client is None:
            return "the cluster is not running"
        if self._client.status != "running":
            return f"the connection to the scheduler is {self._client.status}"
        return None

    @abstractmethod
    def _no_worker(self) -> str:
        """Say that there is none yet."""

    def _missing(self, connected: int) -> list[str]:  # noqa: ARG002 - for those that know how many there should be
        """Say how many more there should be."""
        return []

    async def _check(self, addresses: frozenset[str]) -> list[str]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._ask(addresses)
        except TimeoutError:
            return [f"not all of {len(addresses)} workers answered within {ANSWER_SECONDS:g} s"]

    async def _ask(self, addresses: frozenset[str]) -> list[str]:
        warm = await self.client.run(preload.is_warm, on_error="ignore")
        cold = len(addresses) - sum(1 for address in addresses if warm.get(address))
        reasons = [f"{cold} of {len(addresses)} workers are still compiling their kernels"] if cold else []
        return reasons + await self.differences() + await self.plugin_differences()

    async def differences(self) -> list[str]:
        """Say what the scheduler and the workers have in other versions than this process.

        Asked again only when workers have come or gone; those that do not answer have no differences yet.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                addresses = frozenset(await self.worker_threads())
                if addresses == self._compared[0]:
                    return self._compared[1]
                places = await self._versions()
        except TimeoutError:
            return []
        reasons = versions.differences(versions.installed(), places)
        if len(places) > len(addresses):  # all of them, and the scheduler
            self._compared = (addresses, reasons)
        return reasons

    async def _versions(self) -> dict[str, dict[str, str]]:
        """Ask the scheduler and all workers what is installed there; nothing of what cannot be imported there."""
        found = await self.client.run(versions.installed, on_error="return")
        places = {
            f"worker {address}": {} if isinstance(theirs, ImportError) else theirs
            for address, theirs in found.items()
            if isinstance(theirs, dict | ImportError)
        }
        try:
            places["the scheduler"] = await self.client.run_on_scheduler(versions.installed)
        except ImportError:
            places["the scheduler"] = {}
        return places

    async def plugin_differences(self) -> list[str]:
        """Describe where workers do not have the plug-in measures of this process."""
        found = await self.client.run(registry.plugin_names, on_error="ignore")
        return plugins.differences(registry.plugin_names(), found)


def _silent(heard: Mapping[str, float]) -> list[str]:
    """Say which workers are connected but were not heard from for long."""
    return [
        f"worker {address} was not heard from for {seconds:.0f} s"
        for address, seconds in heard.items()
        if seconds > SILENT_SECONDS
    ]


def share_of_machine(workers: int) -> int:
    """The memory of each of `workers` where nothing else is said; a limit on this process's group counts."""
    return int(MEMORY_SHARE * MEMORY_LIMIT) // workers
