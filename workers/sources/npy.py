"""Arrays as numpy stores them: alone, and in archives."""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
import zlib
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from workers.sources.source import Source, choose, described, even, mapped, not_whole, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.sources.source import Blocks

DAMAGED = (ValueError, EOFError, SyntaxError, TokenError, OverflowError)
DAMAGED_ARCHIVE = (*DAMAGED, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
PIECE_BYTES = 1024**2
BOMB_BYTES, BOMB_RATIO = 256 * 1024**2, 200
"""What unpacks to more than this, and to so many times what it is, was made to fill a disk."""


def open_npy(path: Path, key: str | None) -> Source:
    """Map a .npy file: nothing in it is ever unpickled.

    Raises
    ------
    ProblemError
        invalid-request.
    """
    if key is not None:
        raise refuse(path.name, "holds a single array: leave out its name.")
    try:
        with path.open("rb") as file:
            shape, _, dtype = _header(file)
        _refuse_objects(dtype, path.name)
        # Nothing can be mapped of an array that holds nothing.
        values: NDArray[Any] = np.empty(shape, dtype) if 0 in shape else np.load(path, "r", allow_pickle=False)
    except DAMAGED as error:
        raise not_whole(path.name, ".npy", error) from error
    return mapped(path.name, values)


def open_npz(path: Path, key: str | None) -> Source:
    """Read an array of a .npz archive as a stream: unpacked piece by piece, with its checksum.

    Raises
    ------
    ProblemError
        invalid-request; over-limit for what unpacks to hundreds of times its size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {one.filename.removesuffix(".npy"): one for one in archive.infolist() if not one.is_dir()}
            found = {name: _described(archive, one) for name, one in members.items() if key in (None, name)}
            name = choose(path.name, found or dict.fromkeys(members, "an array"), key)
            member, shown = members[name], f"{path.name} ({name})"
            _check_member(member, shown)
            with archive.open(member) as file:
                shape, by_columns, dtype = _header(file)
                begin = file.tell()
        _refuse_objects(dtype, shown)
        if member.file_size - begin != math.prod(shape) * dtype.itemsize:
            raise refuse(shown, "is not a whole array: its size is not what its header says.")
    except DAMAGED_ARCHIVE as error:
        raise not_whole(path.name, ".npz", error) from error
    blocks = _columns_first if by_columns and len(shape) > 1 else _rows_first
    native = dtype.newbyteorder("=")

    def read(rows: int) -> Blocks:
        try:
            for block in blocks(path, member, begin, shape, dtype, rows):
                yield np.ascontiguousarray(block, native)
        except DAMAGED_ARCHIVE as error:
            raise not_whole(shown, ".npz", error) from error

    return Source(shown, shape, native, read)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError("a header that only records need")


def _refuse_objects(dtype: np.dtype[Any], shown: str) -> None:
    if dtype.hasobject:
        said = f"has dtype {dtype}: Python objects are never unpickled. Save numbers or strings."
        raise refuse(shown, said, "unsupported-dtype")


def _described(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    try:
        with archive.open(member) as file:
            shape, _, dtype = _header(file)
    except DAMAGED_ARCHIVE:
        return "no array"
    return described(shape, dtype)


def _check_member(member: zipfile.ZipInfo, shown: str) -> None:
    if member.compress_type not in METHODS:
        raise refuse(shown, "is packed in a way that numpy does not use.")
    if member.file_size > BOMB_BYTES and member.file_size > BOMB_RATIO * max(1, member.compress_size):
        raise refuse(
            shown,
            f"unpacks to {member.file_size} bytes from {member.compress_size}, which no data do. If it is yours, "
            "unpack it and import the .npy file.",
            "over-limit",
        )


def _rows_first(
    path: Path, member: zipfile.ZipInfo, begin: int, shape: tuple[int, ...], dtype: np.dtype[Any], rows: int
) -> Blocks:
    width = math.prod(shape[1:])
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        file.read(begin)
        pieces = _pieces(file, width * dtype.itemsize)
        yield from even((np.frombuffer(piece, dtype).reshape(-1, *shape[1:]) for piece in pieces), rows)


def _pieces(file: IO[bytes], row_bytes: int) -> Iterator[bytes]:
    """Whole rows, about a megabyte at a time, up to the end, where the checksum is compared."""
    size = max(1, PIECE_BYTES // max(1, row_bytes)) * max(1, row_bytes)
    while piece := file.read(size):
        yield piece


def _columns_first(
    path: Path, member: zipfile.ZipInfo, begin: int, shape: tuple[int, ...], dtype: np.dtype[Any], rows: int
) -> Blocks:
    """Rows of an array that was stored by columns stand together only on disk: unpack it there."""
    with tempfile.TemporaryFile(prefix="ordsim-") as unpacked:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            file.read(begin)
            shutil.copyfileobj(file, unpacked, PIECE_BYTES)
        unpacked.flush()
        values = np.memmap(unpacked, dtype, "r", shape=shape, order="F")
        yield from mapped(path.name, values).blocks(rows)
