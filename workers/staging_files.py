"""Files of the staging directory: they come into being under a lock and a temporary name, or not at all."""

from __future__ import annotations

import errno
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from workers.durable import sync_file, try_lock
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

INCOMPLETE = ".incomplete"
POLL_SECONDS = 0.05


def remembered(
    directory: Path, key: str, shown: str, find: Callable[[], NDArray[np.bool_]], checkpoint: Callable[[], None]
) -> NDArray[np.bool_]:
    """Find something out about an array once on this node, and read it from the staging directory after that."""
    path = directory / f"{key}.npy"
    with needing_space(shown), locked(directory, key, checkpoint):
        with suppress(FileNotFoundError, EOFError, ValueError):
            return np.asarray(np.load(path, allow_pickle=False), np.bool_)
        found = find()
        with temporary(directory, key) as part:
            with part.open("wb") as file:
                np.save(file, found, allow_pickle=False)
                sync_file(file)
            part.replace(path)
        return found


@contextmanager
def temporary(directory: Path, key: str) -> Iterator[Path]:
    """A place in the directory, for the holder of the key's lock; nothing is left there unless it was renamed."""
    path = directory / f"{key}{INCOMPLETE}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def remove_leftovers(directory: Path) -> None:
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
def needing_space(shown: str) -> Iterator[None]:
    """Give a full disk its name."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ProblemError(
                "out-of-space",
                f"The staging directory has no room for array {shown}. Free space there and submit the job again.",
                "system",
            ) from error
        raise


@contextmanager
def locked(directory: Path, key: str, checkpoint: Callable[[], None]) -> Iterator[None]:
    """Hold a lock among the processes of this node; it ends with the process that holds it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{key}.lock"
    # Not one blocking call: a waiting job can be cancelled too.
    while (file := try_lock(path)) is None:
        checkpoint()
        time.sleep(POLL_SECONDS)
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
