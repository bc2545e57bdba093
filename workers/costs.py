"""How long work takes, and in how much memory, from the shape of the data alone.

Only the length of shards and tiles, what a plan says and what is refused for lack of memory depend on it. Constants
are a fit by eye to N in 2000, 10000 and 50000 rows of D in 64 and 512 columns on both sides, standard normal x and
y = x + 0.7 noise in float32: thread CPU time, best of three calls after compilation, on one busy core with AVX2, numpy
2.4 and numba 0.68. Within that range the estimate is right to a factor of two.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING

from ordsim_core import triplets
from ordsim_core.distances import Distance

if TYPE_CHECKING:
    from workers.measures.protocol import PairShape

NANOSECOND = 1e-9
MEBIBYTE = 1024**2

TARGET = 45 * NANOSECOND
"""An anchor's comparisons with one target more: sorting both sides, and counting agreement."""
PRODUCT_COLUMN = 0.05 * NANOSECOND
"""One column, of either side, of a product of rows in float64; in float32 half of it."""
LISTED_COLUMN = 0.2 * NANOSECOND
"""One column of a distance that is not made of products."""

SAMPLE = 100 * NANOSECOND
"""Drawing a tuple and comparing its distances."""
SAMPLE_COLUMN = 1.2 * NANOSECOND
"""One column, of either side, of the two distances of a tuple: rows come from memory, not from the cache."""
MEMBER = 120 * NANOSECOND
"""Drawing one member of a unit."""
MEMBER_COLUMN = 0.7 * NANOSECOND
MEMBER_PAIR = 2 * NANOSECOND
"""Comparing two members of a unit."""
SIFT = 20 * NANOSECOND
"""Seeing to which strips a pair of rows belongs."""
PAIR = 120 * NANOSECOND
"""One pair of rows among all of them: sorting both sides, and counting agreement across strips."""
STRIP_BYTES = 320 * MEBIBYTE
"""Memory in which pairs are sifted, and one strip of them is counted."""

STAGE = 0.05
"""Opening arrays, and bringing a copy to the disk."""
STAGE_BYTE = 9 * NANOSECOND
"""One byte of an array, from the store to a staged copy with its digest."""
PREPARE_VALUE = 50 * NANOSECOND
"""One value of a staged array, made ready for its distance."""
SELECT_VALUE = 10 * NANOSECOND
"""One value of a row that is taken from a prepared array into another."""

PROCESS_BYTES = 256 * MEBIBYTE
"""Private memory of a worker that holds no data: interpreter, libraries and compiled kernels."""

ROW_BYTES = 96
"""What is known of one row of a prepared array."""

SAMPLES_BYTES = 16 * MEBIBYTE
"""Memory in which samples are drawn and counted."""


def anchor_seconds(shape: PairShape) -> float:
    """Estimate the time to count all comparisons of one anchor."""
    return max(shape.rows, 1) * (TARGET + _column_seconds(shape))


def triplet_seconds(shape: PairShape) -> float:
    """Estimate the time to draw and count one triplet."""
    return SAMPLE + SAMPLE_COLUMN * _columns(shape)


def unit_seconds(shape: PairShape, members: int) -> float:
    """Estimate the time to draw and count one unit of so many members."""
    return members * (MEMBER + MEMBER_COLUMN * _columns(shape) + MEMBER_PAIR * (members - 1) / 2)


def all_pairs_seconds(shape: PairShape) -> float:
    """Estimate the time to compare all pairs of rows with all others."""
    return pass_seconds(shape) + counting_seconds(shape)


def pass_seconds(shape: PairShape) -> float:
    """Estimate the time to look once at all pairs of rows, for those of some strips."""
    return comb(shape.rows, 2) * (SIFT + _column_seconds(shape))


def counting_seconds(shape: PairShape) -> float:
    """Estimate the time to put all pairs of rows into order, strip by strip, in x and in y, and to count."""
    return comb(shape.rows, 2) * PAIR


def all_pairs_bytes(shape: PairShape) -> int:
    """Bound the memory in which all pairs of rows are compared at once."""
    return record_bytes(shape) * comb(shape.rows, 2) + 64 * MEBIBYTE


def record_bytes(shape: PairShape) -> int:
    """Bound the bytes in which exact QSI keeps one pair of rows: the keys of both sides, and the rows if need be.

    In float32 a key has 4 bytes, but 8 if the values turn out to be whole numbers, whose order is exact.
    """
    certified = _certified(shape.x_distance, shape.x_itemsize, shape.x_float, shape.precision) or _certified(
        shape.y_distance, shape.y_itemsize, shape.y_float, shape.precision
    )
    return 24 if certified else 16


