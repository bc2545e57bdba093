"""A cluster of this machine, whose processes end with this one."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from distributed import Client, LocalCluster, Nanny, Security
from distributed.core import Status

from ordsim_core import kernel_cache
from workers import preload
from workers.cluster import Cluster, share_of_machine
from workers.environment import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workers.references import Roots

log = logging.getLogger(__name__)

NEVER = "3650 days"

CLOSE_SECONDS = 8.0
"""Time for workers to end by themselves: whoever stops a service often waits ten seconds before it kills."""

START_SECONDS = 300.0
"""Time for workers to start, and for the first of them to compile the kernels on a slow machine."""

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


class EmbeddedCluster(Cluster):
    """A cluster of `workers` processes on this machine, one thread each.

    It listens on the loopback interface only, and with keys made for this run: another user of the machine could
    otherwise run code as this one.

    Parameters
    ----------
    worker_memory : int or None
        Private memory in bytes that each worker may use; if None, its part of `MEMORY_SHARE` of the machine.
    variables : mapping or None
        Further ones of the workers' environment.
    """

    def __init__(
        self,
        workers: int,
        roots: Roots,
        staging_directory: Path | str,
        state_directory: Path | str,
        worker_memory: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        state = Path(state_directory).resolve()
        memory = worker_memory or share_of_machine(workers)
        super().__init__(memory)
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
        self._options: dict[str, Any] = {
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
        self._number = workers
        # Any, as of the client.
        self._local: Any = None

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
            # Connections that are broken off and workers that did not start are nothing to be told of now.
            with _silenced("distributed.comm.tcp", "distributed.nanny", "distributed.deploy", "tornado.application"):
                await _end(local)

    async def wait_for_workers(self, number: int | None = None, timeout: float = START_SECONDS) -> None:
        """Wait until `number` workers (all of them, if None) are connected; TimeoutError otherwise."""
        await self.client.wait_for_workers(self._number if number is None else number, timeout=timeout)

    def _no_worker(self) -> str:
        return f"no worker is connected yet: {self._number} are starting and compile their kernels"

    def _missing(self, connected: int) -> list[str]:
        missing = self._number - connected
        return [f"{missing} of {self._number} workers are not connected"] if missing > 0 else []


async def _end(local: Any) -> None:
    """End workers and scheduler: in order, if that does not take long, and at any rate."""
    # Dask waits for workers that are starting, which load and compile for a while, before it ends them.
    _kill(nanny for nanny in local._created if nanny.status is not Status.running)
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await local.close()
    except Exception as error:
        log.info("the workers were killed: they did not end by themselves (%s)", type(error).__name__)
        _kill(local._created)
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS):
                await local.scheduler.close()
        local.status = Status.closed  # which it would otherwise complain of when it is collected


def _kill(nannies: Iterable[Any]) -> None:
    for nanny in nannies:
        nanny.auto_restart = False
        process = nanny.process and nanny.process.process
        if process is not None and process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _silenced(*names: str) -> Iterator[None]:
    """Let only errors that end everything through from these loggers."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)
