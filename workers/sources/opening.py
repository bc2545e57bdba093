"""From a file to its source, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.errors import ProblemError
from workers.sources.hdf5 import open_hdf5
from workers.sources.kinds import READABLE, kind_of
from workers.sources.npy import open_npy, open_npz
from workers.sources.parquet import open_parquet
from workers.sources.safetensors import open_safetensors
from workers.sources.source import refuse

if TYPE_CHECKING:
    from pathlib import Path

    from workers.sources.source import Source

OPENERS = {
    "npy": open_npy,
    "npz": open_npz,
    "parquet": open_parquet,
    "hdf5": open_hdf5,
    "safetensors": open_safetensors,
}


def open_source(path: Path, key: str | None = None) -> Source:
    """Open an array in a file; `key` names it where there are several.

    Raises
    ------
    ProblemError
        invalid-request if the file is damaged, of no known format, or `key` is needed or wrong; as each format.
    """
    try:
        kind = kind_of(path)
        if kind is None:
            raise refuse(path.name, f"is of no known format. What can be read are {READABLE}.")
        return OPENERS[kind](path, key)
    except OSError as error:
        raise ProblemError(
            "invalid-request", f"{path.name} cannot be read: {error.strerror or type(error).__name__}.", "request"
        ) from error
