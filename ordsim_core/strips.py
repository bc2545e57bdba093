"""Agreement over all pairs of pairs of rows, in parts that are counted one by one and add up to the same integers.

Splitters cut the M = N (N - 1) / 2 pairs into strips by their distance in x, and into strips by their distance in y.
Pairs of different strips on both sides are counted by how many pairs each cell holds; pairs of the same strip in x in
that strip, and those of the same strip in y, but different ones in x, in that strip. Splitters are distances, and
which strip a pair belongs to is settled as exactly as the order within: counts do not depend on how many strips
there are, nor on where they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.lattice import no_checkpoint
from ordsim_core.pair_doubts import KeyDoubts
from ordsim_core.sifting import Sifted, cut, find_strips, sift
from ordsim_core.spaces import check_pair
from ordsim_core.strip_counts import ShardsDisagreeError, StripCounts, StripPlan, XStrips, agreement
from ordsim_core.strip_records import MemoryStore
from ordsim_core.strip_shards import StripShard, count_x, count_y

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ordsim_core.counts import AgreementCounts, Paths
    from ordsim_core.sifting import CutSide
    from ordsim_core.spaces import Space
    from ordsim_core.strip_records import Columns, Store

__all__ = [
    "STRIP_PAIRS",
    "ExactQuadruplets",
    "ShardsDisagreeError",
    "StripCounts",
    "StripPlan",
    "XStrips",
    "agreement",
    "all_strips",
    "plan",
    "x_strips",
    "y_strips",
]

SINGLE_PAIRS = 1 << 19
"""So many pairs make only one strip."""
LEAST_STRIP_PAIRS = 1 << 17
"""Pairs that a strip should have: what puts them into order then stays in the cache."""
STRIP_PAIRS = 1 << 20
"""The most that it should have, when there are more than `FEW_STRIPS`, whose cells too have to be kept."""
FEW_STRIPS = 1024


@dataclass(frozen=True)
class ExactQuadruplets:
    """Agreement over all quadruplets.

    Attributes
    ----------
    counts : AgreementCounts
        Over unordered comparisons, 3 C(N, 4).
    paths : Paths
    uncertified : int
        Comparisons whose order may be in doubt, counted for float32 precision only: an upper bound.
    """

    counts: AgreementCounts
    paths: Paths
    uncertified: int


def plan(rows: int) -> StripPlan:
    """Plan strips for so many rows."""
    pairs = comb(rows, 2)
    strip_pairs = min(max(pairs // FEW_STRIPS, LEAST_STRIP_PAIRS), STRIP_PAIRS)
    strips = 1 if pairs <= min(SINGLE_PAIRS, STRIP_PAIRS) else -(-pairs // strip_pairs)
    return StripPlan(rows, strips, strips)


def x_strips(
    x: Space,
    y: Space,
    plan: StripPlan,
    first: int,
    last: int,
    store: Store | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> XStrips:
    """Count strips `first` to `last` - 1 in x.

    Parameters
    ----------
    x, y : Space
        Distances are the same from both sides, see `quadruplets.require_symmetric`.
    plan : StripPlan
    store : Store or None
        Where the pairs of these strips are kept, 24 bytes each at most, 8 where both sides are rounded
        to float32; None for memory.
    checkpoint : callable
        Called between blocks of work; may raise to give up.

    Raises
    ------
    ValueError
        If the spaces differ in rows or have fewer than 4, or other rows than planned, or there are no such strips.
    """
    _check(x, y, plan, first, last, plan.x)
    shard = StripShard(cut(x, plan.x), cut(y, plan.y), first, last, store or MemoryStore(), True)
    doubts = _doubts(shard.own, first == 0), _doubts(shard.other, first == 0 and plan.single)
    shard.collect(checkpoint, doubts)
    counts = replace(count_x(shard, first, checkpoint), uncertified=_counted(doubts))
    # Ties in y are left to the strips there, and a mark is to be compared with theirs.
    counts = replace(counts, mark=0) if plan.single else replace(counts, tied_y=0)
    return XStrips(counts, first, shard.cells)


def y_strips(
    x: Space,
    y: Space,
    plan: StripPlan,
    first: int,
    last: int,
    store: Store | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> StripCounts:
    """Count strips `first` to `last` - 1 in y: what is discordant there and of different strips in x, and ties in y.

    Not needed where `plan.single`. Parameters and errors are those of `x_strips`; a pair is kept in up to 20 bytes,
    8 where this side is rounded to float32.
    """
    _check(x, y, plan, first, last, plan.y)
    shard = StripShard(cut(y, plan.y), cut(x, plan.x), first, last, store or MemoryStore(), False)
    doubts = (_doubts(shard.own, first == 0), None)
    shard.collect(checkpoint, doubts)
    return replace(count_y(shard, first, checkpoint), uncertified=_counted(doubts))


def all_strips(
    x: Space,
    y: Space,
    plan: StripPlan,
    stores: tuple[Store, Store] | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> XStrips:
    """Count all strips in x and in y, from one pass over the pairs: what `x_strips` and `y_strips` add up to.

    Parameters and errors are those of `x_strips`. A pair is kept in one of the `stores` for x and y at a time.
    """
    if plan.single:
        return x_strips(x, y, plan, 0, 1, stores and stores[0], checkpoint)
    _check(x, y, plan, 0, plan.x, plan.x)
    stores = stores or (MemoryStore(), MemoryStore())
    sides = cut(x, plan.x), cut(y, plan.y)
    in_x = StripShard(*sides, 0, plan.x, stores[0], True)
    in_y = StripShard(sides[1], sides[0], 0, plan.y, stores[1], False)
    doubts = [_doubts(side, True) for side in sides]
    tied = sides[0].splitters.tied
    for sifted in sift(*sides, 0, plan.x, checkpoint, in_x.compared, doubts):
        in_x.take(sifted)
        if tied.any():
            # Strips in x whose pairs all tie are not read again: these pairs go to the strips in y at once.
            in_y.keep(sifted.turned().chosen(tied[sifted.own]))

    def hand_on(strip: int, columns: Columns) -> None:
        in_both = (
            np.full(len(columns.own), strip, np.int32),
            find_strips(sides[1], columns, columns.other, in_y.compared),
        )
        in_y.keep(Sifted(columns, *in_both).turned())

    counts = count_x(in_x, 0, checkpoint, hand_on)
    in_y.cells = np.ascontiguousarray(in_x.cells.T)
    counts = replace(counts, tied_y=0) + count_y(in_y, 0, checkpoint)
    return XStrips(replace(counts, mark=0, uncertified=_counted(doubts)), 0, in_x.cells)


def _check(x: Space, y: Space, plan: StripPlan, first: int, last: int, strips: int) -> None:
    check_pair(x, y, 4)
    if x.rows != plan.rows:
        raise ValueError(f"the plan is for {plan.rows} rows, there are {x.rows}")
    if not 0 <= first <= last <= strips:
        raise ValueError(f"strips {first} to {last} are not within {strips}")


def _doubts(cut: CutSide, wanted: bool) -> KeyDoubts | None:
    return KeyDoubts(cut.side) if wanted and cut.side.doubtful else None


def _counted(doubts: Iterable[KeyDoubts | None]) -> int:
    return sum(doubt.count() for doubt in doubts if doubt is not None)
