"""Null distributions of the exact scores: all comparisons, counted anew for every permutation, from stored ranks."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import concordance
from ordsim_core._numba import Int, kernel
from ordsim_core.lattice import no_checkpoint
from ordsim_core.nulls.rank_tables import within_rows
from ordsim_core.ranking import Ranked, ranked
from ordsim_core.triplets import RANKED_ANCHORS, RANKED_TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.rank_tables import RankTable

QUADRUPLET_ROWS_LIMIT = 2048
"""Of so many rows all pairs are no more elements than `concordance` counts at once."""


def agreeing_triplets(
    x: RankTable,
    y: RankTable,
    permutations: Sequence[NDArray[np.integer]],
    start: int = 0,
    stop: int | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> NDArray[np.int64]:
    """Count the agreeing triplets whose anchor is one of rows `start` to `stop` - 1, for each permutation.

    Parameters
    ----------
    x, y : RankTable
    permutations : sequence of ndarray of integers, shape (N,)
        The row of y that takes each row's place, see `sampled.agreeing`. Anchors of x are put into order once for all.
    start, stop : int
        All rows unless given. What blocks of anchors count adds up.
    checkpoint : callable
        Called between blocks of work; may raise to give up.

    Returns
    -------
    ndarray of int64, shape (permutations,)

    Raises
    ------
    ValueError
        If the tables differ in rows, have fewer than 3 or more than 2^21, the block is not within them, or as
        `RankTable.numbers` does.
    """
    stop = x.rows if stop is None else stop
    _check(x, y, 3, concordance.ELEMENTS_LIMIT)
    if not 0 <= start <= stop <= x.rows:
        raise ValueError(f"anchors {start} to {stop} are not within {x.rows} rows")
    x, y = within_rows(x), within_rows(y)
    numbers = [y.numbers(rows) for rows in permutations]
    few = max(1, min(RANKED_ANCHORS, RANKED_TARGETS // x.rows))
    ranks_x, ranks_y = ranked(few, x.rows), ranked(few, x.rows)
    found = np.zeros(len(numbers), np.int64)
    counts, nobody = np.empty((few, 4), np.int64), np.zeros(0, np.int64)
    for begin in range(start, stop, few):
        anchors = np.arange(begin, min(begin + few, stop))
        _rank_targets(x.ranks, x.number, anchors, True, ranks_x)
        for place, own in enumerate(numbers):
            checkpoint()
            _rank_targets(y.ranks, own, anchors, False, ranks_y)
            concordance.count_rows(ranks_x, ranks_y, True, False, anchors, counts[: len(anchors)], nobody)
            found[place] += concordance.agreeing(counts[: len(anchors)], x.rows - 1).sum()
    return found


def agreeing_quadruplets(
    x: RankTable,
    y: RankTable,
    permutations: Sequence[NDArray[np.integer]],
    checkpoint: Callable[[], None] = no_checkpoint,
) -> NDArray[np.int64]:
    """Count the agreeing quadruplets for each permutation: all pairs of pairs of rows, less the triplets.

    Parameters
    ----------
    x, y : RankTable
        Of pairs: see `rank_tables.of_pairs`.
    permutations, checkpoint
        As for `agreeing_triplets`.

    Returns
    -------
    ndarray of int64, shape (permutations,)

    Raises
    ------
    ValueError
        If the tables are not of pairs, differ in rows, have fewer than 4 or more than `QUADRUPLET_ROWS_LIMIT`, or as
        `RankTable.numbers` does.
    """
    _check(x, y, 4, QUADRUPLET_ROWS_LIMIT)
    if not (x.of_pairs and y.of_pairs):
        raise ValueError("quadruplets compare pairs, and need tables of all pairs: rank_tables.of_pairs makes them")
    pairs = comb(x.rows, 2)
    ranks_x, ranks_y = ranked(1, pairs + 1), ranked(1, pairs + 1)
    # An anchor that is not there, with all pairs as its targets.
    nowhere, counts, nobody = np.array([pairs]), np.empty((1, 4), np.int64), np.zeros(0, np.int64)
    _rank_pairs(x.ranks, x.number, True, ranks_x)
    found = np.empty(len(permutations), np.int64)
    for place, rows in enumerate(permutations):
        checkpoint()
        _rank_pairs(y.ranks, y.numbers(rows), False, ranks_y)
        concordance.count_rows(ranks_x, ranks_y, True, False, nowhere, counts, nobody)
        found[place] = concordance.agreeing(counts, pairs)[0]
    return found - agreeing_triplets(x, y, permutations, checkpoint=checkpoint)


def _check(x: RankTable, y: RankTable, least: int, most: int) -> None:
    if x.rows != y.rows:
        raise ValueError(f"x has {x.rows} rows and y has {y.rows}: they must describe the same inputs")
    if not least <= x.rows <= most:
        raise ValueError(f"between {least} and {most} rows can be counted exactly, not {x.rows}")


@kernel
def _rank_targets(
    ranks: NDArray[Any], numbers: NDArray[np.int32], anchors: NDArray[np.int64], ordered: bool, out: Ranked
) -> None:
    """Write the ranks of the targets of some anchors, and if `ordered` their order, as `ranking.number_rows` does."""
    rows = np.int64(numbers.shape[0])
    starts = np.empty(max(np.int64(ranks.shape[0]), rows) + 1, np.int32)
    for a in range(anchors.shape[0]):
        own, found = ranks[numbers[anchors[a]]], out.start[a]
        for row in range(rows):
            # Unsigned, here and below, or else every index is looked at first whether it is negative.
            found[row] = own[np.uint32(numbers[row])]
        out.ties[a] = _number(found, rows, anchors[a], ordered, starts, out.order[a])


@kernel
def _rank_pairs(ranks: NDArray[Any], numbers: NDArray[np.int32], ordered: bool, out: Ranked) -> None:
    found, pair = out.start[0], 0
    for i in range(numbers.shape[0]):
        for j in range(i + 1, numbers.shape[0]):
            found[pair] = ranks[numbers[i], numbers[j]]
            pair += 1
    distances = np.int64(ranks.shape[0]) * (ranks.shape[0] + 1) // 2
    starts = np.empty(max(distances, np.int64(pair)) + 1, np.int32)
    out.ties[0] = _number(found, np.int64(pair), np.int64(-1), ordered, starts, out.order[0])


@kernel
def _number(
    found: NDArray[np.int32], size: Int, absent: Int, ordered: bool, starts: NDArray[np.int32], order: NDArray[np.int32]
) -> Int:
    # From ranks to the number of elements before, and pairs of elements that tie. One element may be absent.
    starts[:] = 0
    for element in range(size):
        starts[np.uint32(found[element]) + np.uint32(1)] += 1
    if absent >= 0:
        starts[found[absent] + 1] -= 1
    ties = np.int64(0)
    for rank in range(1, starts.shape[0]):
        count = np.int64(starts[rank])
        ties += count * (count - 1) // 2
        starts[rank] += starts[rank - 1]
    for element in range(size):
        found[element] = starts[np.uint32(found[element])]
    if ordered:
        starts[:] = 0
        for element in range(size):
            if element != absent:
                first = found[element]
                order[first + starts[first]] = element
                starts[first] += 1
    return ties
