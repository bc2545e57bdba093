"""Listening to jobs: nothing is missed, nothing is read twice, and nobody waits for one who is gone."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, closing
from typing import TYPE_CHECKING

import pytest

from service import feeds as feeds_module
from service.feeds import PAGE, RECENT, Feeds
from service.states import JobStatus, Phase, UnknownJobError
from service.store import JobStore
from service.submissions import NewJob

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.records import Event


class CountedStore(JobStore):
    """Counts how often events are read."""

    reads = 0

    def events(self, *arguments: object, **named: object) -> list[Event]:  # type: ignore[override]
        self.reads += 1
        return list(super().events(*arguments, **named))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CountedStore]:
    with closing(CountedStore(tmp_path / "jobs.sqlite3")) as made:
        made.submit(NewJob(id="a", process="compare", request={}))
        yield made


async def listen(feeds: Feeds, after: int = 0, job: str = "a") -> list[Event]:
    """Follow a job to its end."""
    heard: list[Event] = []
    async with aclosing(feeds.follow(job, after)) as batches:
        async for events in batches:
            heard += events
    return heard


async def until(condition: object) -> None:
    async with asyncio.timeout(20):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.002)


def pass_time(store: JobStore, events: int) -> None:
    """Let so many things happen to the job."""
    for _ in range(events):
        store.enter("a", Phase.COUNT)


async def test_every_listener_hears_everything_once(store: CountedStore) -> None:
    feeds = Feeds(store)
    early = [asyncio.create_task(listen(feeds)) for _ in range(3)]
    await until(lambda: feeds.listeners == 3)
    await asyncio.to_thread(store.claim)
    await asyncio.to_thread(pass_time, store, 2 * RECENT + PAGE)
    late = [asyncio.create_task(listen(feeds, after)) for after in (0, 5, 10**9)]
    await until(lambda: feeds.listeners == 6)
    await asyncio.to_thread(store.succeed, "a", "{}")
    everything = store.events("a")
    for task, first in zip([*early, *late], [1, 1, 1, 1, 6, len(everything)], strict=True):
        heard = await task
        assert [event.number for event in heard] == list(range(first, len(everything) + 1))
        assert heard == everything[first - 1 :]
    assert feeds.listeners == 0


async def test_one_reading_serves_all_who_listen(store: CountedStore) -> None:
    feeds = Feeds(store)
    tasks = [asyncio.create_task(listen(feeds, after=1)) for _ in range(50)]
    await until(lambda: feeds.listeners == 50)
    await until(lambda: store.reads > 0)
    before = store.reads
    for _ in range(5):
        await asyncio.to_thread(store.claim)
        await asyncio.to_thread(store.recover)
    await asyncio.to_thread(store.cancel, "a")
    heard = await asyncio.gather(*tasks)
    assert [len(events) for events in heard] == [11] * 50
    # Two for each commit at most: what is new, and that this was all.
    assert store.reads - before <= 2 * 11


async def test_other_jobs_wake_nobody(store: CountedStore) -> None:
    feeds = Feeds(store)
    task = asyncio.create_task(listen(feeds, after=1))
    await until(lambda: store.reads > 0)
    before = store.reads
    for number in range(20):
        await asyncio.to_thread(store.submit, NewJob(id=f"b{number}", process="compare", request={}))
    await asyncio.to_thread(store.cancel, "b1")
    await listen(feeds, job="b1")
    after_one_other = store.reads
    assert after_one_other - before <= 2  # those of the listener to b1
    await asyncio.to_thread(store.cancel, "a")
    assert [event.kind for event in await task] == ["dismissed"]


async def test_a_listener_that_leaves_is_forgotten(store: CountedStore) -> None:
    feeds = Feeds(store)
    tasks = [asyncio.create_task(listen(feeds)) for _ in range(2)]
    await until(lambda: feeds.listeners == 2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert feeds.listeners == 0
    store.cancel("a")
    assert [event.kind for event in await listen(feeds)] == ["accepted", "dismissed"]


async def test_the_end_of_the_service_ends_every_listener(store: CountedStore) -> None:
    feeds = Feeds(store)
    tasks = [asyncio.create_task(listen(feeds)) for _ in range(2)]
    await until(lambda: feeds.listeners == 2)
    feeds.close()
    async with asyncio.timeout(10):
        assert [[event.kind for event in await task] for task in tasks] == [["accepted"], ["accepted"]]


async def test_silence_is_told_and_what_was_missed_is_found(
    store: CountedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds_module, "KEEP_ALIVE_SECONDS", 0.01)
    feeds = Feeds(store)
    store.on_events(lambda _: None)  # nobody is told any more
    async with asyncio.timeout(20), aclosing(feeds.follow("a", 1)) as batches:
        assert not await anext(batches)
        await asyncio.to_thread(store.cancel, "a")
        heard = [event async for events in batches for event in events]
    assert [event.kind for event in heard] == [JobStatus.DISMISSED]


async def test_what_is_over_has_nothing_to_tell(store: CountedStore) -> None:
    feeds = Feeds(store)
    store.cancel("a")
    assert await listen(feeds, after=2) == []
    assert await listen(feeds, after=77) == []
    with pytest.raises(UnknownJobError):
        await listen(feeds, job="nobody")


async def test_a_transaction_that_failed_is_not_told(store: CountedStore) -> None:
    told: list[str] = []
    store.on_events(told.extend)
    with pytest.raises(Exception, match="cannot become"):
        store.succeed("a", "{}")
    assert told == []
    store.claim()
    assert told == ["a"]
