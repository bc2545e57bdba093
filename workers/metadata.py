"""The metadata document of a zarr array, read and judged by ourselves before zarr opens anything.

A few bytes of metadata can claim anything: terabyte chunks, billions of files, codecs that run code.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.errors import ProblemError

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = ("zarr.json", ".zarray")

DOCUMENT_LIMIT = 16 * 1024**2
ROWS_LIMIT = 2**31 - 1
COLUMNS_LIMIT = 2**20
CHUNK_LIMIT = 1024**3
"""Bytes that must be decoded at once."""
SHARD_LIMIT = 64 * 1024**3
CHUNKS_LIMIT = 2_000_000

REAL = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
FORMAT2_CODECS = frozenset({"zlib", "gzip", "blosc", "zstd", "lz4", "bz2", "lzma", "shuffle", "delta", "vlen-utf8"})
FORMAT3_CODECS = frozenset({"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed", "vlen-utf8"})


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """How the index of a shard file is laid out: (offset, length) of each inner chunk, 16 bytes each."""

    at_end: bool
    byte_order: str
    checksum: bool


@dataclass(frozen=True, slots=True)
class ArrayMetadata:
    """What an array's document says.

    Attributes
    ----------
    shape, chunks : tuple of int
        `chunks` is the shape of what is encoded at once: in a sharded array, of an inner chunk.
    shards : tuple of int or None
        Shape of what one file holds, in a sharded array.
    dtype : str
        numpy's name for the type, or the document's own where numpy has none.
    key_prefix, key_separator : str
        How chunk coordinates become the name of a file, e.g. "c/" and "/".
    fill_defined : bool
        Whether the content of an absent chunk is defined: not with a null fill value in format 2.
    index : ShardIndex or None
        Of a sharded array.
    document : bytes
        The document itself, part of the array's signature.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    dtype: str
    zarr_format: int
    key_prefix: str
    key_separator: str
    fill_defined: bool
    index: ShardIndex | None
    document: bytes

    @property
    def files(self) -> tuple[int, ...]:
        """Shape of what one file holds."""
        return self.shards or self.chunks

    def require_real(self, shown: str, pointer: str) -> None:
        """Raise unsupported-dtype unless values are real numbers of at most 64 bits."""
        if self.dtype not in REAL:
            raise ProblemError(
                "unsupported-dtype",
                f"Array {shown} has dtype {self.dtype}. Supported are bool, int8 to int64, uint8 to uint64, float16, "
                "float32 and float64; convert the array first.",
                "request",
                pointer,
            )


def is_array(folder: Path) -> bool:
    """Whether a folder holds an array rather than a group or nothing of zarr's."""
    if (folder / ".zarray").is_file():
        return True
    try:
        return b'"array"' in (folder / "zarr.json").read_bytes()[:DOCUMENT_LIMIT]
    except OSError:
        return False


def is_group(folder: Path) -> bool:
    """Whether a folder that holds no array is a group of zarr's."""
    return (folder / ".zgroup").is_file() or (folder / "zarr.json").is_file()


def parse(document: Path, shown: str, pointer: str) -> ArrayMetadata | None:
    """Read an array's metadata document; None if it is a group's.

    Raises
    ------
    ProblemError
        corrupt-data if the document is not what zarr writes; over-limit; unsupported-codec.
    """
    try:
        with document.open("rb") as file:
            text = file.read(DOCUMENT_LIMIT + 1)
        if len(text) > DOCUMENT_LIMIT:
            raise ProblemError(
                "over-limit", f"The metadata of array {shown} is larger than 16 MiB.", "request", pointer
            )
        parsed = json.loads(text)
        if document.name == "zarr.json" and parsed.get("node_type") == "group":
            return None
        found = _format3(parsed, text) if document.name == "zarr.json" else _format2(parsed, text)
        codecs = _codecs(parsed)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ProblemError(
            "corrupt-data",
            f"The metadata of array {shown} cannot be understood: {type(error).__name__}.",
            "data",
            pointer,
        ) from error
    _check_codecs(codecs, found, shown, pointer)
    _check_limits(found, shown, pointer)
    return found


def _format3(parsed: dict[str, Any], text: bytes) -> ArrayMetadata:
    if parsed["zarr_format"] != 3 or parsed["node_type"] != "array" or parsed["chunk_grid"]["name"] != "regular":
        raise ValueError("not an array of format 3 with a regular grid")
    encoding = parsed["chunk_key_encoding"]
    default = encoding["name"] == "default"
    separator = (encoding.get("configuration") or {}).get("separator", "/" if default else ".")
    outer = _sizes(parsed["chunk_grid"]["configuration"]["chunk_shape"])
    codecs = parsed["codecs"]
    sharding = next((codec["configuration"] for codec in codecs if codec["name"] == "sharding_indexed"), None)
    data_type = parsed["data_type"]
    return ArrayMetadata(
        shape=_sizes(parsed["shape"]),
        chunks=_sizes(sharding["chunk_shape"]) if sharding else outer,
        shards=outer if sharding else None,
        dtype=data_type if isinstance(data_type, str) else str(data_type["name"]),
        zarr_format=3,
        key_prefix=f"c{separator}" if default else "",
        key_separator=_separator(separator),
        fill_defined=True,
        index=_index(sharding) if sharding else None,
        document=text,
    )


