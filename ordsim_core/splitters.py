"""Splitters cut the pairs of rows into strips by their exact distance in one space.

They are the distances of sampled pairs, so that strips are of about the same size, and tied pairs are never cut
apart. A distance that several of them hit makes a strip of its own, in which all pairs tie: it may be of any size, for
nothing in it has to be put into order. Where a pair belongs does not depend on rounding: keys decide where they are
certain, exact comparisons with splitters elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordsim_core import sampling
from ordsim_core._numba import Int, kernel
from ordsim_core.comparisons import new_paths, signs
from ordsim_core.pair_keys import keys_of
from ordsim_core.pair_ranks import rank_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pair_keys import PairSpace

SAMPLED = 64
"""Pairs sampled for each strip: one in a billion strips is then more than twice as large as meant."""
SEED = 0
DECIDED = -1
GUIDE_BITS = 14
SPLITTER_BITS = 5
"""The guide has 32 bins or more for each splitter, but not so many that it leaves the cache."""


class Cuts(NamedTuple):
    """Splitters s = 0, 1, ... by distance, for kernels.

    Attributes
    ----------
    low, high : ndarray of uint64, shape (S,)
        Keys below low[s] are of pairs nearer than splitter s, keys above high[s] of pairs farther apart.
    certain : bool
        Whether keys between these are of pairs that tie with the splitter.
    between : ndarray of int32, shape (S + 1,)
        Strip of the pairs beyond the first s splitters, and before the next one.
    equal : ndarray of int32, shape (S,)
        Strip of the pairs that tie with splitter s.
    guide : ndarray of int32
        Where to look for keys: the number of splitters surely nearer than all keys of (key - base) >> shift.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    certain: bool
    between: NDArray[np.int32]
    equal: NDArray[np.int32]
    guide: NDArray[np.int32]
    base: np.uint64
    shift: np.uint64


@dataclass(frozen=True, eq=False)
class Splitters:
    """How the pairs of one side are cut.

    Attributes
    ----------
    cuts : Cuts
    pairs : ndarray of int64, shape (S, 2)
        The pair of rows that each splitter is the distance of.
    tied : ndarray of bool, shape (strips,)
        Strips whose pairs all tie.
    """

    cuts: Cuts
    pairs: NDArray[np.int64]
    tied: NDArray[np.bool_]

    def key_range(self, first: int, last: int) -> tuple[np.uint64, np.uint64]:
        """Give the least and the largest key that a pair of strips `first` to `last` - 1 can have."""
        cuts = self.cuts
        below, above = (np.flatnonzero(cuts.between[1:] >= strip) for strip in (first, last))
        least, most = np.uint64(0), ~np.uint64(0)
        if first > 0:
            if len(below) == 0:
                return most, least
            least = cuts.low[below[0]]
        return least, cuts.high[above[0]] if len(above) else most


def choose(side: PairSpace, strips: int) -> Splitters:
    """Choose the splitters that cut the pairs of rows of one side into at most so many strips."""
    rows = side.space.rows
    drawn = sampling.quadruplets(SEED, 0, SAMPLED * strips if strips > 1 else 0, rows)[:, :2]
    chosen = np.sort(drawn, axis=1)
    picked, heavy = _pick(side, chosen, strips)
    between, equal = np.zeros(len(picked) + 1, np.int32), np.zeros(len(picked), np.int32)
    tied = np.zeros(strips, np.bool_)
    between[1:] = np.cumsum(1 + heavy)
    equal[:] = between[1:] - heavy
    tied[equal[heavy]] = True
    pairs = chosen[picked]
    return Splitters(_cuts(side, pairs, between, equal), pairs, tied)


