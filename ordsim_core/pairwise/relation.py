"""Whether x and y are so close that changes come from the differences of rows, and what is taken off them first."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice
from ordsim_core.distances import DIRECTIONAL, Distance
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairwise import related, rows
from ordsim_core.pairwise.related import DIFFERENCES, IDENTICAL, SEPARATE, Relation
from ordsim_core.pairwise.rows import SQUARES, UNCHANGED, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

CLOSE = 2.0**-10
"""Differences whose squares make up no more than this part of those of the rows are worth the third product of
matrices that they take. Beyond, deficits are so large that they lose fewer than four digits."""

FEW_ROWS = 65
"""Rows whose medians stand for the middle of all: a mean would follow a single row that lies far away, and the
digits of all others would be lost with it."""
WIDEST = 100
"""Arrays whose largest value is beyond 2^100 or below 2^-100 are scaled by a power of two: fourth powers of distances
stay in the range of float64."""
UNEVEN = 2
"""So are arrays whose rows lie more than 2^2 times as far apart as those of the other: sums of both would lose the
digits of the smaller one."""


def sides(
    x: NDArray[Any], y: NDArray[Any], x_distance: Distance, y_distance: Distance, alike: bool = False
) -> tuple[Side, Side]:
    """Give both arrays a common range; by the same power of two where their scales are compared (`alike`)."""
    found = [
        Side(values, distance, 0 if distance is Distance.HAMMING else _exponent(values))
        for values, distance in ((x, x_distance), (y, y_distance))
    ]
    if alike:
        least = min(side.exponent for side in found)
        found = [replace(side, exponent=least) for side in found]
    elif len(x) == len(y):
        found = _evened(found)
    return found[0], found[1]


def _evened(pair: list[Side]) -> list[Side]:
    """Bring distances in both to about 1, unless they are much the same already."""
    sizes = [_size(side) for side in pair]
    if abs(sizes[0] - sizes[1]) <= UNEVEN:
        return pair
    return [replace(side, exponent=side.exponent - size) for side, size in zip(pair, sizes, strict=True)]


def _size(side: Side) -> int:
    """Give the power of two next to how far apart rows are typically; 0 where that does not depend on the scale."""
    if side.distance in DIRECTIONAL or side.distance is Distance.HAMMING:
        return 0
    centred = side.distance in (Distance.EUCLIDEAN, Distance.MANHATTAN)
    middle = stored_centre(side) if centred and len(side) else np.zeros(side.columns)
    squared = _trace(side, middle, no_checkpoint) / max(1, len(side))
    if side.distance is Distance.PRECOMPUTED:
        squared /= max(1, side.columns)
    return round(math.log2(squared) / 2) if 0 < squared < math.inf else 0


def find(
    x: Side,
    y: Side,
    *,
    centred: bool,
    scalable: bool,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> Relation:
    """Find how rows of two sides are brought together.

    Parameters
    ----------
    centred : bool
        Whether the mean may be taken off the rows under a distance that it changes (dot).
    scalable : bool
        Whether x may be multiplied with a number.
    checkpoint : callable
        Called between blocks of rows; may raise to give up.

    Raises
    ------
    ZeroVectorError
        A row has no direction under cosine or correlation distance.
    """
    distance = x.distance
    if distance == y.distance and distance not in UNCHANGED and x.columns == y.columns:
        shifts = distance in (Distance.EUCLIDEAN, Distance.MANHATTAN) or (centred and distance is Distance.DOT)
        close = _close(x, y, shifts, scalable, checkpoint)
        if close is not None and close.route == DIFFERENCES and distance in DIRECTIONAL:
            return _of_directions(x, y, close)
        if close is not None and close.route == DIFFERENCES:
            return close
        if close is not None:
            centre = _centre(x, centred)
            return Relation(IDENTICAL, centre_x=centre, centre_y=centre)
    elif distance == y.distance and distance in UNCHANGED and _same(x, y, checkpoint):
        return Relation(IDENTICAL)
    return Relation(SEPARATE, centre_x=_centre(x, centred), centre_y=_centre(y, centred))


def _exponent(values: NDArray[Any]) -> int:
    largest = max(
        (
            float(np.abs(values[start:stop].astype(np.float64)).max(initial=0.0))
            for start, stop in lattice.ranges(values)
        ),
        default=0.0,
    )
    exponent = math.frexp(largest)[1]
    return -exponent if abs(exponent) > WIDEST and largest > 0 else 0


def _slices(side: Side, checkpoint: Callable[[], None]) -> Iterator[slice]:
    return (slice(start, stop) for start, stop in lattice.ranges(side.values, checkpoint))


def _same(x: Side, y: Side, checkpoint: Callable[[], None]) -> bool:
    return x.values.shape == y.values.shape and all(
        np.array_equal(rows.widened(x, chosen), rows.widened(y, chosen)) for chosen in _slices(x, checkpoint)
    )


def _close(x: Side, y: Side, shifts: bool, scalable: bool, checkpoint: Callable[[], None]) -> Relation | None:
    """Give scale, centre and shift if y is x but for these and small differences."""
    middles = [stored_centre(side) if shifts else np.zeros(side.columns) for side in (x, y)]
    of_x, of_y = (_trace(side, middle, checkpoint) for side, middle in zip((x, y), middles, strict=True))
    if not 0 < of_x < math.inf or not 0 < of_y < math.inf:
        return None
    scale = math.sqrt(of_y / of_x) if scalable and of_x != of_y else 1.0
    # Only where both have the same columns is there a shift of all rows in common.
    centre = scale * middles[0]
    shift = middles[1] - centre
    if shifts:
        shift += np.median(related.differences(x, y, _few(x), scale, shift), axis=0)
    total = 0.0
    for chosen in _slices(x, checkpoint):
        difference = related.differences(x, y, chosen, scale, shift)
        total += float(np.vdot(difference, difference))
    if total > CLOSE * (scale * scale * of_x + of_y) / 2:
        return None
    if total == 0 and scale == 1.0 and not shift.any():
        return Relation(IDENTICAL)
    if not shifts:
        return Relation(DIFFERENCES, scale)
    return Relation(DIFFERENCES, scale, centre, centre, shift)


def _of_directions(x: Side, y: Side, relation: Relation) -> Relation:
    """Add what is taken off directions and their differences."""
    found = related.relate(x, y, _few(x), relation)
    centre, shift = np.median(found.rows, axis=0), np.median(found.differences, axis=0)
    return Relation(DIFFERENCES, relation.scale, centre, centre, shift)


def _centre(side: Side, centred: bool) -> NDArray[np.float64] | None:
    if side.distance not in SQUARES and not (centred and side.distance is Distance.DOT):
        return None
    middle: NDArray[np.float64] = np.median(rows.prepare(side, _few(side), None).rows, axis=0)
    return middle


def stored_centre(side: Side) -> NDArray[np.float64]:
    """Give the middle of the rows as they are stored, float64 of shape (D,): the medians of some of them."""
    middle: NDArray[np.float64] = np.median(rows.widened(side, _few(side)), axis=0)
    return middle


def _few(side: Side) -> NDArray[np.int64]:
    """Give some rows from all over the array."""
    return np.unique(np.linspace(0, len(side) - 1, FEW_ROWS).astype(np.int64))


def _trace(side: Side, middle: NDArray[np.float64], checkpoint: Callable[[], None]) -> float:
    total = 0.0
    for chosen in _slices(side, checkpoint):
        block = rows.widened(side, chosen) - middle
        total += float(np.vdot(block, block))
    return total
