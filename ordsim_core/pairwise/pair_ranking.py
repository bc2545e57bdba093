"""Ranks of all pairs of rows, in memory, in the order of exact arithmetic where that is to be had.

Pairs are cut into strips by their distance, as for exact QSI, and each strip is put into order by itself.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import quadruplets
from ordsim_core._numba import Int, kernel
from ordsim_core.anchors import products
from ordsim_core.comparisons import new_paths
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pair_keys import PairSpace, later_keys, pair_space
from ordsim_core.pair_ranks import rank_pairs
from ordsim_core.sifting import BATCH, KEYS, CutSide, blocks, find_strips
from ordsim_core.splitters import choose
from ordsim_core.strip_records import Columns, Layout, MemoryStore, by_strip, columns_of, new_columns
from ordsim_core.strips import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

ROWS_LIMIT = 1 << 16
"""Rows that have fewer than 2^31 pairs: products of their doubled ranks fit 64 bits."""
PAIR_BYTES = 28
"""Memory that a pair takes at most: its key and its number, and its ranks on both sides."""
SHORT_PAIRS = 1 << 30
"""Doubled ranks of fewer pairs fit 32 bits."""

_LAYOUT = Layout(own_wide=True, other_wide=False, numbered=False)


def doubled_ranks(space: Space, checkpoint: Callable[[], None] = no_checkpoint) -> NDArray[np.signedinteger]:
    """Rank all pairs of rows by their distance.

    Parameters
    ----------
    space : Space
        Of at least 2 rows and at most `ROWS_LIMIT`.
    checkpoint : callable
        Called between blocks of work; may raise to give up.

    Returns
    -------
    ndarray of int32 or int64, shape (N (N - 1) / 2,)
        Of pairs (0, 1), (0, 2), ..., (N - 2, N - 1): twice the rank, of ties the middle one, less twice the mean
        rank: nearer pairs less those farther away.

    Raises
    ------
    AsymmetricDistanceError
        If precomputed distances are not the same from both sides.
    ValueError
        If there are too many rows or too few.
    """
    rows = space.rows
    if not 2 <= rows <= ROWS_LIMIT:
        raise ValueError(f"ranks of all pairs are kept for 2 to {ROWS_LIMIT} rows, not for {rows}")
    quadruplets.require_symmetric(space)
    side, strips = pair_space(space), plan(rows)
    cut = None if strips.single else CutSide(side, choose(side, strips.x))
    paths, store, sizes = new_paths(), MemoryStore(), np.zeros(strips.x, np.int64)
    for columns in _all_pairs(side, checkpoint):
        places = np.zeros(len(columns.own), np.int32)
        if cut is not None:
            places = find_strips(cut, columns, columns.own, paths)
        words, ends = by_strip(columns, places, np.arange(strips.x, dtype=np.int32), _LAYOUT)
        sizes += np.bincount(places, minlength=strips.x)
        begins = np.append(0, ends[:-1])
        for strip in np.flatnonzero(ends > begins).tolist():
            store.append(strip, words[begins[strip] : ends[strip]])
    ranks = _empty(comb(rows, 2))
    nearer = np.cumsum(sizes) - sizes
    for strip in np.flatnonzero(sizes).tolist():
        checkpoint()
        columns = columns_of(store.read(strip), _LAYOUT)
        start = np.zeros(len(columns.own), np.int32)
        if cut is None or not cut.splitters.tied[strip]:
            start = _order(side, columns, rows, paths)
        write_ranks(columns.other, start, np.bincount(start), int(nearer[strip]), ranks)
    return ranks


def _empty(pairs: int) -> NDArray[np.signedinteger]:
    return np.empty(pairs, np.int32) if pairs < SHORT_PAIRS else np.empty(pairs, np.int64)


def pair_of(numbers: NDArray[np.uint64], rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give the rows of pairs by their number in the order of `doubled_ranks`."""
    left, right = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    _rows_of(numbers, rows, left, right)
    return left, right


def _all_pairs(side: PairSpace, checkpoint: Callable[[], None]) -> Iterator[Columns]:
    """Yield all pairs with their keys and numbers, in arrays that are used again."""
    rows = side.space.rows
    few = min(rows, max(1, KEYS // rows))
    size = min(BATCH, rows * rows // 2) + few * rows
    batch, keys, filled = new_columns(size, size), np.empty((few, rows), np.uint64), 0
    for start, stop in blocks(rows, side.keys.repeated):
        checkpoint()
        begin = 0 if side.keys.repeated else start
        made = products(side.space, np.arange(start, stop), begin)
        for row in range(start, stop, few):
            count = min(few, stop - row)
            later_keys(side, made[row - start : row - start + count], begin, row, keys)
            filled = int(_append(keys[:count], row, batch, filled))
            if filled >= BATCH:
                yield _first(batch, filled)
                filled = 0
    if filled:
        yield _first(batch, filled)


def _first(batch: Columns, count: int) -> Columns:
    return Columns(batch.own[:count], batch.other[:count], batch.left[:count], batch.right[:count])


def _order(side: PairSpace, columns: Columns, rows: int, paths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Of each pair of a strip, count those that are nearer."""
    left, right = pair_of(columns.other, rows) if side.certified else (columns.left, columns.right)
    found = rank_pairs(side, columns.own, left, right, paths).ranked.start[0, : len(columns.own)]
    return np.ascontiguousarray(found)


@kernel
def _append(keys: NDArray[np.uint64], start: Int, batch: Columns, filled: Int) -> Int:
    rows = np.int64(keys.shape[1])
    for a in range(keys.shape[0]):
        i = np.int64(start + a)
        number = i * rows - i * (i + 1) // 2
        for j in range(i + 1, rows):
            batch.own[filled], batch.other[filled] = keys[a, j], number
            batch.left[filled], batch.right[filled] = i, j
            number += 1
            filled += 1
    return filled


@kernel
def write_ranks(
    numbers: NDArray[np.uint64],
    start: NDArray[np.int32],
    alike: NDArray[np.int64],
    nearer: Int,
    ranks: NDArray[np.signedinteger],
) -> None:
    """Write the doubled ranks of pairs of these numbers.

    `start` : how many pairs of the same strip are nearer; `alike` : how many there are of each such number; `nearer` :
    how many pairs are in strips before.
    """
    pairs = np.int64(ranks.shape[0])
    for at in range(numbers.shape[0]):
        # With s pairs nearer and t alike, itself among these: s + (t + 1) / 2 from 1, of which (M + 1) / 2 is the mean.
        ranks[numbers[at]] = 2 * (nearer + start[at]) + alike[start[at]] - pairs


@kernel
def _rows_of(numbers: NDArray[np.uint64], rows: Int, left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
    for at in range(numbers.shape[0]):
        number = np.int64(numbers[at])
        # From the end, rows have 1, 2, 3, ... pairs; the root may be off by one.
        behind = np.int64(rows) * (np.int64(rows) - 1) // 2 - 1 - number
        row = np.int64((np.sqrt(8.0 * behind + 1.0) - 1.0) / 2.0)
        while row * (row + 1) // 2 > behind:
            row -= 1
        while (row + 1) * (row + 2) // 2 <= behind:
            row += 1
        left[at] = rows - 2 - row
        right[at] = rows - 1 - (behind - row * (row + 1) // 2)
