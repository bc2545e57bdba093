"""Bringing files in: an array in one becomes a zarr array below a root, streamed in blocks of rows."""

from __future__ import annotations

import errno
import hashlib
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.storage import LocalStore

from workers import label_imports, limits, metadata, references
from workers.durable import sync_folder, sync_tree, try_lock
from workers.errors import ProblemError
from workers.references import Reference
from workers.sources.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workers.references import ArrayDescription, Roots
    from workers.sources.source import Source

CHUNK_BYTES = 8 * 1024**2

NEW, REPLACED, LOCK = "array", "replaced", "lock"
"""What lies in the folder in which an array is made."""


def import_file(
    source: Path,
    roots: Roots,
    root: str,
    path: str,
    *,
    key: str | None = None,
    overwrite: bool = False,
    allow_non_finite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ArrayDescription:
    """Write an array of a file as a zarr array at root:path.

    The array appears under its name only when it is whole, and an array that it replaces is kept until then. What an
    import left that was killed is put right by the next one of that name.

    Parameters
    ----------
    source : Path
        A .npy, .npz, .safetensors, Parquet or HDF5 file with an (N, D) array of real numbers, or with labels: N
        integers or strings.
    key : str or None
        Which array, where the file has several: its name, or that of a column.
    overwrite : bool
        Whether an array of that name may be replaced.
    allow_non_finite : bool
        Whether NaN and infinity may stay, for jobs that leave out such rows or columns.
    progress : callable, optional
        Called with bytes written and bytes in all.

    Raises
    ------
    ProblemError
        invalid-request if the file cannot be read, or the name is taken or being imported, or labels are no text;
        not-a-matrix, unsupported-dtype, over-limit, non-finite-input; unknown-root, path-outside-root; out-of-space.
    """
    target = references.resolve(roots, root, path)
    values = open_source(source, key)
    _check_values(values.shape, values.dtype, values.shown)
    try:
        _check_place(Path(roots[root].directory).resolve(), target, f"{root}:{path}")
        with _folder_of(target) as folder, _workplace(folder, target, f"{root}:{path}") as temporary:
            _check_free(target, f"{root}:{path}", overwrite)
            if len(values.shape) == 1:
                label_imports.write(values, temporary / NEW, progress or _silent)
            else:
                _write(values, temporary / NEW, progress or _silent, allow_non_finite)
            sync_tree(temporary / NEW)
            _put(temporary, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ProblemError(
                "out-of-space", f"There is no room for {root}:{path}. Free space there.", "system"
            ) from (error)
        raise ProblemError(
            "storage-unavailable",
            f"{root}:{path} cannot be written: {error.strerror or type(error).__name__}.",
            "system",
        ) from error
    _, found = references.read_metadata(roots, Reference(root, path), "", "the array")
    return references.describe(found, path)


def _silent(done: int, total: int) -> None:
    pass


def _check_place(base: Path, target: Path, shown: str) -> None:
    """Refuse a name that lies within an array."""
    for folder in target.parents:
        if not folder.is_relative_to(base):
            break
        if metadata.node_type(folder) == "array" or folder.is_file():
            raise ProblemError("invalid-request", f"The name {shown} lies within an array or a file.", "request")


def _check_free(target: Path, shown: str, overwrite: bool) -> None:
    """Refuse a name that is taken."""
    is_array = metadata.node_type(target) == "array"
    if target.exists() and not (overwrite and is_array):
        advice = "Choose another, or allow overwriting (--overwrite)." if is_array else "It is not an array."
        raise ProblemError("invalid-request", f"The name {shown} is taken. {advice}", "request")


@contextmanager
def _folder_of(target: Path) -> Iterator[Path]:
    """The folder that is to hold the target, made if need be, and removed again if nothing comes into it."""
    made = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield target.parent
    finally:
        for folder in made:
            if any(folder.iterdir()):
                break
            folder.rmdir()


@contextmanager
def _workplace(folder: Path, target: Path, shown: str) -> Iterator[Path]:
    """The folder in which this target is made, for one import at a time."""
    # Hidden, so that listings do not show it, and beside the target, so that renaming is one step. Always the same
    # for a target, so that what a killed import left there is found.
    place = folder / f".incomplete-{hashlib.sha256(target.name.encode()).hexdigest()[:16]}"
    place.mkdir(mode=0o700, exist_ok=True)
    lock = try_lock(place / LOCK)
    if lock is None:
        raise ProblemError(
            "invalid-request", f"Another import is writing {shown}. Wait for it to end, then try again.", "request"
        )
    with lock:
        _take_back(place, target)
        shutil.rmtree(place / NEW, ignore_errors=True)
        try:
            yield place
        finally:
            _take_back(place, target)
            shutil.rmtree(place, ignore_errors=True)


def _put(place: Path, target: Path) -> None:
    """Give the new array its name."""
    if target.exists():
        target.rename(place / REPLACED)
    (place / NEW).rename(target)
    # Before the array that was replaced is removed for good.
    sync_folder(target.parent)


def _take_back(place: Path, target: Path) -> None:
    """Put the array that was to be replaced back, unless the new one has its name. OSError if that fails too."""
    if (place / REPLACED).exists() and not target.exists():
        (place / REPLACED).rename(target)


def _check_values(shape: tuple[int, ...], dtype: np.dtype[Any], shown: str) -> None:
    if label_imports.are_labels(shape, dtype):
        label_imports.check(shape[0], shown)
        return
    if len(shape) == 2 and 0 in shape:
        nothing = "rows" if shape[0] == 0 else "columns"
        raise ProblemError(
            "not-a-matrix",
            f"{shown} has no {nothing}, its shape is {shape}: there is nothing to compare. Look at how it was written.",
            "request",
        )
    if len(shape) != 2:
        advice = "Pool or flatten everything but the first axis, e.g. values.reshape(len(values), -1)."
        if len(shape) == 1:
            advice = f"1-D arrays are labels, integers or strings (e.g. labels.astype(str)), but its dtype is {dtype}."
        raise ProblemError(
            "not-a-matrix",
            f"{shown} must hold a 2-D array, rows by features, but its shape is {shape}. {advice}",
            "request",
        )
    if dtype.newbyteorder("=").name not in metadata.REAL:
        raise ProblemError(
            "unsupported-dtype",
            f"{shown} has dtype {dtype}. Supported are bool, integers of up to 64 bits, float16, float32 and float64.",
            "request",
        )
    if shape[0] > limits.ROWS_LIMIT or shape[1] > limits.COLUMNS_LIMIT:
        raise ProblemError(
            "over-limit",
            f"{shown} has {shape[0]} rows of {shape[1]} values; supported are {limits.ROWS_LIMIT} rows of "
            f"{limits.COLUMNS_LIMIT}.",
            "request",
        )


def _write(values: Source, directory: Path, progress: Callable[[int, int], None], allow_non_finite: bool) -> None:
    rows, columns = values.shape
    dtype = values.dtype
    step = max(1, min(rows, CHUNK_BYTES // (columns * dtype.itemsize)))
    array = zarr.create_array(
        LocalStore(directory),
        shape=values.shape,
        chunks=(step, columns),
        dtype=dtype,
        zarr_format=3,
        fill_value=0,
        # Otherwise chunks of zeros are not stored, and cannot be told from lost ones.
        config={"write_empty_chunks": True},
    )
    start = 0
    for block in values.blocks(step):
        if dtype.kind == "f" and not allow_non_finite and not np.isfinite(block).all():
            row, column = (int(place) for place in np.argwhere(~np.isfinite(block))[0])
            raise ProblemError(
                "non-finite-input",
                f"{values.shown} has a non-finite value, {block[row, column]}, in row {start + row}, column {column}. "
                "Remove or repair such rows; or allow them (--allow-non-finite) and let jobs leave them out "
                "(--on-non-finite drop).",
            )
        array[start : start + len(block)] = block
        start += len(block)
        progress(start * columns * dtype.itemsize, values.nbytes)
    if start != rows:
        raise ProblemError("invalid-request", f"{values.shown} has {start} rows, but says {rows}.", "request")
