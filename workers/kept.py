"""Which rows and columns of an array are compared, where that is not simply a window of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workers.arrays import OpenedArray

LEFT_OUT = -1


@dataclass(frozen=True, eq=False)
class Kept:
    """Positions within the window of an array, each at most once.

    Attributes
    ----------
    rows : ndarray of int64
        In the order in which they are compared.
    columns : ndarray of int64 or None
        In the order of the copy; all of the window if None.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64] | None = None

    @property
    def digest(self) -> str:
        """Of the positions, to know them again."""
        digest = hashlib.sha256(f"{len(self.rows)} {self.columns is not None} ".encode())
        for positions in (self.rows, self.columns):
            if positions is not None:
                digest.update(np.ascontiguousarray(positions, "<i8").data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Part:
    """What is kept of one block of an array.

    Attributes
    ----------
    values : ndarray, shape (rows, columns)
    rows, columns : ndarray of int64
        Where they go.
    stored_rows, stored_columns : ndarray of int64
        Where they stand in the stored array.
    """

    values: NDArray[Any]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    stored_rows: NDArray[np.int64]
    stored_columns: NDArray[np.int64]


def parts(source: OpenedArray, kept: Kept) -> Iterator[Part]:
    """Read what is kept of an array, block by block; blocks that hold nothing of it are not read.

    Raises
    ------
    ProblemError
        As `OpenedArray.blocks`.
    """
    rows = _places(kept.rows, source.rows.stop - source.rows.start)
    columns = _places(np.arange(source.columns) if kept.columns is None else kept.columns, source.columns)
    for block in source.blocks(rows != LEFT_OUT):
        height, width = block.values.shape
        row, column = block.row - source.rows.start, block.column - source.wanted_columns.start
        to_rows, to_columns = rows[row : row + height], columns[column : column + width]
        here, across = np.flatnonzero(to_rows != LEFT_OUT), np.flatnonzero(to_columns != LEFT_OUT)
        if len(here) and len(across):
            yield Part(
                block.values[np.ix_(here, across)],
                to_rows[here],
                to_columns[across],
                here + block.row,
                across + block.column,
            )


def _places(positions: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """For each position of a window, where it goes, or `LEFT_OUT`."""
    places = np.full(length, LEFT_OUT, np.int64)
    places[positions] = np.arange(len(positions))
    return places
