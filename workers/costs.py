"""How long work takes, from the shape of the data alone. Only the length of shards depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.measures.protocol import PairShape

NANOSECOND = 1e-9


def anchor_seconds(shape: PairShape) -> float:
    return NANOSECOND * max(shape.rows, 1) * (100 + 0.5 * (shape.x_columns + shape.y_columns))


def triplet_seconds(shape: PairShape) -> float:
    return NANOSECOND * (100 + 0.5 * (shape.x_columns + shape.y_columns))


def quadruplet_seconds(shape: PairShape) -> float:
    return NANOSECOND * (100 + 0.5 * (shape.x_columns + shape.y_columns))
