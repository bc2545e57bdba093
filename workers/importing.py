"""Bringing files in: a .npy file becomes a zarr array below a root, streamed in blocks of rows."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.storage import LocalStore

from workers import metadata, references
from workers.errors import ProblemError
from workers.references import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workers.references import ArrayDescription, Roots

CHUNK_BYTES = 8 * 1024**2


def import_npy(
    source: Path,
    roots: Roots,
    root: str,
    path: str,
    *,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ArrayDescription:
    """Write a .npy file as a zarr array at root:path.

    The array appears under its name only when it is whole.

    Parameters
    ----------
    source : Path
        A .npy file of an (N, D) array of real numbers.
    overwrite : bool
        Whether an array of that name may be replaced.
    progress : callable, optional
        Called with rows written and rows in all.

    Raises
    ------
    ProblemError
        invalid-request if the file cannot be read or the name is taken; not-a-matrix, unsupported-dtype,
        non-finite-input; unknown-root, path-outside-root.
    """
    values = _open(source)
    target = references.resolve(roots, root, path)
    if target.exists() and not (overwrite and metadata.is_array(target)):
        advice = "Choose another, or allow overwriting." if metadata.is_array(target) else "It is not an array."
        raise ProblemError("invalid-request", f"The name {root}:{path} is taken. {advice}", "request")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Hidden, so that listings do not show it, and beside the target, so that renaming is one step.
    temporary = Path(tempfile.mkdtemp(prefix=".incomplete-", dir=target.parent))
    try:
        _write(values, temporary / "array", source.name, progress or _silent)
        if target.exists():
            target.rename(temporary / "replaced")
        (temporary / "array").rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return references.describe_matrix(roots, Reference(root, path), "x")


def _silent(done: int, total: int) -> None:
    pass


def _open(source: Path) -> NDArray[Any]:
    try:
        values = np.load(source, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ProblemError(
            "invalid-request", f"{source.name} cannot be read as a .npy file of numbers: {error}", "request"
        ) from error
    if not isinstance(values, np.ndarray):
        values.close()
        raise ProblemError(
            "invalid-request", f"{source.name} is an archive of several arrays, not a .npy file.", "request"
        )
    if values.ndim != 2 or 0 in values.shape:
        raise ProblemError(
            "not-a-matrix",
            f"{source.name} must hold a 2-D array, rows by features, but its shape is {values.shape}. Pool or flatten "
            "everything but the first axis, e.g. values.reshape(len(values), -1).",
            "request",
        )
    if values.dtype.newbyteorder("=").name not in metadata.REAL:
        raise ProblemError(
            "unsupported-dtype",
            f"{source.name} has dtype {values.dtype}. Supported are bool, integers of up to 64 bits, float16, float32 "
            "and float64.",
            "request",
        )
    return values


def _write(values: NDArray[Any], directory: Path, shown: str, progress: Callable[[int, int], None]) -> None:
    rows, columns = values.shape
    dtype = values.dtype.newbyteorder("=")
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
    for start in range(0, rows, step):
        block = np.ascontiguousarray(values[start : start + step], dtype)
        if dtype.kind == "f" and not np.isfinite(block).all():
            row, column = (int(place) for place in np.argwhere(~np.isfinite(block))[0])
            raise ProblemError(
                "non-finite-input",
                f"{shown} has a non-finite value, {block[row, column]}, in row {start + row}, column {column}.",
            )
        array[start : start + step] = block
        progress(min(start + step, rows), rows)