def _format2(parsed: dict[str, Any], text: bytes) -> ArrayMetadata:
    if parsed["zarr_format"] != 2:
        raise ValueError("not an array of format 2")
    declared = parsed["dtype"]
    dtype = np.dtype(declared) if isinstance(declared, str) else None
    return ArrayMetadata(
        shape=_sizes(parsed["shape"]),
        chunks=_sizes(parsed["chunks"]),
        shards=None,
        dtype="structured" if dtype is None else dtype.name,
        zarr_format=2,
        key_prefix="",
        key_separator=_separator(parsed.get("dimension_separator", ".")),
        fill_defined=parsed["fill_value"] is not None,
        index=None,
        document=text,
    )


def _index(sharding: dict[str, Any]) -> ShardIndex:
    codecs = {codec["name"]: codec.get("configuration") or {} for codec in sharding["index_codecs"]}
    if not codecs.keys() <= {"bytes", "crc32c"}:
        raise ValueError("an index that is compressed")
    order = "<" if codecs["bytes"].get("endian", "little") == "little" else ">"
    return ShardIndex(sharding.get("index_location", "end") == "end", order, "crc32c" in codecs)


def _sizes(sizes: list[Any]) -> tuple[int, ...]:
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        raise ValueError("sizes that are not whole numbers")
    return tuple(sizes)


def _separator(separator: str) -> str:
    if separator not in (".", "/"):
        raise ValueError("a separator that is neither '.' nor '/'")
    return separator


def _codecs(parsed: dict[str, Any]) -> list[str]:
    """Names of all codecs that reading would run, inner ones of shards too."""
    if parsed["zarr_format"] == 2:
        return [codec["id"] for codec in [parsed.get("compressor"), *(parsed.get("filters") or [])] if codec]
    names: list[str] = []
    pending = list(parsed["codecs"])
    while pending:
        codec = pending.pop(0)
        names.append(codec["name"])
        pending.extend((codec.get("configuration") or {}).get("codecs", []))
    return names


def _check_codecs(codecs: list[str], found: ArrayMetadata, shown: str, pointer: str) -> None:
    allowed = FORMAT2_CODECS if found.zarr_format == 2 else FORMAT3_CODECS
    for codec in codecs:
        if codec not in allowed:
            raise ProblemError(
                "unsupported-codec",
                f"Array {shown} is stored with the codec {codec[:64]!r}. Supported are {', '.join(sorted(allowed))}.",
                "request",
                pointer,
            )


def _check_limits(found: ArrayMetadata, shown: str, pointer: str) -> None:
    """Refuse sizes that would exhaust a machine before the first value is compared."""

    def refuse(what: str) -> ProblemError:
        return ProblemError("over-limit", f"Array {shown} {what}.", "request", pointer)

    dimensions = len(found.shape)
    if not dimensions == len(found.chunks) == len(found.files) or 0 in found.chunks or 0 in found.files:
        raise ProblemError("corrupt-data", f"The chunks of array {shown} do not fit its shape.", "data", pointer)
    if dimensions == 0:
        return
    if found.shape[0] > ROWS_LIMIT:
        raise refuse(f"claims {found.shape[0]} rows; at most {ROWS_LIMIT} are supported")
    if dimensions > 1 and math.prod(found.shape[1:]) > COLUMNS_LIMIT:
        raise refuse(f"claims {math.prod(found.shape[1:])} values a row; at most {COLUMNS_LIMIT} are supported")
    try:
        itemsize = max(1, np.dtype(found.dtype).itemsize)
    except TypeError:
        itemsize = 1
    if (size := math.prod(found.chunks) * itemsize) > CHUNK_LIMIT:
        raise refuse(f"has chunks of {size} bytes; at most {CHUNK_LIMIT} can be decoded at once")
    if found.shards and (size := math.prod(found.shards) * itemsize) > SHARD_LIMIT:
        raise refuse(f"has shards of {size} bytes; at most {SHARD_LIMIT} are supported")
    chunks = math.prod(-(-size // chunk) for size, chunk in zip(found.shape, found.chunks, strict=True))
    if chunks > CHUNKS_LIMIT:
        size = math.prod(found.shape) * itemsize
        raise refuse(
            f"is cut into {chunks} chunks for {size} bytes; at most {CHUNKS_LIMIT} are supported. Write it again with "
            "larger chunks"
        )
