"""Signs of comparisons as bits, in two planes: is the one distance greater, is it less; a tie is neither.

Planes are uint16 of shape (2, blocks, comparisons, LANES). A block has `BLOCK` units, of which unit u is bit u // LANES
of lane u % LANES: of all units of a block, the same comparison is made at once. Comparison c of a unit is that of its
distances a and b < a, where c = a (a - 1) / 2 + b. Bits of units that are not there are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES, BITS = 16, 16
BLOCK = LANES * BITS
"""Units in a block."""

GREATER, LESS = range(2)

_WORDS_AT_ONCE = 1 << 9
"""Words of a plane that are compared at a time: those of some dozens of profiles stay in the cache."""


def empty(units: int, each: int) -> NDArray[np.uint16]:
    """Give planes without a bit for so many units of `each` comparisons."""
    return np.zeros((2, -(-units // BLOCK), each, LANES), np.uint16)


def words(planes: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """Look at the planes of one profile, or of several along a first axis, as uint64 of shape (profiles, 2, words)."""
    profiles = planes.shape[0] if planes.ndim == 5 else 1
    return planes.view(np.uint64).reshape(profiles, 2, planes.size // (8 * profiles))


@kernel
def look_up(
    ranks: NDArray[Any],
    numbers: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    planes: NDArray[np.uint16],
) -> None:
    """Write the planes of a design from a rank table.

    Parameters
    ----------
    ranks : ndarray of uint16 or uint32, shape (U, U)
    numbers : ndarray of int32, shape (N,)
        See `RankTable.numbers`.
    left, right : ndarray of int32
        See `Drawn`.
    planes : ndarray of uint16
        Overwritten.
    """
    units, members = right.shape
    anchored = left.shape[1] == 1
    keys = np.zeros((members, BLOCK), ranks.dtype)
    for block in range(planes.shape[1]):
        first = block * BLOCK
        size = min(BLOCK, units - first)
        for place in range(size):
            unit = first + place
            # Unsigned, or else every index is looked at first whether it is negative.
            own = ranks[np.uint32(numbers[np.uint32(left[unit, 0])])]
            for member in range(members):
                if not anchored:
                    own = ranks[np.uint32(numbers[np.uint32(left[unit, member])])]
                keys[member, place] = own[np.uint32(numbers[np.uint32(right[unit, member])])]
        # What is left of a block before is a tie where there is no unit.
        keys[:, size:] = 0
        _compare(keys, planes[GREATER, block], planes[LESS, block])


@kernel
def _compare(keys: NDArray[Any], greater: NDArray[np.uint16], less: NDArray[np.uint16]) -> None:
    comparison = 0
    for a in range(1, keys.shape[0]):
        for b in range(a):
            for lane in range(LANES):
                above, below = np.uint16(0), np.uint16(0)
                for bit in range(BITS):
                    one, other = keys[a, bit * LANES + lane], keys[b, bit * LANES + lane]
                    above |= np.uint16(one > other) << np.uint16(bit)
                    below |= np.uint16(one < other) << np.uint16(bit)
                greater[comparison, lane] = above
                less[comparison, lane] = below
            comparison += 1


@kernel
def compare_values(
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    first: Int,
    planes: NDArray[np.uint16],
    doubtful: NDArray[np.int64],
) -> Int:
    """Set the bits of comparisons that are certain, and list the others.

    Parameters
    ----------
    values, errors : ndarray of float64, shape (units, members)
        Distances, and bounds on their errors.
    first : int
        The number of the first unit.
    planes : ndarray of uint16
        Bits are set.
    doubtful : ndarray of int64, shape (units * comparisons, 3)
        Written: unit, one distance, and the other.

    Returns
    -------
    int
        How many are doubtful.
    """
    doubts = 0
    for unit in range(values.shape[0]):
        block, place = (first + unit) // BLOCK, (first + unit) % BLOCK
        lane, mark = place % LANES, np.uint16(1) << np.uint16(place // LANES)
        comparison = 0
        for a in range(1, values.shape[1]):
            for b in range(a):
                difference = values[unit, a] - values[unit, b]
                # The difference of values that overflowed is no number, and in doubt.
                if abs(difference) > errors[unit, a] + errors[unit, b]:
                    planes[GREATER if difference > 0.0 else LESS, block, comparison, lane] |= mark
                else:
                    doubtful[doubts, 0], doubtful[doubts, 1], doubtful[doubts, 2] = unit, a, b
                    doubts += 1
                comparison += 1
    return np.int64(doubts)


@kernel
def set_signs(compared: NDArray[np.int64], signs: NDArray[np.int8], first: Int, planes: NDArray[np.uint16]) -> None:
    """Set the bits of comparisons as `compare_values` lists them, from their signs."""
    for place in range(compared.shape[0]):
        unit, a, b = first + compared[place, 0], compared[place, 1], compared[place, 2]
        lane, mark = unit % LANES, np.uint16(1) << np.uint16(unit % BLOCK // LANES)
        if signs[place] != 0:
            planes[GREATER if signs[place] > 0 else LESS, unit // BLOCK, a * (a - 1) // 2 + b, lane] |= mark


@kernel
def count_disagreeing(ones: NDArray[np.uint64], others: NDArray[np.uint64], found: NDArray[np.int64]) -> None:
    """Count the comparisons in which each of some profiles differs from each of others.

    Parameters
    ----------
    ones, others : ndarray of uint64, shape (profiles, 2, words)
    found : ndarray of int64, shape (profiles, other profiles)
        Overwritten.
    """
    found[:] = 0
    size = ones.shape[2]
    for begin in range(0, size, _WORDS_AT_ONCE):
        end = min(begin + _WORDS_AT_ONCE, size)
        for i in range(ones.shape[0]):
            greater, less = ones[i, GREATER, begin:end], ones[i, LESS, begin:end]
            for j in range(others.shape[0]):
                found[i, j] += _differing(greater, less, others[j, GREATER, begin:end], others[j, LESS, begin:end])


@kernel
def _differing(
    greater: NDArray[np.uint64],
    less: NDArray[np.uint64],
    other_greater: NDArray[np.uint64],
    other_less: NDArray[np.uint64],
) -> Int:
    total = np.uint64(0)
    for place in range(greater.shape[0]):
        word = (greater[place] ^ other_greater[place]) | (less[place] ^ other_less[place])
        # The usual folding sum; LLVM counts the bits of several words at once instead.
        word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int64(total)


@kernel
def count_by_unit(one: NDArray[np.uint16], other: NDArray[np.uint16], found: NDArray[np.int64]) -> None:
    """Count the comparisons of each unit in which two profiles differ: found, int64 of shape (blocks * BLOCK,)."""
    found[:] = 0
    for block in range(one.shape[1]):
        own = found[block * BLOCK : (block + 1) * BLOCK]
        for comparison in range(one.shape[2]):
            for lane in range(LANES):
                word = (one[GREATER, block, comparison, lane] ^ other[GREATER, block, comparison, lane]) | (
                    one[LESS, block, comparison, lane] ^ other[LESS, block, comparison, lane]
                )
                for bit in range(BITS):
                    own[bit * LANES + lane] += np.int64((word >> np.uint16(bit)) & np.uint16(1))
