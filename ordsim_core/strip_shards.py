"""The pairs of rows of some strips, on the way to being counted."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.comparisons import new_paths, to_paths
from ordsim_core.counts import Paths
from ordsim_core.pair_ranks import rank_pairs
from ordsim_core.sifting import sift
from ordsim_core.strip_counting import comparisons, count_within, grouped, tied_within
from ordsim_core.strip_counts import MARKS, StripCounts
from ordsim_core.strip_records import Layout, by_strip, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.pair_doubts import KeyDoubts
    from ordsim_core.sifting import CutSide, Sifted
    from ordsim_core.strip_records import Columns, Store


class StripShard:
    """Some strips of one side, on the way to being counted.

    Attributes
    ----------
    own, other : CutSide
    cells : ndarray of int64, shape (strips, strips of the other side)
        Pairs that were seen.
    mark : int
        What they and their strips add up to, see `strips.StripCounts`.
    chains, compared : ndarray of int64, shape (3,)
        What it took to put pairs into order, and to find their strips.
    """

    def __init__(self, own: CutSide, other: CutSide, first: int, last: int, store: Store, in_x: bool) -> None:
        self.own, self.other = own, other
        self.cells = np.zeros((last - first, len(other.splitters.tied)), np.int64)
        self.mark = 0
        self.chains, self.compared = np.zeros(3, np.int64), new_paths()
        self._first, self._last, self._in_x, self._store = first, last, in_x, store
        # Strips in x are put into order on both sides; of strips in y, the strip in x is order enough.
        certified = own.side.certified or (in_x and other.side.certified)
        self._layout = Layout(not own.side.narrow, in_x and not other.side.narrow, certified)
        # Strips whose pairs all tie need no order, and are not kept.
        strips = np.arange(len(own.splitters.tied))
        kept = (strips >= first) & (strips < last) & ~own.splitters.tied
        self._slots = np.where(kept, strips - first, -1).astype(np.int32)

    @property
    def paths(self) -> Paths:
        """What it took to find strips, and the order within."""
        return Paths(*self.chains.tolist()) + to_paths(self.compared)

    def collect(self, checkpoint: Callable[[], None], doubts: Sequence[KeyDoubts | None]) -> None:
        """Take all pairs of these strips."""
        for sifted in sift(self.own, self.other, self._first, self._last, checkpoint, self.compared, doubts):
            self.take(sifted)

    def take(self, sifted: Sifted) -> None:
        """Count pairs of rows that are of these strips, and keep them."""
        mark = _tally(sifted.columns, sifted.own, sifted.other, self._first, self._in_x, self.cells)
        self.mark = (self.mark + int(mark)) % MARKS
        self.keep(sifted)

    def keep(self, sifted: Sifted) -> None:
        """Hand pairs of rows that are of these strips to the store."""
        columns = sifted.columns
        if not self._in_x:
            columns = columns._replace(other=sifted.other.astype(np.uint64))
        words, ends = by_strip(columns, sifted.own, self._slots, self._layout)
        begin = 0
        for strip, end in enumerate(ends.tolist(), self._first):
            if end > begin:
                self._store.append(strip, words[begin:end])
            begin = end

    def read(self, strip: int, size: int) -> Columns:
        """Take the pairs of a strip, so many, back from the store."""
        columns = columns_of(self._store.read(strip), self._layout)
        if len(columns.own) != size:
            raise RuntimeError(f"strip {strip} was kept with {len(columns.own)} pairs of {size}")
        return columns


def count_x(
    shard: StripShard, first: int, checkpoint: Callable[[], None], hand_on: Callable[[int, Columns], None] | None = None
) -> StripCounts:
    """Count the strips of a shard in x, the first of which has this number.

    Ties in y are those within these strips. `hand_on` is given each strip and its pairs once they are counted.
    """
    discordant = tied_x = tied_y = tied_both = 0
    for strip, cells in enumerate(shard.cells, first):
        checkpoint()
        size = int(cells.sum())
        if shard.own.splitters.tied[strip]:
            tied_x += comb(size, 2)
            tied_both += comparisons(cells[shard.other.splitters.tied])
            continue
        if size == 0:
            continue
        columns = shard.read(strip, size)
        ranks_x, ranks_y = (
            rank_pairs(cut.side, keys, columns.left, columns.right, shard.chains)
            for cut, keys in ((shard.own, columns.own), (shard.other, columns.other))
        )
        within = count_within(ranks_x.ranked, ranks_y, True)
        discordant += within[0]
        tied_both += within[1]
        tied_x += int(ranks_x.ranked.ties[0])
        tied_y += int(ranks_y.ranked.ties[0])
        if hand_on is not None:
            hand_on(strip, columns)
    return StripCounts(discordant, tied_x, tied_y, tied_both, shard.mark, 0, shard.paths)


def count_y(shard: StripShard, first: int, checkpoint: Callable[[], None]) -> StripCounts:
    """Count the strips of a shard in y, the first of which has this number."""
    discordant = tied_y = tied_both = 0
    tied = shard.other.splitters.tied
    for strip, cells in enumerate(shard.cells, first):
        checkpoint()
        size = int(cells.sum())
        if shard.own.splitters.tied[strip]:
            tied_y += comb(size, 2)
            continue
        if size == 0:
            continue
        columns = shard.read(strip, size)
        ranks = rank_pairs(shard.own.side, columns.own, columns.left, columns.right, shard.chains)
        groups = columns.other.astype(np.int64)
        discordant += count_within(grouped(groups, len(tied)), ranks, False)[0]
        tied_y += int(ranks.ranked.ties[0])
        # Strips in x whose pairs all tie were left to this count: they are never put into order.
        tied_both += tied_within(ranks.ranked, groups, len(tied), tied)
    return StripCounts(discordant, 0, tied_y, tied_both, -shard.mark % MARKS, 0, shard.paths)


@kernel
def _tally(
    columns: Columns,
    own: NDArray[np.int32],
    other: NDArray[np.int32],
    first: Int,
    in_x: bool,
    cells: NDArray[np.int64],
) -> np.uint64:
    # The mark of a pair and its strips is any number that depends on all of them: the finaliser of SplitMix64.
    total = np.uint64(0)
    for at in range(own.shape[0]):
        strip = own[at] - first
        if strip < 0 or strip >= cells.shape[0]:
            continue
        cells[strip, other[at]] += 1
        in_one, in_other = (own[at], other[at]) if in_x else (other[at], own[at])
        z = (np.uint64(columns.left[at]) << np.uint64(32)) | np.uint64(columns.right[at])
        z += (np.uint64(in_one) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z += (np.uint64(in_other) + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total += z ^ (z >> np.uint64(31))
    return total
