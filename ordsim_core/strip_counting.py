"""Counting within one strip, and between strips from the number of pairs in each cell."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import concordance
from ordsim_core._numba import Int, kernel
from ordsim_core.concordance import DISCORDANT, TIED_BOTH
from ordsim_core.pair_doubts import exact_product
from ordsim_core.ranking import Ranked, ranked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pair_ranks import PairRanks


def count_within(x: Ranked, y: PairRanks, x_ordered: bool) -> tuple[int, int]:
    """Count the discordant comparisons of n elements, and those tied in both.

    Parameters
    ----------
    x, y
        As `pair_ranks.rank_pairs` gives them, y possibly in another order of ties afterwards.
    x_ordered : bool
        Whether `order` of x was written.
    """
    elements = x.start.shape[1] - 1
    if elements > concordance.ELEMENTS_LIMIT:
        return _count_many(x.start[0, :elements], y.ranked.start[0, :elements])
    tied_both, ranked_y = 0, y.ranked
    if x.ties[0] and 0 < ranked_y.ties[0] <= elements:
        # Few elements tie in y. Once these stand in the order of x, y is as good as without ties.
        tied_both = int(_order_ties(x.start[0], y.tied, ranked_y.order[0]))
        ranked_y = ranked_y._replace(ties=np.zeros_like(ranked_y.ties))
    counts = np.empty((1, 4), np.int64)
    nobody = np.empty(0, np.int64)
    concordance.count_rows(x, ranked_y, x_ordered, True, np.array([elements]), counts, nobody)
    return int(counts[0, DISCORDANT]), tied_both + int(counts[0, TIED_BOTH])


def grouped(groups: NDArray[np.int64], number: int) -> Ranked:
    """Rank elements by the number of their group, int64 of shape (n,) and below `number`; `order` is not written."""
    sizes = np.bincount(groups, minlength=number)
    out = ranked(1, len(groups) + 1)
    out.start[0, :-1] = (np.cumsum(sizes) - sizes)[groups]
    out.ties[0] = (sizes * (sizes - 1) // 2).sum()
    return out


def tied_within(y: Ranked, groups: NDArray[np.int64], number: int, tied: NDArray[np.bool_]) -> int:
    """Count the comparisons tied in y of elements of one group, for groups, below `number`, that are `tied`."""
    members = np.flatnonzero(tied[groups])
    if len(members) == 0:
        return 0
    _, sizes = np.unique(y.start[0, members] * np.int64(number) + groups[members], return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def discordant_between(cells: NDArray[np.int64]) -> int:
    """Count the comparisons of elements in cells before each other on one side and behind on the other.

    `cells` : ndarray of int64, shape (P, Q), how many elements are in strip p of one side and q of the other.
    """
    total = 0
    behind = np.zeros(cells.shape[1], np.int64)
    for row in cells[::-1]:
        # Of strips behind in x, the elements that are before each strip in y.
        total += exact_product(row, np.cumsum(behind) - behind)
        behind += row
    return total


def comparisons(sizes: NDArray[np.int64]) -> int:
    """Count the comparisons within groups of these sizes."""
    return sum(comb(size, 2) for size in sizes.tolist())


@kernel
def _order_ties(start_x: NDArray[np.int32], tied_y: NDArray[np.uint8], order: NDArray[np.int32]) -> Int:
    # Insertion within runs of ties, which takes at most as many steps as there are pairs in them. Returns the pairs
    # tied in both, which then stand side by side.
    tied_both, begin = np.int64(0), 0
    for place in range(tied_y.shape[0]):
        if not tied_y[place]:
            begin = place
            continue
        element = order[place]
        at, rank = place, start_x[element]
        while at > begin and start_x[order[at - 1]] > rank:
            order[at] = order[at - 1]
            at -= 1
        order[at] = element
        while at > begin and start_x[order[at - 1]] == rank:
            tied_both += 1
            at -= 1
    return tied_both


def _count_many(start_x: NDArray[np.int32], start_y: NDArray[np.int32]) -> tuple[int, int]:
    """Count as `count_within`, more slowly, any number of elements."""
    order = np.lexsort((start_y, start_x))
    by_x, sequence = start_x[order], start_y[order]
    alike = (by_x[1:] == by_x[:-1]) & (sequence[1:] == sequence[:-1])
    borders = np.flatnonzero(np.concatenate(([True], ~alike, [True])))
    return int(_merge(sequence)), comparisons(np.diff(borders))


@kernel
def _merge(sequence: NDArray[np.int32]) -> Int:
    # Pairs of which the larger comes first, counted as runs are merged.
    size = sequence.shape[0]
    source, target = sequence.copy(), np.empty(size, np.int32)
    inversions, width = np.int64(0), 1
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            one, other = begin, middle
            for at in range(begin, end):
                if one < middle and (other >= end or source[one] <= source[other]):
                    target[at] = source[one]
                    one += 1
                else:
                    target[at] = source[other]
                    other += 1
                    inversions += middle - one
        source, target = target, source
        width *= 2
    return inversions
