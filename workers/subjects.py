"""What a measure is given of a job's arrays: prepared spaces, values as they were staged, or whole lists of arrays."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordsim_core import spaces
from ordsim_core.distances import Distance, Precision
from ordsim_core.errors import DataError, RangeTooWideError, ZeroVectorError
from workers import groups, staging
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.measures.given import Grid, Pair, Values
from workers.measures.protocol import GRID, SPACES
from workers.memos import memo_cache
from workers.shapes import Described, pair_shape
from workers.spaces import space_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space
    from workers.groups import Labels
    from workers.measures.protocol import Checkpoint, PairShape
    from workers.references import Reference
    from workers.selecting import Chosen
    from workers.staging import StagedArray


@dataclass(frozen=True, slots=True)
class Side:
    """One array of a comparison: where it is, with which rows, how distance is measured in it, and how precisely.

    `chosen` says which rows of the reference are compared, where these are not all.
    """

    reference: Reference
    distance: Distance
    missing_chunks: Literal["error", "fill"]
    precision: Precision = Precision.EXACT
    chosen: Chosen | None = None


@dataclass(frozen=True, slots=True)
class StagedSide:
    """An array of a job under its name in the request, and what staging found out about it."""

    name: str
    side: Side
    staged: StagedArray


@dataclass(frozen=True)
class LoadedSide:
    """An array on this worker: prepared or mapped when it is asked for, and kept by the process."""

    one: StagedSide
    checkpoint: Checkpoint

    @property
    def distance(self) -> Distance:
        """How distance is measured in it."""
        return self.one.side.distance

    @property
    def fingerprint(self) -> str:
        """Digest of its values."""
        return self.one.staged.fingerprint

    @property
    def precision(self) -> str:
        """How precisely distances are ordered, as it was asked for."""
        return self.one.side.precision.value

    @property
    def columns(self) -> int:
        """D, the number of columns."""
        return self.one.staged.columns

    def values(self) -> NDArray[Any]:
        """Map the staged array; it is staged first when this node does not have it."""
        directory = from_environment().staging_directory
        try:
            return staging.load(directory, self.one.staged)
        except FileNotFoundError:
            here = stage(self.one.name, self.one.side, self.checkpoint)
        if here.fingerprint != self.fingerprint:
            raise ProblemError(
                "corrupt-data",
                f"Array {self.one.side.reference.shown(self.one.name)} changed while the job was running: another "
                "worker read different values from it. Let writing finish, then submit the job again.",
            )
        return staging.load(directory, here)

    def space(self) -> Space:
        """Return the prepared array from this process's cache, or prepare it."""

        def prepare() -> Space:
            values = self.values()
            try:
                return spaces.prepare(values, self.distance, self.one.side.precision, self.checkpoint)
            except DataError as error:
                raise _problem(error, self.one) from error

        return space_cache().get((self.fingerprint, self.distance, self.one.side.precision), prepare)


def subject(
    needs: str,
    x: tuple[StagedSide, ...],
    y: tuple[StagedSide, ...],
    labels: tuple[Labels, str] | None,
    checkpoint: Checkpoint,
) -> Pair | Values | Grid:
    """Load what a measure needs of the arrays of a job.

    Parameters
    ----------
    needs : str
        `SPACES` or `VALUES`, where x and y are one array each, or `GRID`.
    labels : (Labels, str) or None
        Where the groups of the rows are, and the digest they had.

    Raises
    ------
    ProblemError
        zero-vector or over-limit, naming array and row; corrupt-data if an array is not what it was when the job
        started.
    """
    found = None if labels is None else groups.read_again(*labels).codes
    loaded_x = tuple(LoadedSide(one, checkpoint) for one in x)
    loaded_y = tuple(LoadedSide(one, checkpoint) for one in y)
    if needs == GRID:
        return Grid(loaded_x, loaded_y, _shape(x, y), found)
    (one,), (other,) = loaded_x, loaded_y
    if needs == SPACES:
        return Pair(one.space(), other.space(), found, _shape(x, y))
    key = (one.fingerprint, other.fingerprint, one.distance, other.distance)
    return Values(
        one.values(),
        other.values(),
        one.distance,
        other.distance,
        found,
        lambda name, compute: memo_cache().get((*key, name), compute),
    )


def _shape(x: tuple[StagedSide, ...], y: tuple[StagedSide, ...]) -> PairShape:
    of_x, of_y = (
        [Described(one.staged.columns, one.staged.dtype, one.side.distance) for one in side] for side in (x, y)
    )
    return pair_shape(x[0].staged.rows, of_x, of_y, x[0].side.precision.value)


@contextmanager
def naming_rows(x: StagedSide, y: StagedSide) -> Iterator[None]:
    """Tell what the core refuses of values that no space was prepared of: zero-vector, naming array and row."""
    try:
        yield
    except ZeroVectorError as error:
        directory = from_environment().staging_directory
        for one in (x, y):
            row = np.asarray(staging.load(directory, one.staged)[error.row], np.float64)
            if one.side.distance is Distance.CORRELATION:
                row = row - row[0]
            if one.side.distance in (Distance.COSINE, Distance.CORRELATION) and not row.any():
                raise _problem(error, one) from error
        raise


def stage(name: str, side: Side, checkpoint: Checkpoint) -> StagedArray:
    """Copy an array to this node's staging directory, or find it there; errors as `staging.stage`."""
    environment = from_environment()
    return staging.stage(
        environment.known_roots(),
        side.reference,
        environment.staging_directory,
        name,
        side.missing_chunks,
        checkpoint,
        None if side.chosen is None else side.chosen.kept(checkpoint),
    )


def stored_rows(side: Side, checkpoint: Checkpoint = lambda: None) -> NDArray[np.int64]:
    """Numbers of the chosen rows in the stored array."""
    assert side.chosen is not None
    start = 0 if side.reference.rows is None else side.reference.rows.start
    return start + side.chosen.kept(checkpoint).rows


def stored_row(side: Side, row: int) -> int:
    """Turn a row of the staged copy into the row of the stored array."""
    if side.chosen is not None:
        return int(stored_rows(side)[row])
    return row if side.reference.rows is None else side.reference.rows.start + row


def _problem(error: DataError, one: StagedSide) -> ProblemError:
    """Say in the contract's words, and in the row numbers of the stored array, what `prepare` refused.

    Values that are not finite, or not representable, were refused when the array was staged.
    """
    shown = one.side.reference.shown(one.name)
    if isinstance(error, ZeroVectorError):
        constant = one.side.distance is Distance.CORRELATION
        what = "constant, a zero vector less its mean" if constant else "a zero vector"
        return ProblemError(
            "zero-vector",
            f"Row {stored_row(one.side, error.row)} of array {shown} is {what}, which has no direction: "
            "use the euclidean distance, or leave the row out.",
        )
    if isinstance(error, RangeTooWideError):
        place = "" if error.row is None else f" in row {stored_row(one.side, error.row)}"
        return ProblemError(
            "over-limit",
            f"The values of array {shown}{place} span {error.binades} powers of two, more than distances in "
            f"float64 can hold ({error.limit}): rescale columns, or set negligible values to zero.",
        )
    raise error
