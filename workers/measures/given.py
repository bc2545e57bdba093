"""What measures are given of a job's arrays, and what they give for permutations of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workers.measures.protocol import PairShape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.distances import Distance
    from ordsim_core.spaces import Space
    from workers.measures.protocol import Checkpoint

Kept = TypeVar("Kept")


class Memo(Protocol):
    """Keeps what was computed once for a pair of arrays."""

    def __call__(self, name: str, compute: Callable[[], Kept]) -> Kept:
        """Return what `compute` gave when it was first asked for under this name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two prepared spaces over the same rows.

    Attributes
    ----------
    x, y : Space
    groups : ndarray of int64, shape (N,), or None
        The group of each row as in `PairFacts`, if groups were given.
    described : PairShape or None
        The shape that the job was planned by, which the spaces alone do not tell.
    """

    x: Space
    y: Space
    groups: NDArray[np.int64] | None = None
    described: PairShape | None = None

    @property
    def shape(self) -> PairShape:
        """Rows, columns and distances, for the costs of tiles: as the job was planned by, if that is known."""
        if self.described is not None:
            return self.described
        return PairShape(self.x.rows, self.x.columns, self.y.columns, self.x.distance, self.y.distance)


@dataclass(frozen=True, slots=True)
class Values:
    """Two arrays as they were staged, over the same rows, for measures that do not order distances.

    Attributes
    ----------
    x, y : ndarray, shape (N, D)
        Mapped from files, read-only, C-contiguous, of any real type; widen them block by block.
    x_distance, y_distance : Distance
        As asked for; of measures that have no use for it, ignored.
    groups : ndarray of int64, shape (N,), or None
    memo : callable
        ``memo(name, compute)`` gives what `compute()` returned first in this process for these two arrays: for what
        every shard needs of the whole, such as column means. It must be a pure function of the arrays.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    x_distance: Distance
    y_distance: Distance
    groups: NDArray[np.int64] | None
    memo: Memo

    @property
    def shape(self) -> PairShape:
        """Rows, columns and distances."""
        return PairShape(len(self.x), self.x.shape[1], self.y.shape[1], self.x_distance, self.y_distance)


class Operand(Protocol):
    """One array of a `Grid`, prepared or mapped when it is asked for."""

    @property
    def distance(self) -> Distance:
        """How distance is measured in it."""

    @property
    def precision(self) -> str:
        """How precisely distances are ordered, as it was asked for."""

    @property
    def fingerprint(self) -> str:
        """Digest of its values."""

    @property
    def columns(self) -> int:
        """D, the number of columns."""

    def space(self) -> Space:
        """Prepare it for its distance."""

    def values(self) -> NDArray[Any]:
        """Map it as it was staged, shape (N, D)."""


@dataclass(frozen=True, slots=True)
class Grid:
    """All arrays of x and of y, over the same rows: each of x is compared with each of y.

    `shape` has the most columns that any array of a side has, and the distance of the first.
    """

    x: Sequence[Operand]
    y: Sequence[Operand]
    shape: PairShape
    groups: NDArray[np.int64] | None = None


class NullStatistic(Protocol):
    """A measure as permutations need it: what each array gives once, and the statistics of many orders of rows."""

    @property
    def unit(self) -> int | None:
        """Of how many comparisons the statistic counts those that agree; None if it is a score itself."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What is computed, by names as the contract writes them."""

    @property
    def symmetric(self) -> bool:
        """Whether x and y may change sides."""

    @property
    def rows_limit(self) -> int | None:
        """Most rows for which what an array gives is not too large."""

    @property
    def fixed_bytes(self) -> int:
        """Private memory of what one array of x gives, preparing it included."""

    @property
    def permutable_bytes(self) -> int:
        """The same of one array of y."""

    @property
    def once_seconds(self) -> float:
        """Estimated time for one array of x and one of y, once."""

    @property
    def permuted_seconds(self) -> float:
        """Estimated time for one order of one array of y."""

    @property
    def statistic_seconds(self) -> float:
        """Estimated time for one statistic beyond that."""

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> Any:
        """What is needed of x; raises `UndefinedStatistic`."""

    def permutable(self, y: Operand, checkpoint: Checkpoint) -> Any:
        """What is needed of y for any order of its rows; raises `UndefinedStatistic`."""

    def statistics(
        self, fixed: Sequence[Any], permutable: Any, orders: Sequence[NDArray[np.int64]], checkpoint: Checkpoint
    ) -> NDArray[Any]:
        """Compare each x with ``y[rows]`` for each order of rows, which need not be a permutation.

        Returns
        -------
        ndarray of int64 (where there is a `unit`) or float64, shape (orders, fixed)
            The more alike, the larger.
        """


class UndefinedStatistic(Exception):  # noqa: N818 - a property of the data, not an error
    """The statistic does not exist for this array; the message says why."""
