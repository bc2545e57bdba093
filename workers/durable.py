"""Files that survive: brought to the disk before they count, and locked among the processes of a node."""

from __future__ import annotations

import fcntl
import os
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def sync_file(file: IO[Any]) -> None:
    """Bring what was written to an open file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: without it, a rename may be lost with the power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Bring a folder to the disk with all files and folders in it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            sync_tree(entry)
        else:
            with entry.open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def try_lock(path: Path) -> IO[Any] | None:
    """Lock a file, made if need be, until it is closed or the process ends; None if another holds the lock.

    The holder may remove the file: whoever had opened it before then gets None, and is to try again.
    """
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None
