"""Blocks of rows that follow from the shape of the data alone, so that rounded sums do not depend on the cluster."""

from __future__ import annotations

from ordsim_core.cosine.alignment import CHUNK_ROWS

BLOCKS_LIMIT = 64
BLOCK_ROWS = 4096
"""Fewest rows that are worth sums of their own."""
BYTES_LIMIT = 256 * 1024**2
"""Most bytes of all blocks together, where each writes down sums over pairs of columns."""


def blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Cut rows into at most 64 ranges of equally many chunks; only the last may have fewer rows.

    Parameters
    ----------
    rows : int
        N.
    columns : int
        D of the wider array: a block may write down 4 D^2 numbers.
    """
    most = min(BLOCKS_LIMIT, max(1, BYTES_LIMIT // (32 * columns * columns)), max(1, rows // BLOCK_ROWS))
    chunks = -(-rows // CHUNK_ROWS)
    size = -(-chunks // most) * CHUNK_ROWS
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]
