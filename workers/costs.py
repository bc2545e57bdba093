"""How long work takes, from the shape of the data alone. Only the length of shards and tiles depends on it.

Constants are a fit by eye to N in 500, 2000, 8000 and 32000 rows of D in 8, 64 and 384 columns on both
sides, standard normal x and y = x + 0.7 noise in float32, both distances: thread CPU time, median of three calls
after compilation, on one core with AVX-512, numpy 2.4 and numba 0.68. Within that range the estimate is right to a
factor of two, except for samples from 32000 rows and more, whose rows no longer fit the cache: up to three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.measures.protocol import PairShape

NANOSECOND = 1e-9

TARGET = 75 * NANOSECOND
"""An anchor's comparisons with one target more: sorting, and counting agreement."""
TARGET_COLUMN = 0.22 * NANOSECOND
"""One column, of either side, of the distance from an anchor to a target."""

SAMPLE = 120 * NANOSECOND
"""Drawing a tuple and comparing its distances."""
SAMPLE_COLUMN = 2.8 * NANOSECOND
"""One column, of either side, of the two distances of a tuple."""


def anchor_seconds(shape: PairShape) -> float:
    """Estimate the time to count all comparisons of one anchor."""
    return max(shape.rows, 1) * (TARGET + TARGET_COLUMN * _columns(shape))


def triplet_seconds(shape: PairShape) -> float:
    """Estimate the time to draw and count one triplet."""
    return SAMPLE + SAMPLE_COLUMN * _columns(shape)


def quadruplet_seconds(shape: PairShape) -> float:
    """Estimate the time to draw and count one quadruplet; as measured, that of a triplet."""
    return triplet_seconds(shape)


def _columns(shape: PairShape) -> int:
    return shape.x_columns + shape.y_columns
