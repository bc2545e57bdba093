"""The nearest targets of an anchor without sorting the others: certain ones, and those about the border.

The word of the k-th nearest row cuts the targets in three: those whose keys are so much smaller that they are certainly
nearer than all rows from the k-th on, those so much larger that they are certainly farther than k rows, and a zone
around it, usually of one. Only the zone has to be put into exact order; ties at the border lie in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.chains import CERTIFY, flag_doubts
from ordsim_core.ranking import Packing, pack_rows, targets
from ordsim_core.sorting import counters, sort_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT = 64
"""Up to so many words are sorted by insertion alone."""

SPARE_PLACES = 64
"""Words beyond the k nearest that are held before the nearest of them are sorted out."""


@kernel
def select_rows(
    products: NDArray[Any],
    anchors: NDArray[np.int64],
    packing: Packing,
    nearest: Int,
    count_doubt: bool,
    found: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    sizes: NDArray[np.int64],
) -> None:
    """Find the words of the nearest distinct rows of some anchors, and of those about the border.

    Parameters
    ----------
    products : ndarray of float32 or float64, shape (anchors, U)
        As `ranking.pack_rows` has them.
    anchors : ndarray of int64, shape (anchors,)
        Row numbers.
    nearest : int
        k, at least 1 and at most N - 1.
    count_doubt : bool
        Whether to count rows in doubt where keys decide.
    found : ndarray of uint64, shape (anchors, room)
        Written: words that are certainly among the nearest, in no order, then those of the zone, sorted.
    tied : ndarray of uint8, shape (anchors, room)
        Written for the zone: see `chains.flag_doubts`.
    sizes : ndarray of int64, shape (anchors, 4)
        Written: how many are certain, how many are in the zone, how many of the zone have an order in doubt, and by how
        many rows the neighbourhood may differ where keys decide that err. If there is no room for them, certain is -1.
    """
    words, spare = np.empty((1, products.shape[1]), np.uint64), np.empty(products.shape[1], np.uint64)
    bounds, digits = np.empty((1, 2), np.uint64), counters()
    for a in range(anchors.shape[0]):
        pack_rows(products[a : a + 1], anchors[a : a + 1], packing, words, bounds)
        own = packing.number[anchors[a]]
        mine = words[0, : targets(packing, anchors[a])]
        border = _border(mine, nearest, packing, own, spare, digits)
        slack, shift = np.uint64(0), np.uint64(63)
        if packing.mode == CERTIFY:
            slack, shift = np.uint64(packing.slack[own]), np.uint64(packing.shift)
        sizes[a, 3] = _doubtful(mine, border, nearest, packing, own) if count_doubt else np.int64(0)
        _part(mine, border, slack, shift, packing, found[a], spare, sizes[a])
        certain, zone = sizes[a, 0], sizes[a, 1]
        if certain < 0:
            continue
        around, flags = found[a, certain : certain + zone], tied[a, certain : certain + zone]
        sort(around, spare, digits)
        sizes[a, 2] = flag_doubts(around, np.uint64(packing.id_bits), slack, shift, flags)
        if _rows_of(found[a, : certain + zone], packing, own) <= nearest:
            sizes[a, 2] = 0  # all of them are among the nearest, in whatever order


@kernel
def border_rows(
    found: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    anchors: NDArray[np.int64],
    packing: Packing,
    nearest: Int,
    borders: NDArray[np.int64],
) -> None:
    """Find the border in zones that are in their final order.

    Parameters
    ----------
    borders : ndarray of int64, shape (anchors, 4)
        Written: rows that are nearer than the k-th, rows as far as it, and the places in `found` where the words of
        the latter begin and end. All others as `select_rows` left them.
    """
    for a in range(anchors.shape[0]):
        own = packing.number[anchors[a]]
        place, stop = sizes[a, 0], sizes[a, 0] + sizes[a, 1]
        nearer = _rows_of(found[a, :place], packing, own)
        while place < stop:
            end = place + 1
            while end < stop and tied[a, end]:
                end += 1
            level = _rows_of(found[a, place:end], packing, own)
            if nearer + level >= nearest or end == stop:
                borders[a, 0], borders[a, 1], borders[a, 2], borders[a, 3] = nearer, level, place, end
            if nearer + level >= nearest:
                break
            nearer += level
            place = end


@kernel
def sort(words: NDArray[np.uint64], spare: NDArray[np.uint64], digits: NDArray[np.int32]) -> None:
    """Sort any number of different words in place; `spare` is scratch space of at least that size."""
    if words.shape[0] > SHORT:
        least, most = words[0], words[0]
        for word in words:
            least, most = min(least, word), max(most, word)
        sort_words(words, spare[: words.shape[0]], least, most, digits)
        return
    for place in range(1, words.shape[0]):
        word, at = words[place], place
        while at > 0 and words[at - 1] > word:
            words[at] = words[at - 1]
            at -= 1
        words[at] = word


@kernel
def _border(
    words: NDArray[np.uint64],
    nearest: Int,
    packing: Packing,
    own: Int,
    spare: NDArray[np.uint64],
    digits: NDArray[np.int32],
) -> np.uint64:
    """Give the key of the k-th row by key; each distinct row has at least one."""
    wanted = min(np.int64(nearest), np.int64(words.shape[0]))
    room = min(np.int64(2 * wanted + SPARE_PLACES), np.int64(words.shape[0]))
    held = spare[:room]
    smallest(words, wanted, held)
    id_bits = np.uint64(packing.id_bits)
    if not packing.repeated:
        return np.uint64(held[wanted - 1] >> id_bits)
    scratch = np.empty(wanted, np.uint64)
    sort(held[:wanted], scratch, digits)
    rows, place = np.int64(0), np.int64(0)
    while place < wanted:
        rows += _rows_of(held[place : place + 1], packing, own)
        if rows >= nearest:
            break
        place += 1
    return np.uint64(held[min(place, wanted - 1)] >> id_bits)


@kernel
def smallest(words: NDArray[np.uint64], wanted: Int, held: NDArray[np.uint64]) -> None:
    """Bring the `wanted` smallest of different words to the front of `held`, the largest of them last.

    `held` has room for at least one more, or for all words.
    """
    room, size = held.shape[0], np.int64(0)
    limit = ~np.uint64(0)
    for word in words:
        if word > limit:
            continue
        if size == room:
            _part_smallest(held, wanted)
            size, limit = np.int64(wanted), held[wanted - 1]
            if word > limit:
                continue
        held[size] = word
        size += 1
    _part_smallest(held[:size], wanted)


@kernel
def _part_smallest(words: NDArray[np.uint64], wanted: Int) -> None:
    # Hoare's selection; the pivot is the middle one of three, so that words in order do no harm.
    target = wanted - 1
    low, high = np.int64(0), np.int64(words.shape[0] - 1)
    while low < high:
        first, middle, last = words[low], words[(low + high) // 2], words[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while words[i] < pivot:
                i += 1
            while words[j] > pivot:
                j -= 1
            if i <= j:
                words[i], words[j] = words[j], words[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@kernel
def _part(
    words: NDArray[np.uint64],
    border: np.uint64,
    slack: np.uint64,
    shift: np.uint64,
    packing: Packing,
    found: NDArray[np.uint64],
    zone: NDArray[np.uint64],
    sizes: NDArray[np.int64],
) -> None:
    # Keys have at most 63 bits, so that differences can be signed.
    id_bits = np.uint64(packing.id_bits)
    middle, reach = np.int64(border), np.int64(slack + (border >> shift))
    certain, doubtful, room = np.int64(0), np.int64(0), np.int64(found.shape[0])
    for word in words:
        key = np.int64(word >> id_bits)
        if key > middle and key - middle > np.int64(slack + (np.uint64(key) >> shift)):
            continue
        if middle - key > reach:
            if certain < room:
                found[certain] = word
            certain += 1
        else:
            zone[doubtful] = word
            doubtful += 1
    sizes[0], sizes[1] = certain, doubtful
    if certain + doubtful > room:
        sizes[0] = -1
        return
    found[certain : certain + doubtful] = zone[:doubtful]


@kernel
def _doubtful(words: NDArray[np.uint64], border: np.uint64, nearest: Int, packing: Packing, own: Int) -> Int:
    """Count the rows that may belong to the neighbourhood instead of as many others, where keys err by `slack`."""
    id_bits, slack, shift = np.uint64(packing.id_bits), np.uint64(packing.slack[own]), np.uint64(packing.shift)
    middle, reach = np.int64(border), np.int64(slack + (border >> shift))
    certain, zone = np.int64(0), np.int64(0)
    for place in range(words.shape[0]):
        key = np.int64(words[place] >> id_bits)
        if key > middle and key - middle > np.int64(slack + (np.uint64(key) >> shift)):
            continue
        rows = _rows_of(words[place : place + 1], packing, own)
        if middle - key > reach:
            certain += rows
        else:
            zone += rows
    return min(np.int64(nearest) - certain, zone - (np.int64(nearest) - certain))


@kernel
def _rows_of(words: NDArray[np.uint64], packing: Packing, own: Int) -> Int:
    """Count the rows that these distinct rows stand for, the anchor left out."""
    if not packing.repeated:
        return np.int64(words.shape[0])
    mask = (np.uint64(1) << np.uint64(packing.id_bits)) - np.uint64(1)
    rows = np.int64(0)
    for word in words:
        element = np.int64(word & mask)
        rows += np.int64(packing.copies[element]) - np.int64(element == own)
    return rows
