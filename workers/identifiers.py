"""Row identifiers: what shows that row i of both arrays is the same thing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import chunks
from workers.arrays import is_storage_fault, open_values
from workers.errors import ProblemError
from workers.references import RowRange, read_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.metadata import ArrayMetadata
    from workers.references import Reference, Roots

INTEGERS = "iu"
TYPES = re.compile(r"u?int(8|16|32|64)|str[0-9]*|bytes[0-9]*|string|fixed_length_utf32|null_terminated_bytes")
"""Names of types, in metadata, whose values are integers or text."""

LONGEST_SHOWN = 100
"""Characters of an identifier in a message."""


def check_metadata(roots: Roots, reference: Reference, name: str, rows: int) -> None:
    """Check what metadata alone shows: that there is an integer or a string for each of the compared rows.

    Parameters
    ----------
    name : str
        "x" or "y": whose rows it identifies; errors point to ``/ids/<name>``.
    rows : int
        How many rows of that array are compared.

    Raises
    ------
    ProblemError
        As `references.read_metadata`; misaligned-ids; unsupported-dtype.
    """
    _, found = _read_metadata(roots, reference, name)
    wanted = _check(found, reference, name)
    if wanted.stop - wanted.start != rows:
        raise ProblemError(
            "misaligned-ids",
            f"Array {_shown_array(reference, name)} has {wanted.stop - wanted.start} identifiers for the {rows} rows "
            f"of {name} that are compared. Give one identifier for each row of the stored array.",
            pointer=f"/ids/{name}/path",
        )


def read_identifiers(roots: Roots, reference: Reference, name: str) -> NDArray[Any]:
    """Read the wanted rows of a one-dimensional array of integers or strings.

    Parameters
    ----------
    name : str
        "x" or "y": whose rows it identifies; errors point to ``/ids/<name>``.

    Raises
    ------
    ProblemError
        As `check_metadata`; missing-chunks; corrupt-data.
    """
    shown = _shown_array(reference, name)
    directory, found = _read_metadata(roots, reference, name)
    rows = _check(found, reference, name)
    stored = chunks.stored_files(directory, Path(roots[reference.root].directory).resolve(), shown)
    absent = chunks.find_absent(directory, found, rows, stored, shown)
    if absent is not None:
        raise chunks.refuse(absent, found, shown, fillable=False)
    values = open_values(directory, found, shown)
    try:
        read = np.asarray(values[rows.start : rows.stop])
        return read if read.dtype.kind in INTEGERS else _as_text(read)
    except Exception as error:
        if is_storage_fault(error):
            raise
        raise ProblemError("corrupt-data", f"Array {shown} cannot be decoded ({type(error).__name__}).") from error


def _shown_array(reference: Reference, name: str) -> str:
    return reference.shown(f"ids of {name}")


def _read_metadata(roots: Roots, reference: Reference, name: str) -> tuple[Path, ArrayMetadata]:
    return read_metadata(roots, reference, f"/ids/{name}", f"ids of {name}")


def _check(found: ArrayMetadata, reference: Reference, name: str) -> RowRange:
    """Check dimension, type and length, and return the rows whose identifiers are wanted."""
    shown, pointer = _shown_array(reference, name), f"/ids/{name}/path"
    if len(found.shape) != 1:
        raise ProblemError(
            "misaligned-ids",
            f"Array {shown} must be 1-D, one identifier a row, but has shape {found.shape}.",
            "request",
            pointer,
        )
    if TYPES.fullmatch(found.dtype) is None:
        raise ProblemError(
            "unsupported-dtype",
            f"Array {shown} has dtype {found.dtype}; identifiers are integers or strings.",
            "request",
            pointer,
        )
    rows = reference.rows or RowRange(0, found.shape[0])
    if not 0 <= rows.start <= rows.stop <= found.shape[0]:
        raise ProblemError(
            "misaligned-ids",
            f"Array {shown} has {found.shape[0]} identifiers, but rows {rows.start} to {rows.stop} are compared.",
            pointer=pointer,
        )
    return rows


def _as_text(read: NDArray[Any]) -> NDArray[Any]:
    """Strings of any length, so that one long identifier does not widen all."""
    text = np.char.decode(read, "utf-8") if read.dtype.kind == "S" else read
    return text.astype(np.dtypes.StringDType())


def check_identifiers(x: NDArray[Any], y: NDArray[Any]) -> None:
    """Check that the identifiers of the compared rows are equal, in order.

    Raises
    ------
    ProblemError
        misaligned-ids, naming the first row that differs and what stands there on both sides.
    """
    if len(x) != len(y):
        raise ProblemError("misaligned-ids", f"There are {len(x)} identifiers of x and {len(y)} of y.")
    if (x.dtype.kind in INTEGERS) != (y.dtype.kind in INTEGERS):
        raise ProblemError("misaligned-ids", "One side's identifiers are integers, the other's are strings.")
    different = np.nonzero(x != y)[0]
    if len(different):
        row = int(different[0])
        raise ProblemError(
            "misaligned-ids",
            f"The identifiers differ in {len(different)} of {len(x)} rows, first in row {row} of those compared: "
            f"{_shown(x, row)} in x, {_shown(y, row)} in y. Put both arrays into the same order.",
        )


def _shown(identifiers: NDArray[Any], row: int) -> str:
    (identifier,) = identifiers[row : row + 1].tolist()
    return repr(identifier) if len(str(identifier)) <= LONGEST_SHOWN else f"{str(identifier)[:LONGEST_SHOWN]!r}..."
