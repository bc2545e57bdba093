"""What is done with a job's data before anything is counted: staged, and checked as a whole."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ordsim_core.distances import Distance
from service import checks, choosing
from service.artifacts import StoredRows
from service.choosing import Choice
from workers import execute
from workers.errors import ProblemError
from workers.inspection import (
    GroupsTask,
    IdentifiersTask,
    RowNumbersTask,
    SelectionTask,
    SymmetryTask,
    check_symmetry,
    read_groups,
    read_identifiers,
    read_row_numbers,
    select_rows,
)
from workers.measures import registry
from workers.running import Task
from workers.subjects import StagedSide
from workers.tasks import StageTask, stage_side

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from service.records import Job
    from service.schemas import Request
    from service.shares import Shares
    from workers.groups import Groups, Labels
    from workers.staging import StagedArray
    from workers.subjects import Side

TaskType = TypeVar("TaskType", bound=Task)
Result = TypeVar("Result")


class Stopped(Exception):  # noqa: N818 - a request that was granted, not an error
    """The job was stopped before its data were prepared."""


@dataclass(frozen=True)
class Prepared:
    """What is known of a job's data before anything is counted."""

    arrays: Mapping[str, StagedArray]
    groups: Groups | None = None
    choice: Choice | None = None
    chosen_rows: StoredRows | None = None

    @property
    def rows(self) -> int:
        """How many rows are compared."""
        return next(iter(self.arrays.values())).rows

    @property
    def digests(self) -> dict[str, str | None]:
        """What a later attempt must find again, beside the arrays: columns of the job store."""
        return {
            "groups_digest": None if self.groups is None else self.groups.digest,
            "rows_digest": None if self.choice is None else self.choice.findings.digest,
        }

    def sides(self, request: Request) -> tuple[tuple[StagedSide, ...], tuple[StagedSide, ...]]:
        """All arrays of x and all of y, as tasks name them."""
        x, y = request.names()
        x_sides, y_sides = (
            tuple(StagedSide(name, side_of(request, name, self.choice), self.arrays[name]) for name in names)
            for names in (x, y)
        )
        return x_sides, y_sides

    def stored_rows(self, request: Request) -> StoredRows:
        """Which stored rows of the first array of either side were compared."""
        if self.chosen_rows is not None:
            return self.chosen_rows
        starts = (rows.start if (rows := request.window(names[0])) else 0 for names in request.names())
        return StoredRows(*(np.arange(start, start + self.rows) for start in starts))

    def labels(self, request: Request) -> Labels | None:
        """Where the labels of the compared rows are; None if there are none."""
        return labels_of(request, self.rows, self.choice)


def side_of(request: Request, name: str, choice: Choice | None) -> Side:
    """One array with the rows that are compared."""
    return request.side(name) if choice is None else choice.side(request, name)


def labels_of(request: Request, rows: int, choice: Choice | None) -> Labels | None:
    """Where the labels of the compared rows are; None if there are none."""
    return request.labels(rows) if choice is None else choice.labels(request)


