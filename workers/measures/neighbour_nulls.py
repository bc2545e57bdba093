"""Mutual kNN and CKNNA under permutations: neighbours are found once, and are given other numbers in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import spaces
from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna
from ordsim_core.neighbours.lists import Neighbours, Ties, first_come, keep, nearest
from ordsim_core.neighbours.overlaps import exact_total, overlaps
from ordsim_core.neighbours.permuted import is_permutation, permuted_overlaps
from workers import costs
from workers.measures.given import UndefinedStatistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ordsim_core.neighbours.hsic import Estimator
    from ordsim_core.neighbours.overlaps import Overlaps
    from ordsim_core.spaces import Space
    from workers.measures.given import Operand
    from workers.measures.protocol import Checkpoint, PairShape

MEMBER = 5e-9
"""Seconds for one neighbour whose number is looked up."""
ENTRY = 100e-9
"""Seconds for one neighbour in CKNNA, whose sums are of twice the precision."""
LIST_BYTES = 32


@dataclass(frozen=True, eq=False)
class Kept:
    """Neighbours of all rows of an array, with the kernel's entries for them where they are needed."""

    space: Space
    neighbours: Neighbours
    values: NDArray[Any] | None = None
    entries: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class NeighbourStatistic:
    """Mutual kNN, or CKNNA where there is an estimator.

    Attributes
    ----------
    shape : PairShape
    nearest : int
        k.
    ties : Ties
    about : mapping of str to JSON values
        What is computed.
    estimator : Estimator or None
    linear : bool
        Whether CKNNA's kernel is linear, and not minus the distance.
    """

    shape: PairShape
    nearest: int
    ties: Ties
    about: Mapping[str, Any]
    estimator: Estimator | None = None
    linear: bool = True
    unit: int | None = None
    rows_limit: int | None = None

    @property
    def symmetric(self) -> bool:
        """Mutual kNN is; CKNNA's mask is that of x where x meets itself."""
        return self.estimator is None

    @property
    def fixed_bytes(self) -> int:
        """Lists, and the prepared array that they are found in."""
        lists = LIST_BYTES * self.shape.rows * (self.nearest + 1)
        return lists + costs.pair_bytes(self.shape) // 2 + costs.anchor_bytes(self.shape)

    permutable_bytes = fixed_bytes

    @property
    def once_seconds(self) -> float:
        """Finding neighbours in both."""
        return self.shape.rows * costs.anchor_seconds(self.shape)

    @property
    def permuted_seconds(self) -> float:
        """Nothing by itself."""
        return 0.0

    @property
    def statistic_seconds(self) -> float:
        """Looking at all neighbours."""
        return (MEMBER if self.estimator is None else ENTRY) * self.shape.rows * (self.nearest + 1)

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> Kept:
        """Find the neighbours of all rows."""
        checkpoint()
        values = x.values() if self.estimator is not None and self.linear else None
        return self._kept(x.space(), values, self.ties)

    def permutable(self, y: Operand, checkpoint: Checkpoint) -> Kept:
        """Find the neighbours of all rows: where ties go by row number, all that tie, for numbers will change."""
        checkpoint()
        values = y.values() if self.estimator is not None and self.linear else None
        return self._kept(y.space(), values, Ties.FRACTIONAL)

    def statistics(
        self, fixed: Sequence[Kept], permutable: Kept, orders: Sequence[NDArray[np.int64]], checkpoint: Checkpoint
    ) -> NDArray[np.float64]:
        """Scores, shape (orders, fixed)."""
        found = np.empty((len(orders), len(fixed)))
        for place, order in enumerate(orders):
            checkpoint()
            found[place] = [self._score(x, permutable, order) for x in fixed]
        return found

    def _score(self, x: Kept, y: Kept, order: NDArray[np.int64]) -> float:
        rows = self.shape.rows
        if not is_permutation(order, rows):  # of rows that repeat, neighbourhoods change
            values = None if y.values is None else np.ascontiguousarray(y.values[order])
            y, order = self._kept(spaces.select(y.space, order), values, self.ties), np.arange(rows)
        by_number = self.ties is Ties.INDEX and y.neighbours.ties > 0
        if self.estimator is None and not by_number:
            (met,) = permuted_overlaps(x.neighbours, y.neighbours, [order])
            return self._share(met)
        moved, entries = renumbered(y, order)
        if by_number:
            kept = first_come(moved)
            moved, entries = keep(moved, kept), None if entries is None else entries[kept]
        if self.estimator is None:
            return self._share(overlaps(x.neighbours, moved))
        assert x.entries is not None
        assert entries is not None
        scored = cknna(x.neighbours, x.entries, moved, entries, self.estimator)
        if scored.score is None:
            raise UndefinedStatistic(str(scored.reason))
        return scored.score

    def _share(self, met: Overlaps) -> float:
        above, below = exact_total(met.above, met.below)
        return above / (below * self.shape.rows * self.nearest)

    def _kept(self, space: Space, values: NDArray[Any] | None, ties: Ties) -> Kept:
        every = np.arange(space.rows)
        found = nearest(space, every, self.nearest, ties)
        if self.estimator is None:
            return Kept(space, found)
        if values is not None:
            entries = kernels.linear_entries(values, kernels.exponent_of(values), every, found)
            return Kept(space, found, values, entries)
        return Kept(space, found, None, kernels.distance_entries(space, every, found))


def renumbered(kept: Kept, order: NDArray[np.int64]) -> tuple[Neighbours, NDArray[np.float64] | None]:
    """Give the neighbours of all rows, and the entries for them, after the rows were put into another order.

    `order` : int64 of shape (N,), the row that takes each row's place: a permutation.
    """
    found, entries = kept.neighbours, kept.entries
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    lengths = np.diff(found.start)
    owner = place[np.repeat(np.arange(len(order)), lengths)]
    rows = place[found.rows]
    # By anchor and then by neighbour, in the new numbers.
    sequence = np.lexsort((rows, owner))
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[order])))
    moved = Neighbours(
        found.nearest,
        start,
        rows[sequence].astype(np.int32),
        found.shared[sequence],
        found.above[order],
        found.below[order],
    )
    return moved, None if entries is None else entries[sequence]
