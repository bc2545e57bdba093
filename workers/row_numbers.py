"""Rows that are chosen by an array of their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workers import labels
from workers.errors import ProblemError
from workers.labels import Role
from workers.references import read_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots


def _role(pointer: str) -> Role:
    where = f"{pointer}/index"
    return Role("rows.index", "row number", "row numbers", where, "invalid-request", f"{where}/path", integers=True)


def count(roots: Roots, reference: Reference, pointer: str) -> int:
    """Say how many rows are chosen, by metadata alone.

    Parameters
    ----------
    pointer : str
        Of the rows in the request, e.g. ``"/x/rows"``.

    Raises
    ------
    ProblemError
        As `labels.check_metadata`, with invalid-request.
    """
    role = _role(pointer)
    _, found = read_metadata(roots, reference, role.pointer, role.name)
    rows = found.shape[0] if len(found.shape) == 1 else 0
    labels.check_metadata(roots, reference, role, rows, "")
    return rows


def read(
    roots: Roots, reference: Reference, pointer: str, rows: int, missing_chunks: MissingChunks
) -> NDArray[np.int64]:
    """Read the numbers of the chosen rows of an array that has so many `rows`.

    Raises
    ------
    ProblemError
        As `labels.read`; invalid-request for a number that is no row of the array, or stands there twice.
    """
    role = _role(pointer)
    found = labels.read(roots, reference, role, missing_chunks)
    shown = role.shown(reference)
    wrong = np.flatnonzero((found < 0) | (found >= rows))
    if len(wrong):
        place = int(wrong[0])
        raise ProblemError(
            "invalid-request",
            f"Array {shown} names row {found[place]} in entry {place}, but the rows are 0 to {rows - 1}.",
            pointer=role.misfit_pointer,
        )
    numbers = found.astype(np.int64)
    times = np.bincount(numbers, minlength=rows)
    if (times > 1).any():
        twice = int(np.argmax(times > 1))
        entries = np.flatnonzero(numbers == twice)
        raise ProblemError(
            "invalid-request",
            f"Array {shown} names row {twice} in the entries {entries[0]} and {entries[1]}: a row compared with itself "
            "says nothing. Name each row once.",
            pointer=role.misfit_pointer,
        )
    return numbers
