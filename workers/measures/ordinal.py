"""What the ordinal measures share: TSI compares triplets, QSI quadruplets, and each method does so for both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import intervals, population, quadruplets, triplets
from ordsim_core.counts import AgreementCounts, Paths, quadruplet_population, triplet_population
from workers import costs
from workers.measures.protocol import FLOAT32, Measure, MeasureOptions, NoInterval, Outcome
from workers.partials import UNCERTIFIED, Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.intervals import Interval
    from ordsim_core.spaces import Space
    from ordsim_core.strips import ExactQuadruplets
    from ordsim_core.triplets import AnchorBlock
    from workers.measures.protocol import PairFacts, PairShape

GROUPED = (
    "Rows of one group are no independent draws. Of rows in groups, only exact TSI has an interval: its jackknife."
)
REPEATED = (
    "Half of the rows of an array or more are equal to others, so they are no independent draws. Send groups that say "
    "which rows belong together; rows that were drawn independently and happen to be equal are each a group of its own."
)


@dataclass(frozen=True)
class Ordinal:
    """One of the two kinds of comparison.

    Attributes
    ----------
    measure, title : str
    order : int
        Rows in a comparison.
    members : str
        What a unit has many of: targets of its anchor, or pairs.
    population : callable
        From the number of rows to that of all comparisons.
    sampled, units : callable
        Count a range of single comparisons, or of units of so many members.
    sample_seconds : callable
        Time of one comparison on its own.
    """

    measure: str
    title: str
    order: int
    members: str
    population: Callable[[int], int]
    sampled: Callable[[Space, Space, int, int, int], Sampled]
    units: Callable[[Space, Space, int, int, int, int], Units]
    sample_seconds: Callable[[PairShape], float]


TSI = Ordinal(
    "tsi",
    "Triplet Similarity Index",
    3,
    "targets",
    triplet_population,
    triplets.sampled_range,
    triplets.units_range,
    costs.triplet_seconds,
)
QSI = Ordinal(
    "qsi",
    "Quadruplet Similarity Index",
    4,
    "pairs",
    quadruplet_population,
    quadruplets.sampled_range,
    quadruplets.units_range,
    costs.quadruplet_seconds,
)


class OfEither(Measure):
    """A method that TSI and QSI have in common.

    `described` is what follows the name of either in a title.
    """

    described: str

    def __init__(self, kind: Ordinal, options: type[MeasureOptions]) -> None:
        self.kind = kind
        self.measure = kind.measure
        self.title = f"{kind.title} {self.described}"
        self.minimum_rows = kind.order
        self.needs_symmetry = kind is QSI
        self.options = options


def to_partial(
    counted: Iterable[Sampled | Units | AnchorBlock | ExactQuadruplets],
    pieces: Mapping[str, Mapping[int, NDArray[np.int64]]] | None = None,
    sums: Mapping[str, NDArray[np.int64]] | None = None,
) -> Partial:
    """Add up what the core counted, tile by tile."""
    counts, paths, uncertified = AgreementCounts(), Paths(), 0
    for tile in counted:
        counts, paths = counts + tile.counts, paths + tile.paths
        uncertified += tile.uncertified
    return Partial(counts, pieces or {}, sums or {}, tally={**asdict(paths), UNCERTIFIED: uncertified})


def outcome(
    kind: Ordinal,
    total: Partial,
    pair: PairFacts,
    found: Mapping[str, Interval | NoInterval],
    artifacts: Mapping[str, NDArray[Any]] | None = None,
) -> Outcome:
    """Score the counts of a total, with intervals that were found and that of what float32 left in doubt."""
    counts = total.counts
    if pair.precision == FLOAT32:
        found = {**found, "arithmetic": intervals.arithmetic(counts, total.uncertified)}
    return Outcome(
        score=counts.score,
        deficit=counts.deficit,
        counts=counts,
        population=kind.population(pair.shape.rows),
        precision=pair.precision,
        intervals=found,
        artifacts=artifacts or {},
        paths=total.paths,
        # Each side counts its own doubts, but a comparison is in doubt only once.
        uncertified=min(total.uncertified, counts.comparisons),
    )


def with_population(
    kind: Ordinal, pair: PairFacts, confidence: float, sampling: Callable[[float], Interval]
) -> dict[str, Interval | NoInterval]:
    """Give the sampling interval, and that of the population, of which rows of one group are no independent draws."""
    return {"sampling": sampling(confidence), "population": _population(kind, pair, confidence, sampling)}


def _population(
    kind: Ordinal, pair: PairFacts, confidence: float, sampling: Callable[[float], Interval]
) -> Interval | NoInterval:
    if pair.groups is not None and len(np.unique(pair.groups)) < len(pair.groups):
        return NoInterval(GROUPED)
    if pair.repeated and pair.groups is None:
        return NoInterval(REPEATED)
    # Of the population's delta, half is spent on sampling, unless nothing was sampled.
    return population.around(sampling((1 + confidence) / 2), pair.shape.rows, kind.order, confidence)
