"""What is done with a job's data before anything is counted: staged, and checked as a whole."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ordsim_core.distances import Distance
from service.artifacts import StoredRows
from workers import execute
from workers.errors import ProblemError
from workers.inspection import GroupsTask, SymmetryTask, check_symmetry, read_groups
from workers.measures import registry
from workers.references import RowRange
from workers.running import Task
from workers.subjects import StagedSide
from workers.tasks import IdentifiersTask, StageTask, check_rows, stage_side

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from service.records import Job
    from service.schemas import Request
    from service.shares import Shares
    from workers.groups import Groups
    from workers.staging import StagedArray

TaskType = TypeVar("TaskType", bound=Task)
Result = TypeVar("Result")


class Stopped(Exception):  # noqa: N818 - a request that was granted, not an error
    """The job was stopped before its data were prepared."""


@dataclass(frozen=True)
class Prepared:
    """What is known of a job's data before anything is counted."""

    arrays: Mapping[str, StagedArray]
    groups: Groups | None = None

    @property
    def rows(self) -> int:
        """How many rows are compared."""
        return next(iter(self.arrays.values())).rows

    def sides(self, request: Request) -> tuple[tuple[StagedSide, ...], tuple[StagedSide, ...]]:
        """All arrays of x and all of y, as tasks name them."""
        x, y = request.names()
        x_sides, y_sides = (
            tuple(StagedSide(name, request.side(name), self.arrays[name]) for name in names) for names in (x, y)
        )
        return x_sides, y_sides

    def stored_rows(self, request: Request) -> StoredRows:
        """Which stored rows of the first array of either side were compared."""
        starts = (rows.start if (rows := request.rows_of(names[0])) else 0 for names in request.names())
        return StoredRows(*(np.arange(start, start + self.rows) for start in starts))


@dataclass(frozen=True)
class Preparation:
    """One attempt at preparing a job's data, on the workers."""

    job: Job
    request: Request
    cluster: execute.Dispatcher
    stop: asyncio.Event
    shares: Shares

    async def run(self) -> Prepared:
        """Stage both arrays, see that a resumed job goes on with those it began with, and that they go together.

        Raises
        ------
        ProblemError
            As the tasks; corrupt-data if an array is not what it was in an earlier attempt.
        Stopped
            If the job was stopped before all was done.
        """
        job, attempt, request_id = self.job.id, self.job.attempt, self.job.request_id
        names = self.request.arrays()
        tasks = [StageTask(job, attempt, name, self.request.side(name), request_id) for name in names]
        found = {task.name: array for task, array in await self._on_workers(stage_side, tasks, "stage")}
        staged = {name: found[name] for name in names}
        for name, earlier in (self.job.staged or {}).items():
            _require_unchanged(name, earlier["fingerprint"], staged[name].fingerprint)
        rows = next(iter(staged.values())).rows
        await self.check_identifiers(rows)
        await self.check_symmetry(staged)
        return Prepared(staged, await self.read_groups(rows))

    async def _on_workers(
        self, function: Callable[[TaskType], Result], tasks: Sequence[TaskType], step: str
    ) -> list[tuple[TaskType, Result]]:
        """Run a few tasks at once; Stopped if the job was before all were done."""
        running = execute.execute(
            self.cluster,
            function,
            tasks,
            key=lambda task: f"ordsim-{task.job}-{task.attempt}-{step}-{getattr(task, 'name', '')}",
            limit=max(1, len(tasks)),
            stop=self.stop,
            place=lambda _: self.shares.now,
        )
        async with aclosing(running) as answers:
            found = [pair async for pair in answers]
        if len(found) < len(tasks):
            raise Stopped
        return found

    async def check_identifiers(self, rows: int) -> None:
        """See that the identifiers of all arrays agree with those of the first of x."""
        names = [name for side in self.request.names() for name in side]
        given = [ids for name in names if (ids := self.request.identifiers_of(name)) is not None]
        # Said outright: an array of identifiers that became shorter since the submission is then refused.
        known = [replace(ids, rows=ids.rows or RowRange(0, rows)) for ids in given]
        if not known:
            return
        # Several layers of one model usually have the same identifiers, which are compared once.
        for other in dict.fromkeys(known[1:]):
            missing = self.request.missing_chunks
            task = IdentifiersTask(self.job.id, self.job.attempt, known[0], other, missing, self.job.request_id)
            await self._on_workers(check_rows, [task], "identifiers")

    async def check_symmetry(self, staged: Mapping[str, StagedArray]) -> None:
        """See that precomputed distances are those of unordered pairs, where a measure needs that."""
        measures = (registry.find(*options.innermost.label) for _, options in self.request.options())
        needing = [measure for measure in measures if measure.needs_symmetry]
        if not needing:
            return
        first = f"{needing[0].measure} ({needing[0].method})"
        tasks = [
            SymmetryTask(self.job.id, self.job.attempt, StagedSide(name, side, array), first, self.job.request_id)
            for name, array in staged.items()
            if (side := self.request.side(name)).distance is Distance.PRECOMPUTED
        ]
        await self._on_workers(check_symmetry, tasks, "symmetry")

    async def read_groups(self, rows: int) -> Groups | None:
        """Read the groups of the compared rows, if there are such."""
        reference = self.request.groups_of_rows(rows)
        if reference is None:
            return None
        missing = self.request.missing_chunks
        task = GroupsTask(self.job.id, self.job.attempt, reference, missing, self.job.request_id)
        ((_, groups),) = await self._on_workers(read_groups, [task], "groups")
        _require_unchanged("groups", self.job.groups_digest, groups.digest)
        return groups


def _require_unchanged(name: str, earlier: str | None, now: str) -> None:
    if earlier is not None and earlier != now:
        raise ProblemError(
            "corrupt-data",
            f"Array {name} changed while the job was under way: counts of the old and the new values cannot be "
            "added. Let writing finish, then submit the job again.",
        )
