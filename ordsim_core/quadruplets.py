"""Quadruplet similarity (QSI; Soares et al. 2026, Definition 2): which of two disjoint pairs lies closer together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordsim_core import drawing, sampling
from ordsim_core.errors import AsymmetricDistanceError
from ordsim_core.pairs import PRECOMPUTED
from ordsim_core.spaces import check_pair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.spaces import Space


def sampled_range(x: Space, y: Space, seed: int, start: int, stop: int) -> Sampled:
    """Count the agreement of samples `start` to `stop` - 1 of the quadruplet stream.

    Raises
    ------
    AsymmetricDistanceError
        If precomputed distances are not symmetric: the distance of a pair is then not defined.
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
    """Raise AsymmetricDistanceError unless all precomputed distances are the same from both sides."""
    for position, space in enumerate(spaces):
        if space.pairs.kind != PRECOMPUTED:
            continue
        values = space.pairs.values
        for row in range(space.rows):
            differs = values[row, :row] != values[:row, row]
            if differs.any():
                raise AsymmetricDistanceError(row, int(differs.argmax()), "xy"[position])
