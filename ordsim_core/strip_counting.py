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


def count_within(x: Ranked, y: Ranked, x_ordered: bool) -> tuple[int, int]:
    """Count the discordant comparisons of n elements, and those tied in both.

    Parameters
    ----------
    x, y : Ranked
        As `pair_ranks.rank_pairs` gives them.
    x_ordered : bool
        Whether `order` of x was written.
    """
    elements = x.start.shape[1] - 1
    if elements > concordance.ELEMENTS_LIMIT:
        return _count_many(x.start[0, :elements], y.start[0, :elements])
    counts = np.empty((1, 4), np.int64)
    nobody = np.empty(0, np.int64)
    concordance.count_rows(x, y, x_ordered, True, np.array([elements]), counts, nobody)
    return int(counts[0, DISCORDANT]), int(counts[0, TIED_BOTH])


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
