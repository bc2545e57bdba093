"""What the ordinal measures share: TSI compares triplets, QSI quadruplets, and each method does so for both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ordsim_core import intervals, population, quadruplets, triplets
from ordsim_core.counts import AgreementCounts, Paths, quadruplet_population, triplet_population
from workers import costs
from workers.partials import UNCERTIFIED, Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.intervals import Interval
    from ordsim_core.spaces import Space
    from ordsim_core.strips import ExactQuadruplets
    from ordsim_core.triplets import AnchorBlock
    from workers.measures.protocol import NoInterval, PairFacts, PairShape


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


def with_population(
    kind: Ordinal,
    total: Partial,
    pair: PairFacts,
    confidence: float,
    sampling: Callable[[float], Interval],
) -> dict[str, Interval | NoInterval]:
    """Give the sampling interval, that of the population, and what float32 left in doubt."""
    # Of the population's delta, half is spent on sampling, unless nothing was sampled.
    half = sampling((1 + confidence) / 2)
    found: dict[str, Interval | NoInterval] = {
        "sampling": sampling(confidence),
        "population": population.around(half, pair.shape.rows, kind.order, confidence),
    }
    if total.uncertified is not None and pair.precision == "float32":
        found["arithmetic"] = intervals.arithmetic(total.counts, total.uncertified)
    return found
