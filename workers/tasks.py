"""The functions that run on a Dask worker. Their arguments name data, never hold or locate it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ordsim_core.distances import Distance
from workers import cancellation, costs, logs
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.measures import registry, resolved
from workers.measures.given import Pair
from workers.partials import weaker
from workers.preload import ensure_warm
from workers.running import worker_address
from workers.spaces import space_cache
from workers.subjects import LoadedSide, Side, StagedSide, naming_rows, stage, subject

if TYPE_CHECKING:
    from workers.groups import Labels
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
    request_id: str = ""


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
    groups: tuple[Labels, str] | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class ShardResult:
    """A partial as bytes, the seconds it took, and the address of the worker that made it.

    `preparing` of the seconds went into the arrays, which other shards of the job find prepared.
    """

    blob: bytes
    seconds: float
    worker: str
    preparing: float = 0.0


def stage_side(task: StageTask) -> StagedArray:
    """Copy one array to this node's staging directory, or find it there.

    Raises
    ------
    ProblemError
        As `staging.stage`; invalid-request if precomputed distances are not square.
    ShardCancelled
        If the job was cancelled.
    """
    log.info("staging", extra={"array": task.name})
    staged = stage(task.name, task.side, cancellation.checkpoint(task.job, task.attempt))
    if task.side.distance is Distance.PRECOMPUTED:
        require_square(task.side.reference, task.name, staged.rows, staged.columns)
    log.info("staged", extra={"array": task.name})
    return staged


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
    with logs.bound(measure=" ".join(filter(None, task.options.label)), position=task.position, shard=task.shard.index):
        return _count(task)


def _count(task: ShardTask) -> ShardResult:
    started = time.perf_counter()
    log.info("counting")
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    checkpoint()
    ensure_warm()
    measure = registry.find(task.options.measure, task.options.method)
    found = subject(measure.needs, task.x, task.y, task.groups, checkpoint)
    preparing = time.perf_counter() - started
    _make_room(task.memory_bytes)
    with naming_rows(task.x[0], task.y[0]):
        partial = measure.partial(found, task.shard, task.options, task.seed, checkpoint)
    if task.shard.index == 0 and task.options.innermost is task.options and len(task.x) == len(task.y) == 1:
        x, y = (LoadedSide(side[0], checkpoint) for side in (task.x, task.y))
        partial += resolved.examine(task.options, x, y, checkpoint)
    if isinstance(found, Pair):
        partial = replace(partial, precision=weaker(found.x.precision.value, found.y.precision.value))
    seconds = time.perf_counter() - started
    log.info("counted", extra={"seconds": round(seconds, 4)})
    return ShardResult(partial.to_bytes(), seconds, worker_address(), preparing)


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
