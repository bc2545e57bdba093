"""One pass over all pairs of rows that picks those of some strips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.aligned_products import LARGEST_TILE
from ordsim_core.anchors import products
from ordsim_core.pair_keys import PairSpace, later_keys, pair_space
from ordsim_core.splitters import DECIDED, Splitters, choose, decide, place
from ordsim_core.strip_records import Columns, new_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ordsim_core.pair_doubts import KeyDoubts
    from ordsim_core.spaces import Space

PRODUCT_BYTES = 1 << 25
"""Products of one side that are held at a time."""
BLOCKS = 16
"""Blocks that rows are cut into, at least: of the products of a block's rows with each other, half are in vain."""
LEAST_ROWS = LARGEST_TILE
KEYS = 1 << 15
"""Keys of one side that are made at a time stay in the cache."""
BATCH = 1 << 19
"""Pairs that are handed on together."""


@dataclass(frozen=True, eq=False)
class CutSide:
    """A side whose pairs are cut into strips."""

    side: PairSpace
    splitters: Splitters


def cut(space: Space, strips: int) -> CutSide:
    """Cut the pairs of rows of a space into at most so many strips."""
    side = pair_space(space)
    return CutSide(side, choose(side, strips))


class Sifted(NamedTuple):
    """Pairs of rows, those of the strips that were asked for among them.

    Attributes
    ----------
    columns : Columns
        Keys of both sides, and rows, int32.
    own, other : ndarray of int32, shape (n,)
        Strips on both sides.
    """

    columns: Columns
    own: NDArray[np.int32]
    other: NDArray[np.int32]

    def turned(self) -> Sifted:
        """Change sides."""
        columns = self.columns
        return Sifted(columns._replace(own=columns.other, other=columns.own), self.other, self.own)

    def chosen(self, which: NDArray[np.bool_]) -> Sifted:
        """Leave out pairs."""
        columns = self.columns
        left, right = columns.left[which], columns.right[which]
        return Sifted(
            Columns(columns.own[which], columns.other[which], left, right), self.own[which], self.other[which]
        )


def sift(
    own: CutSide,
    other: CutSide,
    first: int,
    last: int,
    checkpoint: Callable[[], None],
    paths: NDArray[np.int64],
    doubts: Sequence[KeyDoubts | None] = (None, None),
) -> Iterator[Sifted]:
    """Yield all pairs of the own strips `first` to `last` - 1, and few others, in arrays that are used again.

    Which products are taken together depends on the number of rows alone: on one machine, keys are the same each time.

    Parameters
    ----------
    checkpoint : callable
        Called between blocks; may raise to give up.
    paths : ndarray of int64, shape (3,)
        Added to, as by `comparisons.signs`.
    doubts
        Shown all keys of either side.
    """
    rows = own.side.space.rows
    few = min(rows, max(1, KEYS // rows))
    least, most = own.splitters.key_range(first, last)
    size = min(BATCH, rows * rows // 2) + few * rows
    batch = new_columns(size, size)
    keys = np.empty((2, few, rows), np.uint64)
    filled = 0
    sides = own.side, other.side
    repeated = any(side.keys.repeated for side in sides)
    for start, stop in blocks(rows, repeated):
        checkpoint()
        # Of distinct rows only those behind the block take part, where they are numbered as the rows are.
        begins = [0 if side.keys.repeated else start for side in sides]
        made = [products(side.space, np.arange(start, stop), begin) for side, begin in zip(sides, begins, strict=True)]
        for row in range(start, stop, few):
            count = min(few, stop - row)
            for side, begin, product, found, doubt in zip(sides, begins, made, keys, doubts, strict=True):
                part = product[row - start : row - start + count]
                later_keys(side, part, begin, row, found)
                if doubt is not None:
                    doubt.add(found[:count], row)
            filled = int(_pick(keys[0, :count], keys[1, :count], row, least, most, batch, filled))
            if filled >= BATCH:
                yield _placed(own, other, batch, filled, paths)
                filled = 0
    if filled:
        yield _placed(own, other, batch, filled, paths)


def blocks(rows: int, repeated: bool) -> Iterator[tuple[int, int]]:
    """Yield (first row, row after the last) of blocks whose products are taken at once.

    `repeated`: whether rows repeat, and are multiplied with earlier ones too.
    """
    start = 0
    while start < rows:
        columns = rows if repeated else rows - start
        many = max(1, min(PRODUCT_BYTES // (8 * columns), max(LEAST_ROWS, rows // BLOCKS)))
        # Whole tiles of products that are aligned, see `aligned_products`.
        stop = min(rows, start + (many - many % LEAST_ROWS if many > LEAST_ROWS else many))
        yield start, stop
        start = stop


@kernel
def _pick(
    own: NDArray[np.uint64],
    other: NDArray[np.uint64],
    start: Int,
    least: np.uint64,
    most: np.uint64,
    batch: Columns,
    filled: Int,
) -> Int:
    # Every pair is written behind the last one, and stays if its key is within the limits.
    for a in range(own.shape[0]):
        i = start + a
        for j in range(i + 1, own.shape[1]):
            key = own[a, j]
            batch.own[filled], batch.other[filled] = key, other[a, j]
            batch.left[filled], batch.right[filled] = i, j
            filled += np.int64((key >= least) & (key <= most))
    return filled


def _placed(own: CutSide, other: CutSide, batch: Columns, filled: int, paths: NDArray[np.int64]) -> Sifted:
    columns = Columns(batch.own[:filled], batch.other[:filled], batch.left[:filled], batch.right[:filled])
    return Sifted(
        columns, find_strips(own, columns, columns.own, paths), find_strips(other, columns, columns.other, paths)
    )


def find_strips(
    cut: CutSide, columns: Columns, keys: NDArray[np.uint64], paths: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Find the strips of pairs of rows on one side, int32 of shape (n,), from their keys there.

    `paths` is added to, as by `comparisons.signs`.
    """
    strips, until = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    if place(keys, cut.splitters.cuts, strips, until):
        open_ = np.flatnonzero(until != DECIDED)
        left, right, nearer, later = (
            array[open_].astype(np.int64) for array in (columns.left, columns.right, strips, until)
        )
        strips[open_] = decide(cut.side, cut.splitters, left, right, nearer, later, paths)
    return strips
