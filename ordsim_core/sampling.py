"""Counter-based samplers: sample t depends on the seed and t alone, so any shard can make any part of a stream.

Random bits come from the SplitMix64 finaliser (Steele, Lea and Flood 2014) of a counter. Indices are distinct by
construction, without rejection: each is drawn from the rows that are left and shifted past the earlier ones. A
64-bit draw is reduced to N rows by the high half of the product with N, whose bias is below N 2^-64 a draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.integers import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEEDS = 2**64
ROWS_LIMIT = 2**31
SAMPLES_LIMIT = 2**60
"""Eight counters are set aside for a sample, and a counter has 64 bits."""

# Odd constants that tell the streams of one seed apart.
TRIPLET_STREAM = 0x9E3779B97F4A7C15
QUADRUPLET_STREAM = 0xD1B54A32D192ED03
TRIPLET_UNIT_STREAM = 0x8CB92BA72F3D8DD7
QUADRUPLET_UNIT_STREAM = 0xAAAAAAAAAAAAAAAB
ANCHOR_STREAM = 0xC2B2AE3D27D4EB4F
BATCH_STREAM = 0x165667B19E3779F9


def triplets(seed: int, start: int, stop: int, rows: int) -> NDArray[np.int64]:
    """Draw samples `start` to `stop` - 1 of the triplet stream.

    Returns
    -------
    ndarray of int64, shape (stop - start, 3)
        Rows (anchor, target, target), distinct and uniform over ordered triples.

    Raises
    ------
    ValueError
        If there are fewer than 3 rows, or the seed or range is out of bounds.
    """
    check(seed, start, stop, rows, 3)
    drawn = np.empty((stop - start, 3), np.int64)
    _fill_triplets(stream_key(seed, TRIPLET_STREAM), np.int64(start), np.int64(rows), drawn)
    return drawn


def quadruplets(seed: int, start: int, stop: int, rows: int) -> NDArray[np.int64]:
    """Draw samples `start` to `stop` - 1 of the quadruplet stream.

    Returns
    -------
    ndarray of int64, shape (stop - start, 4)
        Rows (i, j, k, l): pairs {i, j} and {k, l}, all distinct, uniform over ordered quadruples.

    Raises
    ------
    ValueError
        If there are fewer than 4 rows, or the seed or range is out of bounds.
    """
    check(seed, start, stop, rows, 4)
    drawn = np.empty((stop - start, 4), np.int64)
    _fill_quadruplets(stream_key(seed, QUADRUPLET_STREAM), np.int64(start), np.int64(rows), drawn)
    return drawn


def triplet_units(seed: int, start: int, stop: int, rows: int, targets: int) -> NDArray[np.int64]:
    """Draw units `start` to `stop` - 1 of anchors with several targets.

    Returns
    -------
    ndarray of int64, shape (stop - start, 1 + targets)
        Rows (anchor, target, target, ...), distinct and uniform.

    Raises
    ------
    ValueError
        If there are fewer than 1 + `targets` rows, or the seed or range is out of bounds.
    """
    return _units(seed, TRIPLET_UNIT_STREAM, start, stop, rows, 1 + targets)


def quadruplet_units(seed: int, start: int, stop: int, rows: int, pairs: int) -> NDArray[np.int64]:
    """Draw units `start` to `stop` - 1 of disjoint pairs.

    Returns
    -------
    ndarray of int64, shape (stop - start, 2 * pairs)
        Rows (i, j, i, j, ...), all distinct and uniform.

    Raises
    ------
    ValueError
        If there are fewer than 2 * `pairs` rows, or the seed or range is out of bounds.
    """
    return _units(seed, QUADRUPLET_UNIT_STREAM, start, stop, rows, 2 * pairs)


def permutation(seed: int, rows: int) -> NDArray[np.int64]:
    """Draw an order of all rows, int64 of shape (rows,); its first m entries are m rows without replacement.

    Rows are sorted by 64 random bits each: two of a million are equal with probability 3e-8, and stand in order then.
    """
    check(seed, 0, 0, rows, 1)
    return _permuted(stream_key(seed, ANCHOR_STREAM), rows)


def batch(seed: int, index: int, size: int, rows: int) -> NDArray[np.int64]:
    """Draw batch `index`: `size` distinct rows in ascending order, int64 of shape (size,).

    Raises
    ------
    ValueError
        If there are fewer than `size` rows, or the seed or index is out of bounds.
    """
    check(seed, index, index + 1, rows, size)
    drawn: NDArray[np.int64] = np.sort(_permuted(stream_key(seed, BATCH_STREAM), rows, index)[:size])
    return drawn


def _permuted(key: np.uint64, rows: int, index: int = 0) -> NDArray[np.int64]:
    bits = np.empty(rows, np.uint64)
    _fill_bits(np.uint64(_bits(key, index, 0)), bits)
    return np.argsort(bits, kind="stable")


def _units(seed: int, stream: int, start: int, stop: int, rows: int, size: int) -> NDArray[np.int64]:
    check(seed, start, stop, rows, size)
    drawn = np.empty((stop - start, size), np.int64)
    _fill_units(stream_key(seed, stream), np.int64(start), np.int64(rows), drawn)
    return drawn


def check(seed: int, start: int, stop: int, rows: int, needed: int) -> None:
    """Raise ValueError unless `needed` distinct rows can be drawn for this part of a stream."""
    for name, value in (("seed", seed), ("the first sample", start), ("the end of the samples", stop)):
        integer(value, name)
    if rows < needed:
        raise ValueError(f"{needed} distinct rows are needed, there are {rows}")
    if rows >= ROWS_LIMIT:
        raise ValueError(f"rows must be below 2^31, there are {rows}")
    if not 0 <= seed < SEEDS:
        raise ValueError(f"seed must lie between 0 and 2^64 - 1, not {seed}")
    if not 0 <= start <= stop <= SAMPLES_LIMIT:
        raise ValueError(f"samples {start} to {stop} are not a part of the stream, which has 2^60")


def stream_key(seed: int, stream: int) -> np.uint64:
    """Mix a seed and a stream into the key that every sample's bits start from."""
    mixed = (int(seed) ^ stream) * 0xBF58476D1CE4E5B9 % SEEDS
    return np.uint64(mixed ^ (mixed >> 32))


