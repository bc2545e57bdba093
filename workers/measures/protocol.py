"""The steps that every measure has, so that the engine knows nothing about any one of them.

A measure says what it costs (`comparisons`, `seconds`, `memory`), how it is cut up (`shards`), what one piece
contributes (`partial`), that contributions add (`Partial.__add__`), whether the pieces so far suffice (`enough`), and
what the total means (`finish`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict

from ordsim_core.distances import Distance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.intervals import Interval
    from workers.measures.given import NullStatistic
    from workers.partials import Partial

Checkpoint = Callable[[], None]
"""Called between tiles of work, about every tenth of a second; raises when the job was cancelled."""

EXACT, FLOAT64, FLOAT32 = "exact", "float64", "float32"
"""Precisions as the contract names them, the strongest first."""

SPACES, VALUES, GRID = "spaces", "values", "grid"
"""What a measure is given: prepared spaces (`Pair`), the arrays as they are stored (`Values`), or lists of arrays
(`Grid`)."""


class MeasureOptions(BaseModel):
    """Base of a measure's options: what stands in one entry of a request's ``measures``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str
    method: str

    @property
    def label(self) -> tuple[str, str]:
        """Measure and method as plans and reports name them."""
        return self.measure, self.method

    @property
    def innermost(self) -> MeasureOptions:
        """Options of the measure of which scores are asked for: these, unless this is work on another."""
        return self


@dataclass(frozen=True, slots=True)
class PairShape:
    """What is known of two arrays before their values are read: all that costs depend on.

    Attributes
    ----------
    rows : int
        Rows that are compared, the same number in both.
    x_columns, y_columns : int
        Values in a row.
    x_distance, y_distance : Distance
    x_itemsize, y_itemsize : int
        Bytes of a value as it is staged.
    x_float, y_float : bool
        Whether values are floats, which are used where they are mapped; others are copied.
    precision : str
        As it was asked for, "exact" or "float32".
    """

    rows: int
    x_columns: int
    y_columns: int
    x_distance: Distance = Distance.EUCLIDEAN
    y_distance: Distance = Distance.EUCLIDEAN
    x_itemsize: int = 4
    y_itemsize: int = 4
    x_float: bool = True
    y_float: bool = True
    precision: str = EXACT


