"""Ranks of some pairs of rows by distance: packed with their places, sorted, and settled where in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordsim_core import chains, pairs
from ordsim_core._numba import kernel
from ordsim_core.chains import flag_doubts
from ordsim_core.pair_keys import rounded_up, stored_distances
from ordsim_core.ranking import Ranked, number_words, ranked
from ordsim_core.settling import settle
from ordsim_core.sorting import counters, sort_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pair_keys import PairSpace

WORD_BITS = 64
UNSHIFTED = np.uint64(63)


class PairRanks(NamedTuple):
    """Ranks of n pairs of rows.

    Attributes
    ----------
    ranked : Ranked
        Of one anchor that is not there, n, with the n pairs as its targets.
    tied : ndarray of uint8, shape (n,)
        Set where a pair, in order, ties with the one before.
    """

    ranked: Ranked
    tied: NDArray[np.uint8]


def rank_pairs(
    side: PairSpace,
    keys: NDArray[np.uint64],
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    paths: NDArray[np.int64],
) -> PairRanks:
    """Rank pairs of rows by their distance.

    Parameters
    ----------
    side : PairSpace
    keys : ndarray of uint64, shape (n,)
        Of the pairs, which are at least one.
    left, right : ndarray of int32 or int64, shape (n,)
        Rows of the pairs; not looked at, and may be empty, unless the side is certified.
    paths : ndarray of int64, shape (3,)
        Added to: elements in chains, computed directly, computed exactly.
    """
    size = len(keys)
    id_bits = max(1, (size - 1).bit_length())
    least, most = int(keys.min()), int(keys.max())
    drop = max(0, (most - least).bit_length() + id_bits - WORD_BITS)
    words, tied = np.empty(size, np.uint64), np.zeros(size, np.uint8)
    spare = np.empty(size, np.uint64)
    bound = _pack(keys, np.uint64(least), np.uint64(drop), np.uint64(id_bits), np.uint64(side.saturated), words)
    sort_words(words, spare, np.uint64(0), np.uint64(bound), counters())
    del spare
    slack = rounded_up(side.slack_at(most), drop) if side.certified else 0
    if flag_doubts(words, np.uint64(id_bits), np.uint64(slack), UNSHIFTED, tied):
        if side.certified:
            lefts, rights = left.astype(np.int64), right.astype(np.int64)
            settle(side.space, words, id_bits, chains.CERTIFY, np.empty(0), lefts, rights, tied, paths)
        elif drop:
            _tell_apart(side, words, id_bits, keys, tied, paths)
    out = ranked(1, size + 1)
    out.ties[0] = number_words(words, tied, np.uint64(id_bits), out.order[0], out.start[0])
    return PairRanks(out, tied)


def _tell_apart(
    side: PairSpace,
    words: NDArray[np.uint64],
    id_bits: int,
    keys: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    paths: NDArray[np.int64],
) -> None:
    """Settle words that have not all bits of their keys, which decide."""
    full = stored_distances(keys) if side.keys.full else keys.astype(np.float64)
    # Equal keys are ties under any distance, as equal entries of a table are.
    rows = side.space.pairs._replace(kind=pairs.PRECOMPUTED)
    places = np.arange(len(words))
    nothing = np.empty(0, np.uint8)
    elements = chains.Elements(places[:1], places, places)
    chains.settle(words, np.uint64(id_bits), chains.FULL, full, rows, elements, tied, paths, nothing)


@kernel
def _pack(
    keys: NDArray[np.uint64],
    least: np.uint64,
    drop: np.uint64,
    id_bits: np.uint64,
    saturated: np.uint64,
    words: NDArray[np.uint64],
) -> np.uint64:
    # Returns the largest word of a key that is not saturated, for the leading bits of the others to be told apart.
    most = np.uint64(0)
    for place in range(keys.shape[0]):
        word = (((keys[place] - least) >> drop) << id_bits) | np.uint64(place)
        words[place] = word
        most = max(most, word if keys[place] != saturated else np.uint64(0))
    return most