def _pick(side: PairSpace, chosen: NDArray[np.int64], strips: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Of sampled pairs, give the places of those at equal shares of their order, and whether several shares tie."""
    if strips == 1:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    left, right = np.ascontiguousarray(chosen.T)
    ranks = rank_pairs(side, keys_of(side, left, right), left, right, new_paths()).ranked
    order = ranks.order[0, : len(chosen)]
    shares = order[np.arange(1, strips) * len(chosen) // strips]
    _, first, hits = np.unique(ranks.start[0, shares], return_index=True, return_counts=True)
    return shares[first].astype(np.int64), hits > 1


def _cuts(side: PairSpace, pairs: NDArray[np.int64], between: NDArray[np.int32], equal: NDArray[np.int32]) -> Cuts:
    left, right = np.ascontiguousarray(pairs.T)
    keys = keys_of(side, left, right)
    low = high = keys
    if side.certified:
        # Keys no larger than this, or else so much larger that they are certain anyway.
        slack = side.slack_at(keys + side.slack_at(side.saturated))
        # Splitters are in exact order: what is below one of them is below all later ones.
        low = np.maximum.accumulate(np.where(keys > slack, keys - slack, np.uint64(0)))
        high = np.minimum.accumulate((keys + slack)[::-1])[::-1].copy()
    base = high[0] if len(high) else np.uint64(0)
    width = int(high[-1] - base).bit_length() if len(high) else 0
    bits = min(GUIDE_BITS, len(high).bit_length() + SPLITTER_BITS)
    shift = np.uint64(max(0, width - bits))
    bins = (np.arange(2**bits, dtype=np.uint64) << shift) + base
    bins[bins < base] = ~np.uint64(0)  # beyond 64 bits
    guide = np.append(np.searchsorted(high, bins), len(high)).astype(np.int32)
    return Cuts(low, high, not side.certified, between, equal, guide, base, shift)


@kernel
def place(keys: NDArray[np.uint64], cuts: Cuts, strips: NDArray[np.int32], until: NDArray[np.int32]) -> Int:
    """Find the strips of pairs by their keys.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n,)
    strips, until : ndarray of int32, shape (n,)
        Written: the strip, and `DECIDED`; or, where keys are not certain, the number of splitters surely nearer, and
        of those that are not surely farther.

    Returns
    -------
    int
        How many are not decided.
    """
    count = cuts.high.shape[0]
    last_bin = np.uint64(cuts.guide.shape[0] - 2)
    undecided = np.int64(0)
    for at in range(keys.shape[0]):
        key = keys[at]
        begin, end = np.int64(0), np.int64(0)
        if count > 0 and key > cuts.base:
            within = min((key - cuts.base) >> cuts.shift, last_bin)
            begin = np.int64(cuts.guide[within])
            # The last bin stands for all larger keys too.
            end = np.int64(cuts.guide[within + np.uint64(1)])
        while begin < end:
            middle = (begin + end) >> 1
            if cuts.high[middle] < key:
                begin = middle + 1
            else:
                end = middle
        until[at] = DECIDED
        if begin == count or cuts.low[begin] > key:
            strips[at] = cuts.between[begin]
        elif cuts.certain:
            strips[at] = cuts.equal[begin]
        else:
            strips[at] = begin
            until[at] = _not_above(cuts.low, key, begin + 1, count)
            undecided += 1
    return undecided


@kernel
def _not_above(low: NDArray[np.uint64], key: np.uint64, begin: Int, end: Int) -> Int:
    while begin < end:
        middle = (begin + end) >> 1
        if low[middle] <= key:
            begin = middle + 1
        else:
            end = middle
    return begin


def decide(
    side: PairSpace,
    splitters: Splitters,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    nearer: NDArray[np.int64],
    until: NDArray[np.int64],
    paths: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Find the strips of pairs by exact comparisons with splitters, int32 of shape (n,).

    Parameters
    ----------
    left, right : ndarray of int64, shape (n,)
        Rows of the pairs.
    nearer, until : ndarray of int64, shape (n,)
        From `place`, where it was not decided.
    paths : ndarray of int64, shape (3,)
        Added to, as by `comparisons.signs`.
    """
    unique, inverse = _representatives(side, left, right)
    left, right, begin, end = (array[unique] for array in (left, right, nearer, until))
    found = np.full(len(unique), -1, np.int32)
    open_ = np.arange(len(unique))
    while len(open_):
        middle = (begin[open_] + end[open_]) >> 1
        tuples = np.column_stack((left[open_], right[open_], splitters.pairs[middle]))
        sign = signs(side.space, tuples, paths)
        found[open_[sign == 0]] = splitters.cuts.equal[middle[sign == 0]]
        begin[open_[sign > 0]] = middle[sign > 0] + 1
        end[open_[sign < 0]] = middle[sign < 0]
        open_ = open_[(sign != 0) & (begin[open_] < end[open_])]
    return np.where(found < 0, splitters.cuts.between[begin], found)[inverse]


def _representatives(
    side: PairSpace, left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of pairs of equal rows, give one each, and for every pair the place of its own."""
    if not side.keys.repeated:
        every = np.arange(len(left))
        return every, every
    one, other = (side.keys.number[rows].astype(np.int64) for rows in (left, right))
    code = np.minimum(one, other) * side.space.distinct + np.maximum(one, other)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse
