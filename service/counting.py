"""The count of one job: missing shards to the workers, their results into the ledger before they count."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service import planning, results
from service.prefixes import Prefix
from workers import execute
from workers.tasks import ShardTask, count_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from service.ledger import Ledger
    from service.metrics import Metrics
    from service.planning import Workplace
    from service.preparing import Prepared
    from service.records import Job
    from service.schemas import Request
    from service.shares import Shares
    from service.turns import Turns
    from workers.execute import Dispatcher
    from workers.measures.protocol import Measure, MeasureOptions, PairFacts, Shard
    from workers.tasks import ShardResult

IN_FLIGHT = 3
"""Shards in flight for each thread of the cluster: one computes, the others wait at its door."""

EVENT_SECONDS = (0.25, 5.0)
"""Seconds between two progress events of one job, at first and at most: the history of a long job stays short."""
EVENTS_A_LIFE = 100


@dataclass
class Counting:
    """One attempt at counting, turn by turn."""

    job: Job
    request: Request
    ledger: Ledger
    prepared: Prepared
    place: Workplace
    threads: Callable[[], Mapping[str, int]]
    turns: Turns
    shares: Shares
    metrics: Metrics
    _places: dict[tuple[int, int], float] = field(default_factory=dict)
    _seconds: float = field(init=False)
    _facts: PairFacts = field(init=False)
    _measures: Sequence[tuple[Measure, MeasureOptions]] = field(init=False)
    _planned: bool = False
    _going: dict[int, Prefix] = field(default_factory=dict)
    _settled: set[int] = field(default_factory=set)
    _begun: float = field(default_factory=time.monotonic)
    _told: float = -math.inf

    def __post_init__(self) -> None:
        self._measures = self.request.works()
        self._facts = results.facts(self.request, self.prepared)
        self._seconds = self.place.shard_seconds

    async def run(self, cluster: Dispatcher, stop: asyncio.Event) -> bool:
        """Fill the ledger; False if it was stopped, or its turn was over, before it was full."""
        missing = await asyncio.to_thread(self._prepare)
        running = execute.execute(
            cluster,
            count_shard,
            self._tasks(missing),
            key=lambda task: f"ordsim-{task.job}-{task.attempt}-{task.position}-{task.shard.index}",
            limit=self._limit,
            stop=stop,
            place=self._place,
        )
        async with aclosing(running) as answers:
            async for task, answer in answers:
                now = time.monotonic()
                tell = now - self._told >= event_pause(now - self._begun)
                if tell:
                    self._told = now
                self.shares.passed(self._places.pop((task.position, task.shard.index)))
                self._seconds = answer.seconds
                await asyncio.to_thread(self._record, task, answer, tell)
        return await asyncio.to_thread(self.ledger.complete, self.job.id)

    def _prepare(self) -> Sequence[tuple[int, Shard]]:
        """Write the shards down, once, and return those that are missing."""
        if not self._planned:
            self._plan()
            self._planned = True
        return self.ledger.missing(self.job.id)

    def _plan(self) -> None:
        shape, job = self._facts.shape, self.job.id
        planning.check_memory(self.request, shape, self.place)
        budget = self.place.budget(shape)
        # Idempotent: a resumed job keeps the shards it began with, whatever the settings are now.
        self.ledger.plan(
            job,
            [measure.shards(shape, options, budget) for measure, options in self._measures],
            [measure.seconds(shape, options) for measure, options in self._measures],
        )
        self._settled |= self.ledger.settled(job).keys()
        for position, (measure, options) in enumerate(self._measures):
            if measure.sequential(options) and position not in self._settled:
                confidence = self.request.confidence_of(options)
                self._going[position] = Prefix(self.ledger, job, position, measure, options, self._facts, confidence)
                self._advance(position)

    def _tasks(self, missing: Sequence[tuple[int, Shard]]) -> Iterator[ShardTask]:
        """Make tasks one by one, as there is room: a measure may be settled meanwhile."""
        x, y = self.prepared.sides(self.request)
        shape, budget = self._facts.shape, self.place.budget(self._facts.shape)
        memory = [measure.memory(shape, options, budget) for measure, options in self._measures]
        groups = None
        if (labels := self.prepared.labels(self.request)) is not None:
            assert self.prepared.groups is not None  # read, because there are labels
            groups = (labels, self.prepared.groups.digest)
        for position, shard in missing:
            if self.turns.over(self.job.id):
                return
            if position not in self._settled:
                yield ShardTask(
                    job=self.job.id,
                    attempt=self.job.attempt,
                    position=position,
                    x=x,
                    y=y,
                    options=self._measures[position][1],
                    shard=shard,
                    seed=self.request.seed,
                    memory_bytes=memory[position],
                    groups=groups,
                    request_id=self.job.request_id,
                )

    def _place(self, task: ShardTask) -> float:
        """Where a shard stands in line: it is taken to be as long as the last one."""
        place = self.shares.place(self.job.id, self._seconds)
        self._places[task.position, task.shard.index] = place
        return place

    def _record(self, task: ShardTask, answer: ShardResult, tell: bool) -> None:
        """Write a result down, and see whether its measure knows enough now."""
        taken = self.ledger.record(
            self.job.id,
            task.position,
            task.shard.index,
            answer.blob,
            answer.seconds,
            preparing=answer.preparing,
            tell=tell,
        )
        if taken:
            self.metrics.shard(task.options, task.shard.comparisons, answer)
        self._advance(task.position)

    def _advance(self, position: int) -> None:
        prefix = self._going.get(position)
        if prefix is not None and prefix.advance():
            self._settled.add(position)
            del self._going[position]

    def _limit(self) -> int:
        """Shards in flight: asked again and again, because workers come and go while the job runs."""
        return IN_FLIGHT * max(1, sum(self.threads().values()))


def event_pause(elapsed: float) -> float:
    """Seconds between two progress events of a job that has counted for `elapsed` seconds."""
    shortest, longest = EVENT_SECONDS
    return min(longest, max(shortest, elapsed / EVENTS_A_LIFE))
