"""Chains: runs of sorted keys too close to their neighbours for their order to be certain, put into exact order.

A lower and an upper limit of the true distance grow with the key, so it is enough to test neighbours. Distances are
computed once for each element of a chain and then sorted: n log n steps for n elements, whatever is in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordsim_core import wide
from ordsim_core._numba import Int, kernel
from ordsim_core.pairs import (
    COSINE,
    HAMMING,
    PRECOMPUTED,
    Rows,
    cosine_order,
    direct_value,
    fits_wide,
    same_pair,
)
from ordsim_core.sorting import by_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

EQUAL, FULL, CERTIFY = range(3)
"""What keys that are too close to each other mean: a tie; that the full keys decide; doubt, to be resolved."""

CHAINS, DIRECT, EXACT = range(3)

UNRESOLVED = -1
"""Rank of an element that was not computed in exact arithmetic."""


class Elements(NamedTuple):
    """The pairs of rows that are put into order: element e is rows left[e] (or left[0]) and right[e].

    `ranks` holds ranks found in exact arithmetic, `UNRESOLVED` where there is none.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    ranks: NDArray[np.int64]


@kernel
def left_of(elements: Elements, e: Int) -> Int:
    """Give the first row of an element."""
    return np.int64(elements.left[0 if elements.left.shape[0] == 1 else e])


@kernel
def flag_doubts(
    words: NDArray[np.uint64], id_bits: np.uint64, slack: np.uint64, shift: np.uint64, tied: NDArray[np.uint8]
) -> Int:
    """Set `tied` where a sorted word is too close to the one before for their order to be certain, clear it elsewhere.

    Neighbours are certain if their keys differ by more than slack + (larger key >> shift). Returns how many are not.
    """
    tied[0] = 0
    doubts = np.int64(0)
    for place in range(1, words.shape[0]):
        key, previous = words[place] >> id_bits, words[place - 1] >> id_bits
        # Signed, as processors compare many of them at once; keys have at most 63 bits.
        doubt = np.uint8(np.int64(key - previous) <= np.int64(slack + (key >> shift)))
        tied[place] = doubt
        doubts += np.int64(doubt)
    return doubts


@kernel
def settle(
    words: NDArray[np.uint64],
    id_bits: np.uint64,
    mode: Int,
    full: NDArray[np.float64],
    rows: Rows,
    elements: Elements,
    tied: NDArray[np.uint8],
    paths: NDArray[np.int64],
    pending: NDArray[np.uint8],
) -> Int:
    """Bring sorted words into the exact order of their elements.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        Sorted; the low `id_bits` of a word are its element. Elements of chains are rearranged, keys stay.
    mode : int
        FULL or CERTIFY; under EQUAL there is nothing to settle.
    full : ndarray of float64
        Full key of each element, for FULL.
    tied : ndarray of uint8, shape (n,)
        As `flag_doubts` left it: set where an element is in doubt. On return, where it ties with the one before.
    paths : ndarray of int64, shape (3,)
        Added to: elements in chains, computed directly, computed exactly.
    pending : ndarray of uint8
        Set for elements that need exact arithmetic and have no rank.

    Returns
    -------
    int
        Number of elements set in `pending`; 0 if the order is final.
    """
    size = words.shape[0]
    missing, place = np.int64(0), np.int64(1)
    while place < size:
        if not tied[place]:
            place += 1
            continue
        start = place - 1
        while place < size and tied[place]:
            tied[place] = 0
            place += 1
        missing += _resolve(words, start, place, id_bits, mode, full, rows, elements, tied, paths, pending)
    return missing


