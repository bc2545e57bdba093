"""The median of the Euclidean distances of all pairs of rows: the bandwidth of an RBF kernel.

Found by selection: sampled pairs say between which two distances it lies, one pass over all tiles counts those below
and keeps the few in between. The distances of the pairs of rows found are then computed again in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairwise import kernels, pilot, rows
from ordsim_core.pairwise.pairing import Pairing
from ordsim_core.pairwise.related import Relation
from ordsim_core.pairwise.tiles import TileGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.pairwise.rows import Side

SAMPLED, MOST_SAMPLED = 1 << 14, 1 << 21
"""Pairs that are sampled to find the range that the median lies in: one in `SHARE`, within these limits."""
SHARE = 512
DEVIATIONS = 5.0
"""Half the width of that range, in standard deviations of the sample's median."""
ROOT_BITS = 280
"""Bits of a square whose root is taken."""
ROUNDING = 1e-12
"""Relative difference up to which squared distances count as equal when a range is looked for."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """The sigma of both sides, to 40 digits, so that their difference is known as well where x and y are close."""

    x: Fraction
    y: Fraction


@dataclass(frozen=True, slots=True)
class Middle:
    """The two pairs of rows whose distances lie in the middle, twice the same where the number of pairs is odd."""

    low: Place
    high: Place


def middle(side: Side, centre: NDArray[np.float64], checkpoint: Callable[[], None] = no_checkpoint) -> Middle:
    """Find the pairs of rows whose distances are the median of all.

    Parameters
    ----------
    side : Side
        Of at least 2 rows.
    centre : ndarray of float64, shape (D,)
        About the mean of the rows.
    checkpoint : callable
        Called between tiles; may raise to give up.
    """
    count = len(side)
    pairs = comb(count, 2)
    wanted = ((pairs - 1) // 2, pairs // 2)
    deviations = DEVIATIONS
    while True:
        low, high = _range(side, deviations)
        below, values, left, right = _between(side, centre, low, high, checkpoint)
        if below <= wanted[0] and wanted[1] < below + len(values):
            order = np.lexsort((right, left, values))
            found = [int(order[place - below]) for place in wanted]
            return Middle(*((int(left[at]), int(right[at])) for at in found))
        deviations *= 4


def sampled(rows: int) -> int:
    """Count the pairs that are sampled."""
    return min(max(comb(rows, 2) // SHARE, SAMPLED), MOST_SAMPLED)


def sampled_middle(side: Side, pairs: int) -> Middle:
    """Find the pairs of rows whose distances are the median of so many that are drawn at random."""
    left, right = pilot.pairs(len(side), pairs)
    order = np.argsort(_listed(side, left, right), kind="stable")
    places = order[(len(order) - 1) // 2], order[len(order) // 2]
    return Middle(*((int(left[at]), int(right[at])) for at in places))


def of(x: Side, y: Side, middle_x: Middle, middle_y: Middle, scale: float = 1.0) -> Bandwidths:
    """Give the median distances, in x times `scale`."""
    return Bandwidths(
        *(
            sum((_root(_exact_square(side, place)) for place in (found.low, found.high)), Fraction(0)) * factor / 2
            for side, found, factor in ((x, middle_x, Fraction(scale)), (y, middle_y, Fraction(1)))
        )
    )


def _range(side: Side, deviations: float) -> tuple[float, float]:
    """Give squared distances that the median surely lies between, or nearly so."""
    left, right = pilot.pairs(len(side), sampled(len(side)))
    values = np.sort(_listed(side, left, right))
    reach = deviations * math.sqrt(len(values)) / 2
    low, high = math.floor((len(values) - 1) / 2 - reach), math.ceil(len(values) / 2 + reach)
    below = values[low] * (1 - ROUNDING) if low >= 0 else 0.0
    above = values[high] * (1 + ROUNDING) if high < len(values) else math.inf
    return float(below), float(above)


def _between(
    side: Side, centre: NDArray[np.float64], low: float, high: float, checkpoint: Callable[[], None]
) -> tuple[int, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the pairs whose squared distance is below the range, and give those within it with their rows."""
    grid = TileGrid(len(side))
    pairing = Pairing(side, side, Relation(centre_x=centre))
    values, places = np.empty(grid.edge**2), np.empty(grid.edge**2, np.int64)
    below, found = 0, []
    for tile, squared in pairing.squares_of_x(grid.tiles(0, len(grid)), checkpoint):
        less, count = kernels.collect(squared, tile.diagonal, low, high, values, places)
        below += int(less)
        row, column = np.divmod(places[:count], tile.width)
        found.append((values[:count].copy(), tile.top + row, tile.left + column))
    kept, left, right = (np.concatenate(part) for part in zip(*found, strict=True))
    return below, kept, left, right


def _listed(side: Side, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    step = max(1, (1 << 20) // side.columns)
    found = []
    for start in range(0, len(left), step):
        difference = rows.widened(side, left[start : start + step]) - rows.widened(side, right[start : start + step])
        found.append(rows.lengths(difference, difference))
    return np.concatenate(found)


def _exact_square(side: Side, place: Place) -> Fraction:
    """Give the squared distance of a pair of rows in exact arithmetic."""
    one, other = (rows.widened(side, np.array([row]))[0].tolist() for row in place)
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def _root(square: Fraction) -> Fraction:
    """Give a square root to 40 digits or more."""
    if square == 0:
        return square
    shift = 2 * max(0, ROOT_BITS - square.numerator.bit_length() + square.denominator.bit_length())
    return Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
