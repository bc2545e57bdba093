"""Row identifiers: what shows that row i of both arrays is the same thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workers import labels
from workers.errors import ProblemError
from workers.labels import INTEGERS, Role, shown_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots


def _role(name: str) -> Role:
    pointer = f"/ids/{name}"
    return Role(f"ids of {name}", "identifier", "identifiers", pointer, "misaligned-ids", f"{pointer}/path")


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
        As `labels.check_metadata`, with misaligned-ids.
    """
    labels.check_metadata(roots, reference, _role(name), rows, f"of {name}")


def read_identifiers(
    roots: Roots, reference: Reference, name: str, missing_chunks: MissingChunks = "error"
) -> NDArray[Any]:
    """Read the wanted rows of a one-dimensional array of integers or strings.

    Parameters
    ----------
    name : str
        "x" or "y": whose rows it identifies; errors point to ``/ids/<name>``.
    missing_chunks : {"error", "fill"}
        As for `labels.read`.

    Raises
    ------
    ProblemError
        As `check_metadata`; missing-chunks; corrupt-data.
    """
    return labels.read(roots, reference, _role(name), missing_chunks)


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
            f"{shown_label(x, row)} in x, {shown_label(y, row)} in y. Put both arrays into the same order.",
        )
