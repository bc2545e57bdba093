"""Neighbourhoods by definition, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ordsim_core.neighbours.lists import Neighbours, Ties

if TYPE_CHECKING:
    from rational import Ranked

Weights = dict[int, Fraction]


def weights(ranked: Ranked, anchor: int, nearest: int, ties: Ties) -> Weights:
    """How much each other row counts as one of the `nearest` neighbours of an anchor."""
    others = sorted((ranked.rank[anchor][row], row) for row in range(ranked.size) if row != anchor)
    border = others[nearest - 1][0]
    if ties is Ties.INDEX:
        return dict.fromkeys(sorted(row for _, row in others[:nearest]), Fraction(1))
    nearer = sum(rank < border for rank, _ in others)
    level = sum(rank == border for rank, _ in others)
    share = Fraction(nearest - nearer, level)
    return {
        row: Fraction(1) if rank < border else share
        for row, rank in sorted((row, rank) for rank, row in others)
        if rank <= border
    }


def overlap(x: Weights, y: Weights) -> Fraction:
    """What two neighbourhoods have in common."""
    return sum((min(share, y.get(row, Fraction(0))) for row, share in x.items()), Fraction(0))


def neighbourhoods(found: Neighbours) -> list[Weights]:
    """What the core found, in the same terms."""
    every = []
    for a in range(len(found)):
        share = Fraction(int(found.above[a]), int(found.below[a]))
        places = range(int(found.start[a]), int(found.start[a + 1]))
        every.append({int(found.rows[p]): share if found.shared[p] else Fraction(1) for p in places})
    return every
