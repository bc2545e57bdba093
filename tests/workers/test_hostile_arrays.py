"""Arrays that are made to exhaust, confuse or outlive what reads them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import zarr

from ordsim_core.errors import NotRepresentableError
from ordsim_core.spaces import exactness_of
from workers import staging
from workers.errors import ProblemError
from workers.references import Reference, Root, describe_matrix, list_arrays

if TYPE_CHECKING:
    from workers.staging import StagedArray

VALUES = np.arange(24, dtype=np.float32).reshape(8, 3)


def write(directory: Path, values: np.ndarray = VALUES, **options: object) -> None:
    options = {"chunks": (4, 3), "compressors": None, **options}
    array = zarr.create_array(
        directory, shape=values.shape, dtype=values.dtype, config={"write_empty_chunks": True}, **options
    )
    array[...] = values


def stage(tmp_path: Path, path: str) -> StagedArray:
    roots = {"lab": Root("lab", str(tmp_path / "lab"))}
    return staging.stage(roots, Reference("lab", path), tmp_path / "staging", "x", "error", lambda: None)


def test_new_values_under_an_old_time_are_read_again(tmp_path: Path) -> None:
    write(tmp_path / "lab" / "x")
    before = stage(tmp_path, "x")
    chunk = tmp_path / "lab" / "x" / "c" / "1" / "0"
    stat = chunk.stat()
    chunk.write_bytes((VALUES[4:] * 2).tobytes())
    os.utime(chunk, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert chunk.stat().st_mtime_ns == stat.st_mtime_ns
    after = stage(tmp_path, "x")
    assert after.fingerprint != before.fingerprint
    assert (staging.load(tmp_path / "staging", after)[4:] == VALUES[4:] * 2).all()


def test_names_that_are_no_text_hide_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "lab" / "good")
    write(tmp_path / "lab" / "a%b")
    Path(os.fsdecode(os.fsencode(tmp_path / "lab") + b"/bad\xff")).mkdir()
    (tmp_path / "lab" / "good" / "zarr.json").rename(tmp_path / "lab" / "good.json")
    for document in (b"bad\xff", b"good"):
        target = os.fsencode(tmp_path / "lab") + b"/" + document + b"/zarr.json"
        Path(os.fsdecode(target)).write_bytes((tmp_path / "lab" / "good.json").read_bytes())
    listed = list_arrays({"lab": Root("lab", str(tmp_path / "lab"))}, "lab")
    assert [array.path for array in listed] == ["good"]


def test_a_stray_file_with_a_name_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path / "lab" / "x")
    Path(os.fsdecode(os.fsencode(tmp_path / "lab" / "x") + b"/stray\xff")).write_bytes(b"")
    assert stage(tmp_path, "x").rows == 8


@pytest.mark.parametrize("claimed", [2**50, 2**62])
def test_a_frame_that_claims_more_than_there_is_memory_is_corrupt(tmp_path: Path, claimed: int) -> None:
    write(tmp_path / "lab" / "x", compressors="auto")
    frame = bytes.fromhex("28b52ffde0") + claimed.to_bytes(8, "little") + bytes.fromhex("010000")
    (tmp_path / "lab" / "x" / "c" / "0" / "0").write_bytes(frame)
    with pytest.raises(ProblemError, match=r"c/0/0 cannot be decoded") as caught:
        stage(tmp_path, "x")
    assert caught.value.slug == "corrupt-data"


def test_a_shard_of_countless_chunks_is_refused_by_its_metadata(tmp_path: Path) -> None:
    write(tmp_path / "lab" / "x", np.zeros((9, 4), np.int8), chunks=(1, 1), shards=(9, 4))
    document = tmp_path / "lab" / "x" / "zarr.json"
    parsed = json.loads(document.read_text())
    parsed["chunk_grid"]["configuration"]["chunk_shape"] = [8192, 8192]
    document.write_text(json.dumps(parsed))
    with pytest.raises(ProblemError, match="67108864 chunks in a shard") as caught:
        describe_matrix({"lab": Root("lab", str(tmp_path / "lab"))}, Reference("lab", "x"), "x")
    assert caught.value.slug == "over-limit"


def test_links_that_fan_out_are_not_walked_through(tmp_path: Path) -> None:
    write(tmp_path / "lab" / "x")
    for level in range(28):
        folder = tmp_path / "lab" / "x" / f"level{level}"
        folder.mkdir()
        for way in ("a", "b"):
            (folder / way).symlink_to(f"../level{level + 1}")
    (tmp_path / "lab" / "x" / "level28").mkdir()
    with pytest.raises(ProblemError, match="two links to one directory") as caught:
        stage(tmp_path, "x")
    assert caught.value.slug == "corrupt-data"


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_integers_are_told_apart_by_what_float64_can_hold(dtype: type) -> None:
    held = [0, 2**53, 2**53 + 2, 2**60 + 2**40, 2**62 + 2**10]
    held += [-(2**63), -(2**53), -(2**53 + 2)] if dtype is np.int64 else [2**63, 2**64 - 2**11]
    values = np.array([held, held], dtype)
    assert (values.astype(np.float64).astype(object) == values.astype(object)).all()
    exactness_of(values)
    for wrong in (2**53 + 1, 2**62 + 1, 2**63 - 1):
        values[1, 3] = wrong
        with pytest.raises(NotRepresentableError) as caught:
            exactness_of(values)
        assert (caught.value.row, caught.value.column) == (1, 3)
