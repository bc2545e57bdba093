"""Quadruplet similarity (QSI; Soares et al. 2026, Definition 2): which of two disjoint pairs lies closer together?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ordsim_core import drawing, sampling, strips, triplets
from ordsim_core.counts import AgreementCounts
from ordsim_core.errors import AsymmetricDistanceError
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairs import PRECOMPUTED
from ordsim_core.spaces import check_pair
from ordsim_core.strips import ExactQuadruplets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.spaces import Space


ANCHORS = 512
"""Whose triplets are taken off at a time."""
SYMMETRY_ROWS = 64
"""Rows and columns that are compared at a time."""


def exact_counts(x: Space, y: Space, checkpoint: Callable[[], None] = no_checkpoint) -> ExactQuadruplets:
    """Count all quadruplets, in memory: 24 bytes at most for each of the N (N - 1) / 2 pairs of rows.

    Parameters
    ----------
    checkpoint : callable
        Called between blocks of work; may raise to give up.

    Raises
    ------
    AsymmetricDistanceError
        If precomputed distances are not symmetric: the distance of a pair is then not defined.
    ValueError
        If the spaces differ in rows or have fewer than 4.
    """
    check_pair(x, y, 4)
    require_symmetric(x, y)
    plan = strips.plan(x.rows)
    found = strips.all_strips(x, y, plan, checkpoint=checkpoint)
    of_triplets, paths, uncertified = AgreementCounts(), found.counts.paths, found.counts.uncertified
    for start in range(0, x.rows, ANCHORS):
        checkpoint()
        block = triplets.exact_block(x, y, start, min(start + ANCHORS, x.rows))
        of_triplets, paths = of_triplets + block.counts, paths + block.paths
        uncertified += block.uncertified
    everything = strips.agreement(plan, found.counts, found.cells)
    counts, moved = without_triplets(everything, of_triplets)
    return ExactQuadruplets(counts, paths, uncertified + moved)


class WithoutTriplets(NamedTuple):
    """Counts of quadruplets.

    Attributes
    ----------
    counts : AgreementCounts
    moved : int
        Comparisons whose kind was changed for none to be negative: of these it is not certain either.
    """

    counts: AgreementCounts
    moved: int


def without_triplets(pairs: AgreementCounts, of_triplets: AgreementCounts) -> WithoutTriplets:
    """Give the counts of quadruplets: those of all pairs of pairs of rows, without pairs that share a row.

    Both are exact, or else rounded each in its own way: a kind that would come out below zero is then empty, and
    what it lacks is taken from the others, the largest first.
    """
    kinds = [
        pairs.concordant - of_triplets.concordant,
        pairs.discordant - of_triplets.discordant,
        pairs.tied_x - of_triplets.tied_x,
        pairs.tied_y - of_triplets.tied_y,
        pairs.tied_both - of_triplets.tied_both,
    ]
    moved = -sum(min(count, 0) for count in kinds)
    kinds = [max(count, 0) for count in kinds]
    lacking = moved
    for kind in sorted(range(len(kinds)), key=kinds.__getitem__, reverse=True):
        taken = min(lacking, kinds[kind])
        kinds[kind] -= taken
        lacking -= taken
    return WithoutTriplets(AgreementCounts(*kinds), moved)


def sampled_range(x: Space, y: Space, seed: int, start: int, stop: int) -> Sampled:
    """Count the agreement of samples `start` to `stop` - 1 of the quadruplet stream.

    Raises
    ------
    AsymmetricDistanceError
        As `exact_counts`.
    ValueError
        If the spaces differ in rows or have fewer than 4, or the seed or range is out of bounds.
    """
    check_pair(x, y, 4)
    require_symmetric(x, y)
    sampling.check(seed, start, stop, x.rows, 4)

    def draw(first: int, last: int) -> NDArray[np.int64]:
        return sampling.quadruplets(seed, first, last, x.rows)

    return drawing.count_tuples(x, y, draw, start, stop)


def units_range(x: Space, y: Space, seed: int, start: int, stop: int, pairs: int) -> Units:
    """Count units `start` to `stop` - 1, each all comparisons among `pairs` pairs that share no row.

    Raises
    ------
    AsymmetricDistanceError
        As `sampled_range`.
    ValueError
        If the spaces differ in rows or have fewer than 2 `pairs`, there are fewer than 2 pairs, or the seed or range
        is out of bounds.
    """
    if pairs < 2:
        raise ValueError(f"a unit needs at least 2 pairs to compare, not {pairs}")
    check_pair(x, y, 2 * pairs)
    require_symmetric(x, y)
    sampling.check(seed, start, stop, x.rows, 2 * pairs)

    def draw(first: int, last: int) -> NDArray[np.int64]:
        return sampling.quadruplet_units(seed, first, last, x.rows, pairs).reshape(last - first, pairs, 2)

    return drawing.count_units(x, y, draw, start, stop)


def require_symmetric(*spaces: Space) -> None:
    """Raise AsymmetricDistanceError unless all precomputed distances are the same from both sides.

    Each space is looked through once, however often it is asked for.
    """
    for position, space in enumerate(spaces):
        if space.pairs.kind != PRECOMPUTED or space in _SYMMETRIC:
            continue
        found = _first_difference(space.pairs.values)
        if found is not None:
            raise AsymmetricDistanceError(*found, "xy"[position])
        _SYMMETRIC.add(space)


_SYMMETRIC: WeakSet[Space] = WeakSet()


def _first_difference(values: NDArray[Any]) -> tuple[int, int] | None:
    """Give the first entry below the diagonal, row by row, that differs from its mirror image."""
    for start in range(0, len(values), SYMMETRY_ROWS):
        stop = min(start + SYMMETRY_ROWS, len(values))
        differs = np.tril(values[start:stop, :stop] != values[:stop, start:stop].T, start - 1)
        if differs.any():
            row = int(differs.any(axis=1).argmax())
            return start + row, int(differs[row].argmax())
    return None
