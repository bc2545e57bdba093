"""The grid of tiles that the matrix of all pairs of rows is cut into: fixed by the number of rows alone.

Sums are taken within a tile, always in the same way, and added up over tiles by `math.fsum`: which shard computed a
tile, and in which order tiles were done, cannot change a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EDGE = 512
"""Rows and columns of a tile."""
LONG_EDGE = 1024
"""The same where there are more than `MANY_ROWS`: what is kept of each tile grows with its edge, not with its area."""
MANY_ROWS = 1 << 15


@dataclass(frozen=True, slots=True)
class Tile:
    """Pairs (i, j) of rows top <= i < bottom and left <= j < right; on the diagonal both ranges are the same."""

    index: int
    top: int
    bottom: int
    left: int
    right: int

    @property
    def diagonal(self) -> bool:
        """Whether a row meets itself in this tile, and every pair comes twice."""
        return self.top == self.left

    @property
    def height(self) -> int:
        """Number of rows i."""
        return self.bottom - self.top

    @property
    def width(self) -> int:
        """Number of rows j."""
        return self.right - self.left

    @property
    def pairs(self) -> int:
        """Number of pairs {i, j} of different rows."""
        return comb(self.height, 2) if self.diagonal else self.height * self.width


@dataclass(frozen=True)
class TileGrid:
    """Tiles on and above the diagonal of the (rows, rows) matrix, numbered from 0 along block rows."""

    rows: int

    @property
    def edge(self) -> int:
        """Rows of a tile, but for the last ones."""
        return EDGE if self.rows <= MANY_ROWS else LONG_EDGE

    @cached_property
    def blocks(self) -> int:
        """Number of blocks that the rows are cut into."""
        return -(-self.rows // self.edge)

    def __len__(self) -> int:
        return self.blocks * (self.blocks + 1) // 2

    def tile(self, index: int) -> Tile:
        """Give the tile of this number.

        Raises
        ------
        ValueError
            If there is no such tile.
        """
        if not 0 <= index < len(self):
            raise ValueError(f"tile {index} is not one of the {len(self)} tiles of {self.rows} rows")
        # Counted from the last tile, block rows have 1, 2, 3, ... tiles.
        behind = len(self) - 1 - index
        row = (isqrt(8 * behind + 1) - 1) // 2
        block = self.blocks - 1 - row
        other = self.blocks - 1 - (behind - row * (row + 1) // 2)
        edge, rows = self.edge, self.rows
        return Tile(index, block * edge, min(rows, (block + 1) * edge), other * edge, min(rows, (other + 1) * edge))

    def tiles(self, start: int, stop: int) -> Iterator[Tile]:
        """Yield tiles `start` to `stop` - 1."""
        return (self.tile(index) for index in range(start, stop))

    def pairs(self, start: int, stop: int) -> int:
        """Count the pairs of different rows in tiles `start` to `stop` - 1."""
        return self._pairs_before(stop) - self._pairs_before(start)

    def _pairs_before(self, index: int) -> int:
        if index >= len(self):
            return comb(self.rows, 2)
        tile = self.tile(index)
        # Whole block rows above, then whole tiles to the left: the one on the diagonal, and others of full width.
        above = comb(self.rows, 2) - comb(self.rows - tile.top, 2)
        if tile.diagonal:
            return above
        return above + comb(tile.height, 2) + tile.height * (tile.left - tile.bottom)
