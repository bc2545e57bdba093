"""Large outputs: one numpy file each, below the state directory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.durable import sync_file, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

NAME = re.compile(r"(\d{1,2})-([a-z_]{1,40})")
CSV_ROWS = 4096


def name(position: int, what: str) -> str:
    """Name an artifact after its measure's place in the request."""
    return f"{position}-{what}"


def write(directory: Path, job: str, artifact: str, values: NDArray[Any]) -> None:
    """Write one artifact: whole and under its name, or not at all."""
    folder = directory / job
    folder.mkdir(parents=True, exist_ok=True)
    # Always the same name: what a killed attempt left is written over by the next.
    part = folder / f"{artifact}.part"
    try:
        with part.open("wb") as file:
            np.save(file, values, allow_pickle=False)
            sync_file(file)
        part.replace(folder / f"{artifact}.npy")
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    # The names are in the folders: without these a power cut could lose a file that results speak of.
    for holder in (folder, directory):
        sync_folder(holder)


def find(directory: Path, job: str, artifact: str) -> Path | None:
    """Return the file of an artifact, if there is such a one."""
    if not NAME.fullmatch(artifact):
        return None
    path = directory / job / f"{artifact}.npy"
    return path if path.is_file() else None


def as_csv(path: Path, artifact: str) -> Iterator[str]:
    """Yield an artifact as text: a header, then the number of each row, or permutation, and its value.

    Rows are numbered from 0, permutations from 1: 0 is the identity, whose statistic is the observed one.
    """
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    what = artifact.partition("-")[2]
    first, name = (1, "permutation") if what == "null" else (0, "row")
    yield f"{name},{what}\n"
    for start in range(0, len(values), CSV_ROWS):
        block = values[start : start + CSV_ROWS].tolist()
        yield "".join(f"{row},{value!r}\n" for row, value in enumerate(block, start + first))
