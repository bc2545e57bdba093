"""How much a stored chunk decodes to, found out before anything decodes it.

A few kilobytes can claim to be, and become, more than there is memory. Codecs decode all of them, whatever the metadata
of the array says.
"""

from __future__ import annotations

import bz2
import lzma
import math
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from workers import limits
from workers.errors import ProblemError

if TYPE_CHECKING:
    from pathlib import Path

    from workers.metadata import ArrayMetadata

BLOSC_HEADER_BYTES = 16
CHECKSUM_BYTES = 4
PIECE_BYTES = 1 << 20
DEFLATE_RATIO = 1032
"""Most bytes that one byte of deflate can become."""

GROWN_PART, GROWN_BYTES = 64, 4096
"""What codecs may add to bytes that they cannot shrink: one part of so many, and so many bytes."""

WIDENED = 8
"""Most bytes of what a filter is given for each byte of the array: delta may store int8 as int64."""

XZ_MEMORY = 256 << 20
"""Bytes that decoding xz may need for itself; the best compression needs a quarter of it."""

STREAMS: dict[str, Any] = {
    "gzip": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    "zlib": zlib.decompressobj,
    "bz2": bz2.BZ2Decompressor,
    "lzma": lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY),
}

ZSTD_MAGIC = bytes.fromhex("28b52ffd")
ZSTD_HEADER_BYTES = 5
ZSTD_BLOCK_HEADER_BYTES = 3
ZSTD_BLOCK_BYTES = 128 * 1024
ZSTD_REPEATED, ZSTD_COMPRESSED = 1, 2


def check(path: Path, places: list[tuple[int, int]], found: ArrayMetadata, shown: str, key: str) -> None:
    """See that the chunks at these places of a file, offset and size, decode to no more than a chunk's bytes.

    Raises
    ------
    ProblemError
        corrupt-data, naming the file: also if a chunk is visibly cut short.
    """
    codecs = list(found.codecs)
    tail = 0
    if codecs[-1:] == ["crc32c"]:
        codecs.pop()
        tail = CHECKSUM_BYTES
    compressed = bool(codecs) and codecs[-1] in limits.COMPRESSORS
    most = decoded_bytes(found)
    # Whoever reads a chunk reads all that is stored of it. What does not shrink grows a little, by headers.
    stored = most + most // GROWN_PART + GROWN_BYTES
    with path.open("rb") as file:
        for offset, size in places:
            if size - tail > stored:
                fault: str | None = f"takes up {size} bytes, and a chunk has {most}"
            elif compressed:
                file.seek(int(offset))
                fault = _fault(codecs[-1], file, int(size) - tail, most)
            else:
                fault = None
            if fault:
                raise ProblemError(
                    "corrupt-data",
                    f"Array {shown}: chunk {key} cannot be decoded, it {fault}. Restore the array from its source.",
                )


def decoded_bytes(found: ArrayMetadata) -> int:
    """Bytes of a decoded chunk at most, as the metadata has it; of text, whose length it does not tell, the limit."""
    if "vlen-utf8" in found.codecs:
        return limits.CHUNK_LIMIT
    return math.prod(found.chunks) * found.itemsize * (WIDENED if "delta" in found.codecs else 1)


def _fault(codec: str, file: BinaryIO, size: int, most: int) -> str | None:
    """What is wrong with the frame of `size` bytes that begins here; None if nothing is to be seen."""
    if codec in STREAMS:
        return _stream_fault(codec, file, size, most)
    if codec == "zstd":
        return _zstd_fault(file, size, most)
    header = file.read(min(size, BLOSC_HEADER_BYTES))
    if codec == "blosc" and (len(header) < BLOSC_HEADER_BYTES or int.from_bytes(header[12:16], "little") != size):
        return "is cut short"  # blosc would read on beyond its end
    return _claim_fault(int.from_bytes(header[4:8] if codec == "blosc" else header[:4], "little"), most)


def _claim_fault(claimed: int, most: int) -> str | None:
    return f"claims {claimed} bytes, and a chunk has {most}" if claimed > most else None


def _stream_fault(codec: str, file: BinaryIO, size: int, most: int) -> str | None:
    """Decode piece by piece, keeping nothing, until there is too much; spare what cannot become too much."""
    if codec in ("gzip", "zlib") and size * DEFLATE_RATIO <= limits.CHUNK_LIMIT:
        return None
    made, pending, decoder = 0, b"", STREAMS[codec]()
    try:
        while made <= most:
            if decoder.eof:  # streams may follow one another
                pending, decoder = decoder.unused_data, STREAMS[codec]()
            if not pending and getattr(decoder, "needs_input", True):
                pending = file.read(min(size, PIECE_BYTES))
                size -= len(pending)
                if not pending:
                    return None
            made += len(decoder.decompress(pending, PIECE_BYTES))
            pending = getattr(decoder, "unconsumed_tail", b"")
    except lzma.LZMAError:
        return "is no xz stream, or needs too much memory"
    except (OSError, ValueError, zlib.error):
        return None  # whoever decodes it finds the same, and says so
    return f"becomes more than the {most} bytes of a chunk"


def _zstd_fault(file: BinaryIO, size: int, most: int) -> str | None:
    """Compare what a zstd frame claims to hold; where it does not say, what its blocks can become (RFC 8878)."""
    begin = file.tell()
    made = 0
    while (left := size - (file.tell() - begin)) > ZSTD_HEADER_BYTES:
        descriptor = _zstd_descriptor(file)
        if descriptor is None:
            return None  # whoever decodes it finds the same, and says so
        single = descriptor >> 5 & 1
        file.seek(1 - single + (0, 1, 2, 4)[descriptor & 3], 1)
        length = (single, 2, 4, 8)[descriptor >> 6]
        if length and not made:
            claimed = int.from_bytes(file.read(length), "little") + (256 if length == 2 else 0)
            return _claim_fault(claimed, most)
        file.seek(length, 1)
        made += _zstd_blocks(file, left)
        if (
            made > limits.CHUNK_LIMIT
        ):  # each block was counted as if it were full, so the chunk's own size is no measure
            return f"may become {made} bytes, and at most {limits.CHUNK_LIMIT} can be decoded at once"
        file.seek(CHECKSUM_BYTES if descriptor >> 2 & 1 else 0, 1)
    return None


def _zstd_descriptor(file: BinaryIO) -> int | None:
    header = file.read(ZSTD_HEADER_BYTES)
    return header[4] if len(header) == ZSTD_HEADER_BYTES and header[:4] == ZSTD_MAGIC else None


def _zstd_blocks(file: BinaryIO, left: int) -> int:
    """Most bytes that the blocks of a frame become; leaves the file behind the last."""
    made = 0
    while left > 0 and len(written := file.read(ZSTD_BLOCK_HEADER_BYTES)) == ZSTD_BLOCK_HEADER_BYTES:
        header = int.from_bytes(written, "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        made += ZSTD_BLOCK_BYTES if kind == ZSTD_COMPRESSED else size
        stored = 1 if kind == ZSTD_REPEATED else size
        file.seek(stored, 1)
        left -= ZSTD_BLOCK_HEADER_BYTES + stored
        if last:
            break
    return made
