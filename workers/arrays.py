"""Arrays opened for reading: the stored values of some rows, block by block, with every chunk accounted for."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import zarr

from workers import chunks
from workers.errors import ProblemError
from workers.judged import JudgedStore
from workers.metadata import DOCUMENTS
from workers.references import RowRange, check_matrix, read_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workers.chunks import StoredFile
    from workers.metadata import ArrayMetadata
    from workers.references import Reference, Roots

MissingChunks = Literal["error", "fill"]

BLOCK_BYTES = 64 * 1024**2


@dataclass(frozen=True)
class Block:
    """Values read at once, in this machine's byte order and C order, and where in the array they stand."""

    row: int
    column: int
    values: NDArray[Any]


@dataclass(frozen=True)
class OpenedArray:
    """A matrix that was found, checked, and opened.

    Attributes
    ----------
    shown : str
        What errors call it.
    rows, wanted_columns : RowRange
        What is wanted of it.
    filled : int
        Chunks of these rows and columns that are not stored and stand for the fill value.
    """

    shown: str
    directory: Path
    base: Path
    metadata: ArrayMetadata
    rows: RowRange
    wanted_columns: RowRange
    stored: dict[str, StoredFile]
    filled: int
    values: zarr.Array[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values in this machine's byte order."""
        return np.dtype(self.metadata.dtype)

    @property
    def columns(self) -> int:
        """Wanted values in a row."""
        return self.wanted_columns.stop - self.wanted_columns.start

    def signature(self) -> str:
        """Digest of the metadata and of the size and time of every file: changes when the array does."""
        return _signature(self.metadata.document, self.stored)

    def require_unchanged(self) -> None:
        """Raise corrupt-data if any file came, went or changed since the array was opened."""
        try:
            document = (self.directory / DOCUMENTS[self.metadata.zarr_format == 2]).read_bytes()
            stored = chunks.stored_files(self.directory, self.base, self.shown)
            changed = _signature(document, stored) != self.signature()
        except FileNotFoundError:
            changed = True
        if changed:
            raise ProblemError(
                "corrupt-data",
                f"Array {self.shown} changed while it was read. Let writing finish, then submit the job again.",
            )

    @property
    def whole_rows(self) -> bool:
        """Whether `blocks` are whole rows, of the wanted columns, and follow one another."""
        return self.metadata.chunks[0] * self.columns * self.dtype.itemsize <= BLOCK_BYTES

    def blocks(self, needed: NDArray[np.bool_] | None = None) -> Iterator[Block]:
        """Read the wanted rows in blocks of about `BLOCK_BYTES`, or of one chunk if that is more.

        Blocks end where chunks do, so that no chunk is decoded twice. They are whole rows unless chunks are so tall
        that a band of them would not fit. If it is said which of the wanted rows are `needed`, blocks without any of
        them are not read.

        Raises
        ------
        ProblemError
            corrupt-data, naming the chunk that cannot be decoded.
        """
        itemsize = self.dtype.itemsize
        height, width = self.metadata.chunks[0], self.metadata.shape[1]
        if self.metadata.files[0] * self.columns * itemsize <= BLOCK_BYTES:
            height = self.metadata.files[0]
        if self.whole_rows:
            height *= max(1, BLOCK_BYTES // (height * self.columns * itemsize))
        else:
            width = self.metadata.chunks[1]
            width *= max(1, BLOCK_BYTES // (height * width * itemsize))
        start = self.rows.start
        while start < self.rows.stop:
            stop = min((start // height + 1) * height, self.rows.stop)
            if needed is not None and not needed[start - self.rows.start : stop - self.rows.start].any():
                start = stop
                continue
            column = self.wanted_columns.start
            while column < self.wanted_columns.stop:
                end = min((column // width + 1) * width, self.wanted_columns.stop)
                values = self._read(slice(start, stop), slice(column, end))
                yield Block(start, column, np.ascontiguousarray(values, self.dtype))
                column = end
            start = stop

    def _read(self, rows: slice, columns: slice) -> Any:
        window = RowRange(rows.start, rows.stop), RowRange(columns.start, columns.stop)
        chunks.check_frames(self.directory, self.metadata, window[0], self.stored, self.shown, window[1])
        try:
            return self.values[rows, columns]
        except Exception as error:
            if is_storage_fault(error) or isinstance(error, ProblemError):
                raise
            raise ProblemError(
                "corrupt-data",
                f"Array {self.shown}: chunk {self._unreadable(rows)} cannot be decoded "
                f"({type(error).__name__}). Restore the array from its source.",
            ) from error

    def _unreadable(self, rows: slice) -> str:
        """Find the first file among these rows that cannot be decoded."""
        for coordinates in chunks.wanted_files(self.metadata, RowRange(rows.start, rows.stop), self.wanted_columns):
            try:
                self.values[
                    tuple(
                        slice(place * extent, (place + 1) * extent)
                        for place, extent in zip(coordinates, self.metadata.files, strict=True)
                    )
                ]
            except Exception:  # the codec's, as above
                return chunks.key_of(self.metadata, coordinates)
        return "unknown"


def is_storage_fault(error: Exception) -> bool:
    """Tell an error that may pass from those that codecs raise on bytes that are not their own.

    bz2 and gzip raise OSError for those too, without a number; zstd asks for as much memory as a frame claims.
    """
    return isinstance(error, OSError) and error.errno is not None


def open_matrix(roots: Roots, reference: Reference, name: str, missing_chunks: MissingChunks) -> OpenedArray:
    """Open a matrix of real numbers for reading.

    Parameters
    ----------
    name : str
        "x" or "y", for errors.
    missing_chunks : {"error", "fill"}
        Whether chunks that are not stored are an error or stand for the fill value.

    Raises
    ------
    ProblemError
        As `references.describe_matrix`, and missing-chunks, or corrupt-data for a damaged shard index.
    """
    directory, found = read_metadata(roots, reference, f"/{name}", name)
    wanted = check_matrix(found, reference, name)
    shown = reference.shown(name)
    base = Path(roots[reference.root].directory).resolve()
    stored = chunks.stored_files(directory, base, shown)
    columns = reference.columns or RowRange(0, found.shape[1])
    absent = chunks.find_absent(directory, found, wanted, stored, shown, columns)
    if absent is not None and (missing_chunks == "error" or not found.fill_defined):
        raise chunks.refuse(absent, found, shown)
    values = open_values(JudgedStore(directory, base, found, shown), found, shown)
    filled = absent.count if absent else 0
    return OpenedArray(shown, directory, base, found, wanted, columns, stored, filled, values)


def open_values(store: JudgedStore, found: ArrayMetadata, shown: str) -> zarr.Array[Any]:
    """Let zarr open an array whose metadata was judged before.

    Raises
    ------
    ProblemError
        corrupt-data if zarr does not understand the metadata after all.
    """
    try:
        values = zarr.open_array(store, mode="r", zarr_format=3 if found.zarr_format == 3 else 2)
        if values.shape != found.shape:
            raise ValueError("a document that was replaced")
        return values
    except Exception as error:  # zarr has no common exception for documents that it rejects
        if is_storage_fault(error):
            raise
        raise ProblemError(
            "corrupt-data", f"The metadata of array {shown} cannot be understood: {type(error).__name__}."
        ) from error


def _signature(document: bytes, stored: dict[str, StoredFile]) -> str:
    digest = hashlib.sha256(document)
    for key in sorted(stored):
        digest.update(os.fsencode(f"\0{key}\0{stored[key]}"))
    return digest.hexdigest()
