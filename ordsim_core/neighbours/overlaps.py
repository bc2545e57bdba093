"""How much the neighbourhoods of the same rows in two spaces overlap: fractions, summed without rounding.

A row that shares the border with others counts with its share of the places left; two neighbourhoods meet in the
smaller share. With shares a/b in x and c/d in y all that one anchor adds up is a multiple of 1/(b d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import intervals
from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ordsim_core.neighbours.lists import Neighbours

ROWS_LIMIT = 1 << 21
"""Rows up to which an overlap in units of 1/(b d), at most k b d, is below 2^63."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """The overlap of each anchor's two neighbourhoods of `nearest` places: above / below, from 0 to `nearest`."""

    nearest: int
    above: NDArray[np.int64]
    below: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.above)

    def total(self) -> tuple[int, int]:
        """Give the sum of all overlaps as a fraction in integers: (numerator, denominator)."""
        return exact_total(self.above, self.below)

    @property
    def score(self) -> float:
        """Mean overlap over k, correctly rounded. ZeroDivisionError without anchors."""
        above, below = self.total()
        return above / (below * self.nearest * len(self))

    @property
    def deficit(self) -> float:
        """Mean of what is missing, over k, from its own integers: exactly 0 where nothing is missing."""
        above, below = exact_total(self.nearest * self.below - self.above, self.below)
        return above / (below * self.nearest * len(self))


def overlaps(x: Neighbours, y: Neighbours) -> Overlaps:
    """Compare the neighbours of the same anchors in two spaces.

    Raises
    ------
    ValueError
        If they are not of as many anchors, or not of the same k.
    """
    if len(x) != len(y) or x.nearest != y.nearest:
        raise ValueError(
            f"neighbourhoods of {len(x)} anchors with k = {x.nearest} cannot be compared with those of {len(y)} "
            f"anchors with k = {y.nearest}"
        )
    above, below = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    _overlap(x.start, x.rows, x.shared, x.above, x.below, y.start, y.rows, y.shared, y.above, y.below, above, below)
    return Overlaps(x.nearest, above, below)


def join(parts: Sequence[Overlaps], nearest: int) -> Overlaps:
    """Put the overlaps of some anchors after those of others."""
    none = np.zeros(0, np.int64)
    return Overlaps(
        nearest,
        np.concatenate([part.above for part in parts] or [none]),
        np.concatenate([part.below for part in parts] or [none]),
    )


def exact_total(above: NDArray[np.int64], below: NDArray[np.int64]) -> tuple[int, int]:
    """Sum fractions of non-negative integers: numerator and denominator, the least common one."""
    if (below == 1).all():
        return intervals.exact_sum(above), 1
    order = np.argsort(below, kind="stable")
    kinds, begins = np.unique(below[order], return_index=True)
    high = np.add.reduceat(above[order] >> 32, begins)
    low = np.add.reduceat(above[order] & 0xFFFFFFFF, begins)
    divisors = kinds.tolist()
    common = math.lcm(*divisors)
    summands = zip(high.tolist(), low.tolist(), divisors, strict=True)
    return sum(((one << 32) + other) * (common // divisor) for one, other, divisor in summands), common


@kernel
def _overlap(
    x_start: NDArray[np.int64],
    x_rows: NDArray[np.int32],
    x_shared: NDArray[np.bool_],
    x_above: NDArray[np.int64],
    x_below: NDArray[np.int64],
    y_start: NDArray[np.int64],
    y_rows: NDArray[np.int32],
    y_shared: NDArray[np.bool_],
    y_above: NDArray[np.int64],
    y_below: NDArray[np.int64],
    above: NDArray[np.int64],
    below: NDArray[np.int64],
) -> None:
    for a in range(above.shape[0]):
        i, j = x_start[a], y_start[a]
        met = np.zeros(4, np.int64)
        while i < x_start[a + 1] and j < y_start[a + 1]:
            if x_rows[i] == y_rows[j]:
                met[2 * np.int64(x_shared[i]) + np.int64(y_shared[j])] += 1
                i += 1
                j += 1
            elif x_rows[i] < y_rows[j]:
                i += 1
            else:
                j += 1
        above[a], below[a] = meeting(met, x_above[a], x_below[a], y_above[a], y_below[a])


@kernel
def meeting(met: NDArray[np.int64], a: Int, b: Int, c: Int, d: Int) -> tuple[Int, Int]:
    """Add up shares a/b and c/d: the overlap as a fraction in lowest terms.

    Parameters
    ----------
    met : ndarray of int64, shape (4,)
        Rows in both neighbourhoods: with a place of their own in both, sharing one in y, in x, in both.
    """
    whole = b * d
    total = met[0] * whole + met[1] * (c * b) + met[2] * (a * d) + met[3] * min(a * d, c * b)
    one, other = whole, total
    while other != 0:
        one, other = other, one % other
    return total // one, whole // one
