"""Which chunks of an array are stored. zarr reads those that are not as the fill value, without a word."""

from __future__ import annotations

import itertools
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numcodecs.checksum32 import CRC32C

from workers import frames
from workers.errors import ProblemError
from workers.metadata import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workers.metadata import ArrayMetadata, ShardIndex
    from workers.references import RowRange

ABSENT = 2**64 - 1
"""Offset and length of an inner chunk that a shard does not hold (zarr 3, sharding-indexed codec)."""

ENTRY_BYTES = 16
CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What tells a file from the one that was there before.

    Attributes
    ----------
    size : int
        In bytes.
    changed, altered : int
        Times, in nanoseconds, of the last change of the content and of anything about the file: tools that put
        an old content time on new content cannot set the second.
    number : int
        The file's number in its file system.
    """

    size: int
    changed: int
    altered: int
    number: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Chunks that are not stored: how many of how many, and the file in which the first is missed."""

    count: int
    total: int
    first: str


def stored_files(directory: Path, base: Path, shown: str) -> dict[str, StoredFile]:
    """List the files of an array by key, in one walk.

    Raises
    ------
    ProblemError
        path-outside-root if the array, or a link within it, leads out of the directory `base`.
    """
    if not directory.resolve().is_relative_to(base):  # it was inside when it was found
        raise ProblemError("path-outside-root", f"Array {shown} leads out of its root.", "data")
    found: dict[str, StoredFile] = {}
    pending = [directory]
    seen: set[Path] = set()
    while pending:
        folder = pending.pop()
        real = folder.resolve()
        if real in seen:  # links that fan out would otherwise be walked once for every way through them
            raise ProblemError("corrupt-data", f"Array {shown} has two links to one directory within it.")
        seen.add(real)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    _check_link(Path(entry.path), base, shown)
                if entry.is_dir():
                    pending.append(Path(entry.path))
                elif entry.name not in DOCUMENTS and entry.is_file():
                    stat = entry.stat()
                    key = Path(entry.path).relative_to(directory).as_posix()
                    found[key] = StoredFile(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return found


def _check_link(link: Path, base: Path, shown: str) -> None:
    try:
        target = link.resolve()
    except RuntimeError:  # a loop of links
        target = link
    if not target.is_relative_to(base):
        raise ProblemError("path-outside-root", f"A link within array {shown} leads out of its root.", "data")
    if link.absolute().is_relative_to(target):
        raise ProblemError("corrupt-data", f"A link within array {shown} leads back to a folder that holds it.")


def key_of(found: ArrayMetadata, coordinates: tuple[int, ...]) -> str:
    """Name of the file at these coordinates of the grid."""
    return found.key_prefix + found.key_separator.join(str(coordinate) for coordinate in coordinates)


def wanted_files(found: ArrayMetadata, rows: RowRange, columns: RowRange | None = None) -> Iterator[tuple[int, ...]]:
    """Grid coordinates of the files that hold any of these rows and columns."""
    if rows.stop <= rows.start:
        return iter(())
    spans = [
        range(low // extent, -(-high // extent))
        for (low, high), extent in zip(_window(found, rows, columns), found.files, strict=True)
    ]
    return itertools.product(*spans)


def _window(found: ArrayMetadata, rows: RowRange, columns: RowRange | None) -> list[tuple[int, int]]:
    """First and last position along each axis; whole axes where nothing else is said."""
    window = [(0, size) for size in found.shape]
    window[0] = (rows.start, rows.stop)
    if columns is not None:
        window[1] = (columns.start, columns.stop)
    return window


def find_absent(
    directory: Path,
    found: ArrayMetadata,
    rows: RowRange,
    stored: dict[str, StoredFile],
    shown: str,
    columns: RowRange | None = None,
) -> Absent | None:
    """Count the chunks of these rows, and columns if given, that are not stored; None if all are.

    Raises
    ------
    ProblemError
        corrupt-data if a shard or its index is visibly cut short.
    """
    count, total, first = 0, 0, ""
    for key, wanted, places in _held(directory, found, rows, stored, shown, columns):
        total += wanted
        count += wanted - len(places)
        if count and not first:
            first = key
    return Absent(count, total, first) if count else None


def check_frames(
    directory: Path,
    found: ArrayMetadata,
    rows: RowRange,
    stored: dict[str, StoredFile],
    shown: str,
    columns: RowRange | None = None,
) -> None:
    """See of the chunks of these rows that they decode to what the metadata says, just before they are decoded.

    Raises
    ------
    ProblemError
        As `find_absent` and `frames.check`.
    """
    for key, _, places in _held(directory, found, rows, stored, shown, columns):
        if places:
            frames.check(directory / key, places, found, shown, key)


def _held(
    directory: Path,
    found: ArrayMetadata,
    rows: RowRange,
    stored: dict[str, StoredFile],
    shown: str,
    columns: RowRange | None,
) -> Iterator[tuple[str, int, list[tuple[int, int]]]]:
    """Yield each wanted file, how many chunks are wanted of it, and offset and size of those that it holds."""
    window = _window(found, rows, columns)
    for coordinates in wanted_files(found, rows, columns):
        key = key_of(found, coordinates)
        places: list[tuple[int, int]] = []
        wanted = 1
        if found.index is None:
            if key in stored:
                places = [(0, stored[key].size)]
        else:
            inner = list(_inner_chunks(found, coordinates, window))
            wanted = len(inner)
            if key in stored:
                index = _read_index(directory / key, found, found.index, shown, key)
                places = [(offset, size) for offset, size in (index[chunk] for chunk in inner) if offset != ABSENT]
        yield key, wanted, places


def _inner_chunks(
    found: ArrayMetadata, coordinates: tuple[int, ...], window: list[tuple[int, int]]
) -> Iterator[tuple[int, ...]]:
    """Coordinates within a shard of the chunks that hold anything of the window."""
    spans = []
    for place, extent, chunk, size, (low, high) in zip(
        coordinates, found.files, found.chunks, found.shape, window, strict=True
    ):
        begin, end = place * extent, min((place + 1) * extent, size)
        low, high = max(low, begin), min(high, end)
        spans.append(range((low - begin) // chunk, -(-(high - begin) // chunk)))
    return itertools.product(*spans)


def _read_index(path: Path, found: ArrayMetadata, index: ShardIndex, shown: str, key: str) -> NDArray[np.uint64]:
    """Offset and size of each inner chunk of a shard, `ABSENT` for those that it does not hold."""
    grid = tuple(extent // chunk for extent, chunk in zip(found.files, found.chunks, strict=True))
    length = math.prod(grid) * ENTRY_BYTES + (CHECKSUM_BYTES if index.checksum else 0)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < length:
            raise _corrupt(f"Shard {key} of array {shown} is cut short: it ends within its index.")
        file.seek(size - length if index.at_end else 0)
        raw = file.read(length)
    if index.checksum:
        try:
            raw = bytes(CRC32C().decode(raw))
        except RuntimeError as error:
            raise _corrupt(f"Shard {key} of array {shown} is damaged: its index does not fit its checksum.") from error
    pairs = np.frombuffer(raw, f"{index.byte_order}u8").astype(np.uint64).reshape(*grid, 2)
    held = pairs[(pairs != ABSENT).any(axis=-1)]
    begin, end = (0, size - length) if index.at_end else (length, size)
    # As floats, the sum of two numbers beyond 2^63 does not wrap round.
    if (held.astype(np.float64).sum(axis=-1) > end).any() or (held[:, 0] < begin).any():
        raise _corrupt(f"Shard {key} of array {shown} is cut short: it ends within a chunk.")
    return pairs


def _corrupt(detail: str) -> ProblemError:
    return ProblemError("corrupt-data", f"{detail} Restore the array from its source.")


def refuse(absent: Absent, found: ArrayMetadata, shown: str) -> ProblemError:
    """Say what is absent and how to go on."""
    advice = (
        "zarr would read them as the fill value. If they were lost, restore the array. If they hold nothing but the "
        'fill value and the writer left them out, write the array again with config={"write_empty_chunks": True}'
    )
    if not found.fill_defined:
        advice = "Its fill value is null, so that their content is undefined. Restore the array, or write it again"
    else:
        advice += ', or send "missing_chunks": "fill"'
    return ProblemError(
        "missing-chunks",
        f"Array {shown}: {absent.count} of {absent.total} chunks absent, the first of them in {absent.first}. "
        f"{advice}.",
    )
