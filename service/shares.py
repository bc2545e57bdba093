"""Fair sharing: whose shard is next, when several jobs want the same workers.

Start-time fair queueing (Goyal, Vin and Cheng 1996). Each shard gets a place in line when it is submitted: where its
job's last one ended, but not before the place of those that run now. A job that is new, or had little, thus comes
before the shards that a long one has waiting, and an owner of several jobs gets no more than one of a single job. The
places become Dask's priorities, so that they hold in the queues of the scheduler and of each worker.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shares:
    """The line that all jobs of a service stand in. Places are worker seconds."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: dict[str, float] = {}
        self._owners: dict[str, str] = {}
        self._jobs: Counter[str] = Counter()

    @contextlib.contextmanager
    def sharing(self, job: str, owner: str) -> Iterator[None]:
        """Count a job among those that share, for as long as this lasts."""
        self._owners[job] = owner
        self._jobs[owner] += 1
        try:
            yield
        finally:
            del self._owners[job]
            self._ends.pop(job, None)
            self._jobs[owner] -= 1

    @property
    def now(self) -> float:
        """The place of what runs now: for what should not wait, such as reading a new job's arrays."""
        return self._now

    def place(self, job: str, seconds: float) -> float:
        """Give the job's next shard, which takes about so many seconds, its place; lower ones go first."""
        begin = max(self._now, self._ends.get(job, 0.0))
        self._ends[job] = begin + seconds * max(1, self._jobs[self._owners.get(job, "")])
        return begin

    def passed(self, place: float) -> None:
        """Note that the shard of this place is done."""
        self._now = max(self._now, place)
