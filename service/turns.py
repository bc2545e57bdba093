"""Turns: how many jobs use the workers at once, and for how long while others wait."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Turns:
    """A fixed number of turns, taken in the order in which they were asked for.

    A job may keep its turn while nobody waits; after `seconds` it is to give it up to who does, and to ask for another.
    What runs at once thus stays bounded, with the arrays that workers keep for it, and a short job never waits for the
    end of a long one.
    """

    def __init__(self, limit: int, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._seconds = seconds
        self._now = now
        self._holders: dict[str, float] = {}
        self._waiting: OrderedDict[str, asyncio.Event] = OrderedDict()
        self._known: set[str] = set()

    @property
    def wanted(self) -> bool:
        """Whether another job should be taken from the queue: a turn is free or over, and no new job waits for it."""
        free = self._limit - len(self._holders) + sum(map(self._spent, self._holders))
        return free > len(self._waiting.keys() - self._known)

    def over(self, job: str) -> bool:
        """Whether the job is to give its turn to another."""
        return bool(self._waiting) and self._spent(job)

    async def take(self, job: str, stop: asyncio.Event) -> None:
        """Wait for a turn, or until the job is stopped; a job that has a turn gives it up first."""
        self._holders.pop(job, None)
        mine = self._waiting[job] = asyncio.Event()
        self._hand_out()
        waits = [asyncio.ensure_future(event.wait()) for event in (mine, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            self._waiting.pop(job, None)

    def leave(self, job: str) -> None:
        """Give up what the job has, or waits for: it is over."""
        self._holders.pop(job, None)
        self._waiting.pop(job, None)
        self._known.discard(job)
        self._hand_out()

    def _spent(self, job: str) -> bool:
        return self._now() - self._holders.get(job, self._now()) >= self._seconds

    def _hand_out(self) -> None:
        while self._waiting and len(self._holders) < self._limit:
            job, event = self._waiting.popitem(last=False)
            self._holders[job] = self._now()
            self._known.add(job)
            event.set()
