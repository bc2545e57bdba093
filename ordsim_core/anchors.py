"""Blocks of anchors: products of their rows with all others, and from these the ranks of their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import chains, pairs, wide
from ordsim_core._numba import kernel
from ordsim_core.distances import Precision
from ordsim_core.ranking import Ranked, pack_rows, rank_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairs import Rows
    from ordsim_core.spaces import Space


def products(space: Space, anchors: NDArray[np.int64], begin: int = 0) -> NDArray[Any]:
    """Give what the keys of some anchors are made of, for distinct rows from `begin` on: shape (anchors, U - begin)."""
    if space.operand is not None:
        found: NDArray[Any] = space.operand[space.packing.number[anchors]] @ space.operand[begin:].T
        return found
    first = space.first[begin:]
    listed = np.empty((len(anchors), len(first)))
    _list_distances(space.pairs, anchors, first, listed)
    return listed


@kernel
def _list_distances(
    rows: Rows, anchors: NDArray[np.int64], first: NDArray[np.int64], listed: NDArray[np.float64]
) -> None:
    for a in range(anchors.shape[0]):
        for j in range(first.shape[0]):
            listed[a, j] = pairs.direct_value(rows, anchors[a], first[j])[0]


def rank(space: Space, anchors: NDArray[np.int64], made: NDArray[Any], out: Ranked) -> None:
    """Rank the targets of some anchors, whose `products` were made, and write them to `out`."""
    unresolved = np.full(space.distinct, chains.UNRESOLVED, np.int64)
    pending = np.zeros(space.distinct, np.uint8)
    _rank(space, anchors, made, unresolved, pending, out)
    for a in np.flatnonzero(out.missing[: len(anchors)]).tolist():
        one = slice(a, a + 1)
        _rank_exactly(space, anchors[one], made[one], out.of(one))


def _rank(
    space: Space,
    anchors: NDArray[np.int64],
    made: NDArray[Any],
    ranks: NDArray[np.int64],
    pending: NDArray[np.uint8],
    out: Ranked,
) -> None:
    words, bounds = np.empty(made.shape, np.uint64), np.empty((len(made), 2), np.uint64)
    pack_rows(made, anchors, space.packing, words, bounds)
    full = made if space.packing.mode == chains.FULL else np.empty((len(made), 0))
    count_doubt = space.precision is Precision.FLOAT32
    rank_rows(words, bounds, full, anchors, space.packing, space.pairs, space.first, ranks, pending, count_doubt, out)


def _rank_exactly(space: Space, anchors: NDArray[np.int64], made: NDArray[Any], out: Ranked) -> None:
    """Rank the targets of one anchor again, with exact ranks for those that need them."""
    ranks = np.full(space.distinct, chains.UNRESOLVED, np.int64)
    pending = np.zeros(space.distinct, np.uint8)
    _rank(space, anchors, made, ranks, pending, out)
    elements = np.flatnonzero(pending)
    anchor = int(anchors[0])
    ranks[elements] = wide.dense_ranks(
        [pairs.exact_value(space.pairs, anchor, int(space.first[element]), space.lowest) for element in elements]
    )
    _rank(space, anchors, made, ranks, pending, out)
    if out.missing[0]:
        raise RuntimeError(f"anchor {anchor}: distances were left unordered")
