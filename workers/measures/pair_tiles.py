"""What measures over all pairs of rows have in common: shards of tiles, what they cost, and what finish must know."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.pairwise import blocks, related
from ordsim_core.pairwise.tiles import TileGrid
from workers import costs
from workers.measures import cutting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.measures.protocol import PairShape, Shard
    from workers.partials import Partial

SUMS, FACTS = "sums", "facts"
"""Pieces: sums of tiles, batches or blocks of samples; and what all of a worker's shards had in common."""

ENTRY = 10 * costs.NANOSECOND
"""A pair of rows: distances from products, and the sums of both sides."""
EXPONENTIALS = 20 * costs.NANOSECOND
"""A pair of entries of an RBF kernel."""
LISTED_PAIR = 300 * costs.NANOSECOND
"""Drawing a pair of rows."""
LISTED_COLUMN = 10 * costs.NANOSECOND
"""One column of either side of a pair that was drawn."""

UNAVAILABLE = 1 << 62
"""More memory than there is: what cannot be done for so many rows is refused whatever the worker."""

SCRATCH_BYTES = 3 * blocks.BLOCK_BYTES + 160 * costs.MEBIBYTE
"""Prepared rows, blocks of the arrays while means are taken, and the pairs that are looked at first."""


def pair_seconds(shape: PairShape) -> float:
    """Estimate the time of one pair of rows in a tile."""
    sides = ((shape.x_distance, shape.x_columns), (shape.y_distance, shape.y_columns))
    return ENTRY + sum(_column(distance) * columns for distance, columns in sides)


def euclidean(shape: PairShape) -> PairShape:
    """Give the shape of a measure that takes Euclidean distances whatever was asked for."""
    return replace(shape, x_distance=Distance.EUCLIDEAN, y_distance=Distance.EUCLIDEAN)


def listed_seconds(shape: PairShape) -> float:
    """Estimate the time of one pair of rows that was drawn."""
    return LISTED_PAIR + LISTED_COLUMN * (shape.x_columns + shape.y_columns)


def tile_bytes(shape: PairShape) -> int:
    """Bound the memory in which tiles are summed: entries, columns and blocks of rows."""
    edge = TileGrid(shape.rows).edge
    least = blocks.LEAST_BLOCKS * edge * 8 * 3 * (shape.x_columns + shape.y_columns)
    return SCRATCH_BYTES + 6 * 8 * edge * edge + least


def shards(shape: PairShape, seconds_each: float, seconds: float) -> list[Shard]:
    """Cut the tiles of all pairs of rows into shards of about so many seconds; `seconds_each` of one pair."""
    grid = TileGrid(shape.rows)
    count = len(grid)
    found = cutting.shards(count, seconds_each * max(1, comb(shape.rows, 2)) / max(1, count), seconds, 1)
    return [replace(shard, comparisons=grid.pairs(shard.start, shard.stop)) for shard in found]


def emptied(values: NDArray[Any]) -> NDArray[Any]:
    """Give an array of the same columns and type without rows, to stand for one that is not to be kept."""
    return np.empty((0, *values.shape[1:]), values.dtype)


def facts(*numbers: float) -> NDArray[np.float64]:
    """Write what shards had in common, to be read by `common`."""
    return np.array([numbers])


def common(measure: str, total: Partial) -> list[float]:
    """Read what all shards had in common.

    Raises
    ------
    RuntimeError
        If they do not agree, but for the rounding that may differ between machines.
    """
    found = total.vector(FACTS)
    # What is taken off entries may be nothing but rounding itself.
    rounding = 1e-9 * np.abs(found[:, :2]).max()
    if not np.allclose(found, found[0], rtol=1e-6, atol=rounding):
        raise RuntimeError(f"{measure}: shards were computed in different ways, {found.tolist()}")
    first: list[float] = found[0].tolist()
    return first


def require_parts(measure: str, parts: NDArray[Any], expected: int) -> None:
    """Refuse a total to which a shard is missing: it would look like any other score."""
    if len(parts) != expected:
        raise RuntimeError(f"{measure}: the shards add up to {len(parts)} parts instead of {expected}")


def route_number(route: str) -> float:
    """Give the number by which a route is written down."""
    return float(related.ROUTES.index(route))


def route_name(number: float) -> str:
    """Give the route of a number."""
    return related.ROUTES[int(number)]


def _column(distance: Distance) -> float:
    if distance in (Distance.MANHATTAN, Distance.HAMMING):
        return costs.LISTED_COLUMN
    return 0.0 if distance is Distance.PRECOMPUTED else costs.PRODUCT_COLUMN
