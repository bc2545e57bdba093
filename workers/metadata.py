"""The metadata document of a zarr array, read and judged by ourselves before zarr opens anything.

A few bytes of metadata can claim anything: terabyte chunks, billions of files, codecs that run code.
"""

from __future__ import annotations

import errno
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import limits
from workers.errors import ProblemError, writable

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = ("zarr.json", ".zarray")

DOCUMENT_LIMIT = 16 * 1024**2

REAL = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
TYPE_STRING = re.compile(r"[<>|=]?[A-Za-z][0-9]*(\[[0-9]*[A-Za-z]+\])?")
"""Format 2 types of one field. Others are not handed to numpy, which would read shapes and records out of them."""

LARGEST_SIZE = 2**63 - 1

NO_SUCH_PLACE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


class _ShardingError(Exception):
    """Shards within shards, or shards that are themselves encoded: what they hold cannot be told from outside."""


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
    itemsize : int
        Bytes of one value; 1 where values differ in length.
    key_prefix, key_separator : str
        How chunk coordinates become the name of a file, e.g. "c/" and "/".
    fill_defined : bool
        Whether the content of an absent chunk is defined: not with a null fill value in format 2.
    index : ShardIndex or None
        Of a sharded array.
    codecs : tuple of str
        What encoded a chunk, in this order; in a sharded array an inner chunk.
    document : bytes
        The document itself, part of the array's signature.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    dtype: str
    itemsize: int
    zarr_format: int
    key_prefix: str
    key_separator: str
    fill_defined: bool
    index: ShardIndex | None
    codecs: tuple[str, ...]
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


def find_document(folder: Path, shown: str, pointer: str | None) -> Path | None:
    """Find the metadata document of an array, or of a group of format 3; None if the folder has none.

    Raises
    ------
    ProblemError
        corrupt-data if there are two, which may differ; storage-unavailable if the folder cannot be searched.
    """
    try:
        documents = [folder / name for name in DOCUMENTS if (folder / name).is_file()]
    except OSError as error:
        if error.errno in NO_SUCH_PLACE:
            return None
        raise _unreadable(error, shown, pointer) from error
    if len(documents) > 1:
        raise ProblemError(
            "corrupt-data",
            f"Array {shown} has metadata of both zarr format 3 (zarr.json) and format 2 (.zarray), and they may "
            "differ. Remove the one that is out of date.",
            "data",
            pointer,
        )
    return documents[0] if documents else None


def node_type(folder: Path) -> str | None:
    """Whether a folder is an "array" or a "group"; None if it is neither, or its metadata cannot be read."""
    try:
        if (folder / ".zarray").is_file():
            return "array"
        if (folder / "zarr.json").is_file():
            with (folder / "zarr.json").open("rb") as file:
                found = json.loads(file.read(DOCUMENT_LIMIT)).get("node_type")
            return found if found in ("array", "group") else None
        return "group" if (folder / ".zgroup").is_file() else None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def parse(document: Path, shown: str, pointer: str | None) -> ArrayMetadata | None:
    """Read an array's metadata document; None if it is a group's, or gone.

    Raises
    ------
    ProblemError
        corrupt-data if the document is not what zarr writes; storage-unavailable if it cannot be read; over-limit;
        unsupported-codec.
    """
    try:
        with document.open("rb") as file:
            text = file.read(DOCUMENT_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(error, shown, pointer) from error
    if len(text) > DOCUMENT_LIMIT:
        raise ProblemError("over-limit", f"The metadata of array {shown} is larger than 16 MiB.", "request", pointer)
    try:
        parsed = json.loads(text)
        if document.name == "zarr.json" and parsed.get("node_type") == "group":
            return None
        found = _format3(parsed, text) if document.name == "zarr.json" else _format2(parsed, text)
        codecs = _codecs(parsed)
    except _ShardingError as error:
        raise ProblemError(
            "unsupported-codec",
            f"Array {shown} combines sharding_indexed with other codecs or nests it. Supported is sharding_indexed as "
            "the only outer codec, with the others inside.",
            "request",
            pointer,
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ProblemError(
            "corrupt-data",
            f"The metadata of array {shown} cannot be understood: {type(error).__name__}.",
            "data",
            pointer,
        ) from error
    limits.check_codecs(codecs, found, shown, pointer)
    limits.check_sizes(found, shown, pointer)
    return found


def _unreadable(error: OSError, shown: str, pointer: str | None) -> ProblemError:
    """The storage refused, which says nothing of what is stored; the path in the error may be absolute."""
    reason = error.strerror or type(error).__name__
    return ProblemError(
        "storage-unavailable",
        f"The metadata of array {shown} cannot be read: {reason}. See that the service may read it, then try again.",
        "system",
        pointer,
    )


def _format3(parsed: dict[str, Any], text: bytes) -> ArrayMetadata:
    if parsed["zarr_format"] != 3 or parsed["node_type"] != "array" or parsed["chunk_grid"]["name"] != "regular":
        raise ValueError("not an array of format 3 with a regular grid")
    encoding = parsed["chunk_key_encoding"]
    default = encoding["name"] == "default"
    if not default and encoding["name"] != "v2":
        raise ValueError("an unknown chunk key encoding")
    separator = (encoding.get("configuration") or {}).get("separator", "/" if default else ".")
    outer = _sizes(parsed["chunk_grid"]["configuration"]["chunk_shape"])
    codecs = parsed["codecs"]
    sharding = next((codec["configuration"] for codec in codecs if codec["name"] == "sharding_indexed"), None)
    if sharding and (len(codecs) > 1 or any(codec["name"] == "sharding_indexed" for codec in sharding["codecs"])):
        raise _ShardingError
    name, itemsize = _format3_type(parsed["data_type"])
    return ArrayMetadata(
        shape=_sizes(parsed["shape"]),
        chunks=_sizes(sharding["chunk_shape"]) if sharding else outer,
        shards=outer if sharding else None,
        dtype=name,
        itemsize=itemsize,
        zarr_format=3,
        key_prefix=f"c{separator}" if default else "",
        key_separator=_separator(separator),
        fill_defined=True,
        index=_index(sharding) if sharding else None,
        codecs=tuple(str(codec["name"]) for codec in (sharding["codecs"] if sharding else codecs)),
        document=text,
    )


def _format2(parsed: dict[str, Any], text: bytes) -> ArrayMetadata:
    if parsed["zarr_format"] != 2:
        raise ValueError("not an array of format 2")
    name, itemsize = _format2_type(parsed["dtype"])
    if name == "object" and "vlen-utf8" in _codecs(parsed):
        name = "string"
    return ArrayMetadata(
        shape=_sizes(parsed["shape"]),
        chunks=_sizes(parsed["chunks"]),
        shards=None,
        dtype=name,
        itemsize=itemsize,
        zarr_format=2,
        key_prefix="",
        key_separator=_separator(parsed.get("dimension_separator", ".")),
        fill_defined=parsed["fill_value"] is not None,
        index=None,
        codecs=tuple(_codecs(parsed)),
        document=text,
    )


def _format3_type(declared: Any) -> tuple[str, int]:
    name = declared if isinstance(declared, str) else str(declared["name"])
    if name in REAL:
        return name, np.dtype(name).itemsize
    configuration = {} if isinstance(declared, str) else declared.get("configuration") or {}
    length = configuration.get("length_bytes", 1)
    return writable(name[:64]), length if isinstance(length, int) and length > 0 else 1


def _format2_type(declared: Any) -> tuple[str, int]:
    if not isinstance(declared, str):
        return "structured", 1
    try:
        dtype = np.dtype(declared) if TYPE_STRING.fullmatch(declared) else None
    except TypeError:
        dtype = None
    return (writable(declared[:64]), 1) if dtype is None else (dtype.name, max(1, dtype.itemsize))


def _index(sharding: dict[str, Any]) -> ShardIndex:
    codecs = {codec["name"]: codec.get("configuration") or {} for codec in sharding["index_codecs"]}
    if not codecs.keys() <= {"bytes", "crc32c"}:
        raise ValueError("an index that is compressed")
    order = "<" if codecs["bytes"].get("endian", "little") == "little" else ">"
    return ShardIndex(sharding.get("index_location", "end") == "end", order, "crc32c" in codecs)


def _sizes(sizes: list[Any]) -> tuple[int, ...]:
    if not all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= LARGEST_SIZE for size in sizes):
        raise ValueError("sizes that are not whole numbers")
    return tuple(sizes)


def _separator(separator: str) -> str:
    if separator not in (".", "/"):
        raise ValueError("a separator that is neither '.' nor '/'")
    return separator


def _codecs(parsed: dict[str, Any]) -> list[str]:
    """Names of all codecs that reading would run, inner ones of shards too."""
    if parsed["zarr_format"] == 2:
        return [str(codec["id"]) for codec in [*(parsed.get("filters") or []), parsed.get("compressor")] if codec]
    names: list[str] = []
    for codec in parsed["codecs"]:
        names.append(str(codec["name"]))
        names += [str(inner["name"]) for inner in (codec.get("configuration") or {}).get("codecs", [])]
    return names
