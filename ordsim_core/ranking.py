"""Ranks of all distances from an anchor: keys are packed with row numbers, sorted, and settled where in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.chains import CERTIFY, FULL, flag_doubts
from ordsim_core.rank_doubts import doubtful
from ordsim_core.sorting import counters, sort_words

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAGIC = 2.0**52
"""Added to a float64 between 0 and 2^52, leaves its nearest integer in the low 52 bits."""


class Packing(NamedTuple):
    """How keys become integers: key = offset[anchor] + weight[target] - factor * product, in whole units.

    Attributes
    ----------
    mode : int
        What close keys mean, see `chains`; FULL keys are float64 and packed by their leading bits.
    id_bits : int
        Low bits of a word that hold the number of the distinct row; at least 12.
    offset, weight : ndarray of float64, shape (U,)
    factor : float
    saturation : float
        Keys end here.
    slack : ndarray of int64, shape (U,)
        For each anchor, and with `shift`, the bound on the error of two keys: see `chains.flag_doubts`.
    shift : int
    copies : ndarray of int32, shape (U,)
        How many rows are equal to each distinct row.
    number : ndarray of int32, shape (N,)
        The distinct row of each row.
    repeated : bool
        Whether any row occurs twice.
    certain : bool
        Whether keys order and tie exactly as exact arithmetic would.
    """

    mode: int
    id_bits: int
    offset: NDArray[np.float64]
    weight: NDArray[np.float64]
    factor: float
    saturation: float
    slack: NDArray[np.int64]
    shift: int
    copies: NDArray[np.int32]
    number: NDArray[np.int32]
    repeated: bool
    certain: bool


class Ranked(NamedTuple):
    """Ranks of the targets of each anchor; scratch space that is used again and again.

    Attributes
    ----------
    order : ndarray of int32, shape (anchors, N)
        Where `ties` is 0 and no row repeats, the targets by distance; the first N - 1 places count.
    start : ndarray of int32, shape (anchors, N)
        Number of targets nearer than each; equal for ties.
    ties : ndarray of int64, shape (anchors,)
        Pairs of targets that tie.
    doubt : ndarray of int64, shape (anchors,)
        Pairs of targets whose keys are within their error of each other, if they were counted.
    paths : ndarray of int64, shape (anchors, 3)
    """

    order: NDArray[np.int32]
    start: NDArray[np.int32]
    ties: NDArray[np.int64]
    doubt: NDArray[np.int64]
    paths: NDArray[np.int64]


def ranked(anchors: int, rows: int) -> Ranked:
    """Give scratch space for ranks."""
    shape = (anchors, rows)
    return Ranked(
        np.empty(shape, np.int32),
        np.empty(shape, np.int32),
        np.empty(anchors, np.int64),
        np.zeros(anchors, np.int64),
        np.zeros((anchors, 3), np.int64),
    )


@kernel
def pack_rows(
    products: NDArray[Any],
    anchors: NDArray[np.int64],
    packing: Packing,
    words: NDArray[np.uint64],
    bounds: NDArray[np.uint64],
) -> None:
    """Pack the keys of some anchors with the numbers of the distinct rows that they belong to.

    Parameters
    ----------
    products : ndarray of float32 or float64, shape (anchors, U)
        Products of each anchor's row with all distinct rows; for FULL packing the keys themselves.
    anchors : ndarray of int64, shape (anchors,)
        Row numbers.
    words : ndarray of uint64, shape (anchors, U)
        Written; the last word is not used where the anchor is the only row of its kind, for it is no target.
    bounds : ndarray of uint64, shape (anchors, 2)
        Written: limits of the words, saturated ones left out.
    """
    keys = np.empty(products.shape[1])
    for a in range(anchors.shape[0]):
        own = packing.number[anchors[a]]
        skip = np.int64(own) if packing.copies[own] == 1 else np.int64(-1)
        if packing.mode == FULL:
            _pack_full(products[a], skip, packing.id_bits, keys, words[a], bounds[a])
        else:
            _pack(products[a], packing, own, skip, keys, words[a], bounds[a])


@kernel
def sort_rows(
    words: NDArray[np.uint64],
    bounds: NDArray[np.uint64],
    anchors: NDArray[np.int64],
    packing: Packing,
    count_doubt: bool,
    tied: NDArray[np.uint8],
    doubts: NDArray[np.int64],
    out: Ranked,
) -> None:
    """Sort packed keys, and find those too close to their neighbours.

    Parameters
    ----------
    words, bounds : ndarray of uint64
        From `pack_rows`; words are sorted.
    anchors : ndarray of int64, shape (anchors,)
        Row numbers.
    count_doubt : bool
        Whether to count pairs in doubt into `out.doubt`.
    tied : ndarray of uint8, shape (anchors, U)
        Written: see `chains.flag_doubts`. Under EQUAL, these are ties.
    doubts : ndarray of int64, shape (anchors,)
        Written: how many are set.
    """
    spare, digits = np.empty(words.shape[1], np.uint64), counters()
    id_bits, shift = np.uint64(packing.id_bits), np.uint64(packing.shift)
    for a in range(anchors.shape[0]):
        own = packing.number[anchors[a]]
        elements = targets(packing, anchors[a])
        mine, slack = words[a, :elements], np.uint64(packing.slack[own])
        doubts[a] = 0
        if elements == 0:
            continue
        sort_words(mine, spare[:elements], bounds[a, 0], bounds[a, 1], digits)
        if count_doubt:
            out.doubt[a] = doubtful(mine, id_bits, slack, shift, packing, own)
        if packing.mode == CERTIFY:
            doubts[a] = flag_doubts(mine, id_bits, slack, shift, tied[a])
        else:
            doubts[a] = flag_doubts(mine, id_bits, np.uint64(0), np.uint64(63), tied[a])


@kernel
def number_rows(
    words: NDArray[np.uint64], tied: NDArray[np.uint8], anchors: NDArray[np.int64], packing: Packing, out: Ranked
) -> None:
    """Write the order and ranks of the targets of some anchors, from words in their final order, and their ties."""
    before = np.empty(words.shape[1] if packing.repeated else 0, np.int32)
    for a in range(anchors.shape[0]):
        mine = words[a, : targets(packing, anchors[a])]
        if packing.repeated:
            out.ties[a] = _expand(mine, tied[a], packing, packing.number[anchors[a]], before, out.start[a])
        else:
            out.ties[a] = number_words(mine, tied[a], np.uint64(packing.id_bits), out.order[a], out.start[a])


@kernel
def targets(packing: Packing, anchor: Int) -> Int:
    """Count the distinct rows among the targets of an anchor: its own is one where other rows are equal to it."""
    size = np.int64(packing.copies.shape[0])
    return size - 1 if packing.copies[packing.number[anchor]] == 1 else size


@kernel
def whole(key: float, saturation: float) -> float:
    """Give `MAGIC` and a key, within 0 and where keys end."""
    # Infinity minus infinity, of a row that is far beyond all others, is not a number: written so, it saturates.
    key = key if key < saturation else saturation
    return (key if key > 0.0 else 0.0) + MAGIC


@kernel
def _pack(
    products: NDArray[Any],
    packing: Packing,
    own: Int,
    skip: Int,
    keys: NDArray[np.float64],
    words: NDArray[np.uint64],
    bounds: NDArray[np.uint64],
) -> None:
    offset, factor, saturation = packing.offset[own], packing.factor, packing.saturation
    weight = packing.weight
    size = products.shape[0]
    for j in range(size):
        keys[j] = whole((offset + weight[j]) - factor * np.float64(products[j]), saturation)
    bits = keys.view(np.uint64)
    id_bits = np.uint64(packing.id_bits)
    first = size if skip < 0 else skip
    for j in range(first):
        words[j] = (bits[j] << id_bits) | np.uint64(j)
    for j in range(first + 1, size):
        words[j - 1] = (bits[j] << id_bits) | np.uint64(j)
    least, most = _range(keys, first, saturation + MAGIC)
    bounds[0] = np.uint64(least - MAGIC) << id_bits
    bounds[1] = (np.uint64(most - MAGIC) << id_bits) | ((np.uint64(1) << id_bits) - np.uint64(1))


@kernel
def _range(keys: NDArray[np.float64], skip: Int, saturated: float) -> tuple[float, float]:
    # Four at a time, none waiting for another.
    l0 = l1 = l2 = l3 = np.inf
    m0 = m1 = m2 = m3 = MAGIC
    size = keys.shape[0]
    if skip < size:
        keys[skip] = keys[0 if skip > 0 else size - 1]
    whole = size - size % 4
    for j in range(0, whole, 4):
        k0, k1, k2, k3 = keys[j], keys[j + 1], keys[j + 2], keys[j + 3]
        l0, l1, l2, l3 = min(l0, k0), min(l1, k1), min(l2, k2), min(l3, k3)
        m0 = max(m0, k0 if k0 < saturated else MAGIC)
        m1 = max(m1, k1 if k1 < saturated else MAGIC)
        m2 = max(m2, k2 if k2 < saturated else MAGIC)
        m3 = max(m3, k3 if k3 < saturated else MAGIC)
    for j in range(whole, size):
        l0 = min(l0, keys[j])
        m0 = max(m0, keys[j] if keys[j] < saturated else MAGIC)
    least = min(min(l0, l1), min(l2, l3))
    return least, max(least, max(max(m0, m1), max(m2, m3)))


@kernel
def _pack_full(
    full: NDArray[Any],
    skip: Int,
    id_bits: Int,
    keys: NDArray[np.float64],
    words: NDArray[np.uint64],
    bounds: NDArray[np.uint64],
) -> None:
    # Float64 order as unsigned order: flip all bits of negative numbers, the sign of others; -0 is 0.
    for j in range(full.shape[0]):
        keys[j] = np.float64(full[j]) + 0.0
    bits = keys.view(np.uint64)
    sign, cut = np.uint64(1 << 63), np.uint64(id_bits)
    least, most = ~np.uint64(0), np.uint64(0)
    place = 0
    for j in range(full.shape[0]):
        if j == skip:
            continue
        flipped = ~bits[j] if bits[j] & sign else bits[j] | sign
        word = ((flipped >> cut) << cut) | np.uint64(j)
        least, most = min(least, word), max(most, word)
        words[place] = word
        place += 1
    bounds[0], bounds[1] = least, most


@kernel
def number_words(
    words: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    id_bits: np.uint64,
    order: NDArray[np.int32],
    start: NDArray[np.int32],
) -> Int:
    """Write the order and ranks of the elements of words in their final order, and give the pairs that tie.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        The low `id_bits` of a word are its element.
    tied : ndarray of uint8, shape (n,)
        Set where an element ties with the one before.
    order, start : ndarray of int32
        Written: see `Ranked`.
    """
    mask = (np.uint64(1) << id_bits) - np.uint64(1)
    ties, run = np.int64(0), np.int64(0)
    for place in range(words.shape[0]):
        element = np.int64(words[place] & mask)
        if not tied[place]:
            run = np.int64(place)
        ties += place - run
        order[place] = element
        start[element] = run
    return ties


@kernel
def _expand(
    words: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    packing: Packing,
    own: Int,
    before: NDArray[np.int32],
    start: NDArray[np.int32],
) -> Int:
    # From distinct rows to rows: a distinct row counts as often as it occurs, the anchor itself not.
    mask = (np.uint64(1) << np.uint64(packing.id_bits)) - np.uint64(1)
    ties, run, seen = np.int64(0), np.int64(0), np.int64(0)
    for place in range(words.shape[0]):
        element = np.int64(words[place] & mask)
        if not tied[place]:
            ties += (seen - run) * (seen - run - 1) // 2
            run = seen
        before[element] = run
        seen += packing.copies[element] - (1 if element == own else 0)
    ties += (seen - run) * (seen - run - 1) // 2
    for row in range(start.shape[0]):
        start[row] = before[packing.number[row]]
    return ties
