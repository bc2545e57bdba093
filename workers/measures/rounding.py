"""The deficit that rounding for storage leaves, of measures without a formula: found on some rows, rounded anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workers.measures import registry
from workers.measures.given import Grid, Pair, Values
from workers.measures.mutual_knn import MutualKnnExactOptions
from workers.measures.protocol import GRID, SPACES, Budget, PairFacts, PairShape
from workers.measures.qsi_exact import QsiExactOptions
from workers.measures.rsa import RsaExactOptions
from workers.measures.tsi_exact import TsiExactOptions
from workers.operands import InMemory
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.distances import Distance
    from workers.measures.protocol import Checkpoint, Measure, MeasureOptions

ALL_COMPARISONS: dict[str, type[MeasureOptions]] = {
    "tsi": TsiExactOptions,
    "qsi": QsiExactOptions,
    "rsa": RsaExactOptions,
    "mutual_knn": MutualKnnExactOptions,
}
"""Options with which all comparisons of few rows are made, where a job may ask for some of many."""

AS_ASKED = frozenset({"cka", "cca", "svcca", "pwcca", "cknna"})

CANONICAL = frozenset({"cca", "svcca", "pwcca"})
ROWS, DRAWS = 512, 2
MANY_ROWS = {"cca": 4096, "svcca": 4096, "pwcca": 4096, "mutual_knn": 2048, "cknna": 2048}
"""Rows on which the floor is found, and how often: enough for two digits, at a cost that does not show. Canonical
correlations need more rows than there are columns, and rounding rarely changes neighbours."""

_WHOLE = Budget(seconds=1e9, memory_bytes=1 << 50)


@dataclass(frozen=True)
class Rounding:
    """A measure as it looks at some rows of an array, before and after they were rounded.

    Attributes
    ----------
    rows : int
        How many rows to take at most.
    draws : int
        How often to round them.
    """

    measure: Measure
    options: MeasureOptions
    rows: int
    draws: int

    def least(self, rows: int) -> float:
        """Give the smallest floor that may be told from none: one change of neighbours in all draws together."""
        places = getattr(self.options, "k", None)
        return 0.0 if places is None else 1 / (self.draws * min(rows, self.rows) * places)

    def deficit(
        self, stored: NDArray[Any], other: NDArray[Any], distance: Distance, checkpoint: Checkpoint
    ) -> float | None:
        """Compare two arrays of equal shape; None if the measure is undefined of them."""
        x, y = InMemory(stored, distance), InMemory(other, distance)
        columns = stored.shape[1]
        shape = PairShape(len(stored), columns, columns, distance, distance, stored.itemsize, other.itemsize)
        given = _given(self.measure.needs, x, y, shape)
        total = Partial()
        for shard in self.measure.shards(shape, self.options, _WHOLE):
            total += self.measure.partial(given, shard, self.options, 0, checkpoint)
        return self.measure.finish(total, PairFacts(shape), self.options, 0.99).deficit


def of(options: MeasureOptions) -> Rounding | None:
    """Say how rounding is looked at for a measure; None if it cannot be."""
    name = options.measure
    if name in ALL_COMPARISONS:
        complete = ALL_COMPARISONS[name]
        shared = options.model_dump(include=set(complete.model_fields) - {"method", "per_anchor"})
        chosen = complete.model_validate({**shared, "method": "exact"})
    elif name in AS_ASKED and getattr(options, "estimator", None) != "minibatch":
        chosen = options
    else:
        return None
    measure = registry.find(*chosen.label)
    rows = max(MANY_ROWS.get(name, ROWS), 4 * measure.rows_needed(chosen))
    return Rounding(measure, chosen, rows, 1 if name in CANONICAL else DRAWS)


def _given(needs: str, x: InMemory, y: InMemory, shape: PairShape) -> Pair | Values | Grid:
    if needs == GRID:
        return Grid((x,), (y,), shape)
    if needs == SPACES:
        return Pair(x.space(), y.space(), None, shape)
    return Values(x.held, y.held, x.distance, y.distance, None, lambda _, compute: compute())
