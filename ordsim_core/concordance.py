"""Agreement of two orders with ties: the kernel under every exact ordinal score.

Counts pairs of elements by how two sequences of keys order them, as Kendall's tau does (Knight 1966), but keeps
ties in one sequence, the other, and both apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

DISCORDANT, TIED_X, TIED_Y, TIED_BOTH = 0, 1, 2, 3

_LANES9 = np.uint64(sum(1 << (9 * lane) for lane in range(7)))
_LANES21 = np.uint64(sum(1 << (21 * lane) for lane in range(3)))

ELEMENTS_LIMIT = 2**21
"""Lanes of 21 bits count up to this many elements."""


def count_pairs(keys_x: NDArray[np.float64], keys_y: NDArray[np.float64], left_out: int) -> NDArray[np.int64]:
    """Count the pairs of elements of each row by how the two sides order them.

    Parameters
    ----------
    keys_x, keys_y : ndarray of float64, shape (anchors, N)
        Finite keys; overwritten.
    left_out : int
        Position that takes no part in row 0; one more in each further row: the anchor itself.

    Returns
    -------
    ndarray of int64, shape (anchors, 4)
        Discordant pairs, and pairs tied in x, in y, and in both; the first two tie counts include joint ties.
    """
    anchors, elements = keys_x.shape
    if elements > ELEMENTS_LIMIT:
        raise ValueError(f"at most {ELEMENTS_LIMIT} rows can be counted at once, not {elements}")
    diagonal = np.arange(anchors)
    keys_x[diagonal, left_out + diagonal] = np.inf
    keys_y[diagonal, left_out + diagonal] = np.inf
    counts = np.zeros((anchors, 4), np.int64)
    # numpy's sort is vectorised, numba's is not; both release the interpreter lock.
    _count_rows(keys_x, np.argsort(keys_x, axis=1), keys_y, np.argsort(keys_y, axis=1), counts)
    return counts


def total(counts: NDArray[np.int64], elements: int) -> AgreementCounts:
    """Add up what `count_pairs` returned for rows of `elements` elements, the one left out not counted."""
    discordant, tied_x, tied_y, tied_both = (int(column.sum()) for column in counts.T)
    pairs = len(counts) * (elements * (elements - 1) // 2)
    return AgreementCounts(
        concordant=pairs - discordant - tied_x - tied_y + tied_both,
        discordant=discordant,
        tied_x=tied_x - tied_both,
        tied_y=tied_y - tied_both,
        tied_both=tied_both,
    )


def agreeing(counts: NDArray[np.int64], elements: int) -> NDArray[np.int64]:
    """Give the agreeing pairs of each row, int64 of shape (anchors,)."""
    pairs = elements * (elements - 1) // 2
    result: NDArray[np.int64] = pairs - counts[:, DISCORDANT] - counts[:, TIED_X] - counts[:, TIED_Y]
    result += 2 * counts[:, TIED_BOTH]
    return result


@kernel
def _count_rows(
    keys_x: NDArray[np.float64],
    orders_x: NDArray[np.int64],
    keys_y: NDArray[np.float64],
    orders_y: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    elements = keys_x.shape[1] - 1
    run_x, run_y = np.empty(elements + 1, np.int64), np.empty(elements + 1, np.int64)
    place_y = np.empty(elements + 1, np.int64)
    sequence = np.empty(elements, np.int64)
    counter = _counter(elements)
    for a in range(keys_x.shape[0]):
        order_x, order_y = orders_x[a, :elements], orders_y[a, :elements]
        counts[a, TIED_X] = _number_runs(keys_x[a], order_x, run_x)
        counts[a, TIED_Y] = _number_runs(keys_y[a], order_y, run_y)
        # Ties must not look like inversions: y-ties stand in x order, then x-ties in y order.
        if counts[a, TIED_Y] > 0:
            _sort_runs(order_y, run_y, run_x)
        for place in range(elements):
            place_y[order_y[place]] = place
        if counts[a, TIED_X] > 0:
            _sort_runs(order_x, run_x, place_y)
            if counts[a, TIED_Y] > 0:
                counts[a, TIED_BOTH] = _joint_ties(order_x, run_x, run_y)
        for place in range(elements):
            sequence[place] = place_y[order_x[place]]
        counts[a, DISCORDANT] = _inversions(sequence, counter)


@kernel
def _number_runs(keys: NDArray[np.float64], order: NDArray[np.int64], run: NDArray[np.int64]) -> Int:
    # run[element] = number of its run of equal keys; returns the number of tied pairs.
    tied, length, number = np.int64(0), np.int64(0), np.int64(0)
    previous = keys[order[0]]
    for place in range(order.shape[0]):
        key = keys[order[place]]
        if key != previous:
            number += 1
            length = np.int64(0)
            previous = key
        tied += length
        length += 1
        run[order[place]] = number
    return tied


@kernel
def _sort_runs(order: NDArray[np.int64], run: NDArray[np.int64], rank: NDArray[np.int64]) -> None:
    # Put the elements of each run of ties into the order of `rank`, an integer below 2^31.
    begin = np.int64(0)
    while begin < order.shape[0]:
        end = begin + 1
        while end < order.shape[0] and run[order[end]] == run[order[begin]]:
            end += 1
        if end - begin > 1:
            words = np.empty(end - begin, np.int64)
            for place in range(begin, end):
                words[place - begin] = (rank[order[place]] << 32) | order[place]
            words.sort()
            for place in range(begin, end):
                order[place] = words[place - begin] & 0xFFFFFFFF
        begin = end


@kernel
def _joint_ties(order_x: NDArray[np.int64], run_x: NDArray[np.int64], run_y: NDArray[np.int64]) -> Int:
    # Within an x-run, sorted by place in y, equal y-runs stand side by side.
    tied, length = np.int64(0), np.int64(1)
    for place in range(1, order_x.shape[0]):
        one, other = order_x[place - 1], order_x[place]
        length = length + 1 if run_x[one] == run_x[other] and run_y[one] == run_y[other] else np.int64(1)
        tied += length - 1
    return tied


@kernel
def _levels(elements: Int) -> Int:
    levels = np.int64(0)
    while (np.int64(512) << (2 * levels)) < elements:
        levels += 1
    return levels


@kernel
def _counter(elements: Int) -> NDArray[np.uint64]:
    # One array for all levels: words of 64 ranks, blocks of 8 words, then groups of 4 blocks, of 4 groups, ...
    size = (elements >> 6) + (elements >> 9) + 2
    for level in range(1, _levels(elements) + 1):
        size += (elements >> (9 + 2 * level)) + 1
    return np.zeros(size, np.uint64)


@kernel
def _inversions(sequence: NDArray[np.int64], counter: NDArray[np.uint64]) -> Int:
    """Count the pairs in which the larger number comes first, of a permutation of 0 to n - 1.

    Ranks that came before are kept as bits, 64 to a word. How many of them stand in later words of a block, and in
    later blocks of a group, is kept in lanes of one word each, so that a rank costs one addition a level.
    """
    elements = np.int64(sequence.shape[0])
    levels = _levels(elements)
    counter[:] = 0
    blocks = (elements >> 6) + 1
    groups = blocks + (elements >> 9) + 1
    inversions = np.int64(0)
    for place in range(elements):
        rank = np.uint64(sequence[place])
        word, bit = rank >> np.uint64(6), rank & np.uint64(63)
        inversions += _bits_set(counter[word] >> bit)
        counter[word] |= np.uint64(1) << bit
        at = blocks + np.int64(rank >> np.uint64(9))
        shift = np.uint64(9) * (word & np.uint64(7))
        inversions += np.int64((counter[at] >> shift) & np.uint64(511))
        counter[at] += _LANES9 >> (np.uint64(63) - shift)
        base = groups
        for level in range(1, levels + 1):
            at = base + np.int64(rank >> np.uint64(9 + 2 * level))
            shift = np.uint64(21) * ((rank >> np.uint64(7 + 2 * level)) & np.uint64(3))
            inversions += np.int64((counter[at] >> shift) & np.uint64(2**21 - 1))
            counter[at] += _LANES21 >> (np.uint64(63) - shift)
            base += (elements >> (9 + 2 * level)) + 1
    return inversions


@kernel
def _bits_set(word: np.uint64) -> Int:
    # The usual folding sum; LLVM makes one instruction of it.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
