"""Stopping a shard that already runs: Dask drops a cancelled task but cannot interrupt its thread.

Each process keeps the set of (job, attempt) that were cancelled, and shards look at it between tiles. Looking
costs a set lookup, where a distributed event would cost a round trip to the scheduler. A shard that is in the middle of
one long step of a library cannot look: its process ends, and its nanny starts another.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workers.measures.protocol import Checkpoint

log = logging.getLogger(__name__)

REMEMBERED = 10_000
"""How many cancelled attempts a process remembers; the oldest are forgotten, their tasks ended long ago."""


class ShardCancelled(Exception):  # noqa: N818 - a request that was granted, not an error
    """The job that this shard belongs to was cancelled while the shard ran."""


OVERDUE_SECONDS = 1.0
"""Processor seconds that a shard may go on for; a tile takes a tenth of one. Of the processor, because what waits for
it on a busy machine is not stuck."""

_cancelled: OrderedDict[tuple[str, int], float] = OrderedDict()
"""When each attempt was cancelled, in processor seconds of this process."""

_running: Counter[tuple[str, int]] = Counter()
_lock = threading.Lock()


def cancel(job: str, attempt: int) -> None:
    """Make every checkpoint of this attempt in this process raise, of running and of later shards."""
    with _lock:
        _cancelled.setdefault((job, attempt), time.process_time())
        _cancelled.move_to_end((job, attempt))
        while len(_cancelled) > REMEMBERED:
            _cancelled.popitem(last=False)


def cancel_or_end(job: str, attempt: int) -> None:
    """Cancel, and end this process if it was told before and a shard of the attempt went on all the same."""
    cancel(job, attempt)
    with _lock:
        stuck = _running[job, attempt] and time.process_time() - _cancelled[job, attempt] >= OVERDUE_SECONDS
    if stuck:
        log.warning("ending a worker whose shard goes on although its job was cancelled", extra={"job": job})
        os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def running(job: str, attempt: int) -> Iterator[None]:
    """Count what runs here of an attempt."""
    with _lock:
        _running[job, attempt] += 1
    try:
        yield
    finally:
        with _lock:
            _running[job, attempt] -= 1
            if not _running[job, attempt]:
                del _running[job, attempt]


def is_cancelled(job: str, attempt: int) -> bool:
    """Whether this process was told that the attempt is cancelled."""
    return (job, attempt) in _cancelled


def checkpoint(job: str, attempt: int) -> Checkpoint:
    """Return the function that a shard of this attempt calls between tiles.

    It raises ShardCancelled once the attempt is cancelled.
    """

    def check() -> None:
        if is_cancelled(job, attempt):
            raise ShardCancelled(f"attempt {attempt} of job {job} was cancelled")

    return check
