"""Which rows of an array are equal: distances to equal rows are equal, and are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice
from ordsim_core._numba import kernel
from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of an (N, D) array, numbered by where each first occurs.

    Attributes
    ----------
    number : ndarray of int32, shape (N,)
        Of each row, the number of its distinct row.
    first : ndarray of int64, shape (U,)
        Of each distinct row, the row where it first occurs.
    copies : ndarray of int32, shape (U,)
        How often each occurs.
    """

    number: NDArray[np.int32]
    first: NDArray[np.int64]
    copies: NDArray[np.int32]

    @property
    def repeated(self) -> bool:
        """Whether any row occurs twice."""
        return len(self.first) < len(self.number)


def every(rows: int) -> DistinctRows:
    """Number rows that all count as distinct."""
    return _numbered(np.arange(rows))


def find(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> DistinctRows:
    """Number the distinct rows of an (N, D) array of a real dtype; 0.0 and -0.0 are equal.

    Rows are told apart by a hash, and rows of equal hash by their values. `checkpoint` is called between blocks,
    and may raise to give up.
    """
    return _numbered(_earliest(values, checkpoint))


def count(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> int:
    """Count the distinct rows, with parameters as for `find`: in about 50 bytes of memory a row."""
    return int(np.count_nonzero(_earliest(values, checkpoint) == np.arange(len(values))))


def _earliest(values: NDArray[Any], checkpoint: Callable[[], None]) -> NDArray[np.int64]:
    """Of each row, the first row that is equal to it."""
    hashes = np.empty(len(values), np.uint64)
    for start, block in lattice.blocks(values, checkpoint):
        stop = start + len(block)
        # A sum with 0.0 turns -0.0 into 0.0, and gives a new array.
        _hash((block + 0.0).view(np.uint64), hashes[start:stop])
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    begins = np.ones(len(values), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=begins[1:])
    del hashes
    earliest = np.empty(len(values), np.int64)
    earliest[order] = order[begins][np.cumsum(begins) - 1]
    repeated = np.flatnonzero(earliest != np.arange(len(values)))
    step = max(1, (1 << 20) // values.shape[1])
    for start in range(0, len(repeated), step):
        checkpoint()
        rows = repeated[start : start + step]
        differs = (values[rows] != values[earliest[rows]]).any(axis=1)
        if differs.any():
            # Two different rows of one hash, rarer than one in 10^9 arrays of a million rows: compare all rows.
            _, first, number = np.unique(values, axis=0, return_index=True, return_inverse=True)
            found: NDArray[np.int64] = first[number]
            return found
    return earliest


def _numbered(earliest: NDArray[np.int64]) -> DistinctRows:
    first, number, copies = np.unique(earliest, return_inverse=True, return_counts=True)
    return DistinctRows(number.astype(np.int32), first, copies.astype(np.int32))


@kernel
def _hash(bits: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> None:
    # Four independent chains of multiplications, each one-to-one in every value, so that none waits for another.
    factor, other = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
    columns = bits.shape[1]
    whole = columns - columns % 4
    for row in range(bits.shape[0]):
        h0, h1, h2, h3 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        for k in range(0, whole, 4):
            h0 = (h0 ^ bits[row, k]) * factor
            h1 = (h1 ^ bits[row, k + 1]) * factor
            h2 = (h2 ^ bits[row, k + 2]) * factor
            h3 = (h3 ^ bits[row, k + 3]) * factor
            h0 ^= h0 >> np.uint64(29)
            h1 ^= h1 >> np.uint64(29)
            h2 ^= h2 >> np.uint64(29)
            h3 ^= h3 >> np.uint64(29)
        for k in range(whole, columns):
            h0 = (h0 ^ bits[row, k]) * factor
            h0 ^= h0 >> np.uint64(29)
        mixed = h0
        for part in (h1, h2, h3):
            mixed = ((mixed ^ (mixed >> np.uint64(32))) * other) ^ part
        hashes[row] = (mixed ^ (mixed >> np.uint64(31))) * factor
