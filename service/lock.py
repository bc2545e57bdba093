"""One service per state directory: two would run the same jobs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LOCK = "service.lock"


class StateDirectoryInUseError(RuntimeError):
    """Another service works on the state directory."""


def make_private(directory: Path) -> None:
    """Make a directory that only its owner can enter, or make it so if it is there and this user's.

    A directory that users share, such as a temporary one with the sticky bit, is left as it is.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = directory.stat()
    if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
        directory.chmod(0o700)


def holder(directory: Path) -> str | None:
    """Name the process of the service that holds a state directory; None if none does. Nothing is changed."""
    try:
        with (directory / LOCK).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return file.read().strip() or "unknown"
    except OSError:  # there is no lock yet, or none that this user may see
        return None
    return None


@contextlib.contextmanager
def own(directory: Path) -> Iterator[None]:
    """Hold the state directory, making it if need be; the lock goes with the process, however it ends.

    Raises
    ------
    StateDirectoryInUseError
        Naming the process that holds it.
    """
    make_private(directory)
    with (directory / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise StateDirectoryInUseError(
                f"the state directory {directory} is already in use by another service (process {holder}): stop that "
                "one, or choose another directory with --state-dir"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
