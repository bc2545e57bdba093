"""The four steps that every measure has, so that the engine knows nothing about any one of them.

A measure says how it is cut up (`shards`), what one piece contributes (`partial`), that contributions add
(`Partial.__add__`), and what the total means (`finish`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.distances import Space
    from ordsim_core.intervals import Interval
    from workers.partials import Partial

Checkpoint = Callable[[], None]
"""Called between tiles of work, about every tenth of a second; raises when the job was cancelled."""


class MeasureOptions(BaseModel):
    """Base of a measure's options: what stands in one entry of a request's ``measures``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: str
    method: str


@dataclass(frozen=True, slots=True)
class PairShape:
    """Rows shared by both arrays, and the columns of each."""

    rows: int
    x_columns: int
    y_columns: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two prepared spaces over the same rows."""

    x: Space
    y: Space


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
class Outcome:
    """What a measure found. `score` is None only with a `reason`."""

    score: float | None
    deficit: float | None
    counts: AgreementCounts
    population: int
    precision: str
    intervals: Mapping[str, Interval]
    artifacts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    reason: str | None = None


class Measure(Protocol):
    """One measure under one method, e.g. TSI exact. Instances are stateless.

    `minimum_rows` and `maximum_rows` (None: no limit of its own) are checked when a job is submitted.
    """

    measure: str
    method: str
    title: str
    minimum_rows: int
    maximum_rows: int | None
    options: type[MeasureOptions]

    def shards(self, shape: PairShape, options: Any, seconds: float) -> list[Shard]:
        """Cut the work into pieces of about `seconds`; the same list whatever the cluster looks like."""

    def partial(self, pair: Pair, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Compute what one shard contributes: a pure function of the data, the shard and the seed."""

    def finish(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> Outcome:
        """Turn the total of all shards into an estimate."""


@dataclass(frozen=True, slots=True)
class PairFacts:
    """What `finish` may know of the data without holding it: its shape and whether its order is exact."""

    shape: PairShape
    exact_order: bool
