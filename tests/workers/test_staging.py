"""One local copy of an array: the same from every layout, and never of anything but the stored numbers."""

from __future__ import annotations

import errno
import fcntl
import gc
import hashlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import pytest
import staging_processes
import zarr
from google_crc32c import value as crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr_cases import BASE, DIALECTS, Lab, edit, write

from workers import arrays, durable, staging
from workers.arrays import open_matrix
from workers.errors import ProblemError
from workers.references import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = Path(__file__).parents[2]


def problem(lab: Lab, path: str, **options: Any) -> ProblemError:
    """The refusal to stage an array, after which nothing of it is left in the staging directory."""
    with pytest.raises(ProblemError) as caught:
        lab.stage(path, **options)
    assert str(lab.directory.parent) not in str(caught.value)
    assert copies(lab) == []
    return caught.value


def copies(lab: Lab) -> list[str]:
    """What lies in the staging directory beside lock files."""
    if not lab.staging.exists():
        return []
    return sorted(file.suffix for file in lab.staging.iterdir() if file.suffix != ".lock")


def fingerprint(values: np.ndarray) -> str:
    """The definition, written out again."""
    digest = hashlib.sha256()
    little = values.dtype.newbyteorder("<")
    digest.update(f"{little.str} {values.shape[0]} {values.shape[1]} ".encode())
    for row in values.astype(little):
        digest.update(row.tobytes())
    return f"sha256:{digest.hexdigest()}"


# ---- the same numbers from every layout


