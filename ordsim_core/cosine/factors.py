"""Sums over two Gram matrices from the triangular factor of [S E], for arrays that are nearly rotations of each other.

There the moments of S and E cancel in <D, D>, and orthogonal factors lose only the square root of that. The factor is
made of row blocks (tall and skinny QR, Demmel et al. 2012); columns of E that are zero stay exactly zero.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.cosine.alignment import CHUNK_ROWS
from ordsim_core.cosine.moments import DIAGONAL, diagonal_sums
from ordsim_core.cosine.tiles import gram_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ordsim_core.cosine.alignment import Reader
    from ordsim_core.cosine.gram_sums import GramSums


def block_factor(
    reader: Reader, start: int, stop: int, checkpoint: Callable[[], None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the triangular factor of rows start <= row < stop of [S E], and the sums over their diagonal.

    Returns
    -------
    factor : ndarray of float64, shape (at most 2 D, 2 D)
    diagonal : ndarray of float64, shape (7,)
    """
    columns, diagonal = 2 * reader.alignment.columns, np.zeros(DIAGONAL)
    # The factor so far stands above new rows, as many as it has itself, and is overwritten by the next.
    stack, height = np.empty((2 * columns + CHUNK_ROWS, columns), order="F"), 0
    for sums, differences in reader.chunks(start, stop):
        checkpoint()
        diagonal += diagonal_sums(sums, differences)
        stack[height : height + len(sums), : columns // 2] = sums
        stack[height : height + len(sums), columns // 2 :] = differences
        height += len(sums)
        if height >= 2 * columns:
            height = _factor(stack, height)
    return stack[: _factor(stack, height)].copy(), diagonal


def _factor(stack: NDArray[np.float64], height: int) -> int:
    """Put the triangular factor of the first rows into their place, and say how many rows it has."""
    factor = _triangle(stack[:height])
    stack[: len(factor)] = factor
    return len(factor)


def fold(factors: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Give the factor of rows, or of factors, that stand upon one another, taking them one by one."""
    return reduce(lambda one, other: _triangle(np.concatenate((one, other))), factors)


def _triangle(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def from_factor(rows: int, factor: NDArray[np.float64], diagonal: NDArray[np.float64]) -> GramSums:
    """Turn the factor of all rows, and the sums over their diagonal, into sums over Gram matrices."""
    columns = factor.shape[1] // 2
    found = gram_sums(np.ascontiguousarray(factor[:, :columns]), np.ascontiguousarray(factor[:, columns:]))
    return found.with_rows(rows, diagonal)
