"""Arrays of a grid that are not those of the job: some of their rows, drawn at random, or values in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import sampling, spaces
from ordsim_core.distances import Distance, Precision
from workers.measures.given import Grid
from workers.measures.protocol import EXACT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space
    from workers.measures.given import Operand

_STREAM = 0x5851F42D4C957F2D


@dataclass(frozen=True, slots=True)
class SomeRows:
    """An array of which some rows are taken."""

    whole: Operand
    rows: NDArray[np.int64]

    @property
    def distance(self) -> Distance:
        """How distance is measured in it."""
        return self.whole.distance

    @property
    def fingerprint(self) -> str:
        """Digest of the values of the whole."""
        return self.whole.fingerprint

    @property
    def precision(self) -> str:
        """How precisely distances are ordered, as it was asked for."""
        return self.whole.precision

    @property
    def columns(self) -> int:
        """D, the number of columns."""
        return len(self.rows) if self.distance is Distance.PRECOMPUTED else self.whole.columns

    def space(self) -> Space:
        """Prepare the rows for the distance."""
        return spaces.select(self.whole.space(), self.rows)

    def values(self) -> NDArray[Any]:
        """Copy the rows, shape (rows, D); of precomputed distances the columns of the same numbers."""
        values = self.whole.values()
        if self.distance is Distance.PRECOMPUTED:
            return values[np.ix_(self.rows, self.rows)]
        return np.ascontiguousarray(values[self.rows])


@dataclass(frozen=True, slots=True)
class InMemory:
    """An array that is not staged."""

    held: NDArray[Any]
    distance: Distance
    precision: str = EXACT
    fingerprint: str = ""

    @property
    def columns(self) -> int:
        """D, the number of columns."""
        return int(self.held.shape[1])

    def space(self) -> Space:
        """Prepare it for its distance."""
        return spaces.prepare(self.held, self.distance, Precision(self.precision))

    def values(self) -> NDArray[Any]:
        """The array itself."""
        return self.held


def subset(grid: Grid, size: int, seed: int, *, whole_groups: bool = False) -> Grid:
    """Take `size` rows of every array, the same ones in ascending order; the grid itself if it has no more.

    Which ones depends on the number of rows, the groups, `size` and the seed alone. With `whole_groups`, groups are
    taken as long as they fit, so there may be fewer rows.
    """
    rows = grid.shape.rows
    if size >= rows:
        return grid
    own = int(sampling.stream_key(seed, _STREAM))
    if whole_groups and grid.groups is not None:
        chosen = _of_whole_groups(grid.groups, size, own)
    else:
        chosen = np.sort(sampling.permutation(own, rows)[:size])
    return Grid(
        tuple(SomeRows(one, chosen) for one in grid.x),
        tuple(SomeRows(one, chosen) for one in grid.y),
        replace(grid.shape, rows=len(chosen)),
        None if grid.groups is None else np.unique(grid.groups[chosen], return_inverse=True)[1].astype(np.int64),
    )


def _of_whole_groups(groups: NDArray[np.int64], size: int, seed: int) -> NDArray[np.int64]:
    sizes = np.bincount(groups)
    order = sampling.permutation(seed, len(sizes))
    taken = order[np.cumsum(sizes[order]) <= size]
    return np.flatnonzero(np.isin(groups, taken))
