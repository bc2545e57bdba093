"""One local copy of an array per node: read once with every check, then memory-mapped by all workers there.

A copy is a file of values in C order and a manifest beside it that is written last: a copy without a manifest does
not count. Both come into being under a temporary name and a lock, so that a crash at any moment leaves nothing that
could be taken for a copy; what it leaves is removed when the next copy is made.
"""

from __future__ import annotations

import errno
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import facts
from ordsim_core.errors import NotRepresentableError
from ordsim_core.spaces import exactness_of
from workers import writing
from workers.arrays import BLOCK_BYTES, OpenedArray, open_matrix
from workers.durable import sync_file, sync_folder, try_lock
from workers.errors import ProblemError, changed
from workers.staging_files import locked, needing_space, remove_leftovers, temporary
from workers.writing import staged_dtype

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.kept import Kept
    from workers.references import Reference, Roots


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
    kept: Kept | None = None,
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
    kept : Kept or None
        Which rows and columns of the reference's to copy, in which order; all if None.

    Raises
    ------
    ProblemError
        As `arrays.open_matrix`; non-finite-input, naming row and column as stored; unsupported-dtype for integers
        that float64 cannot hold; corrupt-data; out-of-space.
    """
    source = open_matrix(roots, reference, name, missing_chunks)
    if kept is not None:
        _require_within(source, kept)
    if source.rows.stop == source.rows.start:
        raise ProblemError("too-few-rows", f"Array {source.shown} has no rows.")
    key = _key(source, kept)
    with needing_space(source.shown), locked(directory, key, checkpoint):
        here = _read_manifest(directory, key)
        if here is not None:
            return here
        remove_leftovers(directory)
        return _copy(source, kept, directory, key, checkpoint)


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


def _require_within(source: OpenedArray, kept: Kept) -> None:
    """See that the array still has the rows and columns that were chosen from it."""
    for positions, span in ((kept.rows, source.rows), (kept.columns, source.wanted_columns)):
        if positions is not None and len(positions) and positions.max() >= span.stop - span.start:
            raise changed(source.shown)


def _key(source: OpenedArray, kept: Kept | None) -> str:
    """Name of a copy: another one for other rows or columns, and whenever a file of the source changed."""
    rows, columns = source.rows, source.wanted_columns
    window = f"{rows.start}\0{rows.stop}\0{columns.start}\0{columns.stop}"
    place = f"{source.directory}\0{window}\0{source.signature()}"
    if kept is not None:
        place += f"\0{kept.digest}"
    return hashlib.sha256(place.encode()).hexdigest()[:32]


def _bytes(staged: StagedArray) -> int:
    return staged.rows * staged.columns * staged_dtype(np.dtype(staged.dtype)).itemsize


def _copy(
    source: OpenedArray, kept: Kept | None, directory: Path, key: str, checkpoint: Callable[[], None]
) -> StagedArray:
    with temporary(directory, key) as path:
        writing.write(source, kept, path, checkpoint)
        source.require_unchanged()
        staged = _describe(source, kept, path, f"{key}.values", checkpoint)
        path.replace(directory / staged.file)
        # The values are to be found before a manifest says so.
        sync_folder(directory)
    with temporary(directory, key) as path:
        with path.open("w") as file:
            json.dump(asdict(staged), file)
            sync_file(file)
        path.replace(directory / f"{key}.json")
        sync_folder(directory)
    return staged


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


def _describe(
    source: OpenedArray, kept: Kept | None, file: Path, name: str, checkpoint: Callable[[], None]
) -> StagedArray:
    rows, columns = writing.shape(source, kept)
    values = np.memmap(file, staged_dtype(source.dtype), "r", shape=(rows, columns))
    try:
        exactness = exactness_of(values, checkpoint)
    except NotRepresentableError as error:
        row, column = _stored(error.row, error.column, source, kept)
        raise ProblemError(
            "unsupported-dtype",
            f"Array {source.shown}: the integer in row {row}, column {column} has no "
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


def _stored(row: int, column: int, source: OpenedArray, kept: Kept | None) -> tuple[int, int]:
    """Where an entry of the copy stands in the stored array."""
    if kept is not None:
        row = int(kept.rows[row])
        column = column if kept.columns is None else int(kept.columns[column])
    return source.rows.start + row, source.wanted_columns.start + column


def _read_manifest(directory: Path, key: str) -> StagedArray | None:
    """Read what a complete copy says of itself; None if it is not there or not whole."""
    try:
        staged = StagedArray(**json.loads((directory / f"{key}.json").read_bytes()))
        return staged if (directory / staged.file).stat().st_size == _bytes(staged) else None
    except (OSError, ValueError, TypeError):
        return None
