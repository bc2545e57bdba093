"""How the compared rows are found: on any worker, again and again, and each time the same ones.

What is found is never sent about: tasks carry how to find it and the digest that it had, and each process finds it
again. Whatever changed in between shows in the digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import finiteness, identifiers, row_numbers
from workers.arrays import open_matrix
from workers.environment import from_environment
from workers.errors import ProblemError, changed
from workers.kept import Kept
from workers.memos import MemoCache
from workers.references import check_matrix, read_metadata
from workers.selection import Findings, Selected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots, RowRange
    from workers.selection import Candidate, Selection

SHOWN = 10
"""Rows that are named of those that were left out."""

_kept = MemoCache(limit=4)
"""Selections that this process found last, by their digests."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a task is told of the rows of its array: how to find them, its place among the arrays, and the digest."""

    selection: Selection
    place: int
    digest: str

    def all(self, checkpoint: Callable[[], None] = lambda: None) -> Selected:
        """Find the selection again; corrupt-data if it is another now."""

        def find() -> Selected:
            found = select(self.selection, checkpoint)
            if found.findings.digest != self.digest:
                raise changed(self.selection.arrays[self.place].shown)
            return found

        found: Selected = _kept.get(self.digest, find)
        return found

    def kept(self, checkpoint: Callable[[], None] = lambda: None) -> Kept:
        """What is kept of the array; errors as `all`."""
        return self.all(checkpoint).arrays[self.place]


@dataclass(frozen=True, eq=False)
class _Named:
    """The rows of one array that the request names: positions within the window that is read of it."""

    one: Candidate
    window: RowRange
    rows: NDArray[np.int64]

    @property
    def stored(self) -> NDArray[np.int64]:
        """Numbers of these rows in the stored array."""
        return self.window.start + self.rows


def find(selection: Selection, checkpoint: Callable[[], None]) -> Findings:
    """Find which rows and columns are compared, keep that for the tasks to come, and say what it came to.

    Raises
    ------
    ProblemError
        As `select`.
    """
    found = select(selection, checkpoint)
    _kept.get(found.findings.digest, lambda: found)
    return found.findings


def identified(selection: Selection, findings: Findings, checkpoint: Callable[[], None]) -> NDArray[Any]:
    """Read again how the compared rows are identified in the first array: integers or text, shape (N,).

    Raises
    ------
    ProblemError
        As `select`; corrupt-data if rows or identifiers are others than they were.
    """
    roots = from_environment().known_roots()
    named = [_name(roots, one, selection.missing_chunks) for one in selection.arrays]
    known = _identify(roots, named, selection.missing_chunks, checkpoint)
    first = selection.arrays[0]
    if first.name not in known or _identity(selection, known) != findings.identified:
        raise changed(f"ids of {first.shown}")
    return known[first.name][Chosen(selection, 0, findings.digest).all(checkpoint).positions]


def select(selection: Selection, checkpoint: Callable[[], None]) -> Selected:
    """Find which rows and columns are compared.

    Rows are those that are named, then those whose identifiers all arrays have, then those that are finite in all.
    Columns are judged by these rows.

    Raises
    ------
    ProblemError
        As `arrays.open_matrix`, `row_numbers.read` and `identifiers.read_identifiers`; misaligned-ids, duplicate-ids;
        row-count-mismatch if an array has become longer or shorter since the submission.
    """
    roots = from_environment().known_roots()
    named = [_name(roots, one, selection.missing_chunks) for one in selection.arrays]
    matched, identified, repeated = _match(roots, selection, named, checkpoint)
    rows = [one.rows[found] for one, found in zip(named, matched, strict=True)]
    finite = np.arange(len(rows[0]))
    if selection.on_non_finite == "drop":
        finite = _finite_rows(roots, selection, rows, checkpoint)
    arrays = [
        Kept(found[finite], found[finite] if one.distances else None)
        for one, found in zip(selection.arrays, rows, strict=True)
    ]
    dropped = [0] * len(arrays)
    if selection.on_non_finite == "drop-columns":
        for place, kept in enumerate(arrays):
            finite_columns = _finite(roots, selection, place, kept.rows, "columns", checkpoint)
            dropped[place] = int((~finite_columns).sum())
            arrays[place] = Kept(kept.rows, _some_columns(selection.arrays[place], finite_columns))
    positions = matched[0][finite]
    not_finite = np.setdiff1d(np.arange(len(rows[0])), finite, assume_unique=True)
    findings = Findings(
        digest=_digest(positions, arrays),
        rows=len(finite),
        selected=tuple(len(one.rows) for one in named),
        unmatched=tuple(len(one.rows) - len(found) for one, found in zip(named, matched, strict=True)),
        not_finite=len(not_finite),
        columns_dropped=tuple(dropped),
        first_not_finite=tuple((named[0].window.start + rows[0][not_finite[:SHOWN]]).tolist()),
        identified=identified,
        repeated=repeated,
    )
    return Selected(tuple(arrays), positions, findings)


