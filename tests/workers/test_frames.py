"""Chunks that become more than the metadata of their array allows are refused before anything decodes them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zlib
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import pytest
import zarr

from workers import arrays, limits, staging
from workers.errors import ProblemError
from workers.references import Reference, Root, describe_matrix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workers.staging import StagedArray

VALUES = np.arange(24, dtype=np.float32).reshape(8, 3)
BOMB = bytes(8 << 20)
REFERENCE = Reference("lab", "x")


@pytest.fixture
def lab(tmp_path: Path) -> dict[str, Root]:
    return {"lab": Root("lab", str(tmp_path / "lab"))}


@pytest.fixture
def stage(tmp_path: Path, lab: dict[str, Root]) -> Callable[[], StagedArray]:
    return lambda: staging.stage(lab, REFERENCE, tmp_path / "staging", "x", "error", lambda: None)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bombs of a size that a test can afford."""
    monkeypatch.setattr(limits, "CHUNK_LIMIT", 1 << 20)


def write(directory: Path, **options: Any) -> None:
    options = {"chunks": (4, 3), **options}
    array = zarr.create_array(
        directory, shape=VALUES.shape, dtype=VALUES.dtype, config={"write_empty_chunks": True}, **options
    )
    array[...] = VALUES


def zstd_frame(*blocks: tuple[int, int, bytes]) -> bytes:
    """A frame that does not say how much it holds, of blocks of a kind, size and content."""
    frame = bytes.fromhex("28b52ffd0058")
    for place, (kind, size, content) in enumerate(blocks):
        last = place == len(blocks) - 1
        frame += (last | kind << 1 | size << 3).to_bytes(3, "little") + content
    return frame


RAW, REPEATED = 0, 1
ENDLESS = [(REPEATED, 1 << 17, b"\0")] * 9

BOMBS = {
    "gzip": (numcodecs.GZip(), gzip.compress(BOMB)),
    "gzip-members": (numcodecs.GZip(), gzip.compress(b"") + gzip.compress(BOMB)),
    "zlib": (numcodecs.Zlib(), zlib.compress(BOMB)),
    "bz2": (numcodecs.BZ2(), bz2.compress(BOMB)),
    "bz2-streams": (numcodecs.BZ2(), bz2.compress(b"a") + bz2.compress(BOMB)),
    "lzma": (numcodecs.LZMA(), lzma.compress(BOMB)),
    "lzma-raw": (
        numcodecs.LZMA(format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}]),
        lzma.compress(BOMB, format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}]),
    ),
    "lz4": (numcodecs.LZ4(), numcodecs.LZ4().encode(BOMB)),
    "blosc": (numcodecs.Blosc(), numcodecs.Blosc().encode(BOMB)),
    "zstd": (numcodecs.Zstd(), numcodecs.Zstd().encode(BOMB)),
    "zstd-blocks": (numcodecs.Zstd(), zstd_frame(*ENDLESS)),
    "zstd-frames": (numcodecs.Zstd(), zstd_frame((RAW, 0, b"")) + zstd_frame(*ENDLESS)),
}


class Unread:
    """An opened array that nobody may read."""

    def __getitem__(self, _: Any) -> Any:
        pytest.fail("the array was read")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused_unread(
    tmp_path: Path, stage: Callable[[], StagedArray], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    codec, frame = BOMBS[case]
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=codec)
    (tmp_path / "lab" / "x" / "1.0").write_bytes(frame)
    monkeypatch.setattr(arrays, "open_values", lambda *_: Unread())
    with pytest.raises(ProblemError, match=r"chunk [01]\.0 cannot be decoded, it") as caught:
        stage()
    assert caught.value.slug == "corrupt-data"


@pytest.mark.parametrize("codec", [None, numcodecs.Zstd(), numcodecs.GZip()], ids=str)
def test_a_chunk_that_takes_up_more_than_it_can_hold_is_refused_unread(
    tmp_path: Path, stage: Callable[[], StagedArray], monkeypatch: pytest.MonkeyPatch, codec: Any
) -> None:
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=codec)
    monkeypatch.setattr(arrays, "open_values", lambda *_: Unread())
    os.truncate(tmp_path / "lab" / "x" / "1.0", 1 << 40)  # without a byte on disk
    with pytest.raises(
        ProblemError, match=r"chunk 1\.0 cannot be decoded, it takes up 1099511627776 bytes, and a chunk has 48"
    ) as caught:
        stage()
    assert caught.value.slug == "corrupt-data"


def test_a_bomb_behind_a_checksum_within_a_shard_is_refused(tmp_path: Path, stage: Callable[[], StagedArray]) -> None:
    codecs = [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]
    write(tmp_path / "lab" / "x", chunks=(4, 3), shards=(8, 3), compressors=codecs)
    assert stage().rows == 8
    document = tmp_path / "lab" / "x" / "zarr.json"
    parsed = json.loads(document.read_text())
    parsed["codecs"][0]["configuration"]["chunk_shape"] = [4, 1]
    parsed["shape"] = parsed["chunk_grid"]["configuration"]["chunk_shape"] = [8, 1]
    document.write_text(json.dumps(parsed))  # chunks are now a third of what they hold
    with pytest.raises(ProblemError, match="claims 48 bytes, and a chunk has 16"):
        stage()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("codec", [numcodecs.GZip(), numcodecs.Zlib(), numcodecs.BZ2(), numcodecs.LZMA()])
