"""Rank tables: the order of distances, stored once, so that every permutation of rows only looks up integers.

Tables are of distinct rows, and each row's distance to itself has its place in them: an index array that takes the
place of a permutation may name a row more than once, as it does where groups of different sizes are exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from ordsim_core.anchors import products, rank, whole_tiles
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pair_keys import keys_of, pair_space
from ordsim_core.pair_ranks import rank_pairs
from ordsim_core.quadruplets import require_symmetric
from ordsim_core.ranking import ranked
from ordsim_core.triplets import PRODUCT_BYTES, RANKED_ANCHORS, RANKED_TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

TARGET_BUILDING_BYTES = 3 * PRODUCT_BYTES
"""Memory beside the table while it is built: products of two blocks of rows, and what puts a few of them into order."""
PAIR_BUILDING_BYTES = 80
"""Memory that a pair takes while all pairs are put into order."""


@dataclass(frozen=True, eq=False)
class RankTable:
    """Ranks of the distances of a space.

    Attributes
    ----------
    ranks : ndarray of uint16 or uint32, shape (U, U)
        Ranks of the distances of distinct rows, equal where these tie: in row i among the distances from i, or, where
        `of_pairs`, among all distances.
    number : ndarray of int32, shape (N,)
        The distinct row of each row.
    of_pairs : bool
        Whether any two distances can be compared, not only two from the same row.
    """

    ranks: NDArray[Any]
    number: NDArray[np.int32]
    of_pairs: bool

    @property
    def rows(self) -> int:
        """N, the number of rows."""
        return len(self.number)

    @property
    def distinct(self) -> int:
        """U, the number of distinct rows."""
        return len(self.ranks)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays held."""
        return self.ranks.nbytes + self.number.nbytes

    def numbers(self, rows: NDArray[np.integer]) -> NDArray[np.int32]:
        """Give the distinct row in the place of each row, int32 of shape (N,), after rows were permuted.

        Parameters
        ----------
        rows : ndarray of integers, shape (N,)
            The row that takes each row's place: a permutation, or any other rows of this space.

        Raises
        ------
        ValueError
            If the array has another shape, holds no integers, or names rows that there are not.
        """
        if rows.shape != self.number.shape or rows.dtype.kind not in "iu":
            raise ValueError(f"{self.rows} rows need as many integers to permute them, not {rows.dtype} {rows.shape}")
        if rows.min() < 0 or rows.max() >= self.rows:
            raise ValueError(f"a permutation of {self.rows} rows must name rows 0 to {self.rows - 1}")
        found: NDArray[np.int32] = self.number[rows]
        return found


def within_rows(table: RankTable) -> RankTable:
    """Give the table that `of_targets` makes, from one of pairs; one that is not of pairs is given back."""
    if not table.of_pairs:
        return table
    ranks = np.empty(table.ranks.shape, _rank_type(table.distinct))
    for own, among_all in zip(ranks, table.ranks, strict=True):
        own[:] = stats.rankdata(among_all, "min") - 1
    return RankTable(ranks, table.number, False)


def target_bytes(distinct: int) -> int:
    """Give the bytes of a table of the distances from each of so many distinct rows."""
    return distinct * distinct * _rank_type(distinct).itemsize


def target_building_bytes(distinct: int) -> int:
    """Give the bytes that it takes to build a table of the distances from each row, the table included."""
    return target_bytes(distinct) + TARGET_BUILDING_BYTES


def pair_bytes(distinct: int) -> int:
    """Give the bytes of a table of all distances of so many distinct rows; building it takes a multiple."""
    return distinct * distinct * _rank_type(distinct * (distinct + 1) // 2).itemsize


def pair_building_bytes(distinct: int) -> int:
    """Give the bytes that it takes to build a table of all distances, the table included."""
    return pair_bytes(distinct) + distinct * (distinct + 1) // 2 * PAIR_BUILDING_BYTES


def of_targets(space: Space, checkpoint: Callable[[], None] = no_checkpoint) -> RankTable:
    """Rank the distances from each row, in the order in which `triplets.exact_block` puts them.

    `checkpoint` is called between blocks of work; may raise to give up. See `target_building_bytes`.
    """
    return RankTable(target_ranks(space, 0, space.distinct, checkpoint), space.packing.number, False)


def target_ranks(
    space: Space, start: int, stop: int, checkpoint: Callable[[], None] = no_checkpoint
) -> NDArray[np.unsignedinteger[Any]]:
    """Give rows `start` to `stop` - 1 of the ranks of `of_targets`, uint16 or uint32 of shape (stop - start, U).

    A rank is the number of distinct rows that are nearer.

    Raises
    ------
    ValueError
        If there are no such distinct rows.
    """
    if not 0 <= start <= stop <= space.distinct:
        raise ValueError(f"rows {start} to {stop} are not within {space.distinct} distinct rows")
    # As if every row were there twice: then each is a target of itself.
    twice = np.full(space.distinct, 2, np.int32)
    doubled = replace(space, packing=space.packing._replace(copies=twice, repeated=True))
    found = np.empty((stop - start, space.distinct), _rank_type(space.distinct))
    few = max(1, min(RANKED_ANCHORS, RANKED_TARGETS // space.rows))
    many = whole_tiles(max(few, PRODUCT_BYTES // (8 * space.distinct)), space)
    out = ranked(few, space.rows)
    for begin in range(start, stop, many):
        checkpoint()
        block = space.first[begin : min(begin + many, stop)]
        made = products(space, block)
        for place in range(0, len(block), few):
            chosen = block[place : place + few]
            rank(doubled, chosen, made[place : place + few], out)
            nearer = out.start[: len(chosen), space.first]
            # All nearer rows twice, but one copy of the anchor is no target.
            at = begin - start + place
            found[at : at + len(chosen)] = (nearer + 1) >> 1
    return found


def of_pairs(space: Space) -> RankTable:
    """Rank all distances, in the order in which `quadruplets.exact_counts` puts them; see `pair_building_bytes`.

    Raises
    ------
    AsymmetricDistanceError
        If precomputed distances are not symmetric.
    """
    require_symmetric(space)
    size = space.distinct
    one, other = np.triu_indices(size)
    left, right = space.first[one], space.first[other]
    side = pair_space(space)
    found = rank_pairs(side, keys_of(side, left, right), left, right, np.zeros(3, np.int64)).ranked.start[0]
    ranks = np.empty((size, size), _rank_type(len(one)))
    ranks[one, other] = ranks[other, one] = found[: len(one)]
    return RankTable(ranks, space.packing.number, True)


def _rank_type(distances: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.dtype(np.uint16 if distances <= 1 << 16 else np.uint32)
