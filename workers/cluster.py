"""Where tasks run: an embedded Dask cluster whose processes end with this one."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from distributed import Client, LocalCluster, Nanny, Security
from distributed.system import MEMORY_LIMIT

from ordsim_core import kernel_cache
from workers import cancellation, preload, versions
from workers.environment import PREFIX
from workers.measures import plugins, registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from workers.references import Roots

log = logging.getLogger(__name__)

NEVER = "3650 days"

ANSWER_SECONDS = 5.0
"""How long to wait for each answer that readiness is judged by: a stopped process gives none."""
START_SECONDS = 300.0
"""Time for workers to start, and for the first of them to compile the kernels on a slow machine."""

MEMORY_SHARE = 0.8
"""Of the machine's memory, what all workers may use together, where nothing else is said: the rest is for the
service, and for the pages of staged arrays."""

CACHE_SHARE = 4
"""One part of so many of a worker's memory is for prepared arrays of earlier shards."""
CACHE_LIMIT = 2 * 1024**3


class WorkerNanny(Nanny):
    """A nanny that sets variables before its worker process exists.

    Dask's `env` is set in the new process after it has imported the main module, which may be too late for
    libraries that read their variables once. The worker's web server, which Dask always starts, has no pages.
    """

    def __init__(self, *args: Any, before_start: Mapping[str, str], **kwargs: Any) -> None:
        with dask.config.set({"distributed.worker.http.routes": []}):
            super().__init__(*args, **kwargs)
            # A copy of its own: what is nested in it belongs to the global configuration, and is set back.
            self.config = copy.deepcopy(self.config)
        self.pre_spawn_env.update(before_start)
        self.env.update(before_start)


@dataclass(frozen=True, slots=True)
class Resources:
    """What there is to compute with: tasks that run at once, and the private memory, in bytes, of each."""

    threads: int
    worker_memory: int


