"""Whether a matrix of distances is the same in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.measures.protocol import Checkpoint

TILE = 1024
"""Rows and columns that are compared at once: their transpose is gathered from as many rows."""


def find_asymmetry(values: NDArray[Any], checkpoint: Checkpoint) -> tuple[int, int] | None:
    """Find an entry (i, j) of an (N, N) array that differs from (j, i): in the first tiles that have one.

    `checkpoint` is called between tiles, and may raise to give up.
    """
    rows = len(values)
    for start in range(0, rows, TILE):
        stop = min(start + TILE, rows)
        for first in range(start, rows, TILE):
            checkpoint()
            last = min(first + TILE, rows)
            different = values[start:stop, first:last] != values[first:last, start:stop].T
            if different.any():
                i, j = (int(place) for place in np.argwhere(different)[0])
                return start + i, first + j
    return None