def test_streams_that_keep_to_their_chunk_are_read(
    tmp_path: Path, stage: Callable[[], StagedArray], codec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHUNK_LIMIT", 64)  # so that all are looked through
    monkeypatch.setattr("workers.frames.PIECE_BYTES", 7)
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=codec)
    staged = stage()
    assert (staging.load(tmp_path / "staging", staged) == VALUES).all()


@pytest.mark.usefixtures("small")
def test_a_zstd_frame_that_does_not_say_its_size_is_read(tmp_path: Path, stage: Callable[[], StagedArray]) -> None:
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=numcodecs.Zstd())
    chunk = VALUES[4:].tobytes()
    frame = zstd_frame((RAW, 20, chunk[:20]), (RAW, len(chunk) - 20, chunk[20:]))
    assert numcodecs.Zstd().decode(frame) == chunk
    (tmp_path / "lab" / "x" / "1.0").write_bytes(frame)
    staged = stage()
    assert (staging.load(tmp_path / "staging", staged) == VALUES).all()


def test_a_filter_that_widens_is_allowed_for(tmp_path: Path, stage: Callable[[], StagedArray]) -> None:
    filters = [numcodecs.Delta(dtype="<f4", astype="<f8")]
    write(tmp_path / "lab" / "x", zarr_format=2, filters=filters, compressors=numcodecs.Zstd())
    assert (staging.load(tmp_path / "staging", stage()) == VALUES).all()


@pytest.mark.parametrize("place", ["filters", "twice"])
def test_compressors_below_others_are_refused(tmp_path: Path, lab: dict[str, Root], place: str) -> None:
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=numcodecs.Zlib())
    document = tmp_path / "lab" / "x" / ".zarray"
    parsed = json.loads(document.read_text())
    parsed["filters"] = [{"id": "zlib", "level": 1}]
    parsed["compressor"] = {"id": "gzip", "level": 1} if place == "twice" else {"id": "shuffle", "elementsize": 4}
    document.write_text(json.dumps(parsed))
    with pytest.raises(ProblemError, match="a compressor that is not its last codec") as caught:
        describe_matrix(lab, REFERENCE, "x")
    assert caught.value.slug == "unsupported-codec"


def test_endless_lists_in_metadata_are_refused_at_once(tmp_path: Path, lab: dict[str, Root]) -> None:
    write(tmp_path / "lab" / "x", compressors=None)
    document = tmp_path / "lab" / "x" / "zarr.json"
    honest = json.loads(document.read_text())
    codecs = {**honest, "codecs": [{"name": "bytes"}] * 400_000}
    sizes = [2**63 - 1] * 200_000
    grid = {"name": "regular", "configuration": {"chunk_shape": sizes}}
    for lie, says in ((codecs, "400000 codecs"), ({**honest, "shape": sizes, "chunk_grid": grid}, "200000 dimensions")):
        document.write_text(json.dumps(lie))
        with pytest.raises(ProblemError, match=says):
            describe_matrix(lab, REFERENCE, "x")


def test_attributes_of_any_depth_are_not_read(tmp_path: Path, stage: Callable[[], StagedArray]) -> None:
    write(tmp_path / "lab" / "x", zarr_format=2, compressors=None)
    (tmp_path / "lab" / "x" / ".zattrs").write_text("[" * 200_000)
    assert (staging.load(tmp_path / "staging", stage()) == VALUES).all()


def test_metadata_that_is_replaced_after_it_was_judged_is_not_read(
    tmp_path: Path, lab: dict[str, Root], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "lab" / "x", compressors=None)
    open_values = arrays.open_values

    def replaced(*arguments: Any) -> Any:
        (tmp_path / "lab" / "x" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        return open_values(*arguments)

    monkeypatch.setattr(arrays, "open_values", replaced)
    opened = arrays.open_matrix(lab, REFERENCE, "x", "error")
    assert (np.concatenate([block.values for block in opened.blocks()]) == VALUES).all()
    with pytest.raises(ProblemError, match="changed while it was read"):
        opened.require_unchanged()


def test_links_that_appear_after_the_array_was_opened_are_not_followed(tmp_path: Path, lab: dict[str, Root]) -> None:
    write(tmp_path / "lab" / "x", compressors=None)
    secret = tmp_path / "secret"
    secret.write_bytes(VALUES[4:].tobytes())
    opened = arrays.open_matrix(lab, REFERENCE, "x", "error")
    chunk = tmp_path / "lab" / "x" / "c" / "1" / "0"
    chunk.unlink()
    chunk.symlink_to(secret)
    with pytest.raises(ProblemError) as caught:
        list(opened.blocks())
    assert caught.value.slug == "path-outside-root"
    (tmp_path / "lab" / "x").rename(tmp_path / "elsewhere")
    (tmp_path / "lab" / "x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProblemError, match="leads out of its root"):
        opened.require_unchanged()
