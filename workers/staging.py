"""One local copy of an array per node: read once with every check, then memory-mapped by all workers there.

A copy is a file of values in C order and a manifest beside it that is written last: a copy without a manifest does
not count. Both come into being under a temporary name and a lock, so that a crash at any moment leaves nothing that
could be taken for a copy.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import facts
from ordsim_core.distances import exactness_of
from ordsim_core.errors import NotRepresentableError
from workers.arrays import OpenedArray, open_matrix
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots, RowRange


@dataclass(frozen=True, slots=True)
class StagedArray:
    """What is known of a staged array.

    Attributes
    ----------
    file : str
        Name within the staging directory.
    dtype : str
        As stored in the source; float16 is staged as float32, which holds the same values.
    fingerprint : str
        "sha256:..." over type, shape and values: the same for the same values, however they are stored.
    exactness : str
        "integer" or "float", see `ordsim_core.distances.Exactness`.
    missing_chunks_filled : int
        Chunks that were not stored and read as the fill value.
    constant_columns, distinct_rows : int
        Facts that a reader is warned of.
    """

    file: str
    rows: int
    columns: int
    dtype: str
    fingerprint: str
    exactness: str
    missing_chunks_filled: int
    constant_columns: int
    distinct_rows: int


def stage(
    roots: Roots,
    reference: Reference,
    directory: Path,
    name: str,
    missing_chunks: MissingChunks,
    rows: RowRange | None,
    checkpoint: Callable[[], None],
) -> StagedArray:
    """Copy an array into the staging directory, or find the copy that is there.

    Parameters
    ----------
    directory : Path
        This node's staging directory; made if need be.
    name : str
        "x" or "y", for errors.
    rows : RowRange or None
        Instead of the reference's own.
    checkpoint : callable
        Called between blocks; may raise to give up.

    Raises
    ------
    ProblemError
        As `arrays.open_matrix`; non-finite-input, naming row and column as stored; unsupported-dtype for integers
        that float64 cannot hold; corrupt-data; out-of-space.
    """
    source = open_matrix(roots, reference, name, missing_chunks, rows)
    if source.rows.stop == source.rows.start:
        raise ProblemError("too-few-rows", f"Array {source.shown} has no rows.")
    key = _key(source)
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory / f"{key}.lock"):
        kept = _read_manifest(directory, key)
        if kept is not None:
            return kept
        try:
            return _copy(source, directory, key, checkpoint)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ProblemError(
                    "out-of-space",
                    f"The staging directory has no room for array {source.shown}. Free space there and submit the "
                    "job again.",
                    "system",
                ) from error
            raise


def load(directory: Path, staged: StagedArray) -> NDArray[Any]:
    """Map a staged array: (rows, columns), read-only, C-contiguous. FileNotFoundError if it is not here any more."""
    return np.memmap(
        directory / staged.file, _staged_dtype(np.dtype(staged.dtype)), "r", shape=(staged.rows, staged.columns)
    )


def _key(source: OpenedArray) -> str:
    """Name of a copy: another one for other rows, and whenever a file of the source changed."""
    place = f"{source.directory}\0{source.rows.start}\0{source.rows.stop}\0{source.signature()}"
    return hashlib.sha256(place.encode()).hexdigest()[:32]


def _staged_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _copy(source: OpenedArray, directory: Path, key: str, checkpoint: Callable[[], None]) -> StagedArray:
    rows, columns = source.rows.stop - source.rows.start, source.columns
    stored = source.dtype.newbyteorder("<")
    digest = hashlib.sha256(f"{stored.str} {rows} {columns} ".encode())
    with _temporary(directory) as temporary:
        with temporary.open("wb") as file:
            row = source.rows.start
            for block in source.blocks():
                checkpoint()
                _require_finite(block, row, source.shown)
                digest.update(block.astype(stored, copy=False).data)
                file.write(block.astype(_staged_dtype(source.dtype), copy=False).data)
                row += len(block)
            file.flush()
            os.fsync(file.fileno())
        source.require_unchanged()
        staged = _describe(source, temporary, f"{key}.values", f"sha256:{digest.hexdigest()}")
        temporary.replace(directory / staged.file)
    with _temporary(directory) as temporary:
        with temporary.open("w") as file:
            json.dump(asdict(staged), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / f"{key}.json")
    return staged


def _describe(source: OpenedArray, file: Path, name: str, fingerprint: str) -> StagedArray:
    rows, columns = source.rows.stop - source.rows.start, source.columns
    values = np.memmap(file, _staged_dtype(source.dtype), "r", shape=(rows, columns))
    try:
        exactness = exactness_of(values)
    except NotRepresentableError as error:
        raise ProblemError(
            "unsupported-dtype",
            f"Array {source.shown}: the integer in row {source.rows.start + error.row}, column {error.column} has no "
            "float64 equal to it. Scale the array, or convert it to float64 yourself.",
        ) from error
    return StagedArray(
        file=name,
        rows=rows,
        columns=columns,
        dtype=source.dtype.name,
        fingerprint=fingerprint,
        exactness=exactness.value,
        missing_chunks_filled=source.filled,
        constant_columns=facts.constant_columns(values),
        distinct_rows=facts.distinct_rows(values),
    )


def _require_finite(block: NDArray[Any], first_row: int, shown: str) -> None:
    if block.dtype.kind != "f":
        return
    finite = np.isfinite(block)
    if not finite.all():
        row, column = (int(place) for place in np.argwhere(~finite)[0])
        raise ProblemError(
            "non-finite-input",
            f"Array {shown} has a non-finite value, {block[row, column]}, in row {first_row + row}, column {column}. "
            "Remove or repair such rows.",
        )


def _read_manifest(directory: Path, key: str) -> StagedArray | None:
    """Read what a complete copy says of itself; None if it is not there or not whole."""
    try:
        staged = StagedArray(**json.loads((directory / f"{key}.json").read_bytes()))
        expected = staged.rows * staged.columns * _staged_dtype(np.dtype(staged.dtype)).itemsize
        return staged if (directory / staged.file).stat().st_size == expected else None
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def _temporary(directory: Path) -> Iterator[Path]:
    """A file in the directory that is gone afterwards unless it was renamed."""
    descriptor, name = tempfile.mkstemp(prefix="incomplete-", dir=directory)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock among the processes of this node; it ends with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
