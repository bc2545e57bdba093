"""From words in their final order to lists of rows: sorted by row number, those at the border marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.neighbours.selection import sort
from ordsim_core.sorting import counters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.ranking import Packing


@kernel
def fill_rows(
    found: NDArray[np.uint64],
    borders: NDArray[np.int64],
    anchors: NDArray[np.int64],
    packing: Packing,
    members: NDArray[np.int32],
    begins: NDArray[np.int64],
    nearest: Int,
    by_index: bool,
    start: NDArray[np.int64],
    rows: NDArray[np.int32],
    shared: NDArray[np.bool_],
) -> None:
    """Write the neighbours of some anchors.

    Parameters
    ----------
    found, borders
        From `selection`.
    members, begins : ndarray
        The rows of distinct row u are ``members[begins[u]:begins[u + 1]]``; not read where no row repeats.
    nearest : int
        k.
    by_index : bool
        Of the rows at the border, take those with the smallest numbers, as many as are wanted.
    start : ndarray of int64, shape (anchors + 1,)
        Where each anchor's rows begin.
    rows, shared : ndarray of int32 and of bool, shape (start[-1],)
        Written: neighbours in ascending order, and whether each is one of too many at the border.
    """
    largest = np.int64(0)
    for a in range(anchors.shape[0]):
        largest = max(largest, borders[a, 0] + borders[a, 1])
    words, spare, digits = np.empty(largest, np.uint64), np.empty(largest, np.uint64), counters()
    for a in range(anchors.shape[0]):
        nearer, level = borders[a, 0], borders[a, 1]
        begin, end = borders[a, 2], borders[a, 3]
        many = nearer + level > nearest
        # One bit below the row's number says whether it shares its place with others.
        kept = _expand(found[a, :begin], anchors[a], packing, members, begins, np.uint64(0), words, np.int64(0))
        mark = np.uint64(1) if many and not by_index else np.uint64(0)
        size = _expand(found[a, begin:end], anchors[a], packing, members, begins, mark, words, kept)
        if many and by_index:
            sort(words[kept:size], spare, digits)
            size = np.int64(nearest)
        sort(words[:size], spare, digits)
        for place in range(size):
            rows[start[a] + place] = np.int32(words[place] >> np.uint64(1))
            shared[start[a] + place] = words[place] & np.uint64(1) != np.uint64(0)


@kernel
def _expand(
    found: NDArray[np.uint64],
    anchor: Int,
    packing: Packing,
    members: NDArray[np.int32],
    begins: NDArray[np.int64],
    mark: np.uint64,
    words: NDArray[np.uint64],
    size: Int,
) -> Int:
    """Write the rows of distinct rows from place `size` on, the anchor left out, and give the place after them."""
    mask = (np.uint64(1) << np.uint64(packing.id_bits)) - np.uint64(1)
    for word in found:
        element = np.int64(word & mask)
        if not packing.repeated:
            words[size] = (np.uint64(element) << np.uint64(1)) | mark
            size += 1
            continue
        for place in range(begins[element], begins[element + 1]):
            row = np.int64(members[place])
            if row != anchor:
                words[size] = (np.uint64(row) << np.uint64(1)) | mark
                size += 1
    return size
