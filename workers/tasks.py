"""The functions that run on a Dask worker. Their arguments name data, never hold or locate it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from distributed import get_worker

from ordsim_core import spaces
from ordsim_core.distances import Distance, Precision
from ordsim_core.errors import DataError, RangeTooWideError, ZeroVectorError
from workers import cancellation, costs, groups, identifiers, staging
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.measures import registry
from workers.measures.protocol import Pair
from workers.partials import weaker
from workers.preload import ensure_warm
from workers.spaces import space_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space
    from workers.measures.protocol import Checkpoint, MeasureOptions, Shard
    from workers.references import Reference
    from workers.staging import StagedArray

log = logging.getLogger(__name__)

Name = Literal["x", "y"]


@dataclass(frozen=True, slots=True)
class Side:
    """One array of a comparison: where it is, with which rows, how distance is measured in it, and how precisely."""

    reference: Reference
    distance: Distance
    missing_chunks: Literal["error", "fill"]
    precision: Precision = Precision.EXACT


@dataclass(frozen=True, slots=True)
class StageTask:
    """Stage one array on the node that runs this."""

    job: str
    attempt: int
    name: Name
    side: Side


@dataclass(frozen=True, slots=True)
class IdentifiersTask:
    """Compare two arrays of row identifiers. Each reference has the rows that are compared."""

    job: str
    attempt: int
    x: Reference
    y: Reference


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Count one shard of the measure at `position` in the request.

    It takes `memory_bytes` beyond the spaces. `groups` are where their labels are, and the digest they had.
    """

    job: str
    attempt: int
    position: int
    x: Side
    y: Side
    x_staged: StagedArray
    y_staged: StagedArray
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
    staged = _stage(task.name, task.side, cancellation.checkpoint(task.job, task.attempt))
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
    x = identifiers.read_identifiers(roots, task.x, "x")
    checkpoint()
    y = identifiers.read_identifiers(roots, task.y, "y")
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
    pair = Pair(
        _space("x", task.x, task.x_staged, checkpoint),
        _space("y", task.y, task.y_staged, checkpoint),
        None if task.groups is None else groups.read_again(*task.groups).codes,
    )
    _make_room(task.memory_bytes)
    measure = registry.find(task.options.measure, task.options.method)
    partial = measure.partial(pair, task.shard, task.options, task.seed, checkpoint)
    partial = replace(partial, precision=weaker(pair.x.precision.value, pair.y.precision.value))
    seconds = time.perf_counter() - started
    logger.info("counted", extra={"seconds": seconds})
    return ShardResult(partial.to_bytes(), seconds, _worker_address())


def require_square(reference: Reference, name: Name, rows: int, columns: int) -> None:
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


def _space(name: Name, side: Side, staged: StagedArray, checkpoint: Checkpoint) -> Space:
    """Return the prepared array from this process's cache, or prepare it."""

    def prepare() -> Space:
        values = load(name, side, staged, checkpoint)
        try:
            return spaces.prepare(values, side.distance, side.precision, checkpoint)
        except DataError as error:
            raise _problem(error, name, side) from error

    return space_cache().get((staged.fingerprint, side.distance, side.precision), prepare)


def load(name: Name, side: Side, staged: StagedArray, checkpoint: Checkpoint) -> NDArray[Any]:
    """Map the staged array; stage it first when this node does not have it."""
    directory = from_environment().staging_directory
    try:
        return staging.load(directory, staged)
    except FileNotFoundError:
        here = _stage(name, side, checkpoint)
    if here.fingerprint != staged.fingerprint:
        raise ProblemError(
            "corrupt-data",
            f"Array {side.reference.shown(name)} changed while the job was running: another worker read different "
            "values from it. Let writing finish, then submit the job again.",
        )
    return staging.load(directory, here)


def _stage(name: Name, side: Side, checkpoint: Checkpoint) -> StagedArray:
    environment = from_environment()
    return staging.stage(
        environment.known_roots(),
        side.reference,
        environment.staging_directory,
        name,
        side.missing_chunks,
        checkpoint,
    )


def _problem(error: DataError, name: Name, side: Side) -> ProblemError:
    """Say in the contract's words, and in the row numbers of the stored array, what `prepare` refused.

    Values that are not finite, or not representable, were refused when the array was staged.
    """
    shown = side.reference.shown(name)
    if isinstance(error, ZeroVectorError):
        what = "constant, a zero vector less its mean" if side.distance is Distance.CORRELATION else "a zero vector"
        return ProblemError(
            "zero-vector",
            f"Row {stored_row(side, error.row)} of array {shown} is {what}, which has no direction: "
            "use the euclidean distance, or leave the row out.",
        )
    if isinstance(error, RangeTooWideError):
        place = "" if error.row is None else f" in row {stored_row(side, error.row)}"
        return ProblemError(
            "over-limit",
            f"The values of array {shown}{place} span {error.binades} powers of two, more than distances in "
            f"float64 can hold ({error.limit}): rescale columns, or set negligible values to zero.",
        )
    raise error


def stored_row(side: Side, row: int) -> int:
    """Turn a row of the staged copy into the row of the stored array."""
    rows = side.reference.rows
    return row if rows is None else rows.start + row


def _worker_address() -> str:
    try:
        return str(get_worker().address)
    except ValueError:
        return "no worker"