@kernel
def _bits(key: np.uint64, sample: Int, lane: Int) -> np.uint64:
    # Two rounds of the finaliser, the key added in between: neighbouring samples, lanes and seeds all differ.
    z = np.uint64(sample) * np.uint64(8) + np.uint64(lane)
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) + key
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _below(bits: np.uint64, rows: Int) -> Int:
    # High 64 bits of bits * rows, in two halves; rows is below 2^31, so neither product overflows.
    low = (bits & np.uint64(0xFFFFFFFF)) * np.uint64(rows)
    high = (bits >> np.uint64(32)) * np.uint64(rows)
    return np.int64((high + (low >> np.uint64(32))) >> np.uint64(32))


@kernel
def _two(key: np.uint64, sample: Int, rows: Int) -> tuple[Int, Int]:
    first = _below(_bits(key, sample, 0), rows)
    second = _below(_bits(key, sample, 1), rows - 1)
    if second >= first:
        second += 1
    return first, second


@kernel
def _third(key: np.uint64, sample: Int, rows: Int, first: Int, second: Int) -> Int:
    third = _below(_bits(key, sample, 2), rows - 2)
    if third >= min(first, second):
        third += 1
    if third >= max(first, second):
        third += 1
    return third


@kernel
def draw_unit(key: np.uint64, unit: Int, rows: Int, drawn: NDArray[np.int64], sorted_rows: NDArray[np.int64]) -> None:
    """Draw distinct rows for one unit into `drawn`; `sorted_rows` is scratch space of the same size."""
    own = _bits(key, unit, 0)
    for place in range(drawn.shape[0]):
        row = _below(_bits(own, place, 1), rows - place)
        # Past the rows that were drawn before, in ascending order, into which it is then inserted.
        at = 0
        while at < place and row >= sorted_rows[at]:
            row += 1
            at += 1
        for later in range(place, at, -1):
            sorted_rows[later] = sorted_rows[later - 1]
        sorted_rows[at] = row
        drawn[place] = row


@kernel
def draw_triplet(key: np.uint64, sample: Int, rows: Int) -> tuple[Int, Int, Int]:
    """Draw one triplet, for kernels that need no table of them."""
    first, second = _two(key, sample, rows)
    return first, second, _third(key, sample, rows, first, second)


@kernel
def draw_quadruplet(key: np.uint64, sample: Int, rows: Int) -> tuple[Int, Int, Int, Int]:
    """Draw one quadruplet, for kernels that need no table of them."""
    first, second = _two(key, sample, rows)
    third = _third(key, sample, rows, first, second)
    low, high = min(first, second, third), max(first, second, third)
    middle = first + second + third - low - high
    fourth = _below(_bits(key, sample, 3), rows - 3)
    if fourth >= low:
        fourth += 1
    if fourth >= middle:
        fourth += 1
    if fourth >= high:
        fourth += 1
    return first, second, third, fourth


@kernel
def _fill_triplets(key: np.uint64, start: Int, rows: Int, drawn: NDArray[np.int64]) -> None:
    for t in range(drawn.shape[0]):
        drawn[t, 0], drawn[t, 1], drawn[t, 2] = draw_triplet(key, start + t, rows)


@kernel
def _fill_quadruplets(key: np.uint64, start: Int, rows: Int, drawn: NDArray[np.int64]) -> None:
    for t in range(drawn.shape[0]):
        drawn[t, 0], drawn[t, 1], drawn[t, 2], drawn[t, 3] = draw_quadruplet(key, start + t, rows)


@kernel
def _fill_units(key: np.uint64, start: Int, rows: Int, drawn: NDArray[np.int64]) -> None:
    scratch = np.empty(drawn.shape[1], np.int64)
    for t in range(drawn.shape[0]):
        draw_unit(key, start + t, rows, drawn[t], scratch)


@kernel
def _fill_bits(key: np.uint64, bits: NDArray[np.uint64]) -> None:
    for row in range(bits.shape[0]):
        bits[row] = _bits(key, row, 0)
