"""Tasks of a worker that look at a job's data before anything is counted."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workers import cancellation, groups
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.subjects import LoadedSide, Side, StagedSide, stored_row
from workers.symmetry import find_asymmetry

if TYPE_CHECKING:
    from workers.arrays import MissingChunks
    from workers.groups import Groups
    from workers.references import Reference

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GroupsTask:
    """Read the labels that say which of the compared rows belong together."""

    job: str
    attempt: int
    reference: Reference
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
    return groups.read(from_environment().known_roots(), task.reference, task.missing_chunks)


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
