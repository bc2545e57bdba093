"""Imports of one-dimensional arrays, an integer or a string for each row: groups and row identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.storage import LocalStore

from workers import limits
from workers.errors import ProblemError
from workers.labels import INTEGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.sources.source import Source

CHUNK_BYTES = 1024**2
STRINGS = "US"


def are_labels(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an array has one dimension and a type that labels have."""
    return len(shape) == 1 and dtype.kind in INTEGERS + STRINGS


def check(rows: int, shown: str) -> None:
    """Refuse no labels, and more than any array has rows.

    Raises
    ------
    ProblemError
        invalid-request; over-limit.
    """
    if rows == 0:
        raise ProblemError(
            "invalid-request", f"{shown} has no labels, its shape is (0,). Look at how it was written.", "request"
        )
    if rows > limits.ROWS_LIMIT:
        raise ProblemError(
            "over-limit", f"{shown} has {rows} labels; supported are {limits.ROWS_LIMIT} rows.", "request"
        )


def write(labels: Source, directory: Path, progress: Callable[[int, int], None]) -> None:
    """Write labels as a zarr array: integers as they are, strings as UTF-8 of the length of the longest.

    Raises
    ------
    ProblemError
        invalid-request for strings that are not text.
    """
    rows, dtype = labels.shape[0], labels.dtype
    text = dtype.kind in STRINGS
    step = max(1, CHUNK_BYTES // max(1, dtype.itemsize))
    if text:
        longest = max((block.dtype.itemsize for _, block in _encoded_blocks(labels, step)), default=1)
        dtype = np.dtype(f"S{max(1, longest)}")
    array = zarr.create_array(
        LocalStore(directory),
        shape=labels.shape,
        chunks=(min(step, rows),),
        dtype=dtype,
        # Format 3 has no settled type for strings of one length.
        zarr_format=2 if text else 3,
        fill_value=b"" if text else 0,
        # Otherwise chunks of zeros are not stored, and cannot be told from lost ones.
        config={"write_empty_chunks": True},
    )
    stop = 0
    for start, block in _encoded_blocks(labels, step) if text else _numbered(labels.blocks(step)):
        stop = start + len(block)
        array[start:stop] = block
        progress(stop * labels.dtype.itemsize, labels.nbytes)
    if stop != rows:
        raise ProblemError("invalid-request", f"{labels.shown} has {stop} labels, but says {rows}.", "request")


def _numbered(blocks: Iterator[NDArray[Any]]) -> Iterator[tuple[int, NDArray[Any]]]:
    start = 0
    for block in blocks:
        yield start, block
        start += len(block)


def _encoded_blocks(labels: Source, step: int) -> Iterator[tuple[int, NDArray[np.bytes_]]]:
    for start, block in _numbered(labels.blocks(step)):
        yield start, _encoded(block, start, labels.shown)


def _encoded(labels: NDArray[Any], first: int, shown: str) -> NDArray[np.bytes_]:
    """Strings as UTF-8; bytes must be that already."""
    try:
        text = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
        return np.char.encode(text, "utf-8")
    except UnicodeError as error:
        raise ProblemError(
            "invalid-request",
            f"{shown} has a label that is not UTF-8 text in one of the rows {first} to {first + len(labels) - 1}. "
            "Write labels as strings or integers, e.g. by np.unique(labels, return_inverse=True)[1].",
            "request",
        ) from error
