"""Pairs of rows that do not fit into memory, kept in files of this node while a shard counts them.

Each store has a folder of its own, and a lock beside it that ends with its process: what a process left that was
killed is removed when the next store is made.
"""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from workers.durable import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

FOLDER, HELD = ".pairs", ".held"
BUFFER_BYTES = 32 * 1024**2
"""Records of all strips that are held before they are written."""


class DiskStore:
    """Keeps the records of each strip in a file of its own; see `ordsim_core.strip_records.Store`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._waiting: dict[int, list[NDArray[np.uint32]]] = {}
        self._waiting_bytes = 0

    def append(self, strip: int, words: NDArray[np.uint32]) -> None:
        """Add records to a strip."""
        self._waiting.setdefault(strip, []).append(words.copy())
        self._waiting_bytes += words.nbytes
        if self._waiting_bytes > BUFFER_BYTES:
            self._write()

    def read(self, strip: int) -> NDArray[np.uint32]:
        """Give all records of a strip in the order they came, and remove its file."""
        self._write()
        file = self._file(strip)
        if not file.exists():
            return np.empty(0, np.uint32)
        words = np.fromfile(file, np.uint32)
        file.unlink()
        return words

    def _write(self) -> None:
        for strip, parts in self._waiting.items():
            with self._file(strip).open("ab") as file:
                for words in parts:
                    file.write(words.data)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _file(self, strip: int) -> Path:
        return self._directory / str(strip)


@contextmanager
def disk_store(directory: Path) -> Iterator[DiskStore]:
    """Give a store in a folder of its own below `directory`, which is removed at the end, whatever happens.

    Raises
    ------
    OSError
        If the disk is full or cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(directory)
    # Another process that looks for leftovers may have the lock for a moment, before this one has it.
    while (lock := try_lock(held := directory / f"{uuid.uuid4().hex}{HELD}")) is None:
        pass
    folder = held.with_suffix(FOLDER)
    with lock:
        try:
            folder.mkdir()
            yield DiskStore(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            held.unlink(missing_ok=True)


def _remove_leftovers(directory: Path) -> None:
    """Remove the folders of stores whose processes have ended: their locks are free."""
    names = {path.stem for path in directory.iterdir() if path.suffix in (FOLDER, HELD)}
    for name in names:
        held = directory / f"{name}{HELD}"
        lock = try_lock(held)
        if lock is None:
            continue
        with lock:
            shutil.rmtree(directory / f"{name}{FOLDER}", ignore_errors=True)
            held.unlink(missing_ok=True)