def _name(roots: Roots, one: Candidate, missing_chunks: MissingChunks) -> _Named:
    _, found = read_metadata(roots, one.reference, f"/{one.name}", one.name)
    window = check_matrix(found, one.reference, one.name)
    if one.distances and found.shape[0] != found.shape[1]:
        raise changed(one.shown)
    rows = np.arange(window.stop - window.start)
    if one.index is not None:
        rows = row_numbers.read(roots, one.index, one.index_pointer, len(rows), missing_chunks)
    return _Named(one, window, rows)


def _match(
    roots: Roots, selection: Selection, named: Sequence[_Named], checkpoint: Callable[[], None]
) -> tuple[list[NDArray[np.int64]], str | None, int]:
    """Find which named rows are compared, as positions among them; the identifiers' digest; and how many repeat."""
    known = _identify(roots, named, selection.missing_chunks, checkpoint)
    if selection.join:
        matched = identifiers.join(list(known.values()), list(known), [one.stored for one in named])
        return matched, _identity(selection, known), 0
    for one in named:
        if len(one.rows) != len(named[0].rows):
            raise ProblemError(
                "row-count-mismatch",
                f"There are {len(named[0].rows)} rows of {named[0].one.shown} and {len(one.rows)} of {one.one.shown}: "
                "an array has changed since the job was submitted. Submit it again.",
            )
    matched = [np.arange(len(one.rows)) for one in named]
    if not known:
        return matched, None, 0
    (first, found), *others = known.items()
    for name, other in others:
        if other is not found:
            identifiers.check_identifiers(found, other, (first, name))
    return matched, _identity(selection, known), identifiers.repeated(found)


def _identity(selection: Selection, known: Mapping[str, NDArray[Any]]) -> str:
    """Digest of all identifiers: of all arrays where these are joined, else all are those of the first."""
    found = list(known.values())
    return identifiers.digest(*(found if selection.join else found[:1]))


def _identify(
    roots: Roots, named: Sequence[_Named], missing_chunks: MissingChunks, checkpoint: Callable[[], None]
) -> dict[str, NDArray[Any]]:
    """Read the identifiers of the named rows, by the arrays' names; those that arrays share are one object."""
    read: dict[tuple[Reference, Reference | None], NDArray[Any]] = {}
    known: dict[str, NDArray[Any]] = {}
    for one in named:
        if (reference := one.one.identifiers) is None:
            continue
        key = (reference, one.one.index)
        if key not in read:
            checkpoint()
            found = identifiers.read_identifiers(roots, reference, one.one.name, missing_chunks)
            identifiers.require_number(found, one.one.name, one.window.stop - one.window.start)
            read[key] = found if one.one.index is None else found[one.rows]
        known[one.one.name] = read[key]
    return known


def _finite_rows(
    roots: Roots, selection: Selection, rows: Sequence[NDArray[np.int64]], checkpoint: Callable[[], None]
) -> NDArray[np.int64]:
    """Find which of the rows are finite in all arrays, as positions among them."""
    finite = np.arange(len(rows[0]))
    # Distances last: a row that another array has a hole in takes its column of holes with it.
    for place in sorted(range(len(rows)), key=lambda place: selection.arrays[place].distances):
        axis: finiteness.Axis = "distances" if selection.arrays[place].distances else "rows"
        finite = finite[_finite(roots, selection, place, rows[place][finite], axis, checkpoint)]
    return finite


def _finite(
    roots: Roots,
    selection: Selection,
    place: int,
    rows: NDArray[np.int64],
    axis: finiteness.Axis,
    checkpoint: Callable[[], None],
) -> NDArray[np.bool_]:
    one = selection.arrays[place]
    source = open_matrix(roots, one.reference, one.name, selection.missing_chunks)
    return finiteness.find(source, rows, axis, from_environment().staging_directory, checkpoint)


def _some_columns(one: Candidate, finite: NDArray[np.bool_]) -> NDArray[np.int64]:
    columns = np.flatnonzero(finite)
    if not len(columns):
        raise ProblemError(
            "non-finite-input",
            f"Array {one.shown} has a value that is not finite in each of its {len(finite)} columns, so none is left. "
            'Send "on_non_finite": "drop" to leave out rows instead.',
        )
    return columns


def _digest(positions: NDArray[np.int64], arrays: Sequence[Kept]) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(positions, "<i8").data)
    for kept in arrays:
        digest.update(kept.digest.encode())
    return digest.hexdigest()
