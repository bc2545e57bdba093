"""Orders of rows: which permutations there are of a job's rows, and those of one shard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.calibration import schemes
from ordsim_core.calibration.errors import UndefinedPermutationError
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ordsim_core.calibration.schemes import Scheme
    from workers.measures.calibration import Calibration
    from workers.measures.given import Grid
    from workers.measures.protocol import Shard

    Block = list[NDArray[np.int64]]

ORDERS_BYTES = 32 * 1024**2
"""Of orders of rows that are held at a time."""
BETWEEN = "between-groups"


@dataclass(frozen=True)
class Orders:
    """Orders of rows, made a few at a time; without a scheme, the rows as they are.

    Attributes
    ----------
    numbers : range
        0 is the identity; 1, 2, ... are the permutations.
    rows : int
        How many are permuted.
    permutations : int
        How many were asked for, by all shards.
    """

    scheme: Scheme | None
    numbers: range
    seed: int
    rows: int
    permutations: int = 0

    @property
    def of_x(self) -> bool:
        """Whether x is permuted, because y cannot be."""
        return self.scheme is not None and self.scheme.side == "x"

    @property
    def enumerated(self) -> bool:
        """Whether all permutations there are are gone through."""
        return self.scheme is not None and self.scheme.has_at_most(self.permutations)

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """Give the place of the first order of each block, and the block."""
        if len(self.numbers) <= self._step:
            yield 0, self._only_block
            return
        for first in range(0, len(self.numbers), self._step):
            yield first, [self._order(number) for number in self.numbers[first : first + self._step]]

    @property
    def _step(self) -> int:
        return max(1, ORDERS_BYTES // (8 * max(1, self.rows)))

    @cached_property
    def _only_block(self) -> Block:
        """All orders: kept, as every array is permuted by them."""
        return [self._order(number) for number in self.numbers]

    def _order(self, number: int) -> NDArray[np.int64]:
        if self.scheme is None:
            return np.arange(self.rows)
        return self.scheme.listed(number) if self.enumerated else self.scheme.drawn(self.seed, number)


def ranging(calibration: Calibration | None, grid: Grid, shard: Shard, seed: int) -> Orders:
    """Give the orders of one shard; the identity alone where nothing is calibrated.

    Raises
    ------
    ProblemError
        undefined-permutation, if rows cannot be permuted by the scheme.
    """
    rows = grid.shape.rows
    if calibration is None:
        return Orders(None, range(1), seed, rows)
    scheme, start, stop = _scheme(calibration, grid), shard.start, shard.stop
    if scheme.has_at_most(calibration.permutations):
        start, stop = min(start, scheme.number), min(stop, scheme.number)
    return Orders(scheme, range(start, stop), seed, rows, calibration.permutations)


def _scheme(calibration: Calibration, grid: Grid) -> Scheme:
    """Choose the permutations; undefined-permutation if there are none."""
    groups, constant = grid.groups, None
    if calibration.scheme == BETWEEN and groups is not None and len(set(np.bincount(groups).tolist())) > 1:
        constant = _constant_side(grid, groups)
    try:
        return schemes.scheme(calibration.scheme, grid.shape.rows, groups, constant=constant)
    except UndefinedPermutationError as error:
        raise ProblemError("undefined-permutation", f"Rows cannot be permuted: {error}.") from None


def _constant_side(grid: Grid, groups: NDArray[np.int64]) -> schemes.Side | None:
    """Name a side all of whose arrays have equal rows within every group."""
    if all(schemes.constant_within(one.values(), groups) for one in grid.y):
        return "y"
    return "x" if all(schemes.constant_within(one.values(), groups) for one in grid.x) else None
