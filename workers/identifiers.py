"""Row identifiers: what shows that row i of both arrays is the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import chunks
from workers.arrays import is_storage_fault, open_values
from workers.errors import ProblemError
from workers.references import RowRange, read_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.references import Reference, Roots

INTEGERS = "iu"
STRINGS = "UST"

LONGEST_SHOWN = 100
"""Characters of an identifier in a message."""


def read_identifiers(roots: Roots, reference: Reference, name: str) -> NDArray[Any]:
    """Read the wanted rows of a one-dimensional array of integers or strings.

    Parameters
    ----------
    name : str
        "x" or "y": whose rows it identifies; errors point to ``/ids/<name>``.

    Raises
    ------
    ProblemError
        As `references.resolve`; unknown-array; misaligned-ids if it is not one-dimensional; unsupported-dtype;
        missing-chunks; corrupt-data.
    """
    pointer = f"/ids/{name}"
    shown = f"ids of {name} ({reference.root}:{reference.path})"
    directory, found = read_metadata(roots, reference, pointer, f"ids of {name}")
    if len(found.shape) != 1:
        raise ProblemError(
            "misaligned-ids",
            f"Array {shown} must be 1-D, one identifier a row, but has shape {found.shape}.",
            "request",
            f"{pointer}/path",
        )
    rows = reference.rows or RowRange(0, found.shape[0])
    if not 0 <= rows.start <= rows.stop <= found.shape[0]:
        raise ProblemError(
            "misaligned-ids",
            f"Array {shown} has {found.shape[0]} identifiers, but rows {rows.start} to {rows.stop} are compared.",
            pointer=f"{pointer}/path",
        )
    stored = chunks.stored_files(directory, Path(roots[reference.root].directory).resolve(), shown)
    absent = chunks.find_absent(directory, found, rows, stored, shown)
    if absent is not None:
        raise chunks.refuse(absent, found, shown, fillable=False)
    values = open_values(directory, found, shown)
    kind = values.dtype.kind
    if kind not in INTEGERS + STRINGS and found.dtype != "string":
        raise ProblemError(
            "unsupported-dtype",
            f"Array {shown} has dtype {found.dtype}; identifiers are integers or strings.",
            "request",
            f"{pointer}/path",
        )
    try:
        read = np.asarray(values[rows.start : rows.stop])
        return read if read.dtype.kind in INTEGERS else _as_text(read)
    except Exception as error:
        if is_storage_fault(error):
            raise
        raise ProblemError("corrupt-data", f"Array {shown} cannot be decoded ({type(error).__name__}).") from error


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
