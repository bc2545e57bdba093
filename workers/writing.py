"""The values of an array, written to a file in C order while they are read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.durable import sync_file
from workers.errors import ProblemError
from workers.kept import parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import IO

    from numpy.typing import NDArray

    from workers.arrays import Block, OpenedArray
    from workers.kept import Kept


def staged_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the values in a copy: float16 becomes float32, which holds the same values."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def shape(source: OpenedArray, kept: Kept | None) -> tuple[int, int]:
    """Rows and columns of a copy."""
    if kept is None:
        return source.rows.stop - source.rows.start, source.columns
    return len(kept.rows), source.columns if kept.columns is None else len(kept.columns)


def write(source: OpenedArray, kept: Kept | None, path: Path, checkpoint: Callable[[], None]) -> None:
    """Write the window of an array, or what is kept of it, to a file.

    Raises
    ------
    ProblemError
        non-finite-input, naming row and column as stored; as `OpenedArray.blocks`.
    """
    with path.open("w+b") as file:
        if kept is not None:
            _scatter(source, kept, file, checkpoint)
        elif source.whole_rows:
            for block in source.blocks():
                checkpoint()
                _require_finite_block(block, source)
                file.write(block.values.astype(staged_dtype(source.dtype), copy=False).data)
        else:
            _place(source, file, checkpoint)
        sync_file(file)


def _place(source: OpenedArray, file: IO[bytes], checkpoint: Callable[[], None]) -> None:
    """Put blocks that are not whole rows where they belong."""
    target = _target(source, None, file)
    for block in source.blocks():
        checkpoint()
        _require_finite_block(block, source)
        height, width = block.values.shape
        row, column = block.row - source.rows.start, block.column - source.wanted_columns.start
        target[row : row + height, column : column + width] = block.values
    target.flush()


def _scatter(source: OpenedArray, kept: Kept, file: IO[bytes], checkpoint: Callable[[], None]) -> None:
    """Put the rows and columns that are kept where they go."""
    target = _target(source, kept, file)
    for part in parts(source, kept):
        checkpoint()
        _require_finite(part.values, part.stored_rows, part.stored_columns, source)
        target[np.ix_(part.rows, part.columns)] = part.values
    target.flush()


def _target(source: OpenedArray, kept: Kept | None, file: IO[bytes]) -> np.memmap[Any, np.dtype[Any]]:
    rows, columns = shape(source, kept)
    dtype = staged_dtype(source.dtype)
    # Writing to a map of space that the disk does not have would kill the process.
    os.posix_fallocate(file.fileno(), 0, rows * columns * dtype.itemsize)
    return np.memmap(file, dtype, "r+", shape=(rows, columns))


def _require_finite_block(block: Block, source: OpenedArray) -> None:
    rows, columns = (np.arange(length) for length in block.values.shape)
    _require_finite(block.values, block.row + rows, block.column + columns, source)


def _require_finite(
    values: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64], source: OpenedArray
) -> None:
    """Refuse values that are not finite; `rows` and `columns` are where they stand in the stored array."""
    if values.dtype.kind != "f":
        return
    places = np.argwhere(~np.isfinite(values))
    if not len(places):
        return
    row, column = rows[places[:, 0]], columns[places[:, 1]]
    advice = 'Remove or repair such rows, or send "on_non_finite": "drop" to leave them out.'
    if source.metadata.shape[0] == source.metadata.shape[1] and (row == column).all():
        advice = "If these are distances, their diagonal is not used: set the diagonal to 0."
    raise ProblemError(
        "non-finite-input",
        f"Array {source.shown} has a non-finite value, {values[tuple(places[0])]}, in row {row[0]}, "
        f"column {column[0]}. {advice}",
    )
