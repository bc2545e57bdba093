"""Which rows or columns of an array are finite: looked for once, and remembered beside the staged copies."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import numpy as np

from workers import staging_files
from workers.kept import Kept, parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.arrays import OpenedArray

Axis = Literal["rows", "columns", "distances"]
"""What is judged: rows, columns, or rows together with the columns of the same numbers."""


def find(
    source: OpenedArray, rows: NDArray[np.int64], axis: Axis, directory: Path, checkpoint: Callable[[], None]
) -> NDArray[np.bool_]:
    """Find which of these rows are finite, or which columns are in all of them.

    Of distances between rows, those rows leave first, with their columns, that have no finite distance to any other
    one way round; then those in which anything else is not finite.

    Parameters
    ----------
    rows : ndarray of int64
        Positions within the window of the array.
    directory : Path
        This node's staging directory, where the answer is kept as long as the array does not change.

    Returns
    -------
    ndarray of bool
        For each of the rows, or for each column of the window.

    Raises
    ------
    ProblemError
        As `OpenedArray.blocks`; corrupt-data if the array changes meanwhile.
    """
    kept = Kept(rows, rows if axis == "distances" else None)
    if source.dtype.kind != "f" or not len(rows):
        return np.ones(source.columns if axis == "columns" else len(rows), np.bool_)
    window = f"{source.rows.start}\0{source.rows.stop}\0{source.wanted_columns.start}\0{source.wanted_columns.stop}"
    place = f"{axis}\0{source.directory}\0{window}\0{source.signature()}\0{kept.digest}"
    key = hashlib.sha256(place.encode()).hexdigest()[:32]

    def look() -> NDArray[np.bool_]:
        found = _distances(source, rows, checkpoint) if axis == "distances" else _along(source, kept, axis, checkpoint)
        source.require_unchanged()
        return found

    return staging_files.remembered(directory, key, source.shown, look, checkpoint)


def _along(source: OpenedArray, kept: Kept, axis: Axis, checkpoint: Callable[[], None]) -> NDArray[np.bool_]:
    finite = np.ones(len(kept.rows) if axis == "rows" else source.columns, np.bool_)
    for part in parts(source, kept):
        checkpoint()
        whole = np.isfinite(part.values)
        if axis == "rows":
            finite[part.rows] &= whole.all(axis=1)
        else:
            finite[part.columns] &= whole.all(axis=0)
    return finite


def _distances(source: OpenedArray, rows: NDArray[np.int64], checkpoint: Callable[[], None]) -> NDArray[np.bool_]:
    known = np.zeros((2, len(rows)), np.int64)
    holes = False
    for part in parts(source, Kept(rows, rows)):
        checkpoint()
        whole = np.isfinite(part.values)
        holes |= not whole.all()
        whole &= part.rows[:, None] != part.columns[None]
        known[0, part.rows] += whole.sum(axis=1)
        known[1, part.columns] += whole.sum(axis=0)
    if not holes:
        return np.ones(len(rows), np.bool_)
    left: NDArray[np.bool_] = np.logical_and(known[0] > 0, known[1] > 0)
    again = rows[left]
    finite = np.ones(len(again), np.bool_)
    for part in parts(source, Kept(again, again)):
        checkpoint()
        finite[part.rows] &= np.isfinite(part.values).all(axis=1)
    left[left] = finite
    return left