class Cluster:
    """A Dask cluster and the one client of this process, both on the running event loop.

    Use as an async context manager. Workers come up in the background: ask `readiness`, or wait with
    `wait_for_workers`.
    """

    def __init__(self, number: int, options: Mapping[str, Any], worker_memory: int) -> None:
        self._number = number
        self._options = options
        self._worker_memory = worker_memory
        # Any: Dask's own annotations are those of the synchronous cluster and client.
        self._local: Any = None
        self._client: Any = None
        self._checked: dict[frozenset[str], list[str]] = {}
        self._compared: tuple[frozenset[str], list[str]] = (frozenset(), [])

    @classmethod
    def embedded(
        cls,
        workers: int,
        roots: Roots,
        staging_directory: Path | str,
        state_directory: Path | str,
        worker_memory: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Cluster:
        """Describe a cluster of `workers` processes on this machine, one thread each.

        Each worker may use `worker_memory` bytes of private memory; if None, its part of `MEMORY_SHARE` of the machine.

        `variables` are further ones of the workers' environment.

        It listens on the loopback interface only, and with keys made for this run: another user of the
        machine could otherwise run code as this one.
        """
        state = Path(state_directory).resolve()
        memory = worker_memory or share_of_machine(workers)
        cached = os.environ.get(f"{PREFIX}SPACE_CACHE_BYTES") or str(min(CACHE_LIMIT, memory // CACHE_SHARE))
        variables = {
            **(variables or {}),
            f"{PREFIX}WORKER_MEMORY": str(memory),
            f"{PREFIX}SPACE_CACHE_BYTES": cached,
            f"{PREFIX}ROOTS": json.dumps({name: root.directory for name, root in roots.items()}),
            f"{PREFIX}STAGING_DIRECTORY": str(Path(staging_directory).resolve()),
        }
        before_start = {
            **preload.PROCESS_VARIABLES,
            # Where nothing else can be written, the state directory can: kernels are compiled once for all workers.
            "NUMBA_CACHE_DIR": str(kernel_cache.directory() or state / "numba"),
        }
        options = {
            "processes": True,
            "threads_per_worker": 1,
            "host": "127.0.0.1",
            "protocol": "tls://",
            # The scheduler's web server, which always starts, on any free port instead of on 8787.
            "scheduler_kwargs": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            "dashboard_address": None,
            "worker_dashboard_address": None,
            # Dask counts pages of memory-mapped files against a limit, and would kill workers for reading.
            "memory_limit": None,
            "local_directory": str(state / "scratch"),
            "preload": [preload.__name__],
            "env": variables,
            "before_start": before_start,
            "worker_class": WorkerNanny,
        }
        return cls(workers, options, memory)

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

    async def start(self) -> None:
        """Start the scheduler and the client, and let the workers start in the background."""
        Path(self._options["local_directory"]).mkdir(parents=True, exist_ok=True)
        # Dask gives a lost worker up, its nanny included, when it is not back within this time (15 s, if not set):
        # on a busy machine a restarted worker may take longer to load its kernels, and the cluster would shrink.
        dask.config.set({"distributed.deploy.lost-worker-timeout": NEVER})
        security = Security.temporary()  # type: ignore[no-untyped-call]
        # No web pages: whoever can reach the port could read them.
        with dask.config.set({"distributed.scheduler.http.routes": []}):
            self._local = await LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=0, asynchronous=True, security=security, **self._options
            )
        # Not the default client: several applications may live in one process, as in tests.
        self._client = await Client(  # type: ignore[no-untyped-call]
            self._local, asynchronous=True, set_as_default=False
        )
        self.scale(self._number)

    def scale(self, number: int) -> None:
        """Have `number` workers from now on; they start, or leave, in the background."""
        if self._local is None:
            raise RuntimeError("the cluster is not running")
        self._number = number
        self._local.scale(number)

    async def close(self) -> None:
        """End the client, the workers and the scheduler; harmless when done twice."""
        client, self._client = self._client, None
        local, self._local = self._local, None
        if client is not None:
            await client.close()
        if local is not None:
            # A worker that is closing breaks off the connection it was opening: nothing to be warned of now.
            connections = logging.getLogger("distributed.comm.tcp")
            level = connections.level
            connections.setLevel(logging.ERROR)
            try:
                await local.close()
            finally:
                connections.setLevel(level)

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
        return Resources(sum(threads for threads, _ in workers), min(limits, default=self._worker_memory))

    async def wait_for_workers(self, number: int | None = None, timeout: float = START_SECONDS) -> None:
        """Wait until `number` workers (all of them, if None) are connected; TimeoutError otherwise."""
        await self.client.wait_for_workers(self._number if number is None else number, timeout=timeout)

    async def cancel(self, job: str, attempt: int) -> bool:
        """Tell every worker that this attempt of the job is cancelled; those that left are passed over.

        Told again, a worker ends whose shard goes on all the same. The answer says whether all are still there.
        """
        found = await self.client.run(cancellation.cancel_or_end, job, attempt, on_error="return")
        return not any(isinstance(answer, Exception) for answer in found.values())

    async def readiness(self) -> list[str]:
        """Say why the cluster cannot take tasks now; an empty list when it can."""
        if self._client is None:
            return ["the cluster is not running"]
        if self._client.status != "running":
            return [f"the connection to the scheduler is {self._client.status}"]
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                addresses = frozenset(await self.worker_threads())
            if not addresses:
                return [f"no worker is connected yet: {self._number} are starting and compile their kernels"]
            reasons: list[str] = []
            if addresses not in self._checked:
                reasons = await self._check(addresses)
                # Remembered only when all is well: a worker that compiles now will have compiled later.
                self._checked = {} if reasons else {addresses: reasons}
            return [*reasons, *self._missing(len(addresses))]
        except OSError as error:
            return [f"the scheduler does not answer ({type(error).__name__})"]

    def _missing(self, connected: int) -> list[str]:
        missing = self._number - connected
        return [f"{missing} of {self._number} workers are not connected"] if missing > 0 else []

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
        addresses = frozenset(await self.worker_threads())
        if addresses != self._compared[0]:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    found = await self.client.run(versions.installed, on_error="ignore")
            except TimeoutError:
                return []
            places = {f"worker {address}": theirs for address, theirs in found.items() if isinstance(theirs, dict)}
            places["the scheduler"] = await self.client.run_on_scheduler(versions.installed)
            reasons = versions.differences(versions.installed(), places)
            if len(places) <= len(addresses):
                return reasons
            self._compared = (addresses, reasons)
        return self._compared[1]

    async def plugin_differences(self) -> list[str]:
        """Describe where workers do not have the plug-in measures of this process."""
        found = await self.client.run(registry.plugin_names, on_error="ignore")
        return plugins.differences(registry.plugin_names(), found)


def share_of_machine(workers: int) -> int:
    """The memory of each of `workers` where nothing else is said; a limit on this process's group counts."""
    return int(MEMORY_SHARE * MEMORY_LIMIT) // workers
