"""Two sides brought together: the distances in x, and by how much those in y are larger.

Where x and y are close, that change is computed from the differences of rows and not from two distances, so that its
relative error stays small however small it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairwise import kernels, listed, precise, rows
from ordsim_core.pairwise.blocks import Blocks
from ordsim_core.pairwise.entries import Entries, of_products, of_squares
from ordsim_core.pairwise.related import CAREFUL, DIFFERENCES, IDENTICAL, SEPARATE, Related, Relation, relate
from ordsim_core.pairwise.rows import SQUARES, UNCHANGED, Prepared, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.pairwise.tiles import Tile


CAREFUL_ROWS = 16
"""Rows of a tile that are computed in twice the precision at a time."""


class _Rows(NamedTuple):
    """Blocks of rows of each side, and of both together; what is called while a tile takes long."""

    x: Blocks[Prepared]
    y: Blocks[Prepared]
    both: Blocks[Related]
    checkpoint: Callable[[], None]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two sides, and how their entries are brought together.

    Attributes
    ----------
    x, y : Side
    relation : Relation
    factor : float
        What distances in y are multiplied with where the sides are separate.
    """

    x: Side
    y: Side
    relation: Relation
    factor: float = 1.0

    def with_values(self, x: NDArray[Any], y: NDArray[Any]) -> Pairing:
        """Give the same for arrays of these values."""
        return replace(self, x=replace(self.x, values=x), y=replace(self.y, values=y))

    def chosen(self, batch: NDArray[np.int64]) -> Pairing:
        """Give the same for some of the rows."""
        return self.with_values(*(_chosen(side, batch) for side in (self.x, self.y)))

    def distances(
        self, tiles: Iterable[Tile], checkpoint: Callable[[], None] = no_checkpoint
    ) -> Iterator[tuple[Tile, Entries]]:
        """Yield distances tile by tile."""
        blocks = self._rows(checkpoint)
        for tile in tiles:
            checkpoint()
            yield tile, self._distances(tile, blocks)

    def squares(
        self, tiles: Iterable[Tile], checkpoint: Callable[[], None] = no_checkpoint
    ) -> Iterator[tuple[Tile, Entries]]:
        """Yield squared Euclidean distances tile by tile, see `Entries`."""
        blocks = self._rows(checkpoint)
        for tile in tiles:
            checkpoint()
            yield tile, self._squares(tile, blocks)

    def squares_of_x(
        self, tiles: Iterable[Tile], checkpoint: Callable[[], None] = no_checkpoint
    ) -> Iterator[tuple[Tile, NDArray[np.float64]]]:
        """Yield squared Euclidean distances in x tile by tile."""
        blocks = self._rows(checkpoint)
        for tile in tiles:
            checkpoint()
            yield tile, _squared(*blocks.x.of(tile))

    def listed_distances(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Entries:
        """Give the distances of some pairs of rows."""
        route, distance = self.relation.route, self.x.distance
        if route == CAREFUL:
            return of_squares(distance, self.listed_squares(left, right))
        if route == SEPARATE or distance in UNCHANGED:
            of_x, of_y = (listed.distances(side, left, right) for side in (self.x, self.y))
            return Entries(of_x, self._change(of_x, of_y))
        return listed.related_distances(self.x, self.y, self.relation, left, right)

    def listed_squares(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Entries:
        """Give the squared Euclidean distances of some pairs of rows, see `Entries`."""
        if self.relation.route in (IDENTICAL, DIFFERENCES):
            return listed.related_squares(self.x, self.y, self.relation, left, right)
        of_x, of_y = (listed.squares(side, left, right) for side in (self.x, self.y))
        return Entries(of_x, of_y if self.relation.route == SEPARATE else self.relation.weight[0] * of_y - of_x)

    def _rows(self, checkpoint: Callable[[], None]) -> _Rows:
        x, y, relation = self.x, self.y, self.relation
        return _Rows(
            Blocks(lambda chosen: rows.prepare(x, chosen, relation.centre_x), 8 * x.columns),
            Blocks(lambda chosen: rows.prepare(y, chosen, relation.centre_y), 8 * y.columns),
            Blocks(lambda chosen: relate(x, y, chosen, relation), 24 * x.columns),
            checkpoint,
        )

    def _squares(self, tile: Tile, blocks: _Rows) -> Entries:
        route = self.relation.route
        if route == SEPARATE:
            return Entries(_squared(*blocks.x.of(tile)), _squared(*blocks.y.of(tile)))
        if route == IDENTICAL:
            squared = _squared(*blocks.x.of(tile))
            return Entries(squared, np.zeros_like(squared))
        if route == CAREFUL:
            return _careful_squares(tile, blocks, self.relation.weight)
        return _related_squares(*blocks.both.of(tile))

    def _distances(self, tile: Tile, blocks: _Rows) -> Entries:
        distance, route = self.x.distance, self.relation.route
        if route == IDENTICAL:
            found = _of_side(self.x, tile, blocks.x)
            return Entries(found, np.zeros_like(found))
        if route == SEPARATE:
            of_x, of_y = _of_side(self.x, tile, blocks.x), _of_side(self.y, tile, blocks.y)
            return Entries(of_x, self._change(of_x, of_y))
        if distance in SQUARES:
            return of_squares(distance, self._squares(tile, blocks))
        left, right = blocks.both.of(tile)
        if distance is Distance.DOT:
            return of_products(left.rows @ right.rows.T, _cross(left, right))
        of_x, changes = np.empty((tile.height, tile.width)), np.empty((tile.height, tile.width))
        kernels.changed_city_blocks((left.rows, left.differences), (right.rows, right.differences), of_x, changes)
        return Entries(of_x, changes)

    def _change(self, of_x: NDArray[np.float64], of_y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give by how much distances in y times the factor are larger; of stored ones, as if rounded once."""
        if self.factor == 1.0:
            return np.subtract(of_y, of_x, out=of_y)
        if self.y.distance in UNCHANGED:
            table = np.atleast_2d(of_x)
            scaled, change = np.empty_like(table), np.empty_like(table)
            nothing = np.zeros(table.shape[1])
            precise.scaled_difference(np.atleast_2d(of_y), table, self.factor, nothing, nothing, scaled, change)
            return np.negative(change, out=change).reshape(of_x.shape)
        of_y *= self.factor
        return np.subtract(of_y, of_x, out=of_y)


def _chosen(side: Side, batch: NDArray[np.int64]) -> NDArray[Any]:
    square = side.distance is Distance.PRECOMPUTED
    found: NDArray[Any] = side.values[np.ix_(batch, batch)] if square else side.values[batch]
    return found


def _of_side(side: Side, tile: Tile, blocks: Blocks[Prepared]) -> NDArray[np.float64]:
    """Give the distances of a tile on one side."""
    distance = side.distance
    if distance is Distance.PRECOMPUTED:
        return rows.stored(side, (slice(tile.top, tile.bottom), slice(tile.left, tile.right)))
    left, right = blocks.of(tile)
    if distance in SQUARES:
        found = _squared(left, right)
        return np.sqrt(found, out=found) if distance is Distance.EUCLIDEAN else np.multiply(found, 0.5, out=found)
    if distance is Distance.DOT:
        found = left.rows @ right.rows.T
        return np.negative(found, out=found)
    found = np.empty((tile.height, tile.width))
    (kernels.city_blocks if distance is Distance.MANHATTAN else kernels.unlike)(left.rows, right.rows, found)
    return found


def _squared(left: Prepared, right: Prepared) -> NDArray[np.float64]:
    found: NDArray[np.float64] = left.rows @ right.rows.T
    kernels.squares(found, left.rows, right.rows, left.squares, right.squares)
    return found


def _careful_squares(tile: Tile, blocks: _Rows, weight: tuple[float, float]) -> Entries:
    found = Entries(np.empty((tile.height, tile.width)), np.empty((tile.height, tile.width)))
    (one, other), (one_y, other_y) = blocks.x.of(tile), blocks.y.of(tile)
    for start in range(0, tile.height, CAREFUL_ROWS):
        blocks.checkpoint()
        part = slice(start, start + CAREFUL_ROWS)
        entries = (entry[part] for entry in found)
        precise.careful_squares(one.rows[part], other.rows, one_y.rows[part], other_y.rows, weight, *entries)
    return found


def _related_squares(left: Related, right: Related) -> Entries:
    found = Entries(left.rows @ right.rows.T, _cross(left, right))
    kernels.changed_squares(
        *found,
        (left.rows, left.sums, left.differences),
        (right.rows, right.sums, right.differences),
        left.squares,
        right.squares,
        left.changes,
        right.changes,
    )
    return found


def _cross(left: Related, right: Related) -> NDArray[np.float64]:
    """Give s_i . e_j + e_i . s_j."""
    found: NDArray[np.float64] = left.sums @ right.differences.T
    found += left.differences @ right.sums.T
    return found