def _certified(distance: Distance, itemsize: int, is_float: bool, precision: str) -> bool:
    """Whether close keys may have to be compared by other means, for which the rows are kept."""
    if distance in (Distance.HAMMING, Distance.PRECOMPUTED):
        return False
    if precision == "float32":
        return distance is Distance.CORRELATION  # centred, it is ordered as exactly as in float64
    # Keys of bytes are whole numbers that fit, unless they are divided.
    return is_float or itemsize > 1 or distance in (Distance.COSINE, Distance.CORRELATION)


def batch_shape(shape: PairShape, rows: int) -> PairShape:
    """Give the shape of so many of the rows."""
    return replace(shape, rows=rows)


def quadruplet_seconds(shape: PairShape) -> float:
    """Estimate the time to draw and count one quadruplet; as measured, that of a triplet."""
    return triplet_seconds(shape)


def anchor_bytes(shape: PairShape) -> int:
    """Bound the memory in which anchors are counted: products of both sides, copied rows, and what orders an anchor."""
    products = 2 * min(triplets.PRODUCT_BYTES, 8 * shape.rows**2)
    copied = min(triplets.PRODUCT_BYTES, 8 * shape.rows * max(shape.x_columns, shape.y_columns))
    return products + copied + 16 * MEBIBYTE + 64 * shape.rows


def pair_bytes(shape: PairShape) -> int:
    """Bound the private memory of both prepared arrays."""
    return sum(held for held, _ in _spaces(shape))


def selected_bytes(shape: PairShape) -> int:
    """Bound the private memory of both arrays of a batch, whose rows are copied, and of preparing them."""
    copies = shape.rows * (
        shape.x_columns * _stored_bytes(shape.x_distance, shape.x_itemsize, shape.x_float)
        + shape.y_columns * _stored_bytes(shape.y_distance, shape.y_itemsize, shape.y_float)
    )
    return pair_bytes(shape) + copies


def _stored_bytes(distance: Distance, itemsize: int, is_float: bool) -> int:
    """Bytes of a value of a prepared array's rows."""
    if distance in (Distance.COSINE, Distance.CORRELATION):
        return 8
    return 4 if itemsize < 4 or (is_float and itemsize == 4) else 8


def preparing_bytes(shape: PairShape) -> int:
    """Bound what is used beside `pair_bytes` while the second array is prepared, or the first without it."""
    (_, more_x), (held_y, more_y) = _spaces(shape)
    return max(more_y, more_x - held_y)


def _spaces(shape: PairShape) -> tuple[tuple[int, int], tuple[int, int]]:
    """Private bytes of each prepared array, and those used beside them while it is prepared."""
    x = _space(shape.rows * shape.x_columns, shape.x_distance, shape.x_itemsize, shape.x_float, shape.precision)
    y = _space(shape.rows * shape.y_columns, shape.y_distance, shape.y_itemsize, shape.y_float, shape.precision)
    row = ROW_BYTES * shape.rows
    return (x[0] + row, x[1] + row), (y[0] + row, y[1] + row)


def _space(values: int, distance: Distance, itemsize: int, is_float: bool, precision: str) -> tuple[int, int]:
    """As `_spaces`, of one array: rows as they were stored or scaled, and what their products are made of."""
    copied = 0 if is_float else (4 if itemsize < 4 else 8)
    if distance is Distance.PRECOMPUTED:
        return values * copied, values * copied // 2 + 16 * MEBIBYTE
    if distance in (Distance.MANHATTAN, Distance.HAMMING):
        return values * copied, 9 * values + 16 * MEBIBYTE
    if distance in (Distance.COSINE, Distance.CORRELATION):
        copied = 8
    # Correlation may need float64 whatever was asked for.
    small = precision == "float32" and (is_float or itemsize < 4) and distance is not Distance.CORRELATION
    return values * (copied + (4 if small else 8)), (13 if is_float else 17) * values + 16 * MEBIBYTE


def stage_seconds(size: int) -> float:
    """Estimate the time to read, check and copy arrays of `size` bytes together."""
    return STAGE + STAGE_BYTE * size


def prepare_seconds(shape: PairShape) -> float:
    """Estimate the time in which a worker prepares both arrays."""
    return PREPARE_VALUE * shape.rows * _columns(shape)


def select_seconds(shape: PairShape) -> float:
    """Estimate the time in which both sides of a batch of this shape are taken from prepared arrays."""
    return SELECT_VALUE * shape.rows * _columns(shape)


def _columns(shape: PairShape) -> int:
    return shape.x_columns + shape.y_columns


def _column_seconds(shape: PairShape) -> float:
    """Estimate the time that all columns of both sides add to the distance of one pair."""
    sides = ((shape.x_distance, shape.x_columns), (shape.y_distance, shape.y_columns))
    return sum(_column(distance, shape.precision) * columns for distance, columns in sides)


def _column(distance: Distance, precision: str) -> float:
    if distance in (Distance.MANHATTAN, Distance.HAMMING):
        return LISTED_COLUMN
    if distance is Distance.PRECOMPUTED:
        return 0.0
    return PRODUCT_COLUMN / 2 if precision == "float32" else PRODUCT_COLUMN