@dataclass(frozen=True)
class Preparation:
    """One attempt at preparing a job's data, on the workers."""

    job: Job
    request: Request
    cluster: execute.Dispatcher
    stop: asyncio.Event
    shares: Shares

    async def run(self) -> Prepared:
        """Find the rows, stage all arrays, and see that they go together and are those that the job began with.

        Raises
        ------
        ProblemError
            As the tasks; too-few-rows or over-limit by the rows that are left; corrupt-data if rows or an array are
            not what they were in an earlier attempt.
        Stopped
            If the job was stopped before all was done.
        """
        job, attempt, request_id = self.job.id, self.job.attempt, self.job.request_id
        choice = await self.choose()
        names = self.request.arrays()
        tasks = [StageTask(job, attempt, name, side_of(self.request, name, choice), request_id) for name in names]
        found = {task.name: array for task, array in await self._on_workers(stage_side, tasks, "stage")}
        staged = {name: found[name] for name in names}
        for name, earlier in (self.job.staged or {}).items():
            _require_unchanged(f"Array {name}", earlier["fingerprint"], staged[name].fingerprint)
        prepared = Prepared(staged, None, choice)
        await self.check_symmetry(prepared)
        groups = await self.read_groups(prepared)
        return replace(prepared, groups=groups, chosen_rows=await self.read_row_numbers(prepared))

    async def choose(self) -> Choice | None:
        """Find the rows that are compared; None where that needs no look at the data."""
        selection = choosing.selection(self.request)
        if selection is None:
            return None
        task = SelectionTask(self.job.id, self.job.attempt, selection, self.job.request_id)
        ((_, findings),) = await self._on_workers(select_rows, [task], "rows")
        _require_unchanged("The choice of rows", self.job.rows_digest, findings.digest)
        choice = Choice(selection, findings)
        _require_enough(self.request, choice)
        return choice

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

    async def check_symmetry(self, prepared: Prepared) -> None:
        """See that precomputed distances are those of unordered pairs, where a measure needs that."""
        measures = (registry.find(*options.innermost.label) for _, options in self.request.options())
        needing = [measure for measure in measures if measure.needs_symmetry]
        if not needing:
            return
        first = f"{needing[0].measure} ({needing[0].method})"
        x, y = prepared.sides(self.request)
        tasks = [
            SymmetryTask(self.job.id, self.job.attempt, one, first, self.job.request_id)
            for one in dict.fromkeys((*x, *y))
            if one.side.distance is Distance.PRECOMPUTED
        ]
        await self._on_workers(check_symmetry, tasks, "symmetry")

    async def read_row_numbers(self, prepared: Prepared) -> StoredRows | None:
        """Learn which rows were chosen; None where they follow one another as they are stored."""
        x, y = (sides[0].side for sides in prepared.sides(self.request))
        if x.chosen is None and y.chosen is None:
            return None
        task = RowNumbersTask(self.job.id, self.job.attempt, x, y, self.job.request_id)
        ((_, found),) = await self._on_workers(read_row_numbers, [task], "numbers")
        return StoredRows(*found)

    async def read_identifiers(
        self, choice: Choice, positions: Sequence[NDArray[np.int64] | None]
    ) -> tuple[NDArray[Any], ...]:
        """Learn how compared rows are identified: for each of `positions`, those, or all."""
        task = IdentifiersTask(
            self.job.id,
            self.job.attempt,
            choice.selection,
            choice.findings,
            tuple(positions),
            self.job.request_id,
        )
        ((_, found),) = await self._on_workers(read_identifiers, [task], "identifiers")
        return found

    async def read_groups(self, prepared: Prepared) -> Groups | None:
        """Read the groups of the compared rows, if there are such."""
        labels = prepared.labels(self.request)
        if labels is None:
            return None
        missing = self.request.missing_chunks
        task = GroupsTask(self.job.id, self.job.attempt, labels, missing, self.job.request_id)
        ((_, groups),) = await self._on_workers(read_groups, [task], "groups")
        _require_unchanged("Array groups", self.job.groups_digest, groups.digest)
        return groups


def _require_unchanged(what: str, earlier: str | None, now: str) -> None:
    if earlier is not None and earlier != now:
        raise ProblemError(
            "corrupt-data",
            f"{what} changed while the job was under way: counts of the old and the new values cannot be "
            "added. Let writing finish, then submit the job again.",
        )


def _require_enough(request: Request, choice: Choice) -> None:
    """Refuse measures that the rows that are left are too few, or too many, for; say where the others went."""
    try:
        checks.require_possible(request, choice.findings.rows)
    except ProblemError as error:
        raise ProblemError(
            error.slug, " ".join([error.detail, *(detail for _, detail in choice.left_out())]), "data", error.pointer
        ) from error
