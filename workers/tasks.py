"""The functions that run on a Dask worker. Their arguments name data, never hold or locate it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from distributed import get_worker

from ordsim_core.distances import Distance
from workers import cancellation, costs, identifiers
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.measures import registry, resolved
from workers.measures.given import Pair
from workers.partials import weaker
from workers.preload import ensure_warm
from workers.spaces import space_cache
from workers.subjects import LoadedSide, Side, StagedSide, naming_rows, stage, subject

if TYPE_CHECKING:
    from workers.arrays import MissingChunks
    from workers.measures.protocol import MeasureOptions, Shard
    from workers.references import Reference
    from workers.staging import StagedArray

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StageTask:
    """Stage one array on the node that runs this."""

    job: str
    attempt: int
    name: str
    side: Side


@dataclass(frozen=True, slots=True)
class IdentifiersTask:
    """Compare two arrays of row identifiers. Each reference has the rows that are compared."""

    job: str
    attempt: int
    x: Reference
    y: Reference
    missing_chunks: MissingChunks = "error"


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Count one shard of the measure at `position` among those of the job.

    `x` and `y` are one array each where two are compared. It takes `memory_bytes` beyond the spaces. `groups` are
    where their labels are, and the digest they had.
    """

    job: str
    attempt: int
    position: int
    x: tuple[StagedSide, ...]
    y: tuple[StagedSide, ...]
    options: MeasureOptions
    shard: Shard
    seed: int
    memory_bytes: int = 0
    groups: tuple[Reference, str] | None = None


@dataclass(frozen=True, slots=True)
class ShardResult:
    """A partial as bytes, the seconds it took, and the address of the worker that made it."""

    blob: bytes
    seconds: float
    worker: str


def stage_side(task: StageTask) -> StagedArray:
    """Copy one array to this node's staging directory, or find it there.

    Raises
    ------
    ProblemError
        As `staging.stage`; invalid-request if precomputed distances are not square.
    ShardCancelled
        If the job was cancelled.
    """
    logger = logging.LoggerAdapter(log, {"job": task.job, "attempt": task.attempt, "array": task.name})
    logger.info("staging")
    staged = stage(task.name, task.side, cancellation.checkpoint(task.job, task.attempt))
    if task.side.distance is Distance.PRECOMPUTED:
        require_square(task.side.reference, task.name, staged.rows, staged.columns)
    logger.info("staged")
    return staged


def check_rows(task: IdentifiersTask) -> None:
    """Check that both arrays have the same identifiers, in order.

    Raises
    ------
    ProblemError
        As `identifiers.read_identifiers`; misaligned-ids, naming the first row that differs.
    ShardCancelled
        If the job was cancelled.
    """
    logger = logging.LoggerAdapter(log, {"job": task.job, "attempt": task.attempt})
    logger.info("checking identifiers")
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    roots = from_environment().known_roots()
    checkpoint()
    x = identifiers.read_identifiers(roots, task.x, "x", task.missing_chunks)
    checkpoint()
    y = identifiers.read_identifiers(roots, task.y, "y", task.missing_chunks)
    checkpoint()
    identifiers.check_identifiers(x, y)
    logger.info("checked identifiers")


def count_shard(task: ShardTask) -> ShardResult:
    """Compute what one shard contributes.

    Raises
    ------
    ProblemError
        zero-vector or over-limit, naming array and row; corrupt-data if the array is not what it was when the
        job started.
    ShardCancelled
        If the job was cancelled.
    """
    started = time.perf_counter()
    logger = logging.LoggerAdapter(
        log,
        {"job": task.job, "attempt": task.attempt, "position": task.position, "shard": task.shard.index},
    )
    logger.info("counting")
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    checkpoint()
    ensure_warm()
    measure = registry.find(task.options.measure, task.options.method)
    found = subject(measure.needs, task.x, task.y, task.groups, checkpoint)
    _make_room(task.memory_bytes)
    with naming_rows(task.x[0], task.y[0]):
        partial = measure.partial(found, task.shard, task.options, task.seed, checkpoint)
    if task.shard.index == 0 and task.options.innermost is task.options and len(task.x) == len(task.y) == 1:
        x, y = (LoadedSide(side[0], checkpoint) for side in (task.x, task.y))
        partial += resolved.examine(task.options, x, y, checkpoint)
    if isinstance(found, Pair):
        partial = replace(partial, precision=weaker(found.x.precision.value, found.y.precision.value))
    seconds = time.perf_counter() - started
    logger.info("counted", extra={"seconds": seconds})
    return ShardResult(partial.to_bytes(), seconds, _worker_address())


def require_square(reference: Reference, name: str, rows: int, columns: int) -> None:
    """Refuse precomputed distances that are not between the same rows in both directions."""
    if rows != columns:
        raise ProblemError(
            "invalid-request",
            f"Array {reference.shown(name)} has {rows} rows and {columns} columns; precomputed distances need a "
            "square array, whose entry (i, j) is the distance from row i to row j.",
            "request",
            f"/{name}/path",
        )


def _make_room(shard_bytes: int) -> None:
    """Drop spaces of other jobs that would leave this shard without the memory it needs."""
    limit = from_environment().worker_memory
    if limit is not None:
        space_cache().make_room(max(0, limit - costs.PROCESS_BYTES - shard_bytes))


def _worker_address() -> str:
    try:
        return str(get_worker().address)
    except ValueError:
        return "no worker"
