"""One job from staging to results. Every step may have been done by an earlier attempt, and is done once."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from service import artifacts, results
from service.schemas import JobRequest
from service.states import Phase
from workers import execute
from workers.errors import ProblemError
from workers.references import RowRange
from workers.tasks import IdentifiersTask, ShardTask, StageTask, check_rows, count_shard, stage_side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.records import Job
    from service.store import JobStore
    from workers.cluster import Cluster
    from workers.measures.protocol import Outcome
    from workers.staging import StagedArray

IN_FLIGHT = 3
"""Shards in flight for each thread of the cluster: one computes, the others wait at its door."""

EVENT_SECONDS = 0.25
"""Shortest time between two progress events of one job."""


@dataclass(frozen=True)
class JobContext:
    """What a job needs beside itself."""

    store: JobStore
    cluster: Cluster
    artifacts_directory: Path
    shard_seconds: float


@dataclass
class Pipeline:
    """One attempt at one job. Set `stop` to end it; `run` returns when none of its tasks runs any more.

    `threads` tells the threads of each worker that is connected now.
    """

    job: Job
    context: JobContext
    stop: asyncio.Event
    threads: Callable[[], Mapping[str, int]]
    timings: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.request = JobRequest.model_validate(self.job.request)

    async def run(self) -> bool:
        """Bring the job to its results; False if it was stopped before."""
        begin = time.monotonic()
        staged = await self._stage()
        if staged is None:
            return False
        x, y = staged
        counting = time.monotonic()
        self.timings["stage"] = round(counting - begin, 3)
        await self._enter(Phase.COUNT)
        if not await self._count(x, y):
            return False
        finishing = time.monotonic()
        self.timings["count"] = round(finishing - counting, 3)
        await self._enter(Phase.FINISH)
        await asyncio.to_thread(self._finish, x, y, len(self.threads()))
        return True

    async def _enter(self, phase: Phase) -> None:
        await asyncio.to_thread(self.context.store.enter, self.job.id, phase)

    async def _stage(self) -> tuple[StagedArray, StagedArray] | None:
        """Stage both arrays, and see that a resumed job goes on with the arrays it began with."""
        tasks = [
            StageTask(self.job.id, self.job.attempt, "x", self.request.side("x")),
            StageTask(self.job.id, self.job.attempt, "y", self.request.side("y")),
        ]
        staged: dict[str, StagedArray] = {}
        running = execute.execute(
            self.context.cluster,
            stage_side,
            tasks,
            key=lambda task: f"ordsim-{task.job}-{task.attempt}-stage-{task.name}",
            limit=len(tasks),
            stop=self.stop,
        )
        async with aclosing(running) as answers:
            async for task, answer in answers:
                staged[task.name] = answer
        if len(staged) < len(tasks):
            return None
        x, y = staged["x"], staged["y"]
        self._require_unchanged("x", self.job.x_staged, x)
        self._require_unchanged("y", self.job.y_staged, y)
        if not await self._check_identifiers(x.rows):
            return None
        await asyncio.to_thread(self.context.store.record_staged, self.job.id, x, y)
        return x, y

    def _require_unchanged(self, name: str, earlier: dict[str, Any] | None, now: StagedArray) -> None:
        if earlier is not None and earlier["fingerprint"] != now.fingerprint:
            raise ProblemError(
                "corrupt-data",
                f"Array {name} changed while the job was under way: counts of the old and the new values cannot be "
                "added. Let writing finish, then submit the job again.",
            )

    async def _check_identifiers(self, rows: int) -> bool:
        """See, on a worker, that the identifiers of both arrays agree; False if the job was stopped before."""
        x, y = self.request.identifiers_of("x"), self.request.identifiers_of("y")
        if x is None or y is None:
            return True
        # Said outright: an array of identifiers that became shorter since the submission is then refused.
        x, y = (replace(ids, rows=ids.rows or RowRange(0, rows)) for ids in (x, y))
        running = execute.execute(
            self.context.cluster,
            check_rows,
            [IdentifiersTask(self.job.id, self.job.attempt, x, y)],
            key=lambda task: f"ordsim-{task.job}-{task.attempt}-identifiers",
            limit=1,
            stop=self.stop,
        )
        async with aclosing(running) as answers:
            return [task async for task, _ in answers] != []

    def _limit(self) -> int:
        """Shards in flight: asked again and again, because workers come and go while the job runs."""
        return IN_FLIGHT * max(1, sum(self.threads().values()))

    async def _count(self, x: StagedArray, y: StagedArray) -> bool:
        """Run what is missing from the ledger; each result is written down before it counts."""
        ledger, job = self.context.store.ledger, self.job.id
        measures = self.request.options()
        shape = results.facts(self.request, x, y).shape

        def plan() -> None:
            # Idempotent: a resumed job keeps the shards it began with, whatever the settings are now.
            ledger.plan(
                job, [measure.shards(shape, options, self.context.shard_seconds) for measure, options in measures]
            )

        await asyncio.to_thread(plan)
        missing = await asyncio.to_thread(ledger.missing, job)
        sides = self.request.side("x"), self.request.side("y")
        tasks = (
            ShardTask(job, self.job.attempt, position, *sides, x, y, measures[position][1], shard, self.request.seed)
            for position, shard in missing
        )
        running = execute.execute(
            self.context.cluster,
            count_shard,
            tasks,
            key=lambda task: f"ordsim-{job}-{task.attempt}-{task.position}-{task.shard.index}",
            limit=self._limit,
            stop=self.stop,
        )
        done, told = 0, -EVENT_SECONDS
        async with aclosing(running) as answers:
            async for task, answer in answers:
                tell = time.monotonic() - told >= EVENT_SECONDS
                if tell:
                    told = time.monotonic()
                await asyncio.to_thread(
                    ledger.record, job, task.position, task.shard.index, answer.blob, answer.seconds, tell=tell
                )
                done += 1
        return done == len(missing)

    def _finish(self, x: StagedArray, y: StagedArray, workers: int) -> None:
        """Add up the ledger, and write artifacts and results."""
        begin = time.monotonic()
        store, job = self.context.store, self.job.id
        facts = results.facts(self.request, x, y)
        outcomes = []
        for position, (measure, options) in enumerate(self.request.options()):
            total = store.ledger.total(job, position)
            outcome = measure.finish(total, facts, options, self.request.confidence_of(options))
            self._write_artifacts(position, outcome)
            outcomes.append((options, outcome))
        plan = [
            {
                "measure": options.measure,
                "method": options.method,
                "shards": entry["shards"],
                "workerSeconds": round(entry["seconds"], 3),
            }
            for (options, _), entry in zip(outcomes, store.ledger.summary(job), strict=True)
        ]
        self.timings["finish"] = round(time.monotonic() - begin, 3)
        document = results.build(
            results.Finished(job, self.request, self.job.arrays, x, y, outcomes, plan, self.timings, workers)
        )
        # A figure that is not finite would be no JSON: better a failed job than a document nobody can read.
        store.succeed(job, json.dumps(document, allow_nan=False))

    def _write_artifacts(self, position: int, outcome: Outcome) -> None:
        for what, values in outcome.artifacts.items():
            name = artifacts.name(position, what)
            artifacts.write(self.context.artifacts_directory, self.job.id, name, values)
