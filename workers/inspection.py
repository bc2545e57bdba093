"""Tasks of a worker that look at a job's data before anything is counted."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workers import cancellation, groups
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.identifiers import storable
from workers.selecting import find, identified
from workers.subjects import LoadedSide, Side, StagedSide, stored_row, stored_rows
from workers.symmetry import find_asymmetry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.groups import Groups, Labels
    from workers.selection import Findings, Selection

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SelectionTask:
    """Find which rows of a job's arrays are compared."""

    job: str
    attempt: int
    selection: Selection
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class RowNumbersTask:
    """Say which stored rows were chosen of two arrays."""

    job: str
    attempt: int
    x: Side
    y: Side
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class IdentifiersTask:
    """Say how rows are identified; for each of `positions`, those among the compared rows, or all."""

    job: str
    attempt: int
    selection: Selection
    findings: Findings
    positions: tuple[NDArray[np.int64] | None, ...]
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class GroupsTask:
    """Read the labels that say which of the compared rows belong together."""

    job: str
    attempt: int
    labels: Labels
    missing_chunks: MissingChunks = "error"
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class SymmetryTask:
    """See whether precomputed distances are the same in both directions, as `measure` needs."""

    job: str
    attempt: int
    array: StagedSide
    measure: str
    request_id: str = ""

    @property
    def name(self) -> str:
        """Of the array, in the request."""
        return self.array.name


def select_rows(task: SelectionTask) -> Findings:
    """Compare or join identifiers, and look for rows or columns that are to be dropped.

    Raises
    ------
    ProblemError
        As `selecting.find`.
    ShardCancelled
        If the job was cancelled.
    """
    log.info("selecting rows")
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    checkpoint()
    found = find(task.selection, checkpoint)
    log.info("selected rows", extra={"rows": found.rows})
    return found


def read_row_numbers(task: RowNumbersTask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the numbers of the chosen rows in both stored arrays, in the order in which they are compared.

    Raises
    ------
    ProblemError
        As `selecting.Chosen.all`.
    ShardCancelled
        If the job was cancelled.
    """
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    checkpoint()
    x, y = (stored_rows(side, checkpoint) for side in (task.x, task.y))
    return x, y


def read_identifiers(task: IdentifiersTask) -> tuple[NDArray[Any], ...]:
    """Read the identifiers of compared rows, as they are stored in artifacts.

    Raises
    ------
    ProblemError
        As `selecting.identified`.
    ShardCancelled
        If the job was cancelled.
    """
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    checkpoint()
    found = identified(task.selection, task.findings, checkpoint)
    return tuple(storable(found if chosen is None else found[chosen]) for chosen in task.positions)


def read_groups(task: GroupsTask) -> Groups:
    """Read groups.

    Raises
    ------
    ProblemError
        As `groups.read`.
    ShardCancelled
        If the job was cancelled.
    """
    log.info("reading groups")
    cancellation.checkpoint(task.job, task.attempt)()
    return groups.read(from_environment().known_roots(), task.labels, task.missing_chunks)


def check_symmetry(task: SymmetryTask) -> None:
    """Check that a matrix of distances is symmetric.

    Raises
    ------
    ProblemError
        asymmetric-distance, naming an entry that differs from its counterpart.
    ShardCancelled
        If the job was cancelled.
    """
    log.info("checking symmetry", extra={"array": task.name})
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    values = LoadedSide(task.array, checkpoint).values()
    found = find_asymmetry(values, checkpoint)
    if found is None:
        return
    i, j = found
    side: Side = task.array.side
    row, column = stored_row(side, i), stored_row(side, j)
    raise ProblemError(
        "asymmetric-distance",
        f"Array {side.reference.shown(task.name)} is not symmetric: entry ({row}, {column}) is {values[i, j]}, "
        f"entry ({column}, {row}) is {values[j, i]}. {task.measure} compares unordered pairs of rows: make the array "
        "symmetric, e.g. (d + d.T) / 2, or use TSI, whose distances are those from an anchor.",
    )
