"""HDF5: datasets of a file, and of no other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import limits
from workers.sources.source import Source, choose, described, not_whole, refuse, require_extra
from workers.sources.text import TEXT, as_text, check_length

if TYPE_CHECKING:
    from pathlib import Path

    from workers.sources.source import Blocks

DAMAGED = (OSError, ValueError, KeyError, RuntimeError, TypeError, OverflowError)


def open_hdf5(path: Path, key: str | None) -> Source:
    """Read a dataset in blocks of rows.

    Raises
    ------
    ProblemError
        invalid-request, also for a dataset whose values lie in another file; over-limit.
    """
    try:
        import h5py  # noqa: PLC0415 - an optional package
    except ModuleNotFoundError:
        raise require_extra(path.name, "HDF5", "h5py") from None
    try:
        with h5py.File(path, "r") as file:
            name = choose(path.name, _datasets(file), None if key is None else key.strip("/"))
            shown, dataset = f"{path.name} ({name})", file[name]
            _check(dataset, shown)
            text = h5py.check_string_dtype(dataset.dtype) is not None
            shape, dtype = dataset.shape, TEXT if text else dataset.dtype.newbyteorder("=")
            rows_in_chunk = dataset.chunks[0] if dataset.chunks else 1
    except DAMAGED as error:
        raise not_whole(path.name, "HDF5", error) from error

    def blocks(rows: int) -> Blocks:
        # Whole chunks, as far as rows allow it: each is unpacked once then.
        step = max(rows // rows_in_chunk * rows_in_chunk, 1) if rows > rows_in_chunk else rows
        try:
            with h5py.File(path, "r") as file:
                for start in range(0, shape[0], step):
                    block = file[name][start : start + step]
                    yield _text(block, start, shown) if text else np.ascontiguousarray(block, dtype)
        except DAMAGED as error:
            raise not_whole(shown, "HDF5", error) from error

    return Source(shown, tuple(shape), dtype, blocks)


def _datasets(file: Any) -> dict[str, str]:
    """All datasets by their path; what a link leads to elsewhere is not followed."""
    found: dict[str, str] = {}

    def note(name: str, one: Any) -> None:
        if hasattr(one, "dtype") and hasattr(one, "shape") and one.shape is not None:
            found[name] = described(one.shape, one.dtype)

    file.visititems(note)
    return found


def _check(dataset: Any, shown: str) -> None:
    if dataset.external or dataset.is_virtual:
        raise refuse(shown, "has its values in other files: copy them into this one first.")
    size = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    if dataset.chunks and size > limits.CHUNK_LIMIT:
        raise refuse(
            shown, f"has chunks of {size} bytes; at most {limits.CHUNK_LIMIT} can be decoded at once.", "over-limit"
        )


def _text(block: Any, start: int, shown: str) -> Any:
    check_length(max((len(one) for one in block.tolist()), default=0), start, shown)
    return as_text(block.tolist(), start, shown)
