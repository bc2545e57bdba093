"""Row identifiers: what shows that row i of both arrays is the same thing."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import labels
from workers.errors import ProblemError
from workers.labels import INTEGERS, Role, shown_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots


DIGESTED = 4096
"""Identifiers that are written out at once."""

LONGEST_STORED = 200
"""Characters of an identifier beside what was found of its row, so that one long one does not widen all."""


def _role(name: str) -> Role:
    # Layers of one side share its identifiers; where there are no sides, each array has its own.
    side, _, place = name.partition("/")
    pointer = f"/ids/{place if side == 'arrays' else side}"
    return Role(
        f"ids of {name if side == 'arrays' else side}",
        "identifier",
        "identifiers",
        pointer,
        "misaligned-ids",
        f"{pointer}/path",
    )


def check_metadata(roots: Roots, reference: Reference, name: str, rows: int) -> None:
    """Check what metadata alone shows: that there is an integer or a string for each of the compared rows.

    Parameters
    ----------
    name : str
        Whose rows it identifies, e.g. "x" or "x/layers/0"; errors point to ``/ids/x`` then.
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
        As for `check_metadata`.
    missing_chunks : {"error", "fill"}
        As for `labels.read`.

    Raises
    ------
    ProblemError
        As `check_metadata`; missing-chunks; corrupt-data.
    """
    return labels.read(roots, reference, _role(name), missing_chunks)


def require_number(found: NDArray[Any], name: str, rows: int) -> None:
    """Refuse identifiers of other rows than an array has now; misaligned-ids."""
    if len(found) != rows:
        raise ProblemError(
            "misaligned-ids",
            f"There are {len(found)} identifiers for the {rows} rows of {name}. Give one identifier for each row of "
            "the stored array.",
        )


def digest(*found: NDArray[Any]) -> str:
    """Digest of identifiers, the same however they are stored."""
    digest = hashlib.sha256()
    for one in found:
        for start in range(0, len(one), DIGESTED):
            digest.update(json.dumps(one[start : start + DIGESTED].tolist()).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def storable(found: NDArray[Any]) -> NDArray[Any]:
    """Give identifiers a type that a numpy file holds: integers stay, text is cut to `LONGEST_STORED` characters.

    The last of them is an ellipsis then.
    """
    if found.dtype.kind in INTEGERS:
        return found
    cut = LONGEST_STORED - 1
    return np.array([label if len(label) <= cut + 1 else f"{label[:cut]}…" for label in found.tolist()], np.str_)


def check_identifiers(x: NDArray[Any], y: NDArray[Any], names: tuple[str, str] = ("x", "y")) -> None:
    """Check that the identifiers of the compared rows of two arrays, of these names, are equal, in order.

    Raises
    ------
    ProblemError
        misaligned-ids, naming the first row that differs and what stands there on both sides.
    """
    if len(x) != len(y):
        raise ProblemError(
            "misaligned-ids", f"There are {len(x)} identifiers of {names[0]} and {len(y)} of {names[1]}."
        )
    _require_one_kind([x, y])
    different = np.nonzero(x != y)[0]
    if len(different):
        row = int(different[0])
        raise ProblemError(
            "misaligned-ids",
            f"The identifiers differ in {len(different)} of {len(x)} rows, first in row {row} of those compared: "
            f"{shown_label(x, row)} in {names[0]}, {shown_label(y, row)} in {names[1]}. Put both arrays into the same "
            'order, or send "align": "join" to match rows by their identifiers.',
        )


def join(
    found: Sequence[NDArray[Any]], names: Sequence[str], stored: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Match rows by their identifiers: those that all arrays have, in the order of the first array.

    Parameters
    ----------
    found : sequence of ndarray
        The identifiers of each array.
    names : sequence of str
        Of the arrays, for errors.
    stored : sequence of ndarray of int64
        The rows of the stored arrays that are identified, for errors.

    Returns
    -------
    list of ndarray of int64
        Positions within each array.

    Raises
    ------
    ProblemError
        duplicate-ids, naming the identifier and two of its rows; misaligned-ids if some are integers and others
        strings.
    """
    _require_one_kind(found)
    numbered = _number(found)
    count = 1 + max((int(numbers.max()) for numbers in numbered if len(numbers)), default=-1)
    shared = np.ones(count, np.bool_)
    for position, numbers in enumerate(numbered):
        occurrences = np.bincount(numbers, minlength=count)
        if (occurrences > 1).any():
            row = int(np.flatnonzero(occurrences[numbers] > 1)[0])
            first, second, *_ = np.flatnonzero(numbers == numbers[row])
            raise ProblemError(
                "duplicate-ids",
                f"The identifier {shown_label(found[position], row)} of {names[position]} stands in the rows "
                f"{stored[position][first]} and {stored[position][second]}, {repeated(numbers)} identifiers there "
                "occur more than once: join needs identifiers that name one row each.",
            )
        shared &= occurrences > 0
    wanted = numbered[0][shared[numbered[0]]]
    return [_places(numbers, count)[wanted] for numbers in numbered]


def repeated(found: NDArray[Any]) -> int:
    """How many identifiers occur more than once."""
    return int((np.unique(found, return_counts=True)[1] > 1).sum())


def _places(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    places = np.zeros(count, np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


def _number(found: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Number identifiers: equal ones of all arrays by the same number."""
    if len({labels.dtype for labels in found}) > 1 and any(labels.dtype == np.uint64 for labels in found):
        # No integer type holds both signs and 64 bits, and a float would make different identifiers equal.
        found = [labels.astype(np.dtypes.StringDType()) for labels in found]
    numbers = np.unique(np.concatenate(found), return_inverse=True)[1].reshape(-1)
    return np.split(numbers, np.cumsum([len(labels) for labels in found])[:-1])


def _require_one_kind(found: Sequence[NDArray[Any]]) -> None:
    if len({labels.dtype.kind in INTEGERS for labels in found}) > 1:
        raise ProblemError("misaligned-ids", "One side's identifiers are integers, the other's are strings.")
