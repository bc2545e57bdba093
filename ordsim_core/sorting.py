"""Sorting of packed words: a key in the high bits, the number of its row in the low ones.

Two counting passes put the words into the order of their leading bits, an insertion pass does the rest; where keys
crowd together so that insertion would take long, counting passes over all bits are made instead. Both are linear.
On processors with AVX2 this is about three times as fast as numpy's sort, with AVX-512 about as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGIT_BITS = 11
LONG_DIGIT_BITS = 12
LONG_ROW = 1 << 15
"""From this many words on, counters of 12 bits pay: fewer words share one, and fewer insertions are needed."""

MOVES = 2
"""Insertion gives up after this many moves a word."""


@kernel
def counters() -> NDArray[np.int32]:
    """Give the scratch space that `sort_words` needs: int32, shape (2, 2^12)."""
    return np.zeros((2, 1 << 12), np.int32)


@kernel
def sort_words(
    words: NDArray[np.uint64],
    spare: NDArray[np.uint64],
    least: np.uint64,
    most: np.uint64,
    counts: NDArray[np.int32],
) -> bool:
    """Sort words in place.

    Parameters
    ----------
    words, spare : ndarray of uint64, shape (n,)
        What to sort, and scratch space of equal size.
    least, most : uint64
        Bounds on the words that say where leading bits are; words beyond `most` may exist and share the last counter.
    counts : ndarray
        From `counters`.

    Returns
    -------
    bool
        Whether insertion was enough.
    """
    elements = words.shape[0]
    if elements < 2:
        return True
    digit = np.uint64(LONG_DIGIT_BITS if elements >= LONG_ROW else DIGIT_BITS)
    width = _bits_of(most - least)
    shift = np.uint64(max(np.int64(0), width - np.int64(2 * digit)))
    _count_leading(words, spare, least, shift, digit, counts)
    if _insert(words, MOVES * elements):
        return True
    _sort_all_bits(words, spare, counts)
    return False


@kernel
def _bits_of(value: np.uint64) -> Int:
    bits = np.int64(0)
    while value > np.uint64(0):
        value >>= np.uint64(1)
        bits += 1
    return bits


@kernel
def _count_leading(
    words: NDArray[np.uint64],
    spare: NDArray[np.uint64],
    least: np.uint64,
    shift: np.uint64,
    digit: np.uint64,
    counts: NDArray[np.int32],
) -> None:
    # Order by the leading two digits: the lower one first, then, keeping that order, the upper one.
    elements = words.shape[0]
    mask = (np.uint64(1) << digit) - np.uint64(1)
    top = (np.uint64(1) << (np.uint64(2) * digit)) - np.uint64(1)
    low, high = counts[0], counts[1]
    low[:] = 0
    high[:] = 0
    for place in range(elements):
        leading = min((words[place] - least) >> shift, top)
        low[leading & mask] += 1
        high[leading >> digit] += 1
    _starts(low)
    _starts(high)
    for place in range(elements):
        word = words[place]
        at = min((word - least) >> shift, top) & mask
        spare[low[at]] = word
        low[at] += 1
    for place in range(elements):
        word = spare[place]
        at = min((word - least) >> shift, top) >> digit
        words[high[at]] = word
        high[at] += 1


@kernel
def _starts(counts: NDArray[np.int32]) -> None:
    begin = np.int32(0)
    for at in range(counts.shape[0]):
        count = counts[at]
        counts[at] = begin
        begin += count


@kernel
def _insert(words: NDArray[np.uint64], budget: Int) -> bool:
    moves = np.int64(0)
    for place in range(1, words.shape[0]):
        word = words[place]
        if words[place - 1] <= word:
            continue
        at = place
        while at > 0 and words[at - 1] > word:
            words[at] = words[at - 1]
            at -= 1
        words[at] = word
        moves += place - at
        if moves > budget:
            return False
    return True


@kernel
def _sort_all_bits(words: NDArray[np.uint64], spare: NDArray[np.uint64], counts: NDArray[np.int32]) -> None:
    # Six passes of 11 bits cover 64; an even number, so that the result ends where it began.
    mask = np.uint64((1 << DIGIT_BITS) - 1)
    for turn in range(6):
        shift = np.uint64(turn * DIGIT_BITS)
        source, target = (words, spare) if turn % 2 == 0 else (spare, words)
        low = counts[0]
        low[:] = 0
        for place in range(source.shape[0]):
            low[(source[place] >> shift) & mask] += 1
        _starts(low)
        for place in range(source.shape[0]):
            word = source[place]
            at = (word >> shift) & mask
            target[low[at]] = word
            low[at] += 1


@kernel
def by_size(upper: NDArray[Any], lower: NDArray[Any]) -> NDArray[np.int64]:
    """Give the places of numbers from the smallest to the largest, equal ones in the order they have.

    `upper` and `lower`: the leading and the other bits of each number; of numbers of one part, that part twice.
    """
    size = upper.shape[0]
    source, target = np.arange(size), np.empty(size, np.int64)
    width = 1
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            one, other = begin, middle
            for at in range(begin, end):
                if one < middle and (other >= end or not _above(upper, lower, source[one], source[other])):
                    target[at] = source[one]
                    one += 1
                else:
                    target[at] = source[other]
                    other += 1
        source, target = target, source
        width *= 2
    return source


@kernel
def _above(upper: NDArray[Any], lower: NDArray[Any], one: Int, other: Int) -> bool:
    return bool(upper[one] > upper[other] or (upper[one] == upper[other] and lower[one] > lower[other]))
