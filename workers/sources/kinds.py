"""Which format a file has, by how it begins. Imports nothing: commands ask it before anything is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BEGINNINGS = {
    b"\x93NUMPY": "npy",
    b"PK": "npz",
    b"PAR1": "parquet",
    b"\x89HDF\r\n\x1a\n": "hdf5",
}
SAFETENSORS = "safetensors"
READABLE = ".npy, .npz, .safetensors, Parquet and HDF5 files"
KEYED = "::"
"""Between a file and what is meant in it: layers.npz::layer6."""


def kind_of(path: Path) -> str | None:
    """Name the format of a file; None for one that is not known. OSError if it cannot be read."""
    with path.open("rb") as file:
        begin = file.read(16)
    for magic, kind in BEGINNINGS.items():
        if begin.startswith(magic):
            return kind
    # The length of a header, and the brace that opens it.
    if begin[8:9] == b"{" and 2 <= int.from_bytes(begin[:8], "little") <= path.stat().st_size - 8:
        return SAFETENSORS
    return None