@pytest.mark.parametrize("budget", [1, 40, 64 * 1024**2], ids=["a-chunk-at-once", "some-chunks-at-once", "all-at-once"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_one_copy(lab: Lab, dialect: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    monkeypatch.setattr(staging, "BLOCK_BYTES", budget)
    lab.write("x", BASE, **DIALECTS[dialect])
    staged = lab.stage("x")
    assert (staged.rows, staged.columns, staged.dtype) == (8, 4, "float32")
    assert staged.fingerprint == fingerprint(BASE)
    assert (staged.exactness, staged.missing_chunks_filled) == ("integer", 0)
    assert staging.load(lab.staging, staged).tobytes() == BASE.tobytes()
    part = lab.stage("x", rows=(3, 7))
    assert part.fingerprint == fingerprint(BASE[3:7])
    assert staging.load(lab.staging, part).tobytes() == BASE[3:7].tobytes()


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_chunks_any_rows_any_budget(lab: Lab, data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    chunks = data.draw(st.tuples(st.integers(1, 14), st.integers(1, 8)))
    repeats = data.draw(st.none() | st.tuples(st.integers(1, 3), st.integers(1, 3)))
    shards = repeats and (chunks[0] * repeats[0], chunks[1] * repeats[1])
    start = data.draw(st.integers(0, rows - 1))
    stop = data.draw(st.integers(start + 1, rows))
    first = data.draw(st.integers(0, columns - 1))
    last = data.draw(st.integers(first + 1, columns))
    wanted = data.draw(st.sampled_from([None, (first, last)]))
    budget = data.draw(st.integers(1, 400))
    values = np.arange(1, rows * columns + 1, dtype=np.int16).reshape(rows, columns)
    shutil.rmtree(lab.directory / "x", ignore_errors=True)
    lab.write("x", values, chunks=chunks, shards=shards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_BYTES", budget)
        staged = lab.stage("x", rows=(start, stop), columns=wanted)
    part = values[start:stop, slice(*wanted) if wanted else slice(None)]
    assert np.array_equal(staging.load(lab.staging, staged), part)
    assert (staged.rows, staged.columns) == part.shape
    assert staged.fingerprint == fingerprint(part)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_that_is_stale_is_not_believed(lab: Lab, zarr_format: Any) -> None:
    zarr.open_group(lab.directory / "group", mode="w", zarr_format=zarr_format)
    lab.write("group/x", np.zeros((3, 2), "i2"), zarr_format=zarr_format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr says that format 3 does not know it
        zarr.consolidate_metadata(lab.directory / "group")
    shutil.rmtree(lab.directory / "group" / "x")
    lab.write("group/x", BASE, zarr_format=zarr_format, chunks=(3, 3))
    assert (lab.staged("group/x") == BASE).all()


def test_names_of_dimensions_change_nothing(lab: Lab) -> None:
    edit(lab.write("x", BASE, chunks=(3, 3)), dimension_names=["row", None])
    assert (lab.staged("x") == BASE).all()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_columns_of_every_dialect(lab: Lab, dialect: str) -> None:
    lab.write("x", BASE, **DIALECTS[dialect])
    whole = lab.stage("x")
    part = lab.stage("x", rows=(3, 7), columns=(1, 3))
    assert staging.load(lab.staging, part).tobytes() == BASE[3:7, 1:3].tobytes()
    # Other columns are another copy.
    assert len({whole.file, part.file, lab.stage("x", rows=(3, 7)).file, lab.stage("x", columns=(1, 3)).file}) == 4
    assert lab.stage("x", rows=(3, 7), columns=(1, 3)) == part


def test_what_is_wrong_outside_the_wanted_columns_is_not_looked_at(lab: Lab) -> None:
    values = BASE.copy()
    values[5, 0], values[6, 3] = np.nan, np.inf
    directory = lab.write("x", values, chunks=(4, 1))
    (directory / "c" / "1" / "0").unlink()
    assert "row 6, column 3" in problem(lab, "x", rows=(4, 8), columns=(2, 4)).detail
    missing = problem(lab, "x", rows=(4, 8), columns=(0, 2))
    assert (missing.slug, "c/1/0" in missing.detail) == ("missing-chunks", True)
    assert lab.staged("x", rows=(4, 8), columns=(1, 3)).tobytes() == BASE[4:8, 1:3].tobytes()


def test_columns_must_lie_within_the_array(lab: Lab) -> None:
    lab.write("x", BASE)
    refused = problem(lab, "x", columns=(2, 5))
    assert (refused.slug, refused.pointer) == ("invalid-request", "/x/rows")
    assert "Columns 2 to 5" in refused.detail


TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("code", TYPES)
def test_every_real_type_keeps_its_values(lab: Lab, code: str, zarr_format: int, big_endian: bool) -> None:
    dtype = np.dtype(code)
    if dtype.kind == "f":
        values = (BASE / 16).astype(dtype)
        values[0, :3] = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal, -0.0
    elif dtype.kind == "b":
        values = BASE > 0
    else:
        limits = np.iinfo(dtype)
        values = np.abs(BASE).astype(dtype)
        values[0, :2] = limits.min, limits.max - (limits.max & 2047) if dtype.itemsize == 8 else limits.max
    lab.write("x", values, chunks=(3, 3), zarr_format=zarr_format, big_endian=big_endian and dtype.itemsize > 1)
    staged = lab.stage("x")
    assert staged.dtype == dtype.name
    assert staged.fingerprint == fingerprint(values)
    loaded = staging.load(lab.staging, staged)
    expected = np.dtype(np.float32) if code == "f2" else dtype
    assert loaded.dtype == expected
    assert loaded.tobytes() == values.astype(expected).tobytes()


def test_narrow_types_are_kept_where_arithmetic_would_wrap(lab: Lab) -> None:
    half = np.array([[60000, -60000], [59968, 3], [-59968, 8], [12, 60000], [0, 0], [40000, -40000], [7, 1]], "f2")
    signed = np.array([[-128, 127], [127, -128], [-128, -128], [127, 127], [0, 1], [-1, 0], [64, -64]], "i1")
    unsigned = np.array([[0, 255], [255, 0], [1, 1], [254, 254], [128, 127]], "u1")
    for name, values in (("half", half), ("signed", signed), ("unsigned", unsigned)):
        lab.write(name, values, chunks=(2, 1))
        staged = lab.stage(name)
        assert (lab.staged(name).astype(np.float64) == values.astype(np.float64)).all()
        assert staged.exactness == "integer"


def test_fingerprints_tell_type_shape_and_values_apart(lab: Lab) -> None:
    changed = BASE.copy()
    changed[7, 3] = np.nextafter(changed[7, 3], np.float32(100))
    negative_zero = np.zeros((8, 4), np.float32)
    negative_zero[0, 0] = -0.0
    arrays_by_name = {
        "base": BASE,
        "wider": BASE.astype(np.float64),
        "reshaped": BASE.reshape(4, 8),
        "changed": changed,
        "zeros": np.zeros((8, 4), np.float32),
        "negative zero": negative_zero,
        "integers": np.zeros((8, 4), np.int32),
    }
    for name, values in arrays_by_name.items():
        lab.write(name, values)
    found = {name: lab.stage(name).fingerprint for name in arrays_by_name}
    assert len(set(found.values())) == len(found)


def test_facts_are_of_the_staged_rows(lab: Lab) -> None:
    values = np.repeat(np.arange(4.0), 2)[:, None] * [1.0, 0.0, 1.0] + [0.0, 0.5, 0.1]
    lab.write("x", values, chunks=(3, 2))
    staged = lab.stage("x")
    assert (staged.constant_columns, staged.distinct_rows) == (1, 4)
    assert staged.exactness == "float"
    part = lab.stage("x", rows=(0, 2))
    assert (part.constant_columns, part.distinct_rows) == (3, 1)


def test_a_copy_is_read_only_and_mapped(lab: Lab) -> None:
    lab.write("x", BASE)
    loaded = lab.staged("x")
    assert isinstance(loaded, np.memmap)
    assert loaded.flags.c_contiguous
    assert not loaded.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        loaded[0, 0] = 1


@pytest.mark.parametrize("chunks", [(16384, 1), (64, 64), (16384, 64), (1000, 7)])
def test_memory_stays_near_the_budget_whatever_the_chunks(
    lab: Lab, chunks: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = 256 * 1024
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    values = np.arange(16384 * 64, dtype=np.float32).reshape(16384, 64)
    lab.write("x", values, chunks=chunks, compressors=None)
    chunk_bytes = 4 * chunks[0] * chunks[1]
    opened = open_matrix(lab.roots, Reference("lab", "x"), "x", "error")
    largest = 0
    gc.collect()
    gc.freeze()  # what other tests left does not make collecting slow
    tracemalloc.start()
    try:
        for block in opened.blocks():
            largest = max(largest, block.values.nbytes)
            gc.collect()  # when Python would do that depends on all that the process holds
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    assert largest <= max(budget, chunk_bytes)
    # The block before, the block now, and its chunks in their encoded and decoded forms.
    assert peak < 5 * max(budget, chunk_bytes) + 2**20


def test_2000_tiny_chunks_are_one_array(lab: Lab) -> None:
    values = np.random.default_rng(3).standard_normal((2000, 2)).astype("<f4")
    directory = lab.write("x", values[:1], chunks=(1, 2), compressors=None)
    edit(directory, shape=[2000, 2])
    for row, content in enumerate(values):
        (directory / f"c/{row}").mkdir(exist_ok=True)
        (directory / f"c/{row}/0").write_bytes(content.tobytes())
    assert lab.stage("x").fingerprint == fingerprint(values)


# ---- numbers that are none


@pytest.mark.parametrize("budget", [1, 64 * 1024**2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_value_that_is_not_finite_is_named(
    lab: Lab, dtype: str, value: float, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    values = BASE.astype(dtype)
    values[6, 3] = value
    for path, chunks in (("rows", (2, 4)), ("columns", (8, 1))):
        lab.write(path, values, chunks=chunks)
        found = problem(lab, path, name="y")
        assert (found.slug, found.origin) == ("non-finite-input", "data")
        assert f"Array y (lab:{path})" in found.detail
        assert "row 6, column 3" in found.detail
        assert "row 6, column 3" in problem(lab, path, rows=(5, 8)).detail
    assert (lab.staged("rows", rows=(0, 6)) == values[:6]).all()


@pytest.mark.parametrize("budget", [1, 64 * 1024**2])
def test_a_diagonal_that_is_not_finite_is_to_be_set(lab: Lab, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances of rows to themselves are not used; of other values, and of other arrays, this would be bad advice."""
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    distances = np.ones((8, 8))
    np.fill_diagonal(distances, np.nan)
    elsewhere = distances.copy()
    elsewhere[1, 0] = np.inf
    features = np.ones((8, 9))
    features[3, 3] = np.nan
    for path, values in (("distances", distances), ("elsewhere", elsewhere), ("features", features)):
        lab.write(path, values, chunks=(8, 8))
    found = problem(lab, "distances")
    assert found.slug == "non-finite-input"
    assert "in row 0, column 0. If these are distances, their diagonal is not used" in found.detail
    assert found.detail.endswith("set the diagonal to 0.")
    assert "row 2, column 2. If these are distances" in problem(lab, "distances", rows=(2, 8)).detail
    for path in ("elsewhere", "features"):
        assert "Remove or repair such rows, or send" in problem(lab, path).detail


def test_an_integer_that_float64_cannot_hold_is_named(lab: Lab) -> None:
    values = BASE.astype(np.int64)
    values[5, 2] = 2**53 + 1
    lab.write("x", values)
    for rows in (None, (4, 8)):
        found = problem(lab, "x", rows=rows)
        assert found.slug == "unsupported-dtype"
        assert "row 5, column 2" in found.detail


def test_an_array_without_rows_is_refused(lab: Lab) -> None:
    lab.write("x", BASE[:0], chunks=(1, 4))
    found = problem(lab, "x")
    assert found.slug == "too-few-rows"
    assert "x (lab:x)" in found.detail


# ---- chunks that cannot be decoded

CODECS: dict[str, dict[str, Any]] = {
    "3-none": {"compressors": None},
    "3-gzip": {"compressors": GzipCodec()},
    "3-zstd": {"compressors": ZstdCodec()},
    "3-zstd-checksum": {"compressors": ZstdCodec(checksum=True)},
    "3-blosc": {"compressors": BloscCodec()},
    "2-none": {"zarr_format": 2, "compressors": None},
    "2-zlib": {"zarr_format": 2, "compressors": numcodecs.Zlib()},
    "2-gzip": {"zarr_format": 2, "compressors": numcodecs.GZip()},
    "2-zstd": {"zarr_format": 2, "compressors": numcodecs.Zstd()},
    "2-blosc": {"zarr_format": 2, "compressors": numcodecs.Blosc()},
    "2-lz4": {"zarr_format": 2, "compressors": numcodecs.LZ4()},
    "2-bz2": {"zarr_format": 2, "compressors": numcodecs.BZ2()},
    "2-lzma": {"zarr_format": 2, "compressors": numcodecs.LZMA()},
}
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "empty": lambda content: content[:0],
    "other bytes": lambda content: b"\xa5" * (len(content) - 3),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("codec", CODECS)
def test_a_damaged_chunk_is_named(lab: Lab, codec: str, damage: str) -> None:
    values = np.random.default_rng(4).standard_normal((80, 40))
    directory = lab.write("x", values, chunks=(20, 40), **CODECS[codec])
    key = "2.0" if codec.startswith("2") else "c/2/0"
    content = (directory / key).read_bytes()
    (directory / key).write_bytes(DAMAGES[damage](content))
    found = problem(lab, "x", name="y", missing_chunks="fill")
    assert (found.slug, found.origin) == ("corrupt-data", "data")
    assert f"Array y (lab:x): chunk {key} cannot be decoded" in found.detail
    assert (lab.staged("x", rows=(0, 40)) == values[:40]).all()


@pytest.mark.parametrize("codec", CODECS)
def test_a_chunk_cut_anywhere_is_refused(lab: Lab, codec: str) -> None:
    values = np.arange(80.0).reshape(20, 4)
    directory = lab.write("x", values, **CODECS[codec])
    file = directory / ("0.0" if codec.startswith("2") else "c/0/0")
    content = file.read_bytes()
    for length in {*range(0, len(content), max(1, len(content) // 20)), len(content) - 1}:
        file.write_bytes(content[:length])
        with pytest.raises(ProblemError, match="corrupt-data"):
            list(open_matrix(lab.roots, Reference("lab", "x"), "x", "fill").blocks())
    file.write_bytes(content)
    (block,) = open_matrix(lab.roots, Reference("lab", "x"), "x", "fill").blocks()
    assert (block.values == values).all()


def test_blosc_frames_within_shards_are_measured_too(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 2), shards=(4, 4), compressors=BloscCodec(cname="lz4"))
    assert (lab.staged("x") == BASE).all()
    shutil.rmtree(lab.staging)
    content = (directory / "c/1/0").read_bytes()
    index = np.frombuffer(content[-68:-4], "<u8").reshape(4, 2).copy()
    index[2, 1] -= 1
    raw = index.tobytes()
    (directory / "c/1/0").write_bytes(content[:-68] + raw + crc32c(raw).to_bytes(4, "little"))
    assert "chunk c/1/0 cannot be decoded" in problem(lab, "x").detail


def test_an_uncompressed_chunk_that_is_too_long_is_corrupt(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4), compressors=None)
    with (directory / "c/1/0").open("ab") as file:
        file.write(b"\0" * 4)
    assert "c/1/0" in problem(lab, "x").detail


def test_the_storage_itself_failing_is_not_called_corrupt(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("x", BASE)
    opened = open_matrix(lab.roots, Reference("lab", "x"), "x", "error")

    class Failing:
        def __getitem__(self, selection: Any) -> Any:
            raise OSError(errno.EIO, "Input/output error")

    object.__setattr__(opened, "values", Failing())
    with pytest.raises(OSError, match="Input/output error"):
        list(opened.blocks())


# ---- one copy, found again


def never() -> None:
    raise AssertionError("nothing should be read")


def test_a_copy_is_made_once(lab: Lab) -> None:
    lab.write("x", BASE)
    first = lab.stage("x")
    assert lab.stage("x", checkpoint=never) == first
    assert lab.stage("x", name="y", missing_chunks="fill", checkpoint=never) == first
    assert copies(lab) == [".json", ".values"]
    assert "/" not in first.file


@pytest.mark.parametrize("change", ["values", "chunk times", "metadata", "file gone"])
def test_a_changed_source_is_read_again(lab: Lab, change: str) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4), fill_value=3)
    first = lab.stage("x")
    if change == "values":
        write(lab.directory / "new", BASE + 1, chunks=(2, 4))
        shutil.rmtree(directory)
        (lab.directory / "new").rename(directory)
    elif change == "chunk times":
        os.utime(directory / "c/0/0", ns=(1, 1))
    elif change == "metadata":
        document = directory / "zarr.json"
        document.write_text(document.read_text() + " ")
    else:
        (directory / "c/0/0").unlink()
    second = lab.stage("x", missing_chunks="fill")
    assert second.file != first.file
    assert (second.fingerprint == first.fingerprint) == (change in ("chunk times", "metadata"))
    assert second.missing_chunks_filled == (change == "file gone")


def test_a_source_that_changes_while_it_is_read_is_refused(lab: Lab) -> None:
    directory = lab.write("x", BASE, chunks=(2, 4))
    other = lab.write("other", BASE + 1, chunks=(2, 4))

    for key in ("c/0/0", "zarr.json"):
        original = (directory / key).read_bytes()

        def swap(key: str = key) -> None:
            (directory / key).write_bytes((other / key).read_bytes() + (b" " if key == "zarr.json" else b""))

        assert "changed while it was read" in problem(lab, "x", checkpoint=swap).detail
        (directory / key).write_bytes(original)
    assert (lab.staged("x") == BASE).all()


@pytest.mark.parametrize("damage", ["values gone", "values short", "manifest gone", "manifest broken", "all gone"])
def test_a_copy_that_is_not_whole_does_not_count(lab: Lab, damage: str) -> None:
    lab.write("x", BASE)
    staged = lab.stage("x")
    values = lab.staging / staged.file
    manifest = values.with_suffix(".json")
    if damage == "values gone":
        values.unlink()
    elif damage == "values short":
        with values.open("r+b") as file:
            file.truncate(100)
    elif damage == "manifest gone":
        manifest.unlink()
    elif damage == "manifest broken":
        manifest.write_text('{"file": 3}')
    else:
        shutil.rmtree(lab.staging)
    if not damage.startswith("manifest"):
        with pytest.raises(FileNotFoundError):
            staging.load(lab.staging, staged)
    assert lab.stage("x") == staged
    assert (staging.load(lab.staging, staged) == BASE).all()


# ---- giving up


class GaveUpError(Exception):
    pass


@pytest.mark.parametrize("after", [1, 2, 4])
def test_nothing_is_left_when_staging_is_given_up(lab: Lab, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "BLOCK_BYTES", 1)
    lab.write("x", BASE, chunks=(2, 4))
    left = after

    def checkpoint() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise GaveUpError

    with pytest.raises(GaveUpError):
        lab.stage("x", checkpoint=checkpoint)
    assert copies(lab) == []
    assert (lab.staged("x") == BASE).all()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("chunks", [(2, 4), (8, 1)])
def test_a_full_disk_is_said_and_leaves_nothing(
    lab: Lab, chunks: tuple[int, int], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("x", BASE, chunks=chunks)
    monkeypatch.setattr(arrays, "BLOCK_BYTES", 1)

    def full(*arguments: Any) -> None:
        raise OSError(code, os.strerror(code), str(lab.staging))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync" if chunks == (2, 4) else "posix_fallocate", full)
        found = problem(lab, "x")
    assert (found.slug, found.origin) == ("out-of-space", "system")
    assert (lab.staged("x") == BASE).all()


def test_other_storage_errors_are_passed_on(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("x", BASE)

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output"):
            lab.stage("x")
    assert copies(lab) == []


def test_waiting_for_another_process_can_be_given_up(lab: Lab) -> None:
    lab.write("x", BASE)
    staged = lab.stage("x")
    (lab.staging / staged.file).unlink()
    waits = 0

    def checkpoint() -> None:
        nonlocal waits
        waits += 1
        if waits == 3:
            raise GaveUpError

    with (lab.staging / staged.file).with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(GaveUpError):
            lab.stage("x", checkpoint=checkpoint)
    assert lab.stage("x") == staged


@pytest.mark.parametrize("code", ["f4", "i8"])
def test_what_comes_after_reading_can_be_given_up_too(lab: Lab, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("x", BASE.astype(code))
    reached: list[str] = []

    def give_up() -> None:
        raise GaveUpError

    places = {
        "exactness": (staging, "exactness_of"),
        "constant columns": (staging.facts, "constant_columns"),
        "distinct rows": (staging.facts, "distinct_rows"),
    }
    for place, (module, function) in places.items():
        original = getattr(module, function)

        def reaching(values: Any, checkpoint: Any, place: str = place, original: Any = original) -> Any:
            reached.append(place)
            return original(values, give_up)

        with monkeypatch.context() as patch:
            patch.setattr(module, function, reaching)
            with pytest.raises(GaveUpError):
                lab.stage("x")
        assert copies(lab) == []
    assert reached == list(places)


def test_what_a_killed_process_left_is_removed(lab: Lab) -> None:
    for path in ("x", "kept"):
        lab.write(path, BASE)
    kept = lab.stage("kept")
    for name in ("a.values", "b.incomplete", "b.lock", "c.lock", "d.values", "d.incomplete"):
        (lab.staging / name).write_bytes(b"left over")
    with (lab.staging / "e.lock").open("w") as owned:
        fcntl.flock(owned, fcntl.LOCK_EX)
        (lab.staging / "e.values").write_bytes(b"a manifest is about to be written")
        staged = lab.stage("x")
    files = {path.name for path in lab.staging.iterdir()}
    manifests = {Path(found.file).with_suffix(".json").name for found in (kept, staged)}
    assert files == {kept.file, staged.file, "e.lock", "e.values"} | manifests
    assert lab.stage("kept", checkpoint=never) == kept


def test_a_lock_that_its_holder_removed_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with path.open("w") as waiting:
        holder = durable.try_lock(path)
        assert holder is not None
        assert durable.try_lock(path) is None
        path.unlink()
        holder.close()
        fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who waited for the old file has it now
        held = durable.try_lock(path)
        assert held is not None
        with held:
            assert os.path.samestat(os.fstat(held.fileno()), path.stat())


def test_values_and_manifest_are_on_the_disk_before_they_count(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("x", BASE)
    events: list[str] = []
    sync, replace = os.fsync, Path.replace

    def syncing(descriptor: int) -> None:
        is_folder = os.path.samestat(os.fstat(descriptor), lab.staging.stat())
        events.append("folder" if is_folder else "file")
        sync(descriptor)

    def replacing(self: Path, target: Path) -> Path:
        events.append(target.suffix)
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "replace", replacing)
    lab.stage("x")
    assert events == ["file", ".values", "folder", "file", ".json", "folder"]


# ---- several processes


def test_processes_that_stage_at_once_make_one_copy(lab: Lab) -> None:
    values = np.random.default_rng(5).standard_normal((2000, 16))
    lab.write("x", values, chunks=(100, 16))
    context = multiprocessing.get_context("spawn")
    barrier, other_waits, answers = context.Barrier(2), context.Event(), context.Queue()
    arguments = (str(lab.directory), "x", str(lab.staging))
    processes = [
        context.Process(target=staging_processes.stage_and_count, args=(arguments, barrier, other_waits, answers))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    (one, written_by_one), (other, written_by_other) = (answers.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert one == other
    assert written_by_one + written_by_other == 1
    assert copies(lab) == [".json", ".values"]
    assert one.fingerprint == fingerprint(values)
    assert (staging.load(lab.staging, one) == values).all()


def test_a_process_killed_in_the_middle_leaves_nothing_that_counts(lab: Lab) -> None:
    for path in ("x", "unrelated"):
        lab.write(path, BASE, chunks=(2, 4))
    command = [sys.executable, staging_processes.__file__, str(lab.directory), "x", str(lab.staging)]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        assert copies(lab) == [".incomplete"]
        lab.stage("unrelated")
        assert copies(lab) == [".incomplete", ".json", ".values"]  # its owner lives
        process.kill()
    for file in lab.staging.glob("*.values"):
        file.unlink()
    assert (lab.staged("unrelated") == BASE).all()
    assert copies(lab) == [".json", ".values"]
    staged = lab.stage("x")
    assert staged.fingerprint == fingerprint(BASE)
    assert (staging.load(lab.staging, staged) == BASE).all()
