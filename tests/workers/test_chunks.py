"""Chunks that are not stored: found in every layout, and never taken for numbers."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google_crc32c import value as crc32c
from zarr.codecs import Crc32cCodec, ShardingCodec
from zarr_cases import BASE, DIALECTS, INDEX_LAYOUTS, Lab, edit, write_sharded

from workers import chunks, references
from workers.chunks import Absent
from workers.errors import ProblemError
from workers.references import Reference, RowRange

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_SHARDS = [name for name, dialect in DIALECTS.items() if "shards" not in dialect]

HALF_EMPTY = BASE.copy()
HALF_EMPTY[2:4] = 0
"""Rows 2 and 3 are what writers leave out by default."""


def absent(lab: Lab, path: str, start: int = 0, stop: int | None = None) -> Absent | None:
    directory, found = references.read_metadata(lab.roots, Reference("lab", path), "/x", "x")
    stored = chunks.stored_files(directory, lab.directory, "x")
    return chunks.find_absent(directory, found, RowRange(start, found.shape[0] if stop is None else stop), stored, "x")


def stored_keys(directory: Path) -> list[str]:
    return sorted(chunks.stored_files(directory, directory.parent, "x"))


def data_files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file() and not file.name.startswith((".z", "zarr")))


def problem(lab: Lab, path: str, **options: Any) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        lab.stage(path, **options)
    assert str(lab.directory) not in str(caught.value)
    return caught.value


# ---- arrays of plain chunks


@pytest.mark.parametrize("dialect", WITHOUT_SHARDS)
def test_every_chunk_is_missed_when_it_is_gone(lab: Lab, dialect: str) -> None:
    directory = lab.write("x", BASE, **DIALECTS[dialect])
    assert absent(lab, "x") is None
    files = data_files(directory)
    for file in files:
        content = file.read_bytes()
        file.unlink()
        assert absent(lab, "x") == Absent(1, len(files), file.relative_to(directory).as_posix())
        file.write_bytes(content)


@pytest.mark.parametrize(
    ("dialect", "key"),
    [
        ("v3-gzip", "c/1/0"),
        ("v3-dot", "c.1.0"),
        ("v3-keys-of-v2", "1.0"),
        ("v3-keys-of-v2-slash", "1/0"),
        ("v2", "1.0"),
        ("v2-slash", "1/0"),
    ],
)
def test_the_first_absent_chunk_is_named_by_its_key(lab: Lab, dialect: str, key: str) -> None:
    directory = lab.write("x", BASE, **DIALECTS[dialect])
    (directory / key).unlink()
    found = problem(lab, "x", name="y")
    assert found.slug == "missing-chunks"
    assert found.detail.startswith(f"Array y (lab:x): 1 of {len(data_files(directory)) + 1} chunks absent")
    assert f"the first of them in {key}." in found.detail
    assert "write_empty_chunks" in found.detail
    assert '"missing_chunks": "fill"' in found.detail


def test_absent_chunks_are_counted_from_the_first(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 2))
    for key in ("c/3/0", "c/1/1", "c/2/0"):
        (directory / key).unlink()
    assert absent(lab, "x") == Absent(3, 8, "c/1/1")


def test_an_array_without_any_chunk(lab: Lab) -> None:
    shutil.rmtree(lab.write("x", BASE, chunks=(2, 2)) / "c")
    assert absent(lab, "x") == Absent(8, 8, "c/0/0")


def test_a_folder_in_the_place_of_a_chunk_is_no_chunk(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    (directory / "c/1/0").unlink()
    (directory / "c/1/0").mkdir()
    assert absent(lab, "x") == Absent(1, 4, "c/1/0")


def test_a_dangling_link_is_no_chunk(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    (directory / "c/1/0").unlink()
    (directory / "c/1/0").symlink_to("nowhere")
    assert absent(lab, "x") == Absent(1, 4, "c/1/0")


@pytest.mark.parametrize(("rows", "count"), [((0, 2), 0), ((0, 3), 1), ((2, 4), 1), ((3, 8), 1), ((4, 8), 0)])
def test_only_chunks_of_the_wanted_rows_matter(lab: Lab, rows: tuple[int, int], count: int) -> None:
    (lab.write("x", BASE, chunks=(2, 4)) / "c/1/0").unlink()
    found = absent(lab, "x", *rows)
    assert (found.count if found else 0) == count
    if count == 0:
        assert (lab.staged("x", rows=rows) == BASE[slice(*rows)]).all()


def test_chunks_that_a_writer_left_out_are_refused_or_filled_and_counted(lab: Lab) -> None:
    lab.write("x", HALF_EMPTY, chunks=(2, 4), store_empty=False)
    assert problem(lab, "x").slug == "missing-chunks"
    staged = lab.stage("x", missing_chunks="fill")
    assert staged.missing_chunks_filled == 1
    assert (lab.staged("x", missing_chunks="fill") == HALF_EMPTY).all()
    lab.write("whole", HALF_EMPTY, chunks=(2, 4))
    whole = lab.stage("whole", missing_chunks="fill")
    assert whole.missing_chunks_filled == 0
    assert whole.fingerprint == staged.fingerprint


def test_absent_chunks_are_filled_with_the_fill_value(lab: Lab) -> None:
    (lab.write("x", BASE, chunks=(2, 4), fill_value=7) / "c/1/0").unlink()
    assert (lab.staged("x", missing_chunks="fill")[2:4] == 7).all()


def test_the_fill_value_must_be_a_number(lab: Lab) -> None:
    (lab.write("x", BASE, chunks=(2, 4), fill_value=np.nan) / "c/1/0").unlink()
    found = problem(lab, "x", missing_chunks="fill")
    assert found.slug == "non-finite-input"
    assert "row 2, column 0" in found.detail


@pytest.mark.parametrize("missing_chunks", ["error", "fill"])
def test_without_a_fill_value_nothing_is_filled(lab: Lab, missing_chunks: str) -> None:
    (lab.write("x", BASE, **DIALECTS["v2-null-fill"]) / "3.0").unlink()
    found = problem(lab, "x", missing_chunks=missing_chunks)
    assert found.slug == "missing-chunks"
    assert "1 of 4 chunks absent, the first of them in 3.0." in found.detail
    assert "undefined" in found.detail
    assert '"fill"' not in found.detail


# ---- shards


def test_a_shard_that_is_gone_counts_all_its_chunks(lab: Lab) -> None:
    (lab.write("x", BASE, chunks=(2, 2), shards=(4, 4)) / "c/1/0").unlink()
    assert absent(lab, "x") == Absent(4, 8, "c/1/0")
    assert absent(lab, "x", 4, 6) == Absent(2, 2, "c/1/0")
    assert absent(lab, "x", 0, 4) is None
    assert "c/1/0" in problem(lab, "x").detail


def test_chunks_beyond_the_edge_of_the_array_are_not_missed(lab: Lab) -> None:
    # The last shard reaches to row 12 and column 8; a writer has nothing to put there.
    lab.write("x", BASE, chunks=(2, 2), shards=(6, 8), store_empty=False)
    assert absent(lab, "x") is None


@pytest.mark.parametrize("layout", INDEX_LAYOUTS)
def test_chunks_absent_within_a_shard_are_found_by_its_index(lab: Lab, layout: str) -> None:
    codec = ShardingCodec(chunk_shape=(2, 2), **INDEX_LAYOUTS[layout])
    write_sharded(lab.directory / "x", HALF_EMPTY, codec, (4, 4))
    assert stored_keys(lab.directory / "x") == ["c/0/0", "c/1/0"]
    assert absent(lab, "x") == Absent(2, 8, "c/0/0")
    assert absent(lab, "x", 0, 2) is None
    assert absent(lab, "x", 3, 5) == Absent(2, 4, "c/0/0")
    assert problem(lab, "x").slug == "missing-chunks"
    staged = lab.stage("x", missing_chunks="fill")
    assert staged.missing_chunks_filled == 2
    assert (lab.staged("x", missing_chunks="fill") == HALF_EMPTY).all()
    assert (lab.staged("x", rows=(4, 8)) == HALF_EMPTY[4:]).all()


def index_of(shard: bytes, entries: int) -> np.ndarray:
    return np.frombuffer(shard[-(16 * entries + 4) : -4], "<u8").reshape(entries, 2).copy()


def with_index(shard: bytes, index: np.ndarray) -> bytes:
    raw = index.astype("<u8").tobytes()
    return shard[: -(len(raw) + 4)] + raw + struct.pack("<I", crc32c(raw))


@pytest.fixture
def shard(lab: Lab) -> Path:
    """The first of two shards of four uncompressed chunks."""
    return write_sharded(lab.directory / "x", BASE, ShardingCodec(chunk_shape=(2, 2)), (4, 4)) / "c/0/0"


def test_a_chunk_taken_out_of_a_shard_is_missed(lab: Lab, shard: Path) -> None:
    content = shard.read_bytes()
    index = index_of(content, 4)
    index[3] = chunks.ABSENT
    shard.write_bytes(with_index(content, index))
    assert absent(lab, "x") == Absent(1, 8, "c/0/0")


def test_an_index_cut_short_is_corrupt(lab: Lab, shard: Path) -> None:
    shard.write_bytes(shard.read_bytes()[-20:])
    found = problem(lab, "x")
    assert found.slug == "corrupt-data"
    assert "Shard c/0/0 of array x (lab:x) is cut short" in found.detail


def test_an_empty_shard_file_is_corrupt(lab: Lab, shard: Path) -> None:
    shard.write_bytes(b"")
    assert problem(lab, "x", missing_chunks="fill").slug == "corrupt-data"


@pytest.mark.parametrize("byte", [0, 30, -5, -1])
def test_an_index_that_does_not_fit_its_checksum_is_corrupt(lab: Lab, shard: Path, byte: int) -> None:
    content = bytearray(shard.read_bytes())
    start = len(content) - 68
    content[byte if byte < 0 else start + byte] ^= 1
    shard.write_bytes(content)
    found = problem(lab, "x", missing_chunks="fill")
    assert found.slug == "corrupt-data"
    assert "c/0/0" in found.detail


@pytest.mark.parametrize("entry", [(10**6, 16), (0, 2**63), (2**63, 2**63), (60, 16 + 2**40)])
def test_chunks_beyond_the_end_of_their_shard_are_corrupt(lab: Lab, shard: Path, entry: tuple[int, int]) -> None:
    content = shard.read_bytes()
    index = index_of(content, 4)
    index[2] = entry
    shard.write_bytes(with_index(content, index))
    found = problem(lab, "x", missing_chunks="fill")
    assert found.slug == "corrupt-data"
    assert "c/0/0" in found.detail


@pytest.mark.parametrize("layout", INDEX_LAYOUTS)
@pytest.mark.parametrize("lost", [1, 40, 64])
def test_a_shard_that_lost_bytes_is_corrupt(lab: Lab, layout: str, lost: int) -> None:
    # Without compression nothing else would notice that the remaining bytes are not the numbers they were.
    codec = ShardingCodec(chunk_shape=(2, 2), **INDEX_LAYOUTS[layout])
    shard = write_sharded(lab.directory / "x", BASE, codec, (4, 4)) / "c/1/0"
    content = shard.read_bytes()
    shard.write_bytes(content[:-lost] if "start" in layout else content[lost:])
    found = problem(lab, "x", missing_chunks="fill")
    assert found.slug == "corrupt-data"
    assert "c/1/0" in found.detail


def test_a_chunk_that_is_too_short_within_its_shard_is_corrupt(lab: Lab, shard: Path) -> None:
    content = shard.read_bytes()
    index = index_of(content, 4)
    index[1, 1] -= 4
    shard.write_bytes(with_index(content, index))
    found = problem(lab, "x")
    assert found.slug == "corrupt-data"
    assert "chunk c/0/0 cannot be decoded" in found.detail


def test_checksums_of_chunks_within_shards_are_checked(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 2), shards=(4, 4), compressors=[Crc32cCodec()])
    file = directory / "c/1/0"
    content = bytearray(file.read_bytes())
    content[3] ^= 1
    file.write_bytes(content)
    assert "c/1/0" in problem(lab, "x").detail


# ---- the walk


def test_links_within_an_array_may_not_leave_the_root(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    moved = (directory / "c/1/0").rename(lab.outside / "chunk")
    (directory / "c/1/0").symlink_to(moved)
    found = problem(lab, "x", missing_chunks="fill")
    assert found.slug == "path-outside-root"
    (directory / "c/1/0").unlink()
    moved.rename(directory / "c/1/0")
    shutil.move(directory / "c", lab.outside / "c")
    (directory / "c").symlink_to(lab.outside / "c")
    assert problem(lab, "x", missing_chunks="fill").slug == "path-outside-root"


def test_links_to_places_within_the_root_are_followed(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    shutil.move(directory / "c", lab.directory / "elsewhere")
    (directory / "c").symlink_to("../elsewhere")
    assert (lab.staged("x") == BASE).all()


def test_links_that_lead_back_do_not_trap_the_walk(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    (directory / "c/back").symlink_to("..")
    (directory / "c/again").symlink_to("../c")
    assert problem(lab, "x").slug == "corrupt-data"


def test_metadata_that_changes_the_keys_changes_what_is_missed(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    edit(directory, chunk_key_encoding={"name": "default", "configuration": {"separator": "."}})
    assert absent(lab, "x") == Absent(4, 4, "c.0.0")
