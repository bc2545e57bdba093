"""TSI and QSI under permutations: ranks of distances are stored once, and looked up for every order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.counts import quadruplet_population, triplet_population
from ordsim_core.nulls import designs, exact, profiles, rank_tables, sampled
from ordsim_core.nulls.designs import Design, Stream
from ordsim_core.nulls.profiles import Profile
from workers import costs
from workers.measures.ordinal import TSI

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.rank_tables import RankTable
    from workers.measures.given import Operand
    from workers.measures.ordinal import Ordinal
    from workers.measures.protocol import Checkpoint, PairShape

UNITS, MEMBERS = 4096, 32
"""Of the design that stands in for measures that look at more."""
SAMPLES = 1 << 18
"""Most single comparisons of such a design."""
EXACT_ROWS = 2048
"""Up to so many rows all comparisons are made for every permutation, unless more were asked for."""
TARGET_ROWS = 10_000
"""Rows whose distances from each other are ranked row by row: 200 MB."""
PAIR_ROWS = exact.QUADRUPLET_ROWS_LIMIT
"""Rows whose distances are ranked all together."""

LOOK_UP = 5e-9
"""Seconds to look one distance of a unit up and compare it with the others."""
SINGLE = 20e-9
"""Seconds for a comparison that shares no row with the one before."""
COUNT = 15e-12
"""Seconds to compare one pair of signs."""
RANKED_TARGET = 15e-9
"""Seconds to count one target of an anchor, from stored orders."""


@dataclass(frozen=True)
class DesignStatistic:
    """Agreeing comparisons of one sampling design.

    Attributes
    ----------
    design : Design
    shape : PairShape
        Of the rows that take part.
    permuting : bool
        False if only the order of rows as it is will be asked for: no ranks are needed for that.
    """

    design: Design
    shape: PairShape
    permuting: bool = True
    symmetric: bool = True

    @property
    def unit(self) -> int:
        """Comparisons in the design."""
        return self.design.comparisons

    @property
    def about(self) -> dict[str, Any]:
        """Its name and numbers."""
        found: dict[str, Any] = {"measure": "tsi" if self.design.stream.anchored else "qsi"}
        if self.design.stream.single:
            return found | {"method": "sampled", "samples": self.design.units}
        members = "targets" if self.design.stream.anchored else "pairs"
        return found | {"method": "units", "units": self.design.units, members: self.design.members}

    @property
    def rows_limit(self) -> int | None:
        """Of a table of ranks."""
        if not self.permuting:
            return None
        return TARGET_ROWS if self.design.stream.anchored else PAIR_ROWS

    @property
    def fixed_bytes(self) -> int:
        """Two bits for each comparison, and the rows that are drawn."""
        return self.unit // 4 + 8 * self.design.units * (self.design.members + 1)

    @property
    def permutable_bytes(self) -> int:
        """A table of ranks, as it is built."""
        if not self.permuting:
            return self.fixed_bytes + costs.pair_bytes(self.shape) // 2
        return _table_bytes(self.shape, pairs=not self.design.stream.anchored)

    @property
    def once_seconds(self) -> float:
        """Comparing x, and ranking y."""
        ranking = 0.0
        if self.permuting:
            ranking = _ranking_seconds(self.shape, pairs=not self.design.stream.anchored)
        return costs.unit_seconds(self.shape, self.design.members) * self.design.units + ranking

    @property
    def permuted_seconds(self) -> float:
        """Looking up."""
        if self.design.stream.single:
            return self.unit * SINGLE
        return self.design.units * self.design.members * LOOK_UP

    @property
    def statistic_seconds(self) -> float:
        """Comparing bits."""
        return self.unit * COUNT

    @cached_property
    def drawn(self) -> Drawn:
        """The rows of the design."""
        return designs.draw(self.design)

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> Profile:
        """Compare x once."""
        return profiles.of_space(x.space(), self.drawn, checkpoint)

    def permutable(self, y: Operand, checkpoint: Checkpoint) -> RankTable | Profile:
        """Rank the distances of y; compare it like x where it stays as it is."""
        if not self.permuting:
            return self.fixed(y, checkpoint)
        return _table(y, checkpoint, pairs=not self.design.stream.anchored)

    def statistics(
        self,
        fixed: Sequence[Profile],
        permutable: RankTable | Profile,
        orders: Sequence[NDArray[np.int64]],
        checkpoint: Checkpoint,
    ) -> NDArray[np.int64]:
        """Count agreeing comparisons, shape (orders, fixed)."""
        if isinstance(permutable, Profile):
            return np.broadcast_to(profiles.grid(fixed, [permutable])[:, 0], (len(orders), len(fixed)))
        found = sampled.agreeing_grids(fixed, [permutable], self.drawn, orders, checkpoint)
        return np.ascontiguousarray(found[:, :, 0])


@dataclass(frozen=True)
class ExactStatistic:
    """All agreeing comparisons."""

    kind: Ordinal
    shape: PairShape
    symmetric: bool = True

    @property
    def unit(self) -> int:
        """All comparisons."""
        return (triplet_population if self.kind is TSI else quadruplet_population)(self.shape.rows)

    @property
    def about(self) -> dict[str, Any]:
        """Its name."""
        return {"measure": self.kind.measure, "method": "exact"}

    @property
    def rows_limit(self) -> int:
        """Of a table of ranks."""
        return TARGET_ROWS if self.kind is TSI else PAIR_ROWS

    @property
    def fixed_bytes(self) -> int:
        """A table of ranks, as it is built."""
        return _table_bytes(self.shape, pairs=self.kind is not TSI)

    permutable_bytes = fixed_bytes

    @property
    def once_seconds(self) -> float:
        """Ranking both."""
        return 2 * _ranking_seconds(self.shape, pairs=self.kind is not TSI)

    @property
    def permuted_seconds(self) -> float:
        """Nothing by itself."""
        return 0.0

    @property
    def statistic_seconds(self) -> float:
        """Counting from stored orders."""
        rows = self.shape.rows
        return RANKED_TARGET * rows * rows * (1.0 if self.kind is TSI else 2.0)

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> RankTable:
        """Rank the distances of x."""
        return _table(x, checkpoint, pairs=self.kind is not TSI)

    def permutable(self, y: Operand, checkpoint: Checkpoint) -> RankTable:
        """Rank the distances of y."""
        return _table(y, checkpoint, pairs=self.kind is not TSI)

    def statistics(
        self,
        fixed: Sequence[RankTable],
        permutable: RankTable,
        orders: Sequence[NDArray[np.int64]],
        checkpoint: Checkpoint,
    ) -> NDArray[np.int64]:
        """Count agreeing comparisons, shape (orders, fixed)."""
        if self.kind is TSI:
            counts = [exact.agreeing_triplets(x, permutable, orders, checkpoint=checkpoint) for x in fixed]
        else:
            counts = [exact.agreeing_quadruplets(x, permutable, orders, checkpoint) for x in fixed]
        return np.stack(counts, axis=1)


def of_everything(kind: Ordinal, shape: PairShape, seed: int, *, own: bool) -> DesignStatistic | ExactStatistic:
    """The statistic of measures that look at all comparisons, or at more than is worth doing again and again.

    Parameters
    ----------
    own : bool
        All comparisons, if `shape` can have them at all.
    """
    if shape.rows <= EXACT_ROWS or own:
        return ExactStatistic(kind, shape)
    return of_units(kind, shape, seed, UNITS, MEMBERS)


def of_units(kind: Ordinal, shape: PairShape, seed: int, units: int, members: int) -> DesignStatistic:
    """The statistic of so many units, the same ones that the measure draws."""
    stream = Stream.TRIPLET_UNITS if kind is TSI else Stream.QUADRUPLET_UNITS
    return DesignStatistic(Design(stream, seed, shape.rows, members, 0, units), shape)


def of_samples(kind: Ordinal, shape: PairShape, seed: int, samples: int) -> DesignStatistic:
    """The statistic of so many single comparisons, the same ones that the measure draws."""
    stream = Stream.TRIPLETS if kind is TSI else Stream.QUADRUPLETS
    return DesignStatistic(Design(stream, seed, shape.rows, 2, 0, samples), shape)


def _table(one: Operand, checkpoint: Checkpoint, *, pairs: bool) -> RankTable:
    space = one.space()
    return rank_tables.of_pairs(space) if pairs else rank_tables.of_targets(space, checkpoint)


def _table_bytes(shape: PairShape, *, pairs: bool) -> int:
    building = rank_tables.pair_building_bytes if pairs else rank_tables.target_building_bytes
    return building(shape.rows) + costs.pair_bytes(shape) // 2 + costs.anchor_bytes(shape)


def _ranking_seconds(shape: PairShape, *, pairs: bool) -> float:
    return costs.all_pairs_seconds(shape) if pairs else shape.rows * costs.anchor_seconds(shape) / 2
