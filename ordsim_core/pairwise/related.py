"""Rows of x and of y side by side, with their differences: what changes from x to y are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import DIRECTIONAL, Distance
from ordsim_core.pairwise import precise
from ordsim_core.pairwise.rows import centred, directions, lengths, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairwise.rows import Side

IDENTICAL, DIFFERENCES, CAREFUL, SEPARATE = ROUTES = ("identical", "differences", "twice-precision", "separate")
"""Both sides are the same; changes from x to y come from the differences of rows; or from squared distances in twice
the precision; each side is computed by itself."""


@dataclass(frozen=True, eq=False)
class Relation:
    """How rows of x and y are brought together.

    Attributes
    ----------
    route : str
        One of `ROUTES`.
    scale : float
        What x is multiplied with where differences are taken.
    centre_x, centre_y : ndarray of float64, shape (D,), or None
        What is taken off prepared rows; where differences are taken, that of x serves both.
    shift : ndarray of float64, shape (D,), or None
        What is taken off the differences.
    weight : (float, float)
        What squared distances in y are multiplied with in twice the precision, as an unevaluated sum.
    """

    route: str = SEPARATE
    scale: float = 1.0
    centre_x: NDArray[np.float64] | None = None
    centre_y: NDArray[np.float64] | None = None
    shift: NDArray[np.float64] | None = None
    weight: tuple[float, float] = (1.0, 0.0)

    @property
    def joint(self) -> bool:
        """Whether changes from x to y are computed without subtracting what was rounded."""
        return self.route != SEPARATE


@dataclass(frozen=True, eq=False)
class Related:
    """Some rows of both sides, which have the same columns.

    Attributes
    ----------
    rows : ndarray of float64, shape (n, D)
        Of x, multiplied with the scale of the relation.
    sums, differences : ndarray of float64, shape (n, D)
        x + y and y - x.
    squares, changes : ndarray of float64, shape (n,)
        Squared lengths of x, and the products of `sums` and `differences`.
    """

    rows: NDArray[np.float64]
    sums: NDArray[np.float64]
    differences: NDArray[np.float64]
    squares: NDArray[np.float64]
    changes: NDArray[np.float64]


def relate(x: Side, y: Side, chosen: Any, relation: Relation) -> Related:
    """Prepare rows of both sides and their differences, each of which is computed as if it were rounded once.

    Raises
    ------
    ZeroVectorError
        A row has no direction under cosine or correlation distance.
    """
    if x.distance in DIRECTIONAL:
        rows, other, difference = _directions(x, y, chosen, relation.scale)
        if relation.shift is not None:
            difference -= relation.shift
        if relation.centre_x is not None:
            rows -= relation.centre_x
    else:
        rows, other, difference = _scaled(x, y, chosen, relation.scale, relation.centre_x, relation.shift)
    if relation.centre_x is not None:
        other -= relation.centre_x
    sums = rows + other
    if relation.shift is not None:
        sums -= relation.shift
    return Related(rows, sums, difference, lengths(rows, rows), lengths(sums, difference))


def differences(x: Side, y: Side, chosen: Any, scale: float, shift: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Give rows of y less those of x times the scale, as they are stored, and less the shift."""
    return _scaled(x, y, chosen, scale, None, shift)[2]


def _scaled(
    x: Side,
    y: Side,
    chosen: Any,
    scale: float,
    centre: NDArray[np.float64] | None,
    shift: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Give rows of x times the scale less the centre, of y as they are stored, and their differences less the shift."""
    rows, other = widened(x, chosen), widened(y, chosen)
    scaled, difference, nothing = np.empty_like(rows), np.empty_like(rows), np.zeros(x.columns)
    if centre is None:
        centre = nothing
    precise.scaled_difference(rows, other, scale, centre, nothing if shift is None else shift, scaled, difference)
    return scaled, other, difference


def _directions(
    x: Side, y: Side, chosen: Any, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Give directions in x and in y, and the differences of these without subtracting them.

    With a and b the lengths of x and y: y/b - x/a = ((y - x) - (x/a)(b - a)) / b, where b - a is
    (y - x).(y + x) / (a + b).
    The scale changes no direction, but makes differences small.
    """
    difference = differences(x, y, chosen, scale, None)
    if x.distance is Distance.CORRELATION:
        difference = centred(difference)
    direction, length = directions(widened(x, chosen), x, chosen)
    other_direction, other_length = directions(widened(y, chosen), y, chosen)
    # In units of the length of x times the scale, in which nothing overflows.
    unit = scale * length
    relative, ratio = difference / unit[:, None], (other_length / unit)[:, None]
    grown = lengths(relative, direction + ratio * other_direction)[:, None] / (1 + ratio)
    return direction, other_direction, (relative - direction * grown) / ratio
