"""Null distributions on a design: what is counted when the rows of one side are permuted, again and again.

The signs of x are compared once. For every permutation the signs of y are looked up in its rank table, and counted by
the same code for the observed order, which is the permutation that leaves all rows in their places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.lattice import no_checkpoint
from ordsim_core.nulls import planes as bits
from ordsim_core.nulls.profiles import check_table, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.profiles import Profile
    from ordsim_core.nulls.rank_tables import RankTable


_PROFILES_AT_ONCE = 16
"""Profiles of permuted rows that are kept until each is compared with many: those are then read once for all."""


def agreeing(
    x: Profile,
    y: RankTable,
    drawn: Drawn,
    permutations: Iterable[NDArray[np.integer]],
    checkpoint: Callable[[], None] = no_checkpoint,
) -> NDArray[np.int64]:
    """Count the agreeing comparisons of a design for each permutation of the rows of y.

    Parameters
    ----------
    x : Profile
    y : RankTable
    drawn : Drawn
        The design of `x`.
    permutations : iterable of ndarray of integers, shape (N,)
        The row of y that takes each row's place: comparison (i, j, k) of x meets (p[i], p[j], p[k]) of y. Need not be
        permutations, see `RankTable.numbers`.
    checkpoint : callable
        Called before each permutation; may raise to give up.

    Returns
    -------
    ndarray of int64, shape (permutations,)

    Raises
    ------
    ValueError
        If the profile is of another design, as `profiles.of_table` does, or as `RankTable.numbers` does.
    """
    return agreeing_grids([x], [y], drawn, permutations, checkpoint)[:, 0, 0]


def agreeing_grids(
    xs: Sequence[Profile],
    ys: Sequence[RankTable],
    drawn: Drawn,
    permutations: Iterable[NDArray[np.integer]],
    checkpoint: Callable[[], None] = no_checkpoint,
) -> NDArray[np.int64]:
    """Count the agreeing comparisons of each x with each y, all of which are permuted alike.

    Parameters and errors are those of `agreeing`, for at least one on either side.

    Returns
    -------
    ndarray of int64, shape (permutations, xs, ys)
    """
    design = drawn.design
    if not (xs and ys):
        raise ValueError("there is nothing to compare: at least one profile and one table are needed")
    if any(x.design != design for x in xs):
        raise ValueError(f"profiles of x must be of the design {design}")
    for y in ys:
        check_table(y, design)
    left = stacked(xs)
    planes = np.stack([bits.empty(design.units, design.each)] * (_PROFILES_AT_ONCE if len(xs) > 1 else 1))
    differing, filled = [np.empty((len(xs), 0), np.int64)], 0
    for rows in permutations:
        checkpoint()
        for y in ys:
            bits.look_up(y.ranks, y.numbers(rows), drawn.left, drawn.right, planes[filled])
            filled += 1
            if filled == len(planes):
                differing.append(_count(left, planes))
                filled = 0
    differing.append(_count(left, planes[:filled]))
    # Of x with y after y of every permutation in turn.
    grids = design.comparisons - np.concatenate(differing, axis=1).reshape(len(xs), -1, len(ys))
    return np.ascontiguousarray(grids.transpose(1, 0, 2))


def _count(left: NDArray[np.uint64], planes: NDArray[np.uint16]) -> NDArray[np.int64]:
    found = np.empty((len(left), len(planes)), np.int64)
    if len(planes):
        bits.count_disagreeing(left, bits.words(planes), found)
    return found
