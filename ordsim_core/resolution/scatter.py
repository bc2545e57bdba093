"""The scatter matrix of centred rows, on its smaller side, and what follows from its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_BLOCK_VALUES = 1 << 20


@dataclass(frozen=True)
class Scatter:
    """Second moments of an (N, D) array whose columns were centred, Xc.

    Attributes
    ----------
    rows, columns : int
    mean : ndarray of float64, shape (D,)
    squares : ndarray of float64, shape (D,)
        Sum of squares of each column of Xc.
    lengths : ndarray of float64, shape (N,)
        Sum of squares of each row of Xc.
    matrix : ndarray of float64, shape (S, S)
        Xc^T Xc if there are at least as many rows as columns, Xc Xc^T otherwise: S is the smaller of N and D.
    """

    rows: int
    columns: int
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    lengths: NDArray[np.float64]
    matrix: NDArray[np.float64]

    @property
    def by_columns(self) -> bool:
        """Whether the matrix is that of the columns, Xc^T Xc."""
        return self.rows >= self.columns

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues: |Xc|^2."""
        return float(self.squares.sum())

    @property
    def norm_squared(self) -> float:
        """Sum of the squared eigenvalues: |Xc Xc^T|^2, the self-similarity under linear CKA."""
        return float(np.einsum("ij,ij->", self.matrix, self.matrix))

    def norm_squared_of(self, rows: int) -> float:
        """Estimate `norm_squared` of so many rows, of which these are some.

        Entries of Xc Xc^T off the diagonal grow in number with the square of the rows, those on it with the rows.
        """
        if rows == self.rows:
            return self.norm_squared
        growth, diagonal = rows / self.rows, float(self.lengths @ self.lengths)
        return growth * (growth * max(0.0, self.norm_squared - diagonal) + diagonal)

    def participation_ratio(self, rows: int) -> float | None:
        """Effective number of dimensions of so many rows, trace^2 / norm_squared; None if all rows are equal."""
        norm = self.norm_squared_of(rows)
        return (self.trace * rows / self.rows) ** 2 / norm if norm > 0 else None


@dataclass(frozen=True)
class Part:
    """One block of an array: where it is, its values as stored, and the same centred."""

    rows: slice
    columns: slice
    stored: NDArray[np.float64]
    centred: NDArray[np.float64]


def parts(
    values: NDArray[Any], mean: NDArray[np.float64], checkpoint: Callable[[], None] = no_checkpoint
) -> Iterator[Part]:
    """Cut an (N, D) array into blocks of rows, or, if there are more columns than rows, of columns.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype; may be memory-mapped.
    mean : ndarray of float64, shape (D,)
        What is subtracted from each row.
    checkpoint : callable
        Called before each block; may raise to give up.
    """
    rows, columns = values.shape
    along, across = (rows, columns) if rows >= columns else (columns, rows)
    step = max(1, _BLOCK_VALUES // max(1, across))
    for start in range(0, along, step):
        checkpoint()
        span = slice(start, min(start + step, along))
        where = (span, slice(0, columns)) if rows >= columns else (slice(0, rows), span)
        stored = values[where].astype(np.float64)
        yield Part(*where, stored, stored - mean[where[1]])


def scatter_of(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Scatter:
    """Compute the scatter of an (N, D) array in two passes, with O(block + S^2) memory.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype, finite; may be memory-mapped.
    checkpoint : callable
        Called between blocks; may raise to give up.
    """
    rows, columns = values.shape
    side = min(rows, columns)
    pilot = values[0].astype(np.float64) if rows else np.zeros(columns)
    sums = np.zeros(columns)
    for part in parts(values, pilot, checkpoint):
        sums[part.columns] += part.centred.sum(axis=0)
    mean = pilot + sums / max(1, rows)
    residual, squares, lengths = np.zeros(columns), np.zeros(columns), np.zeros(rows)
    matrix = np.zeros((side, side))
    for part in parts(values, mean, checkpoint):
        centred = part.centred
        residual[part.columns] += centred.sum(axis=0)
        squares[part.columns] += np.einsum("ij,ij->j", centred, centred)
        lengths[part.rows] += np.einsum("ij,ij->i", centred, centred)
        matrix += centred.T @ centred if rows >= columns else centred @ centred.T
    if rows >= columns and rows:
        # The rounded mean leaves residual sums; without this, a large offset would show.
        matrix -= np.outer(residual, residual) / rows
    return Scatter(rows, columns, mean, squares, lengths, matrix)
