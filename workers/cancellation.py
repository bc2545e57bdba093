"""Stopping a shard that already runs: Dask drops a cancelled task but cannot interrupt its thread.

Each process keeps the set of (job, attempt) that were cancelled, and shards look at it between tiles. Looking
costs a set lookup, where a distributed event would cost a round trip to the scheduler.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.measures.protocol import Checkpoint

REMEMBERED = 10_000
"""How many cancelled attempts a process remembers; the oldest are forgotten, their tasks ended long ago."""


class ShardCancelled(Exception):  # noqa: N818 - a request that was granted, not an error
    """The job that this shard belongs to was cancelled while the shard ran."""


_cancelled: OrderedDict[tuple[str, int], None] = OrderedDict()
_lock = threading.Lock()


def cancel(job: str, attempt: int) -> None:
    """Make every checkpoint of this attempt in this process raise, of running and of later shards."""
    with _lock:
        _cancelled[job, attempt] = None
        _cancelled.move_to_end((job, attempt))
        while len(_cancelled) > REMEMBERED:
            _cancelled.popitem(last=False)


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
