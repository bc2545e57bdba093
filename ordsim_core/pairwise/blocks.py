"""Blocks of rows, prepared once for all tiles of a walk that need them, as far as memory is set aside."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.pairwise.tiles import Tile

BLOCK_BYTES = 1 << 26
"""Blocks of prepared rows are kept in so much memory, but a few in any case."""
LEAST_BLOCKS = 4

Block = TypeVar("Block")


class Blocks(Generic[Block]):
    """The blocks that were used last.

    Parameters
    ----------
    make : callable
        Prepares the rows of a slice.
    row_bytes : int
        Memory that a prepared row takes.
    """

    def __init__(self, make: Callable[[slice], Block], row_bytes: int) -> None:
        self._make, self._row_bytes = make, row_bytes
        self._kept: OrderedDict[int, Block] = OrderedDict()

    def of(self, tile: Tile) -> tuple[Block, Block]:
        """Give the rows i and the rows j of a tile."""
        return self._one(tile.top, tile.bottom), self._one(tile.left, tile.right)

    def _one(self, start: int, stop: int) -> Block:
        if start in self._kept:
            self._kept.move_to_end(start)
            return self._kept[start]
        found = self._make(slice(start, stop))
        self._kept[start] = found
        most = BLOCK_BYTES // (self._row_bytes * (stop - start))
        while len(self._kept) > max(LEAST_BLOCKS, most):
            self._kept.popitem(last=False)
        return found
