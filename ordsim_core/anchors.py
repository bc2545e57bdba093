"""Blocks of anchors: products of their rows with all others, and from these the ranks of their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import aligned_products, chains, pairs
from ordsim_core._numba import kernel
from ordsim_core.distances import Precision
from ordsim_core.ranking import Ranked, number_rows, pack_rows, sort_rows, targets
from ordsim_core.settling import settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairs import Rows
    from ordsim_core.spaces import Space


def products(space: Space, anchors: NDArray[np.int64], begin: int = 0) -> NDArray[Any]:
    """Give what the keys of some anchors are made of, for distinct rows from `begin` on: shape (anchors, U - begin)."""
    if space.operand is not None:
        numbers = space.packing.number[anchors]
        with np.errstate(over="ignore", invalid="ignore"):  # of rows far from all others, whose keys saturate
            if tile_rows(space) > 1:
                return aligned_products.multiply(space.operand, numbers, begin)
            found: NDArray[Any] = _rows(space.operand, numbers) @ space.operand[begin:].T
        return found
    first = space.first[begin:]
    listed = np.empty((len(anchors), len(first)))
    _list_distances(space.pairs, anchors, first, listed)
    return listed


def tile_rows(space: Space) -> int:
    """Give how many anchors are multiplied together: products of a multiple of these cost least.

    1 if any number will do: where order is certified, nothing depends on the last bits of products.
    """
    if space.operand is None or space.packing.mode != chains.EQUAL or space.packing.certain:
        return 1
    return aligned_products.tile_rows(space.operand)


def whole_tiles(many: int, *spaces: Space) -> int:
    """Give a number of anchors, at most so many if it can be, whose products need no more work than others."""
    largest = max(tile_rows(space) for space in spaces)
    return max(1, many - many % largest if many > largest else many)


def _rows(operand: NDArray[Any], numbers: NDArray[np.int32]) -> NDArray[Any]:
    """Give rows of an array, without a copy where they follow one another."""
    if len(numbers) and (np.diff(numbers) == 1).all():
        return operand[numbers[0] : numbers[-1] + 1]
    return operand[numbers]


@kernel
def _list_distances(
    rows: Rows, anchors: NDArray[np.int64], first: NDArray[np.int64], listed: NDArray[np.float64]
) -> None:
    for a in range(anchors.shape[0]):
        for j in range(first.shape[0]):
            listed[a, j] = pairs.direct_value(rows, anchors[a], first[j])[0]


def rank(space: Space, anchors: NDArray[np.int64], made: NDArray[Any], out: Ranked) -> None:
    """Rank the targets of some anchors, whose `products` were made, and write them to `out`."""
    packing = space.packing
    words, bounds = np.empty(made.shape, np.uint64), np.empty((len(made), 2), np.uint64)
    tied, doubts = np.empty(made.shape, np.uint8), np.empty(len(made), np.int64)
    pack_rows(made, anchors, packing, words, bounds)
    sort_rows(words, bounds, anchors, packing, space.precision is Precision.FLOAT32, tied, doubts, out)
    out.paths[:] = 0
    if packing.mode != chains.EQUAL:
        for a in np.flatnonzero(doubts).tolist():
            full = made[a] if packing.mode == chains.FULL else np.empty(0)
            count = targets(packing, anchors[a])
            settle(
                space,
                words[a, :count],
                packing.id_bits,
                packing.mode,
                full,
                anchors[a : a + 1],
                space.first,
                tied[a, :count],
                out.paths[a],
            )
    number_rows(words, tied, anchors, packing, out)
