"""How many pairs of targets the rounding of their keys can have put into the wrong order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.ranking import Packing


@kernel
def doubtful(
    words: NDArray[np.uint64], id_bits: np.uint64, slack: np.uint64, shift: np.uint64, packing: Packing, own: Int
) -> Int:
    """Count the pairs of targets whose keys are within their error of each other; pairs of equal rows are certain.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        Sorted words of the distinct targets of one anchor.
    id_bits, slack, shift : uint64
        Two keys are in doubt unless they differ by more than slack + (larger key >> shift).
    own : int
        The anchor's distinct row.
    """
    size = np.int64(words.shape[0])
    if packing.repeated:
        return _doubtful_copies(words, id_bits, slack, shift, packing, own)
    # Each step waits for the one before; four walks at once do not wait for each other.
    e0, e1, e2, e3 = size // 4, size // 2, size - size // 4, size
    p0, p1, p2, p3 = np.int64(0), e0, e1, e2
    b0, b1 = np.int64(0), _first_near(words, p1, id_bits, slack, shift)
    b2, b3 = _first_near(words, p2, id_bits, slack, shift), _first_near(words, p3, id_bits, slack, shift)
    pairs = np.int64(0)
    while p0 < e0 or p1 < e1 or p2 < e2 or p3 < e3:
        n0, n1 = _is_near(words, p0, b0, e0, id_bits, slack, shift), _is_near(words, p1, b1, e1, id_bits, slack, shift)
        n2, n3 = _is_near(words, p2, b2, e2, id_bits, slack, shift), _is_near(words, p3, b3, e3, id_bits, slack, shift)
        pairs += n0 * (p0 - b0) + n1 * (p1 - b1) + n2 * (p2 - b2) + n3 * (p3 - b3)
        b0, b1, b2, b3 = b0 + 1 - n0, b1 + 1 - n1, b2 + 1 - n2, b3 + 1 - n3
        p0, p1, p2, p3 = p0 + n0, p1 + n1, p2 + n2, p3 + n3
        # A walk that is done stands still.
        b0, b1, b2, b3 = min(b0, e0 - 1), min(b1, e1 - 1), min(b2, e2 - 1), min(b3, e3 - 1)
    return pairs


@kernel
def _is_near(
    words: NDArray[np.uint64], place: Int, behind: Int, end: Int, id_bits: np.uint64, slack: np.uint64, shift: np.uint64
) -> Int:
    # 1 to go on to the next place, 0 to leave one behind; without a branch, for no processor could guess which.
    inside = np.int64(place < end)
    key = words[place - (1 - inside)] >> id_bits
    return inside & np.int64(key - (words[behind] >> id_bits) <= slack + (key >> shift))


@kernel
def _first_near(words: NDArray[np.uint64], place: Int, id_bits: np.uint64, slack: np.uint64, shift: np.uint64) -> Int:
    # The first key that is within its error of the one at `place`.
    if place >= words.shape[0]:
        return np.int64(words.shape[0] - 1)
    key = words[place] >> id_bits
    low, high = np.int64(0), np.int64(place)
    while low < high:
        middle = (low + high) // 2
        if key - (words[middle] >> id_bits) > slack + (key >> shift):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _doubtful_copies(
    words: NDArray[np.uint64], id_bits: np.uint64, slack: np.uint64, shift: np.uint64, packing: Packing, own: Int
) -> Int:
    mask = (np.uint64(1) << id_bits) - np.uint64(1)
    pairs, behind, weight = np.int64(0), np.int64(0), np.int64(0)
    for place in range(words.shape[0]):
        key = words[place] >> id_bits
        while key - (words[behind] >> id_bits) > slack + (key >> shift):
            weight -= _copies(packing, np.int64(words[behind] & mask), own)
            behind += 1
        count = _copies(packing, np.int64(words[place] & mask), own)
        pairs += weight * count
        weight += count
    return pairs


@kernel
def _copies(packing: Packing, element: Int, own: Int) -> Int:
    return np.int64(packing.copies[element]) - np.int64(element == own)
