"""What a worker process does before it takes tasks: compile the kernels and bound its own concurrency.

Named as a Dask preload rather than a plugin: a plugin is lost when the scheduler restarts, a preload runs
wherever a worker starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import threading
from typing import TYPE_CHECKING

import numba
import zarr
from distributed.comm.core import CommClosedError

from ordsim_core import kernel_cache, warmup
from workers import logs
from workers.environment import from_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Worker

log = logging.getLogger(__name__)

PROCESS_VARIABLES = {
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ZARR_ASYNC__CONCURRENCY": "4",
    "ZARR_THREADING__MAX_WORKERS": "4",
}
"""Set before the process starts, because the libraries read them when they are imported. One thread per
worker computes; more workers, not more threads, make use of more cores."""

_set_up = threading.Event()
_warm = threading.Event()
_warming = threading.Lock()


def _not_of_lost_connections(record: logging.LogRecord) -> bool:
    """Leave out requests, such as heartbeats, that broke off with their connection.

    Where a worker or its scheduler is closing nothing is wrong; where not, the worker says itself that it lost it.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], CommClosedError))


def dask_setup(worker: Worker) -> None:
    """Prepare this process; Dask calls it before the worker registers with the scheduler."""
    environment = from_environment()
    hidden = logs.hidden_directories(environment.roots, str(environment.staging_directory.parent))
    logs.configure(environment.log_format, environment.log_level, hidden)
    zarr.config.set({"async.concurrency": 4, "threading.max_workers": 4})
    numba.set_num_threads(1)
    logging.getLogger("distributed.worker").addFilter(_not_of_lost_connections)
    _set_up.set()
    ensure_warm()
    log.info("kernels are compiled", extra={"worker": worker.address})


def ensure_warm() -> None:
    """Compile the kernels once per process; a task calls it too, in case there was no preload."""
    if _warm.is_set():
        return
    with _warming:
        if not _warm.is_set():
            with _one_process_compiles():
                warmup.warm()
            _warm.set()


def is_set_up() -> bool:
    """Whether this process was started with this module as a preload."""
    return _set_up.is_set()


def is_warm() -> bool:
    """Whether this process has compiled its kernels."""
    return _warm.is_set()


@contextlib.contextmanager
def _one_process_compiles() -> Iterator[None]:
    """Let the workers that share a compilation cache fill it one after another.

    The first compiles and the others load; together they would all compile, and write the cache at once.
    """
    directory = kernel_cache.directory()
    if directory is None:
        yield
        return
    with (directory / "warm.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
