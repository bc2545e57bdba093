"""What the metadata of an array may claim: the codecs that are run and the sizes that are believed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workers.errors import ProblemError

if TYPE_CHECKING:
    from workers.metadata import ArrayMetadata

ROWS_LIMIT = 2**31 - 1
COLUMNS_LIMIT = 2**20
CHUNK_LIMIT = 1024**3
"""Bytes that must be decoded at once."""
SHARD_LIMIT = 64 * 1024**3
CHUNKS_LIMIT = 2_000_000

DIMENSIONS_LIMIT = 32
CODECS_LIMIT = 32

COMPRESSORS = frozenset({"zlib", "gzip", "blosc", "zstd", "lz4", "bz2", "lzma"})
FORMAT2_CODECS = frozenset({"zlib", "gzip", "blosc", "zstd", "lz4", "bz2", "lzma", "shuffle", "delta", "vlen-utf8"})
FORMAT3_CODECS = frozenset({"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed", "vlen-utf8"})


def check_codecs(codecs: list[str], found: ArrayMetadata, shown: str, pointer: str | None) -> None:
    """Raise unsupported-codec for a codec that is not known to do no more than decode bytes.

    A compressor must come last, but for a checksum: how much it decodes to can then be found out before.
    """
    allowed = FORMAT2_CODECS if found.zarr_format == 2 else FORMAT3_CODECS
    for codec in codecs:
        if codec not in allowed:
            raise ProblemError(
                "unsupported-codec",
                f"Array {shown} is stored with the codec {codec[:64]!r}. Supported are {', '.join(sorted(allowed))}.",
                "request",
                pointer,
            )
    if len(codecs) > CODECS_LIMIT:
        detail = f"Array {shown} is stored with {len(codecs)} codecs; at most {CODECS_LIMIT} are supported."
        raise ProblemError("unsupported-codec", detail, "request", pointer)
    before_last = [name for name in found.codecs if name != "crc32c"][:-1]
    if COMPRESSORS.intersection(before_last):
        detail = f"Array {shown} is stored with a compressor that is not its last codec. Write it again with that last."
        raise ProblemError("unsupported-codec", detail, "request", pointer)


def check_sizes(found: ArrayMetadata, shown: str, pointer: str | None) -> None:
    """Refuse sizes that would exhaust a machine before the first value is compared."""

    def refuse(what: str) -> ProblemError:
        return ProblemError("over-limit", f"Array {shown} {what}.", "request", pointer)

    dimensions = len(found.shape)
    if dimensions > DIMENSIONS_LIMIT:
        raise refuse(f"has {dimensions} dimensions; at most {DIMENSIONS_LIMIT} are supported")
    fits = dimensions == len(found.chunks) == len(found.files) and 0 not in found.chunks and 0 not in found.files
    if not fits or any(extent % chunk for extent, chunk in zip(found.files, found.chunks, strict=True)):
        raise ProblemError("corrupt-data", f"The chunks of array {shown} do not fit its shape.", "data", pointer)
    if dimensions == 0:
        return
    if found.shape[0] > ROWS_LIMIT:
        raise refuse(f"claims {found.shape[0]} rows; at most {ROWS_LIMIT} are supported")
    if dimensions > 1 and math.prod(found.shape[1:]) > COLUMNS_LIMIT:
        raise refuse(f"claims {math.prod(found.shape[1:])} values a row; at most {COLUMNS_LIMIT} are supported")
    if (size := math.prod(found.chunks) * found.itemsize) > CHUNK_LIMIT:
        raise refuse(f"has chunks of {size} bytes; at most {CHUNK_LIMIT} can be decoded at once")
    if found.shards and (size := math.prod(found.shards) * found.itemsize) > SHARD_LIMIT:
        raise refuse(f"has shards of {size} bytes; at most {SHARD_LIMIT} are supported")
    if (inner := math.prod(found.files) // math.prod(found.chunks)) > CHUNKS_LIMIT:
        raise refuse(f"has {inner} chunks in a shard; at most {CHUNKS_LIMIT} are supported")
    chunks = math.prod(-(-size // chunk) for size, chunk in zip(found.shape, found.chunks, strict=True))
    if chunks > CHUNKS_LIMIT:
        size = math.prod(found.shape) * found.itemsize
        raise refuse(
            f"is cut into {chunks} chunks for {size} bytes; at most {CHUNKS_LIMIT} are supported. Write it again with "
            "larger chunks"
        )