@kernel
def _resolve(
    words: NDArray[np.uint64],
    start: Int,
    stop: Int,
    id_bits: np.uint64,
    mode: Int,
    full: NDArray[np.float64],
    rows: Rows,
    elements: Elements,
    tied: NDArray[np.uint8],
    paths: NDArray[np.int64],
    pending: NDArray[np.uint8],
) -> Int:
    size = stop - start
    mask = (np.uint64(1) << id_bits) - np.uint64(1)
    chain = (words[start:stop] & mask).astype(np.int64)
    paths[CHAINS] += size
    if _all_same(rows, elements, chain):
        tied[start + 1 : stop] = 1
        return np.int64(0)
    values, errors = np.empty(size), np.zeros(size)
    for place in range(size):
        e = chain[place]
        if mode == FULL:
            values[place] = full[e]
        else:
            values[place], errors[place] = direct_value(rows, left_of(elements, e), elements.right[e])
    if mode == CERTIFY:
        paths[DIRECT] += size
    order = by_size(values, values)
    chain, values, errors = chain[order], values[order], errors[order]
    lowest = np.empty(size + 1)  # of this and all later elements, the smallest possible value
    lowest[size] = np.inf
    for place in range(size - 1, -1, -1):
        lowest[place] = min(lowest[place + 1], values[place] - errors[place])
    missing, begin, highest = np.int64(0), np.int64(0), -np.inf
    for place in range(size):
        highest = max(highest, values[place] + errors[place])
        if lowest[place + 1] > highest:
            if place > begin:
                missing += _settle_equals(
                    rows, elements, chain[begin : place + 1], tied[start + begin : start + place + 1], paths, pending
                )
            begin = np.int64(place + 1)
    for place in range(size):
        words[start + place] = (words[start + place] & ~mask) | np.uint64(chain[place])
    return missing


@kernel
def _all_same(rows: Rows, elements: Elements, chain: NDArray[np.int64]) -> bool:
    i, j = left_of(elements, chain[0]), elements.right[chain[0]]
    for place in range(1, chain.shape[0]):
        e = chain[place]
        if not same_pair(rows, i, j, left_of(elements, e), elements.right[e]):
            return False
    return True


@kernel
def _settle_equals(
    rows: Rows,
    elements: Elements,
    chain: NDArray[np.int64],
    tied: NDArray[np.uint8],
    paths: NDArray[np.int64],
    pending: NDArray[np.uint8],
) -> Int:
    # Elements whose direct values leave doubt: equal rows tie, integers of 128 bits decide, or else ranks.
    if rows.kind == HAMMING or rows.kind == PRECOMPUTED or _all_same(rows, elements, chain):
        tied[1:] = 1
        return np.int64(0)
    size = chain.shape[0]
    low, high = _span(rows, elements, chain)
    # The exact value of each element, as an integer of 128 bits in two parts.
    upper, lower = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    if fits_wide(rows, low, high):
        for place in range(size):
            e = chain[place]
            upper[place], lower[place] = wide.squared_distance(
                rows.values, left_of(elements, e), elements.right[e], low
            )
    elif rows.kind == COSINE and rows.whole:
        for place in range(size):
            e = chain[place]
            upper[place], lower[place] = cosine_order(rows, left_of(elements, e), elements.right[e])
    else:
        missing = np.int64(0)
        for place in range(size):
            e = chain[place]
            if elements.ranks[e] == UNRESOLVED:
                pending[e] = 1
                missing += 1
            upper[place] = np.uint64(elements.ranks[e])
        if missing > 0:
            return missing
    paths[EXACT] += size
    order = by_size(upper, lower)
    chain[:] = chain[order]
    for place in range(1, size):
        one, other = order[place - 1], order[place]
        tied[place] = np.uint8(upper[one] == upper[other] and lower[one] == lower[other])
    return np.int64(0)


@kernel
def _span(rows: Rows, elements: Elements, chain: NDArray[np.int64]) -> tuple[Int, Int]:
    low, high = np.int64(2**15), np.int64(-(2**15))
    for place in range(chain.shape[0]):
        e = chain[place]
        for row in (left_of(elements, e), elements.right[e]):
            low = min(low, np.int64(rows.low[row]))
            high = max(high, np.int64(rows.high[row]))
    return low, high
