"""How rows of two arrays become centred sums S and differences E, of which all moments are made.

The narrower array is padded with columns of zeros, which leaves its Gram matrix as it is. Where one array is a
multiple of the other but for a small difference, the smaller one is stretched first: cosines do not change, and the
difference is then all that is left in E.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine.directions import directions
from ordsim_core.cosine.exact_rows import add_exactly, add_up, sum_and_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

CHUNK_ROWS = 512
"""Rows that are widened to float64 together. Sums over rows are made of these chunks, in their order."""

UNIT_ROUNDING = 2.0**-46
"""Differences between entries of rows of unit length that rounding may make."""

RANGE = 200
"""Binary exponents within which squares of squares of a million values stay normal numbers."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """What is done to x and y before they are added and subtracted.

    Attributes
    ----------
    rows, columns : int
        N, and the columns D of the wider array.
    factor : float
        At least 1: by what the smaller array is multiplied.
    x_larger : bool
        Whether y is the smaller one.
    powers : tuple of int
        Powers of two by which x and y are multiplied first, 0 unless their values are extreme.
    shifts : ndarray of float64, shape (4, D)
        Means of the columns of S and of E, each as a rounded number and its remainder.
    unit_rows : bool
        Whether rows are centred and scaled to unit length, each for itself, before all that; they are not stretched
        then.
    """

    rows: int
    columns: int
    factor: float
    x_larger: bool
    powers: tuple[int, int]
    shifts: NDArray[np.float64]
    unit_rows: bool = False

    def shifted(self, totals: NDArray[np.float64]) -> Alignment:
        """Move the shifts by the mean of what they left, whose sums over all rows are `totals`, shape (2, D)."""
        shifts = np.empty_like(self.shifts)
        for kind in (0, 1):
            high, low = self.shifts[2 * kind], self.shifts[2 * kind + 1]
            shifts[2 * kind], shifts[2 * kind + 1] = add_exactly(high, totals[kind] / self.rows + low)
        return replace(self, shifts=shifts)


class Reader:
    """Reads rows of two arrays, aligned; what it hands out is overwritten by the next rows."""

    def __init__(self, x: NDArray[Any], y: NDArray[Any], alignment: Alignment, capacity: int = CHUNK_ROWS) -> None:
        self.x, self.y, self.alignment = x, y, alignment
        # Zeros, since the columns that the narrower array lacks are never written.
        self._x, self._y = np.zeros((2, capacity, alignment.columns))
        self._sums, self._differences = np.empty((2, capacity, alignment.columns))

    def widened(self, rows: slice | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give rows of x and y in float64, padded."""
        return self._widen(self.x[rows], self._x, 0), self._widen(self.y[rows], self._y, 1)

    def read(self, rows: slice | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give S and E of at most `capacity` rows, float64 of shape (n, D) each."""
        x, y = self.widened(rows)
        alignment, count = self.alignment, len(x)
        sums, differences = self._sums[:count], self._differences[:count]
        if alignment.unit_rows:
            first = (rows.start or 0) if isinstance(rows, slice) else 0
            own_x, own_y = x[:, : self.x.shape[1]], y[:, : self.y.shape[1]]
            directions(own_x, own_y, first, alignment.shifts, sums, differences)
        elif alignment.x_larger:
            sum_and_difference(y, x, alignment.factor, alignment.shifts * _TURN, sums, differences)
            np.negative(differences, out=differences)
        else:
            sum_and_difference(x, y, alignment.factor, alignment.shifts, sums, differences)
        return sums, differences

    def chunks(self, start: int, stop: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Read rows start <= row < stop, a chunk at a time."""
        for first in range(start, stop, CHUNK_ROWS):
            yield self.read(slice(first, min(first + CHUNK_ROWS, stop)))

    def _widen(self, values: NDArray[Any], buffer: NDArray[np.float64], side: int) -> NDArray[np.float64]:
        count, columns = values.shape
        widened = buffer[:count]
        widened[:, :columns] = values
        if self.alignment.powers[side]:
            np.ldexp(widened, self.alignment.powers[side], out=widened)
        return widened


_TURN = np.array([[1.0], [1.0], [-1.0], [-1.0]])
"""Turns the shifts of y - x into those of x - y."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What one look at all rows shows.

    Attributes
    ----------
    alignment : Alignment
        With the means of all rows.
    constant : tuple of bool
        Whether all rows of x are equal, and of y.
    equal : bool
        Whether there is no difference at all, as aligned.
    spread : tuple of float
        The largest magnitude of a difference between a value and that of the first row, of x and of y.
    """

    alignment: Alignment
    constant: tuple[bool, bool]
    equal: bool
    spread: tuple[float, float]


def unaligned(
    x: NDArray[Any],
    y: NDArray[Any],
    powers: tuple[int, int] = (0, 0),
    factor: float = 1.0,
    x_larger: bool = False,
    unit_rows: bool = False,
) -> Alignment:
    """Give the alignment that shifts every row by the first."""
    columns = max(x.shape[1], y.shape[1])
    alignment = Alignment(len(x), columns, factor, x_larger, powers, np.zeros((4, columns)), unit_rows)
    first, second = Reader(x, y, alignment, 1).read(slice(0, 1))
    alignment.shifts[0], alignment.shifts[2] = first[0], second[0]
    return alignment


def survey(x: NDArray[Any], y: NDArray[Any], begun: Alignment, checkpoint: Callable[[], None]) -> Survey:
    """Look at all rows once, chunk by chunk; the order of sums follows from N alone."""
    reader = Reader(x, y, begun)
    look = _look_at_directions if begun.unit_rows else _look
    origin = np.concatenate([side[:1].copy() for side in reader.widened(slice(0, 1))])
    totals, spread = np.zeros((2, begun.columns)), np.zeros((3, begun.columns))
    for start in range(0, begun.rows, CHUNK_ROWS):
        checkpoint()
        totals += look(reader, slice(start, start + CHUNK_ROWS), origin, spread)
    of_x, of_y, of_both = (float(largest) for largest in spread.max(axis=1))
    return Survey(begun.shifted(totals), (of_x == 0, of_y == 0), of_both == 0, (of_x, of_y))


def _look(reader: Reader, rows: slice, origin: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up S and E of a chunk, shape (2, D), and raise the spread of x, of y and of their difference."""
    alignment, totals = reader.alignment, np.zeros((2, reader.alignment.columns))
    x, y = reader.widened(rows)
    if not alignment.x_larger:
        add_up(x, y, alignment.factor, alignment.shifts, totals, origin, spread)
        return totals
    turned = spread[[1, 0, 2]]
    add_up(y, x, alignment.factor, alignment.shifts * _TURN, totals, origin[::-1].copy(), turned)
    spread[:] = turned[[1, 0, 2]]
    totals[1] *= -1
    return totals


def _look_at_directions(
    reader: Reader,
    rows: slice,
    _origin: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> NDArray[np.float64]:
    """As `_look`, of unit rows, which are rounded: a spread that rounding may have made counts as none."""
    sums, differences = reader.read(rows)
    sides = ((sums - differences) / 2, (sums + differences) / 2, differences + reader.alignment.shifts[2])
    largest = np.stack([np.abs(side).max(axis=0) for side in sides])
    largest[:2][largest[:2] <= UNIT_ROUNDING] = 0
    np.maximum(spread, largest, out=spread)
    return np.stack((sums.sum(axis=0), differences.sum(axis=0)))
