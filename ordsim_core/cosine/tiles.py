"""Sums over two Gram matrices tile by tile, for arrays with no more rows than columns, and for small subsets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.cosine.alignment import CHUNK_ROWS
from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.cosine.gram_sums import DiagonalSums, GramSums
from ordsim_core.cosine.moments import DIAGONAL, diagonal_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.cosine.alignment import Reader

WIDTH = 4 + DIAGONAL
"""Numbers that a tile writes down: m2, t, q and the terms of q, and the sums over the diagonal."""


def block_tiles(
    readers: tuple[Reader, Reader], start: int, stop: int, checkpoint: Callable[[], None]
) -> NDArray[np.float64]:
    """Sum the tiles that pair rows start <= row < stop with all rows before their chunk, and with their own.

    Parameters
    ----------
    readers : tuple of Reader
        Two, since each hands out one chunk at a time.
    start, stop : int
        A whole number of chunks, but for the last.

    Returns
    -------
    ndarray of float64, shape (tiles, 11)
        One line a tile, for `from_tiles`.
    """
    own, others = readers
    found = []
    for first in range(start, stop, CHUNK_ROWS):
        here = own.read(slice(first, min(first + CHUNK_ROWS, stop)))
        for before in range(0, first, CHUNK_ROWS):
            checkpoint()
            found.append(_tile(*others.read(slice(before, before + CHUNK_ROWS)), *here, 2))
        found.append(_tile(*here, *here, 1))
        found[-1][4:] = diagonal_sums(*here)
    return np.stack(found)


def from_tiles(rows: int, columns: int, tiles: NDArray[np.float64]) -> GramSums:
    """Turn the lines of all tiles into sums; each is rounded once, so the order of tiles does not matter."""
    m2, t, q, terms, *diagonal = (math.fsum(column) for column in tiles.T.tolist())
    return GramSums(rows, CosineSums(m2, t, q), DiagonalSums(*diagonal), terms, columns)


def gram_sums(sums: NDArray[np.float64], differences: NDArray[np.float64]) -> GramSums:
    """Give the sums of a few rows of S and E at once."""
    line = _tile(sums, differences, sums, differences, 1)
    line[4:] = diagonal_sums(sums, differences)
    return from_tiles(len(sums), sums.shape[1], line[None])


def _tile(
    s: NDArray[np.float64], e: NDArray[np.float64], t: NDArray[np.float64], f: NDArray[np.float64], weight: int
) -> NDArray[np.float64]:
    """Sum the tile of rows (s, e) and (t, f), `weight` times."""
    straight, turned = s @ f.T, e @ t.T
    difference = (straight + turned) / 2
    mean = (s @ t.T + e @ f.T) / 4
    terms = (np.vdot(straight, straight) + np.vdot(turned, turned)) / 4 + abs(np.vdot(straight, turned)) / 2
    line = np.zeros(WIDTH)
    line[:4] = np.vdot(mean, mean), np.vdot(mean, difference), np.vdot(difference, difference), terms
    return weight * line
