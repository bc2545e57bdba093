"""One-dimensional arrays with an integer or a string for each row: identifiers, groups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import chunks
from workers.arrays import is_storage_fault, open_values
from workers.errors import ProblemError
from workers.judged import JudgedStore
from workers.references import RowRange, read_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.metadata import ArrayMetadata
    from workers.references import Reference, Roots

INTEGERS = "iu"
WHOLE = re.compile(r"u?int(8|16|32|64)")
TYPES = re.compile(rf"{WHOLE.pattern}|str[0-9]*|bytes[0-9]*|string|fixed_length_utf32|null_terminated_bytes")
"""Names of types, in metadata, whose values are integers or text."""

LONGEST_SHOWN = 100
"""Characters of a label in a message."""


@dataclass(frozen=True, slots=True)
class Role:
    """What an array of labels is for.

    Attributes
    ----------
    name : str
        What errors call the array.
    what : str
        What one of its entries is, with its plural beside it.
    labels : str
    pointer : str
        JSON pointer of the reference in the request.
    misfit : str
        The problem's name when the array has not one label for each row.
    misfit_pointer : str
        Where that problem points.
    integers : bool
        Whether text will not do.
    """

    name: str
    what: str
    labels: str
    pointer: str
    misfit: str
    misfit_pointer: str
    integers: bool = False

    def shown(self, reference: Reference) -> str:
        """What errors call the array and where it is."""
        return reference.shown(self.name)


def check_metadata(roots: Roots, reference: Reference, role: Role, rows: int, whose: str) -> None:
    """Check what metadata alone shows: that there is an integer or a string for each of the compared rows.

    Parameters
    ----------
    rows : int
        How many rows are compared.
    whose : str
        What has these rows, for the error.

    Raises
    ------
    ProblemError
        As `references.read_metadata`; the role's `misfit`; invalid-request if it is not 1-D; unsupported-dtype.
    """
    _, found = read_metadata(roots, reference, role.pointer, role.name)
    wanted = _check(found, reference, role)
    if wanted.stop - wanted.start != rows:
        raise ProblemError(
            role.misfit,
            f"Array {role.shown(reference)} has {wanted.stop - wanted.start} {role.labels} for the {rows} rows "
            f"{whose} that are compared. Give one {role.what} for each row of the stored array.",
            pointer=role.misfit_pointer,
        )


def read(roots: Roots, reference: Reference, role: Role, missing_chunks: MissingChunks = "error") -> NDArray[Any]:
    """Read the wanted rows: integers, or text of any length.

    `missing_chunks`: whether chunks that are not stored are an error or stand for the fill value.

    Raises
    ------
    ProblemError
        As `check_metadata`; missing-chunks; corrupt-data.
    """
    shown = role.shown(reference)
    directory, found = read_metadata(roots, reference, role.pointer, role.name)
    rows = _check(found, reference, role)
    base = Path(roots[reference.root].directory).resolve()
    stored = chunks.stored_files(directory, base, shown)
    absent = chunks.find_absent(directory, found, rows, stored, shown)
    if absent is not None and (missing_chunks == "error" or not found.fill_defined):
        raise chunks.refuse(absent, found, shown)
    chunks.check_frames(directory, found, rows, stored, shown)
    values = open_values(JudgedStore(directory, base, found, shown), found, shown)
    try:
        labels = np.asarray(values[rows.start : rows.stop])
        return labels if labels.dtype.kind in INTEGERS else _as_text(labels)
    except Exception as error:
        if is_storage_fault(error) or isinstance(error, ProblemError):
            raise
        raise ProblemError("corrupt-data", f"Array {shown} cannot be decoded ({type(error).__name__}).") from error


def _check(found: ArrayMetadata, reference: Reference, role: Role) -> RowRange:
    """Check dimension, type and length, and return the rows whose labels are wanted."""
    shown = role.shown(reference)
    if len(found.shape) != 1:
        raise ProblemError(
            "invalid-request",
            f"Array {shown} must be 1-D, one {role.what} a row, but has shape {found.shape}.",
            "request",
            f"{role.pointer}/path",
        )
    if (WHOLE if role.integers else TYPES).fullmatch(found.dtype) is None:
        kinds = "integers" if role.integers else "integers or strings"
        raise ProblemError(
            "unsupported-dtype",
            f"Array {shown} has dtype {found.dtype}; {role.labels} are {kinds}.",
            "request",
            f"{role.pointer}/path",
        )
    rows = reference.rows or RowRange(0, found.shape[0])
    if not 0 <= rows.start <= rows.stop <= found.shape[0]:
        raise ProblemError(
            role.misfit,
            f"Array {shown} has {found.shape[0]} {role.labels}, but rows {rows.start} to {rows.stop} are compared.",
            pointer=role.misfit_pointer,
        )
    return rows


def _as_text(read: NDArray[Any]) -> NDArray[Any]:
    """Strings of any length, so that one long label does not widen all."""
    text = np.char.decode(read, "utf-8") if read.dtype.kind == "S" else read
    return text.astype(np.dtypes.StringDType())


def shown_label(labels: NDArray[Any], row: int) -> str:
    """One label as it may stand in a message."""
    (label,) = labels[row : row + 1].tolist()
    return repr(label) if len(str(label)) <= LONGEST_SHOWN else f"{str(label)[:LONGEST_SHOWN]!r}..."
