"""The spans of two sets of centred columns in the coordinates of their factor, their ranks and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.correlations.pilots import Layout

RANK_TOLERANCE = 2.0**-48
"""Columns count as dependent where a singular value is below this, times their number, of the largest."""
NEAR = 0.125
"""Arrays whose difference is below this share of them are compared by it."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Centred columns of x and y, rotated so that those of x have nothing below the first rows.

    Attributes
    ----------
    x : ndarray of float64, shape (T, Dx)
        T at most Dx; below are zeros.
    y : ndarray of float64, shape (Q, Dy)
    z_above, z_below : ndarray of float64, shape (T, Dy) and (Q - T, Dy)
        How y differs from x, where `near`; else y itself.
    share : float
        Length of what y differs by as a share of its own: at most `NEAR` where z is the difference, else 1.
    degrees : int
        N - 1, the dimension of all that is centred.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z_above: NDArray[np.float64]
    z_below: NDArray[np.float64]
    share: float
    degrees: int

    @property
    def near(self) -> bool:
        """Whether z is the difference."""
        return self.share < 1

    @property
    def equal(self) -> bool:
        """Whether the arrays are equal, but for a power of two and a row that is added everywhere."""
        return self.near and not self.z_above.any() and not self.z_below.any()


@dataclass(frozen=True, eq=False)
class Span:
    """What the columns of one array span.

    Attributes
    ----------
    left : ndarray of float64, shape (rows, R)
        Orthonormal.
    rest : ndarray of float64, shape (rows, ...)
        Orthonormal, the directions that are left of those that were looked at.
    right : ndarray of float64, shape (D, R)
        Combinations of the columns that give `left`.
    rank : int
        R.
    condition : float
        Largest over smallest singular value that counts, of columns scaled to about the same length.
    """

    left: NDArray[np.float64]
    rest: NDArray[np.float64]
    right: NDArray[np.float64]
    rank: int
    condition: float


def columns(upper: NDArray[np.float64], layout: Layout) -> Columns:
    """Read the factor of all rows: without its column of ones it is centred."""
    centred = upper[1:, 1:]
    of_x = len(layout.x_constant)
    top = min(of_x, len(centred))
    x, last = centred[:top, :of_x], centred[:, of_x:]
    y = last.copy()
    if layout.difference:
        y[:top] += x
    y[:, layout.y_constant] = 0.0
    change = np.where(layout.y_constant, 0.0, last)
    size = float(np.linalg.norm(y))
    share = float(np.linalg.norm(change)) / size if layout.difference and size > 0 else 1.0
    if share > NEAR:
        share, change = 1.0, y
    return Columns(x, y, change[:top], change[top:], share, layout.rows - 1)


def span(matrix: NDArray[np.float64]) -> Span:
    """Find what columns span, however they are scaled; the length of a column is no matter."""
    powers = -np.frexp(np.abs(matrix).max(axis=0, initial=0.0))[1]
    left, values, right = np.linalg.svd(np.ldexp(matrix, powers), full_matrices=False)
    largest = float(values.max(initial=0.0))
    rank = int((values > RANK_TOLERANCE * matrix.shape[1] * largest).sum())
    weights = np.ldexp(right[:rank].T, powers[:, None]) / values[:rank]
    condition = largest / float(values[rank - 1]) if rank else float("inf")
    return Span(left[:, :rank], left[:, rank:], weights, rank, condition)
