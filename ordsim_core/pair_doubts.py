"""How many comparisons of pairs the rounding of keys can have changed: an upper bound, from a histogram of keys."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pair_keys import PairSpace

BINS_BITS = 20
SLACK_BITS = 5
"""Bins within reach of a key: 16 to 32 on either side, if there are so many."""


class KeyDoubts:
    """A histogram of all keys of one side.

    Two keys are in doubt if they differ by no more than the slack at the larger one; counted are those whose bins lie
    no farther apart than bins of such keys can. With bins much finer than the slack that is little more.
    """

    def __init__(self, side: PairSpace) -> None:
        self._shift = max(0, side.saturated.bit_length() - BINS_BITS, side.slack.bit_length() - SLACK_BITS)
        self._side = side
        self._bins = np.zeros((side.saturated >> self._shift) + 1, np.int64)

    def add(self, keys: NDArray[np.uint64], start: int) -> None:
        """Add the keys of consecutive rows with all later ones, uint64 of shape (rows, N)."""
        _tally(keys, start, np.uint64(self._shift), self._bins)

    def count(self) -> int:
        """Bound the comparisons in doubt."""
        filled = np.flatnonzero(self._bins)
        sizes = self._bins[filled]
        largest = ((filled + 1) << self._shift) - 1
        reach = (self._side.slack_at(largest) >> self._shift) + 1
        # Of the bins before each, those within its reach.
        before = np.append(0, np.cumsum(sizes))
        near = before[:-1] - before[np.searchsorted(filled, filled - reach)]
        return sum(comb(size, 2) for size in sizes.tolist()) + exact_product(sizes, near)


def exact_product(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Sum the products of two vectors of numbers that are not negative, int64 of shape (n,), however large."""
    if float(one.sum(dtype=np.float64)) * float(other.max(initial=0)) < 2.0**62:
        return int(np.dot(one, other))
    return sum(a * b for a, b in zip(one.tolist(), other.tolist(), strict=True))


@kernel
def _tally(keys: NDArray[np.uint64], start: Int, shift: np.uint64, bins: NDArray[np.int64]) -> None:
    for a in range(keys.shape[0]):
        for j in range(start + a + 1, keys.shape[1]):
            bins[keys[a, j] >> shift] += 1
