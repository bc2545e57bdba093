"""What happens to jobs, read once for all who listen.

A commit that adds to a job's history rings its feed, if anybody listens; the first listener to wake reads what is new,
and the others find it read. A listener that is behind, or that begins from the start, reads the store in pages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterator, Sequence

    from service.records import Event
    from service.store import JobStore

KEEP_ALIVE_SECONDS = 15.0
"""After so long without an event a listener is told that there is none."""

RECENT = 64
"""Events of each job that are kept for those who listen."""

PAGE = 256

LISTENERS_LIMIT = 1000
"""Most that may listen at once; each costs a connection and little else."""


class Feed:
    """The newest events of one job."""

    def __init__(self, job: str, store: JobStore, known: int) -> None:
        self.listeners = 0
        self.rung = asyncio.Event()
        self._job = job
        self._store = store
        self._known = known
        self._recent: deque[Event] = deque(maxlen=RECENT)
        self._stale = True
        self._reading = asyncio.Lock()

    def ring(self) -> None:
        """Wake all who listen: there is something new."""
        self._stale = True
        self.rung.set()
        self.rung = asyncio.Event()

    def doubt(self) -> None:
        """Have the next who asks look at the store, although nothing was told."""
        self._stale = True

    async def after(self, number: int) -> Sequence[Event]:
        """Return the next events after this one; none when there are none yet."""
        async with self._reading:
            if self._stale:
                await self._read()
        begin = self._recent[0].number - 1 if self._recent else self._known
        if number >= begin:
            return [event for event in self._recent if event.number > number]
        return await asyncio.to_thread(self._store.events, self._job, number, PAGE)

    async def _read(self) -> None:
        self._stale = False
        try:
            while page := await asyncio.to_thread(self._store.events, self._job, self._known, PAGE):
                self._recent.extend(page)
                self._known = page[-1].number
        except BaseException:
            self._stale = True
            raise


class Feeds:
    """All feeds that somebody listens to, on the running event loop."""

    def __init__(self, store: JobStore) -> None:
        self._loop = asyncio.get_running_loop()
        self._store = store
        self._feeds: dict[str, Feed] = {}
        self._closed = False
        store.on_events(self._tell)

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return sum(feed.listeners for feed in self._feeds.values())

    async def follow(self, job: str, after: int = 0) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events of a job after number `after`, some at a time, up to its final one.

        An empty sequence says that nothing happened for a while. Ends early when the service does. Close it.

        Raises
        ------
        UnknownJobError
            If there is no such job.
        """
        last = await asyncio.to_thread(self._store.last_event, job)
        # A number that was never given stands for the newest: what comes later must not be missed.
        after = min(after, last.number)
        if last.final and after == last.number:
            return
        with self._listening(job, last.number) as feed:
            while not self._closed:
                rung = feed.rung  # before reading: what is written meanwhile rings it
                events = await feed.after(after)
                if not events and not await _rings(rung):
                    feed.doubt()
                    yield events
                if events:
                    yield events
                    after = events[-1].number
                    if events[-1].final:
                        return

    def close(self) -> None:
        """Let every listener end, so that none holds up the end of the service."""
        self._closed = True
        for feed in self._feeds.values():
            feed.ring()

    @contextlib.contextmanager
    def _listening(self, job: str, known: int) -> Iterator[Feed]:
        feed = self._feeds.setdefault(job, Feed(job, self._store, known))
        feed.listeners += 1
        try:
            yield feed
        finally:
            feed.listeners -= 1
            if not feed.listeners:
                del self._feeds[job]

    def _tell(self, jobs: Collection[str]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody listens
            self._loop.call_soon_threadsafe(self._ring, jobs)

    def _ring(self, jobs: Collection[str]) -> None:
        for job in jobs:
            if feed := self._feeds.get(job):
                feed.ring()


async def _rings(event: asyncio.Event) -> bool:
    """Wait for the event, but no longer than `KEEP_ALIVE_SECONDS`."""
    # Not `wait_for`: on Python 3.11 it loses a cancellation that comes together with the event.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KEEP_ALIVE_SECONDS):
            await event.wait()
    return event.is_set()
