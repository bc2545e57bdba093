"""Distances of a list of pairs of rows, each computed from the difference of its two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.pairwise import kernels, rows
from ordsim_core.pairwise.entries import Entries, of_products, of_squares
from ordsim_core.pairwise.related import relate
from ordsim_core.pairwise.rows import SQUARES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairwise.related import Relation
    from ordsim_core.pairwise.rows import Side


def squares(side: Side, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give squared Euclidean distances of prepared rows."""
    difference = rows.prepare(side, left, None).rows - rows.prepare(side, right, None).rows
    return rows.lengths(difference, difference)


def distances(side: Side, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give distances on one side."""
    distance = side.distance
    if distance is Distance.PRECOMPUTED:
        return rows.stored(side, (left, right))
    if distance in SQUARES:
        squared = squares(side, left, right)
        return np.sqrt(squared) if distance is Distance.EUCLIDEAN else 0.5 * squared
    one, other = (rows.prepare(side, chosen, None).rows for chosen in (left, right))
    if distance is Distance.DOT:
        return -rows.lengths(one, other)
    found: NDArray[np.float64]
    if distance is Distance.MANHATTAN:
        found = np.abs(one - other).sum(axis=1)
    else:
        found = (one != other).sum(axis=1).astype(np.float64)
    return found


def related_squares(x: Side, y: Side, relation: Relation, left: NDArray[np.int64], right: NDArray[np.int64]) -> Entries:
    """Give squared distances in x and their changes, from the differences of rows of x and y."""
    one, other = (relate(x, y, chosen, relation) for chosen in (left, right))
    difference = one.rows - other.rows
    changes = rows.lengths(one.sums - other.sums, one.differences - other.differences)
    return Entries(rows.lengths(difference, difference), changes)


def related_distances(
    x: Side, y: Side, relation: Relation, left: NDArray[np.int64], right: NDArray[np.int64]
) -> Entries:
    """Give distances in x and their changes, from the differences of rows of x and y."""
    distance = x.distance
    if distance in SQUARES:
        return of_squares(distance, related_squares(x, y, relation, left, right))
    one, other = (relate(x, y, chosen, relation) for chosen in (left, right))
    if distance is Distance.DOT:
        cross = rows.lengths(one.sums, other.differences) + rows.lengths(one.differences, other.sums)
        return of_products(rows.lengths(one.rows, other.rows), cross)
    of_x, changes = np.empty((len(left), 1)), np.empty((len(left), 1))
    for place in range(len(left)):
        at = slice(place, place + 1)
        both = (one.rows[at], one.differences[at]), (other.rows[at], other.differences[at])
        kernels.changed_city_blocks(*both, of_x[at], changes[at])
    return Entries(of_x[:, 0], changes[:, 0])
