"""One local copy of an array per node: read once with every check, then memory-mapped by all workers there.

A copy is a file of values in C order and a manifest beside it that is written last: a copy without a manifest does
not count. Both come into being under a temporary name and a lock, so that a crash at any moment leaves nothing that
could be taken for a copy; what it leaves is removed when the next copy is made.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import facts
from ordsim_core.errors import NotRepresentableError
from ordsim_core.spaces import exactness_of
from workers.arrays import BLOCK_BYTES, Block, OpenedArray, open_matrix
from workers.durable import sync_file, sync_folder, try_lock
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots

INCOMPLETE = ".incomplete"
POLL_SECONDS = 0.05


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

    @property
    def repeated(self) -> bool:
        """Whether half of the rows or more repeat others: then the typical row has a twin."""
        return 2 * self.distinct_rows <= self.rows


def stage(
    roots: Roots,
    reference: Reference,
    directory: Path,
    name: str,
    missing_chunks: MissingChunks,
    checkpoint: Callable[[], None],
) -> StagedArray:
    """Copy an array into the staging directory, or find the copy that is there.

    Parameters
    ----------
    directory : Path
        This node's staging directory; made if need be.
    name : str
        "x" or "y", for errors.
    checkpoint : callable
        Called between blocks; may raise to give up.

    Raises
    ------
    ProblemError
        As `arrays.open_matrix`; non-finite-input, naming row and column as stored; unsupported-dtype for integers
        that float64 cannot hold; corrupt-data; out-of-space.
    """
    source = open_matrix(roots, reference, name, missing_chunks)
    if source.rows.stop == source.rows.start:
        raise ProblemError("too-few-rows", f"Array {source.shown} has no rows.")
    key = _key(source)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory / f"{key}.lock", checkpoint):
            kept = _read_manifest(directory, key)
            if kept is not None:
                return kept
            _remove_leftovers(directory)
            return _copy(source, directory, key, checkpoint)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ProblemError(
                "out-of-space",
                f"The staging directory has no room for array {source.shown}. Free space there and submit the job "
                "again.",
                "system",
            ) from error
        raise


def load(directory: Path, staged: StagedArray) -> NDArray[Any]:
    """Map a staged array: (rows, columns), read-only, C-contiguous. FileNotFoundError if it is not here any more."""
    path = directory / staged.file
    if path.stat().st_size != _bytes(staged):
        raise FileNotFoundError(errno.ENOENT, "not a whole copy", staged.file)
    return np.memmap(path, staged_dtype(np.dtype(staged.dtype)), "r", shape=(staged.rows, staged.columns))


def remove(directory: Path, file: str) -> None:
    """Remove a copy, unless it is being made anew; who has it mapped keeps it, and others stage the array again."""
    key = file.partition(".")[0]
    lock = try_lock(directory / f"{key}.lock") if directory.is_dir() else None
    if lock is None:
        return
    with lock:
        # The manifest first: without it, what is left is no copy.
        for ending in (".json", ".values", ".lock"):
            (directory / f"{key}{ending}").unlink(missing_ok=True)


def _key(source: OpenedArray) -> str:
    """Name of a copy: another one for other rows or columns, and whenever a file of the source changed."""
    rows, columns = source.rows, source.wanted_columns
    window = f"{rows.start}\0{rows.stop}\0{columns.start}\0{columns.stop}"
    place = f"{source.directory}\0{window}\0{source.signature()}"
    return hashlib.sha256(place.encode()).hexdigest()[:32]


def staged_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the values in a staged copy."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _bytes(staged: StagedArray) -> int:
    return staged.rows * staged.columns * staged_dtype(np.dtype(staged.dtype)).itemsize


def _copy(source: OpenedArray, directory: Path, key: str, checkpoint: Callable[[], None]) -> StagedArray:
    with _temporary(directory, key) as temporary:
        _write(source, temporary, checkpoint)
        source.require_unchanged()
        staged = _describe(source, temporary, f"{key}.values", checkpoint)
        temporary.replace(directory / staged.file)
        # The values are to be found before a manifest says so.
        sync_folder(directory)
    with _temporary(directory, key) as temporary:
        with temporary.open("w") as file:
            json.dump(asdict(staged), file)
            sync_file(file)
        temporary.replace(directory / f"{key}.json")
        sync_folder(directory)
    return staged


def _write(source: OpenedArray, temporary: Path, checkpoint: Callable[[], None]) -> None:
    """Write the values to a file in C order."""
    dtype = staged_dtype(source.dtype)
    shape = (source.rows.stop - source.rows.start, source.columns)
    with temporary.open("w+b") as file:
        if source.whole_rows:
            target = None
        else:
            # Writing to a map of space that the disk does not have would kill the process.
            os.posix_fallocate(file.fileno(), 0, shape[0] * shape[1] * dtype.itemsize)
            target = np.memmap(file, dtype, "r+", shape=shape)
        for block in source.blocks():
            checkpoint()
            _require_finite(block, source.shown, square=source.metadata.shape[0] == source.metadata.shape[1])
            values = block.values.astype(dtype, copy=False)
            if target is None:
                file.write(values.data)
            else:
                row, column = block.row - source.rows.start, block.column - source.wanted_columns.start
                target[row : row + values.shape[0], column : column + values.shape[1]] = values
        if target is not None:
            target.flush()
        sync_file(file)


def _fingerprint(values: NDArray[Any], stored: np.dtype[Any], checkpoint: Callable[[], None]) -> str:
    """Digest of type, shape and values, little-endian, in C order."""
    dtype = stored.newbyteorder("<")
    rows, columns = values.shape
    digest = hashlib.sha256(f"{dtype.str} {rows} {columns} ".encode())
    step = max(1, BLOCK_BYTES // (columns * values.dtype.itemsize))
    for start in range(0, rows, step):
        checkpoint()
        digest.update(np.ascontiguousarray(values[start : start + step], dtype).data)
    return f"sha256:{digest.hexdigest()}"


def _describe(source: OpenedArray, file: Path, name: str, checkpoint: Callable[[], None]) -> StagedArray:
    rows, columns = source.rows.stop - source.rows.start, source.columns
    values = np.memmap(file, staged_dtype(source.dtype), "r", shape=(rows, columns))
    try:
        exactness = exactness_of(values, checkpoint)
    except NotRepresentableError as error:
        raise ProblemError(
            "unsupported-dtype",
            f"Array {source.shown}: the integer in row {source.rows.start + error.row}, column "
            f"{source.wanted_columns.start + error.column} has no "
            "float64 equal to it. Scale the array, or convert it to float64 yourself.",
        ) from error
    return StagedArray(
        file=name,
        rows=rows,
        columns=columns,
        dtype=source.dtype.name,
        fingerprint=_fingerprint(values, source.dtype, checkpoint),
        exactness=exactness.value,
        missing_chunks_filled=source.filled,
        constant_columns=facts.constant_columns(values, checkpoint),
        distinct_rows=facts.distinct_rows(values, checkpoint),
    )


def _require_finite(block: Block, shown: str, *, square: bool) -> None:
    if block.values.dtype.kind != "f":
        return
    places = np.argwhere(~np.isfinite(block.values))
    if len(places):
        value = block.values[tuple(places[0])]
        rows, columns = (places + np.array([block.row, block.column])).T
        advice = "Remove or repair such rows."
        if square and (rows == columns).all():
            advice = "If these are distances, their diagonal is not used: set the diagonal to 0."
        raise ProblemError(
            "non-finite-input",
            f"Array {shown} has a non-finite value, {value}, in row {rows[0]}, column {columns[0]}. {advice}",
        )


def _read_manifest(directory: Path, key: str) -> StagedArray | None:
    """Read what a complete copy says of itself; None if it is not there or not whole."""
    try:
        staged = StagedArray(**json.loads((directory / f"{key}.json").read_bytes()))
        return staged if (directory / staged.file).stat().st_size == _bytes(staged) else None
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def _temporary(directory: Path, key: str) -> Iterator[Path]:
    """A place in the directory, for the holder of the key's lock; nothing is left there unless it was renamed."""
    path = directory / f"{key}{INCOMPLETE}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _remove_leftovers(directory: Path) -> None:
    """Remove what processes left that ended in the middle of a copy: their locks are free."""
    keys = {path.stem for path in directory.iterdir() if path.suffix in (INCOMPLETE, ".values", ".lock")}
    for key in keys:
        lock = directory / f"{key}.lock"
        if (directory / f"{key}.json").exists() and not lock.exists():
            continue
        file = try_lock(lock)
        if file is None:
            continue
        with file:
            (directory / f"{key}{INCOMPLETE}").unlink(missing_ok=True)
            if not (directory / f"{key}.json").exists():
                (directory / f"{key}.values").unlink(missing_ok=True)
            lock.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path, checkpoint: Callable[[], None]) -> Iterator[None]:
    """Hold a lock among the processes of this node; it ends with the process that holds it."""
    # Not one blocking call: a waiting job can be cancelled too.
    while (file := try_lock(path)) is None:
        checkpoint()
        time.sleep(POLL_SECONDS)
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