@dataclass(frozen=True, slots=True)
class Budget:
    """What one shard may take, as far as a measure can be cut that small.

    Attributes
    ----------
    seconds : float
        About how long a worker computes.
    memory_bytes : int
        Private memory of a worker beyond the process itself and the two prepared spaces: what `Measure.memory`
        counts. 0 asks for the smallest shards there are.
    """

    seconds: float
    memory_bytes: int

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"seconds must be positive, not {self.seconds}")
        if self.memory_bytes < 0:
            raise ValueError(f"memory_bytes must not be negative, as {self.memory_bytes} is")


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of work: positions start <= p < stop of whatever the measure walks over.

    `comparisons` is what progress counts.
    """

    index: int
    start: int
    stop: int
    comparisons: int


@dataclass(frozen=True)
class PairFacts:
    """What `enough` and `finish` may know of the data without holding it.

    Attributes
    ----------
    shape : PairShape
    precision : str
        With which distances were ordered: "exact", "float64" or "float32", the weakest that any shard used.
    groups : ndarray of int64, shape (N,), or None
        The group of each compared row, numbered from 0 in order of first appearance; None if none were given.
    repeated : bool
        Whether so many rows of an array are equal that they are no independent draws, unless groups say otherwise.
    """

    shape: PairShape
    precision: str = EXACT
    groups: NDArray[np.int64] | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class NoInterval:
    """Stands where an interval would, and says why there is none."""

    reason: str


@dataclass(frozen=True)
class Outcome:
    """What a measure found. `score` is None only with a `reason`.

    Attributes
    ----------
    counts, population : AgreementCounts and int, or None
        What was counted, and how many comparisons there are; None of measures that count nothing.
    precision : str or None
        With which distances were ordered, usually `PairFacts.precision`; None if none were.
    intervals : mapping of str to Interval or NoInterval
        By kind: sampling, hoeffding, population, jackknife, arithmetic. Of an interval with more fields than
        `ordsim_core.intervals.Interval` has, all are shown, integers as decimal strings.
    artifacts : mapping of str to ndarray
        Large outputs by what they are.
    positions : ndarray of int64, or None
        Where artifacts with a value a row have values of some rows only: the positions of those among the compared
        rows, in the order of the values.
    paths : mapping of str to int
        How many elements took which path to their order, see `partials.paths`.
    uncertified : int or None
        Comparisons whose order is in doubt, shown with the arithmetic interval.
    naive_deficit : float or None
        1 - score, where the deficit was found by better means: what would have been lost.
    resolution : Resolution or None
        What the deficit can be trusted for.
    figures : mapping of str to JSON values
        What is known of this measure alone, such as bandwidths and ranks, by names as the contract writes them.
    cautions : sequence of (str, str)
        What a reader should be warned of: code and detail.
    calibration : mapping of str to JSON values, or None
        How the score stands against permutations, by names as the contract writes them.
    """

    score: float | None
    deficit: float | None
    counts: AgreementCounts | None = None
    population: int | None = None
    precision: str | None = None
    intervals: Mapping[str, Interval | NoInterval] = field(default_factory=dict)
    artifacts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    positions: NDArray[np.int64] | None = None
    reason: str | None = None
    paths: Mapping[str, int] = field(default_factory=dict)
    uncertified: int | None = None
    naive_deficit: float | None = None
    resolution: Any = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    cautions: Sequence[tuple[str, str]] = ()
    calibration: Mapping[str, Any] | None = None


class Measure(Protocol):
    """One measure under one method, e.g. TSI exact. Instances are stateless; classes inherit from this one.

    `needs` says what `partial` is given: `SPACES`, `VALUES` or `GRID`. `minimum_rows` and `maximum_rows` (None: no
    limit of its own) are checked when a job is submitted. A measure that `needs_symmetry` is refused precomputed
    distances that differ between (i, j) and (j, i); `uses_distance` says whether it compares distances at all. The
    `default` is what a request means that says no method; `chosen_by` is the field that says it, where that is another
    than the method. One that `streams` reads values block by block and holds neither array.
    """

    measure: str
    method: str
    title: str
    minimum_rows: int
    maximum_rows: int | None
    options: type[MeasureOptions]
    needs_symmetry: bool = False
    needs: str = SPACES
    streams: bool = False
    uses_distance: bool = True
    default: bool = False
    chosen_by: str = "method"

    def rows_needed(self, options: Any) -> int:  # noqa: ARG002
        """Rows that these options need, where that is more than `minimum_rows`."""
        return self.minimum_rows

    @abstractmethod
    def comparisons(self, shape: PairShape, options: Any) -> int:
        """Count the comparisons of all shards: the most, if it may stop before the last."""

    @abstractmethod
    def seconds(self, shape: PairShape, options: Any) -> float:
        """Estimate the seconds that all shards take together on one worker: the most, if it may stop early."""

    @abstractmethod
    def memory(self, shape: PairShape, options: Any, budget: Budget) -> int:
        """Bound the private bytes of a worker for one shard, as `shards` cuts it, beyond the arrays, if it holds them.

        More than ``budget.memory_bytes`` only if it cannot be cut smaller: the job is then refused.
        """

    @abstractmethod
    def shards(self, shape: PairShape, options: Any, budget: Budget) -> list[Shard]:
        """Cut the work into pieces within the budget; the same list whatever the cluster looks like.

        Indices are 0, 1, 2, ... in order. Where `sequential`, the pieces must follow from shape and options alone:
        the score depends on where they end.
        """

    @abstractmethod
    def partial(self, pair: Any, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Compute what one shard contributes: a pure function of the data, the shard and the seed.

        `pair` : Pair, Values or Grid, as the measure `needs`.
        """

    def null(self, shape: PairShape, options: Any, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """Give the statistic that permutations of rows are compared by; None if there is none for these options.

        `own` : the score itself, computed in the same way; otherwise a quicker statistic of the same kind will do.
        """
        return None

    def sequential(self, options: Any) -> bool:  # noqa: ARG002
        """Whether these options ask to stop as soon as `enough` says so."""
        return False

    def enough(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> bool:  # noqa: ARG002
        """Whether the total of shards 0 to k suffices, and the others need not be counted.

        Asked for k = 0, 1, 2, ... until it is true; the result is made of that shortest prefix, so it depends neither
        on the number of workers nor on which shard finishes first. Pure, and quick: it is asked once a shard.
        """
        return False

    @abstractmethod
    def finish(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> Outcome:
        """Turn the total of all shards, or of the prefix that was enough, into an estimate."""
