"""Fair shares and turns: whose shard is next, and which jobs use the workers."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from contextlib import ExitStack

import pytest

from service.shares import Shares
from service.turns import Turns

IN_FLIGHT = 6


class Workers:
    """One worker with a queue by place, as Dask's; each job always has some shards waiting there."""

    def __init__(self, shares: Shares, shards: dict[str, int], seconds: dict[str, float] | None = None) -> None:
        self.shares = shares
        self.left = dict(shards)
        self.seconds = seconds or dict.fromkeys(shards, 1.0)
        self.queue: list[tuple[float, int, str]] = []
        self.submitted = 0
        self.done: list[str] = []
        for job in shards:
            self.submit(job, IN_FLIGHT)

    def submit(self, job: str, shards: int) -> None:
        for _ in range(min(shards, self.left[job])):
            self.left[job] -= 1
            self.submitted += 1
            heapq.heappush(self.queue, (self.shares.place(job, self.seconds[job]), self.submitted, job))

    def add(self, job: str, shards: int) -> None:
        self.left[job], self.seconds[job] = shards, 1.0
        self.submit(job, IN_FLIGHT)

    def run(self, shards: int) -> None:
        for _ in range(shards):
            place, _, job = heapq.heappop(self.queue)
            self.shares.passed(place)
            self.done.append(job)
            self.submit(job, 1)

    def run_until(self, job: str, shards: int) -> None:
        while self.done.count(job) < shards:
            self.run(1)


@pytest.fixture
def shares() -> Shares:
    return Shares()


def share(shares: Shares, stack: ExitStack, **owners: str) -> None:
    for job, owner in owners.items():
        stack.enter_context(shares.sharing(job, owner))


def test_a_short_job_ends_long_before_a_long_one(shares: Shares) -> None:
    with ExitStack() as stack:
        share(shares, stack, long="", short="")
        workers = Workers(shares, {"long": 10_000})
        workers.run(1000)
        workers.add("short", 20)
        workers.run_until("short", 20)
    # In turns, whatever the long one had waiting already.
    assert workers.done[1000:].count("long") <= 22


def test_time_is_shared_and_not_the_number_of_shards(shares: Shares) -> None:
    with ExitStack() as stack:
        share(shares, stack, slow="", fast="")
        workers = Workers(shares, {"slow": 1000, "fast": 1000}, {"slow": 4.0, "fast": 1.0})
        workers.run(500)
    counts = Counter(workers.done)
    assert counts["fast"] == pytest.approx(4 * counts["slow"], abs=2 * IN_FLIGHT)


def test_owners_share_before_their_jobs_do(shares: Shares) -> None:
    with ExitStack() as stack:
        share(shares, stack, a="ann", b1="bob", b2="bob", b3="bob")
        workers = Workers(shares, dict.fromkeys(("a", "b1", "b2", "b3"), 1000))
        workers.run(600)
    counts = Counter(workers.done)
    assert counts["a"] == pytest.approx(300, abs=3 * IN_FLIGHT)
    assert counts["b1"] == pytest.approx(100, abs=3 * IN_FLIGHT)


def test_a_job_that_paused_has_no_claim_to_what_it_did_not_use(shares: Shares) -> None:
    with ExitStack() as stack:
        share(shares, stack, a="", b="")
        workers = Workers(shares, {"a": 10_000, "b": 5})
        workers.run(2000)
        workers.add("b", 10_000)
        workers.run(400)
    assert Counter(workers.done[2000:])["a"] == pytest.approx(200, abs=2 * IN_FLIGHT)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def took(*tasks: asyncio.Task[None]) -> list[bool]:
    for _ in range(5):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


async def test_turns_go_round() -> None:
    clock, stop = Clock(), asyncio.Event()
    turns = Turns(1, 10.0, clock)
    assert turns.wanted
    await turns.take("a", stop)
    assert not turns.wanted
    clock.seconds = 10
    assert turns.wanted  # its time is over, and nobody waits
    assert not turns.over("a")
    b = asyncio.create_task(turns.take("b", stop))
    assert await took(b) == [False]
    assert not turns.wanted  # b was taken from the queue for this turn
    assert turns.over("a")
    again = asyncio.create_task(turns.take("a", stop))
    assert await took(b, again) == [True, False]
    assert not turns.over("b")
    clock.seconds = 20
    # a waits for its next turn; yet a new job is taken, and waits behind it.
    assert turns.wanted
    c = asyncio.create_task(turns.take("c", stop))
    assert await took(c) == [False]
    assert not turns.wanted
    turns.leave("b")
    assert await took(again, c) == [True, False]
    turns.leave("a")
    assert await took(c) == [True]
    turns.leave("c")
    assert turns.wanted


async def test_nobody_waits_who_was_stopped() -> None:
    stop = asyncio.Event()
    turns = Turns(1, 10.0)
    await turns.take("a", asyncio.Event())
    waiting = asyncio.create_task(turns.take("b", stop))
    assert await took(waiting) == [False]
    stop.set()
    assert await took(waiting) == [True]
    turns.leave("b")
    turns.leave("a")
    assert turns.wanted
