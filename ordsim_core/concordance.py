"""Agreement of two orders with ties: the kernel under every exact ordinal score.

Counts pairs of elements by how two orders place them, as Kendall's tau does (Knight 1966), but keeps ties in one
order, the other, and both apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.ranking import Ranked

DISCORDANT, TIED_X, TIED_Y, TIED_BOTH = 0, 1, 2, 3

_LANES9 = np.uint64(sum(1 << (9 * lane) for lane in range(7)))
_LANES21 = np.uint64(sum(1 << (21 * lane) for lane in range(3)))

ELEMENTS_LIMIT = 2**21
"""Lanes of 21 bits count up to this many elements."""


def total(counts: NDArray[np.int64], elements: int) -> AgreementCounts:
    """Add up what `count_rows` wrote for rows of `elements` elements each."""
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
def count_rows(
    x: Ranked,
    y: Ranked,
    x_ordered: bool,
    y_ordered: bool,
    anchors: NDArray[np.int64],
    counts: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> None:
    """Count the pairs of targets of each anchor by how the two sides order them.

    Parameters
    ----------
    x, y : Ranked
        Ranks of the targets, N - 1 of N rows.
    x_ordered, y_ordered : bool
        Whether `order` of that side was written.
    anchors : ndarray of int64, shape (anchors,)
        Row numbers.
    counts : ndarray of int64, shape (anchors, 4)
        Written: discordant pairs, and pairs tied in x, in y, and in both; the first two tie counts include joint ties.
    targets : ndarray of int64, shape (N,) or (0,)
        Added to, unless empty: the agreeing pairs that each row takes part in.
    """
    rows = x.start.shape[1]
    elements = rows - 1
    sequence, members = np.empty(elements, np.int32), np.empty(elements, np.int32)
    used_x, used_y = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
    counter = new_counter(elements)
    for a in range(anchors.shape[0]):
        tied_both: Int = np.int64(0)
        start_x, start_y = x.start[a], y.start[a]
        if x.ties[a] == 0 and x_ordered:
            _follow(x.order[a], start_y, y.ties[a] > 0, used_y, sequence, members)
        elif y.ties[a] == 0 and y_ordered:
            # The number of inversions is the same from the other side.
            _follow(y.order[a], start_x, True, used_x, sequence, members)
        else:
            if y.ties[a] == 0 or not y_ordered:
                _distribute(start_y, anchors[a], used_y, members)
            else:
                members[:] = y.order[a, :elements]
            tied_both = _follow_both(start_x, start_y, used_x, used_y, sequence, members)
        counts[a, TIED_X], counts[a, TIED_Y], counts[a, TIED_BOTH] = x.ties[a], y.ties[a], tied_both
        counts[a, DISCORDANT] = inversions(sequence, members, counter, targets)
        if targets.shape[0] > 0:
            if x.ties[a] > 0:
                _take_ties(start_x, anchors[a], used_x, targets)
            if y.ties[a] > 0:
                _take_ties(start_y, anchors[a], used_y, targets)
            if tied_both > 0:
                _give_joint_ties(start_x, start_y, members, targets)
            _give_all(anchors[a], targets)


@kernel
def _follow(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    ties: bool,
    used: NDArray[np.int32],
    sequence: NDArray[np.int32],
    members: NDArray[np.int32],
) -> None:
    # Ranks on one side in the strict order of the other. Ties stand in that order, and so count as no inversion.
    if not ties:
        for place in range(sequence.shape[0]):
            element = order[place]
            members[place] = element
            sequence[place] = start[element]
        return
    used[:] = 0
    for place in range(sequence.shape[0]):
        element = order[place]
        first = start[element]
        members[place] = element
        sequence[place] = first + used[first]
        used[first] += 1


@kernel
def _distribute(start: NDArray[np.int32], anchor: Int, used: NDArray[np.int32], members: NDArray[np.int32]) -> None:
    # All elements but the anchor, by rank.
    used[:] = 0
    for element in range(start.shape[0]):
        if element != anchor:
            first = start[element]
            members[first + used[first]] = element
            used[first] += 1


@kernel
def _follow_both(
    start_x: NDArray[np.int32],
    start_y: NDArray[np.int32],
    used_x: NDArray[np.int32],
    used_y: NDArray[np.int32],
    sequence: NDArray[np.int32],
    members: NDArray[np.int32],
) -> Int:
    # `members` by rank in y become members by rank in x, ties in x by rank in y; then ties in y take that order.
    # Returns the pairs tied in both, which now stand side by side.
    elements = members.shape[0]
    by_y = members.copy()
    used_x[:] = 0
    for place in range(elements):
        first = start_x[by_y[place]]
        members[first + used_x[first]] = by_y[place]
        used_x[first] += 1
    used_y[:] = 0
    tied_both, length = np.int64(0), np.int64(0)
    last_x, last_y = np.int32(-1), np.int32(-1)
    for place in range(elements):
        element = members[place]
        here_x, first = start_x[element], start_y[element]
        length = length + 1 if here_x == last_x and first == last_y else np.int64(0)
        tied_both += length
        last_x, last_y = here_x, first
        sequence[place] = first + used_y[first]
        used_y[first] += 1
    return tied_both


@kernel
def _take_ties(start: NDArray[np.int32], anchor: Int, used: NDArray[np.int32], targets: NDArray[np.int64]) -> None:
    used[:] = 0
    for element in range(start.shape[0]):
        if element != anchor:
            used[start[element]] += 1
    for element in range(start.shape[0]):
        if element != anchor:
            targets[element] -= used[start[element]] - 1


@kernel
def _give_joint_ties(
    start_x: NDArray[np.int32], start_y: NDArray[np.int32], members: NDArray[np.int32], targets: NDArray[np.int64]
) -> None:
    # Twice: as one tie they were taken from each side, as agreement they count.
    begin = 0
    while begin < members.shape[0]:
        one = members[begin]
        end = begin + 1
        while (
            end < members.shape[0] and start_x[members[end]] == start_x[one] and start_y[members[end]] == start_y[one]
        ):
            end += 1
        for place in range(begin, end):
            targets[members[place]] += 2 * (end - begin - 1)
        begin = end


@kernel
def _give_all(anchor: Int, targets: NDArray[np.int64]) -> None:
    partners = targets.shape[0] - 2
    for element in range(targets.shape[0]):
        if element != anchor:
            targets[element] += partners


def _inversion_counter(levels: int) -> Callable[..., Int]:
    """Compile a counter for up to 512 * 4^levels elements: with a fixed number of levels it has no inner loop."""

    @kernel
    def count(
        sequence: NDArray[np.int32],
        members: NDArray[np.int32],
        counter: NDArray[np.uint64],
        targets: NDArray[np.int64],
    ) -> Int:
        # Ranks seen are kept as bits, 64 to a word. How many of them stand in later words of a block, and in later
        # blocks of a group of four, is kept in lanes of one word each, so that a rank costs one addition a level.
        elements = np.int64(sequence.shape[0])
        words, blocks = np.uint64((elements >> 6) + 1), np.uint64((elements >> 9) + 1)
        counter[:] = 0
        inversions = np.int64(0)
        for place in range(elements):
            rank = np.uint64(sequence[place])
            word, bit = rank >> np.uint64(6), rank & np.uint64(63)
            larger = _bits_set(counter[word] >> bit)
            counter[word] |= np.uint64(1) << bit
            group = rank >> np.uint64(9)
            shift = np.uint64(9) * (word & np.uint64(7))
            at = words + group
            lanes = counter[at]
            larger += np.int64((lanes >> shift) & np.uint64(511))
            counter[at] = lanes + (_LANES9 >> (np.uint64(63) - shift))
            base, size = words + blocks, blocks
            for _ in range(levels):
                shift = np.uint64(21) * (group & np.uint64(3))
                group >>= np.uint64(2)
                at = base + group
                lanes = counter[at]
                larger += np.int64((lanes >> shift) & np.uint64(2**21 - 1))
                counter[at] = lanes + (_LANES21 >> (np.uint64(63) - shift))
                size = (size >> np.uint64(2)) + np.uint64(1)
                base += size
            inversions += larger
            if targets.shape[0] > 0:
                # Of rank r at place p with g larger ones before, p - g smaller ones stand before: r - p + g behind.
                targets[members[place]] -= 2 * larger + np.int64(rank) - place
        return inversions

    return count


_SHORT, _MIDDLE, _LONG = _inversion_counter(3), _inversion_counter(4), _inversion_counter(6)
_SHORT_LIMIT, _MIDDLE_LIMIT = 512 << 6, 512 << 8


@kernel
def new_counter(elements: Int) -> NDArray[np.uint64]:
    """Give the scratch space that `inversions` needs for this many elements."""
    return np.zeros((elements >> 6) + 2 * (elements >> 9) + 24, np.uint64)


@kernel
def inversions(
    sequence: NDArray[np.int32],
    members: NDArray[np.int32],
    counter: NDArray[np.uint64],
    targets: NDArray[np.int64],
) -> Int:
    """Count the pairs in which the larger number comes first, of a permutation of 0 to n - 1, n <= ELEMENTS_LIMIT.

    Unless `targets` is empty, the inversions of each element, named by `members`, are taken from its entry there.
    """
    if sequence.shape[0] <= _SHORT_LIMIT:
        return _SHORT(sequence, members, counter, targets)
    if sequence.shape[0] <= _MIDDLE_LIMIT:
        return _MIDDLE(sequence, members, counter, targets)
    return _LONG(sequence, members, counter, targets)


@kernel
def _bits_set(word: np.uint64) -> Int:
    # The usual folding sum; LLVM makes one instruction of it.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
