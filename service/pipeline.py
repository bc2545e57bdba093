"""One job from staging to results. Every step may have been done by an earlier attempt, and is done once."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from service import artifacts, finishing, grid_results, results, reuse
from service.counting import Counting
from service.metrics import Metrics
from service.planning import Workplace
from service.preparing import Preparation, Stopped
from service.processes import read_request
from service.shares import Shares
from service.states import Phase
from workers.errors import ProblemError
from workers.measures import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from service.preparing import Prepared
    from service.records import Job
    from service.store import JobStore
    from service.turns import Turns
    from workers.cluster import Cluster
    from workers.measures.protocol import MeasureOptions, Outcome


Result = TypeVar("Result")

BUILDERS = {"compare": results.build, "layers": grid_results.layers, "matrix": grid_results.matrix}
"""What makes the results' document of each process."""


@dataclass(frozen=True)
class JobContext:
    """What a job needs beside itself."""

    store: JobStore
    cluster: Cluster
    artifacts_directory: Path
    shard_seconds: float
    turns: Turns
    shares: Shares = field(default_factory=Shares)
    metrics: Metrics = field(default_factory=Metrics)


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
        self.request = read_request(self.job.request)
        self.preparation = Preparation(self.job, self.request, self.context.cluster, self.stop, self.context.shares)

    async def run(self) -> bool:
        """Bring the job to its results; False if it was stopped before."""
        with self.context.shares.sharing(self.job.id, self.job.owner):
            try:
                await self.context.turns.take(self.job.id, self.stop)
                return await self._run()
            finally:
                self.context.turns.leave(self.job.id)

    async def _run(self) -> bool:
        begin = time.monotonic()
        context = self.context
        try:
            prepared = await self.preparation.run()
        except Stopped:
            return False
        await asyncio.to_thread(context.store.record_staged, self.job.id, prepared.arrays, **prepared.digests)
        if await asyncio.to_thread(self._reuse, prepared):
            return True
        counting = time.monotonic()
        self.timings["stage"] = round(counting - begin, 3)
        context.metrics.staged(counting - begin)
        await self._enter(Phase.COUNT)
        if not await self._count(prepared):
            return False
        finishing = time.monotonic()
        self.timings["count"] = round(finishing - counting, 3)
        await self._enter(Phase.FINISH)
        try:
            return await self._finished(prepared)
        except Stopped:
            return False

    async def _finished(self, prepared: Prepared) -> bool:
        """Add up the ledger, and write artifacts and results; False, or Stopped, if the job was stopped before."""
        begin = time.monotonic()
        ledger, workers = self.context.store.ledger, len(self.threads())
        found, unsettled = await self._threaded(finishing.outcomes, ledger, self.job.id, self.request, prepared)
        named = await self._name_rows(prepared, found)
        return await self._threaded(self._write, prepared, named, unsettled, workers, begin)

    async def _name_rows(
        self, prepared: Prepared, found: Sequence[tuple[MeasureOptions, Outcome]]
    ) -> list[tuple[MeasureOptions, Outcome]]:
        """Say which rows artifacts have values of: by the numbers of stored rows, and by their identifiers."""
        stored = prepared.stored_rows(self.request)
        identifiers: dict[int, NDArray[Any]] = {}
        cautions: tuple[tuple[str, str], ...] = ()
        places = [place for place, (_, outcome) in enumerate(found) if artifacts.by_row(outcome)]
        if places and prepared.choice is not None and prepared.choice.identified:
            wanted = [found[place][1].positions for place in places]
            try:
                read = await self.preparation.read_identifiers(prepared.choice, wanted)
                identifiers = dict(zip(places, read, strict=True))
            except ProblemError as error:
                # Nothing that was counted is lost for that.
                detail = f"Rows have no identifiers beside their scores, which could not be read again: {error.detail}"
                cautions = (("rows-unnamed", detail),)
        named = []
        for place, (options, outcome) in enumerate(found):
            told = (*outcome.cautions, *(cautions if place in places else ()))
            named.append(
                (options, replace(artifacts.with_rows(outcome, stored, identifiers.get(place)), cautions=told))
            )
        return named

    async def _threaded(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call in a thread; Stopped as soon as the job is: the thread then ends the file that it writes."""
        called = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
        stopped = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait((called, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        if called.done():
            return called.result()
        called.add_done_callback(lambda left: left.exception())  # nobody asks for it any more
        raise Stopped

    async def _enter(self, phase: Phase) -> None:
        await asyncio.to_thread(self.context.store.enter, self.job.id, phase)

    def _reuse(self, prepared: Prepared) -> bool:
        """Finish with what an earlier job found, if one asked the same of the same data and that will do."""
        store, key = self.context.store, reuse.key(self.job, self.request, prepared)
        store.reusable.record(self.job.id, key)
        if key is None or not self.request.reuse or self.stop.is_set():
            return False
        return reuse.take_over(store, self.context.artifacts_directory, self.job.id, key)

    async def _count(self, prepared: Prepared) -> bool:
        """Fill the ledger; False if the job was stopped before."""
        await self._require_plugins()
        found = await self.context.cluster.resources()
        counting = Counting(
            job=self.job,
            request=self.request,
            ledger=self.context.store.ledger,
            prepared=prepared,
            place=Workplace(self.context.shard_seconds, found.worker_memory, found.threads),
            threads=self.threads,
            turns=self.context.turns,
            shares=self.context.shares,
            metrics=self.context.metrics,
        )
        while not await counting.run(self.context.cluster, self.stop):
            if self.stop.is_set():
                return False
            await self.context.turns.take(self.job.id, self.stop)
        return True

    async def _require_plugins(self) -> None:
        """Refuse to count with another package's measure where workers do not have it as it is here."""
        if not any(registry.plugin_of(options.innermost.measure) for _, options in self.request.options()):
            return
        if different := await self.context.cluster.plugin_differences():
            detail = f"The job's measure is of a package that must be the same everywhere: {'; '.join(different)}."
            raise ProblemError("cluster-unavailable", detail, "system")

    def _write(
        self,
        prepared: Prepared,
        outcomes: Sequence[tuple[MeasureOptions, Outcome]],
        unsettled: Sequence[int],
        workers: int,
        begin: float,
    ) -> bool:
        """Write artifacts and results; False if the job was stopped before."""
        store, job = self.context.store, self.job.id
        for position, (_, outcome) in enumerate(outcomes):
            for what, values in outcome.artifacts.items():
                if self.stop.is_set():
                    return False
                name = artifacts.name(position, what)
                artifacts.write(self.context.artifacts_directory, job, name, values)
        self.timings["finish"] = round(time.monotonic() - begin, 3)
        build = BUILDERS[self.request.process]
        document = build(
            results.Finished(
                job=job,
                request=self.request,
                arrays=self.job.arrays,
                staged=prepared.arrays,
                groups=prepared.groups,
                choice=prepared.choice,
                outcomes=outcomes,
                unsettled=unsettled,
                plan=finishing.plan(store.ledger, job, self.request),
                timings=self.timings,
                workers=workers,
            )
        )
        # A figure that is not finite would be no JSON: better a failed job than a document nobody can read.
        text = json.dumps(document, allow_nan=False)
        if self.stop.is_set():
            return False
        store.succeed(job, text)
        return True
