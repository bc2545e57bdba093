"""Large outputs: one numpy file each, below the state directory."""

from __future__ import annotations

import csv
import errno
import io
import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.durable import sync_file, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.measures.protocol import Outcome

NAME = re.compile(r"(\d{1,2})-([a-z_]{1,40})")
CSV_ROWS = 4096
WITHOUT_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK)
"""How file systems say that they have no links, or not so many."""
PART = ".part"
"""Ending of a file that is being written."""
ROWS, ANCHORS, IDENTIFIERS = "rows", "anchors", "ids"
COUNTED = {
    "null": ("permutation", 1),
    "correlations": ("component", 0),
    ANCHORS: ("draw", 0),
    ROWS: ("position", 0),
    IDENTIFIERS: ("position", 0),
}
"""What the values of an artifact are counted by, and from which number, where that is not the rows."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Which stored rows were compared: their numbers in each array, shape (N,)."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]

    def at(self, positions: NDArray[np.int64] | None) -> StoredRows:
        """Those at some positions among the compared rows; all, if there are none."""
        return self if positions is None else StoredRows(self.x[positions], self.y[positions])

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """Shape (N,), or (N, 2) where they differ between x and y; None where they just count from 0."""
        if not np.array_equal(self.x, self.y):
            return np.stack((self.x, self.y), axis=1)
        return None if np.array_equal(self.x, np.arange(len(self.x))) else self.x


def by_row(outcome: Outcome) -> bool:
    """Whether an artifact has a value a row."""
    return not COUNTED.keys() >= outcome.artifacts.keys()


def with_rows(outcome: Outcome, stored: StoredRows, identifiers: NDArray[Any] | None = None) -> Outcome:
    """Add the artifacts that say which rows the values of others are of.

    `stored` has all compared rows, whose numbers are added where these are not all in order; `identifiers`, if there
    are such, are those of the rows that have values.
    """
    if not by_row(outcome):
        return outcome
    found: Mapping[str, NDArray[Any]] = outcome.artifacts
    rows = stored.at(outcome.positions)
    added = {} if rows.numbers is None else {ROWS: rows.numbers}
    if ANCHORS in found:
        added[ANCHORS] = rows.x
    if identifiers is not None:
        added[IDENTIFIERS] = identifiers
    return replace(outcome, artifacts={**found, **added})


def name(position: int, what: str) -> str:
    """Name an artifact after its measure's place in the request."""
    return f"{position}-{what}"


def write(directory: Path, job: str, artifact: str, values: NDArray[Any]) -> None:
    """Write one artifact: whole and under its name, or not at all."""
    folder = directory / job
    folder.mkdir(parents=True, exist_ok=True)
    # Always the same name: what a killed attempt left is written over by the next.
    part = folder / f"{artifact}{PART}"
    try:
        with part.open("wb") as file:
            np.save(file, values, allow_pickle=False)
            sync_file(file)
        part.replace(folder / f"{artifact}.npy")
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    # The names are in the folders: without these a power cut could lose a file that results speak of.
    for holder in (folder, directory):
        sync_folder(holder)


def share(directory: Path, earlier: str, job: str, names: Sequence[str]) -> None:
    """Give artifacts of one job to another as well; FileNotFoundError if one is gone."""
    if not names:
        return
    folder = directory / job
    folder.mkdir(parents=True, exist_ok=True)
    for artifact in names:
        source, part = directory / earlier / f"{artifact}.npy", folder / f"{artifact}{PART}"
        part.unlink(missing_ok=True)
        try:
            _link(source, part)
            part.replace(folder / f"{artifact}.npy")
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    for holder in (folder, directory):
        sync_folder(holder)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        with source.open("rb") as file, target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
            sync_file(copy)


def find(directory: Path, job: str, artifact: str) -> Path | None:
    """Return the file of an artifact, if there is such a one."""
    if not NAME.fullmatch(artifact):
        return None
    path = directory / job / f"{artifact}.npy"
    return path if path.is_file() else None


def as_csv(path: Path, artifact: str) -> Iterator[str]:
    """Yield an artifact as text: a header, then what each value is of, and the value.

    Values of rows stand beside the number of the stored row, from 0; beside two, of x and of y, where these differ;
    and beside the row's identifier, if there is one.
    Permutations are counted from 1: 0 is the identity, whose statistic is the observed one.
    """
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    position, _, what = artifact.partition("-")
    counted, first = COUNTED.get(what, ("row", 0))
    numbers = np.arange(first, first + len(values))
    columns = [(counted, numbers), (what, values)]
    if what not in COUNTED:
        columns = [(counted, _beside(path, position, ROWS, numbers)), *columns[1:]]
        identifiers = _beside(path, position, IDENTIFIERS, None)
        columns[1:1] = [] if identifiers is None else [("id", identifiers)]
    yield _lines([[head for title, column in columns for head in _heads(title, column)]])
    for start in range(0, len(values), CSV_ROWS):
        blocks = [
            column[start : start + CSV_ROWS].reshape(-1, len(_heads("", column))).tolist() for _, column in columns
        ]
        yield _lines([cell for cells in line for cell in cells] for line in zip(*blocks, strict=True))


def _beside(path: Path, position: str, what: str, otherwise: Any) -> Any:
    """Another artifact of the same measure, if it has that."""
    other = path.with_name(f"{name(int(position), what)}.npy")
    return np.load(other, allow_pickle=False) if other.is_file() else otherwise


def _heads(title: str, column: NDArray[Any]) -> tuple[str, ...]:
    return (title,) if column.ndim == 1 else (f"{title}_x", f"{title}_y")


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    """Write cells as CSV: numbers with all their digits."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
