"""Imports from archives, safetensors, Parquet and HDF5: what is read, how much at a time, and what is refused."""

from __future__ import annotations

import io
import itertools
import json
import struct
import sys
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from workers import importing
from workers.errors import ProblemError
from workers.identifiers import read_identifiers
from workers.importing import import_file
from workers.references import Reference
from workers.sources import npy, text
from workers.sources.opening import open_source
from workers.sources.source import Source, even

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from zarr_cases import Lab

VALUES = np.random.default_rng(5).standard_normal((37, 6)).astype("f4")
LITTLE = 24 * 1024**2
"""Of a file of 39 MiB."""

LABELS = ["cat", "größe", "", "日本"]


def read(source: Source, rows: int = 5) -> np.ndarray:
    blocks = list(source.blocks(rows))
    assert all(len(block) <= rows for block in blocks)
    whole = np.concatenate(blocks) if blocks else np.empty(source.shape, source.dtype)
    assert whole.shape == source.shape
    return whole


def refusal(path: Path, key: str | None = None, whole: bool = False) -> ProblemError:
    def use() -> None:
        source = open_source(path, key)
        if whole:
            list(source.blocks(1000))

    with pytest.raises(ProblemError) as caught:
        use()
    assert str(path.parent) not in str(caught.value)
    return caught.value


def safetensors(path: Path, header: Any, values: bytes = b"", length: int | None = None) -> Path:
    """Write a file by hand: what honest writers would not write can be written too."""
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(written) if length is None else length) + written + values)
    return path


def tensor(values: np.ndarray, kind: str) -> dict[str, Any]:
    return {"dtype": kind, "shape": list(values.shape), "data_offsets": [0, values.nbytes]}


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=10)
    return path


def vectors(values: np.ndarray, fixed: bool = True) -> Any:
    flat = pa.array(values.reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.ListArray.from_arrays(np.arange(0, values.size + 1, values.shape[1], dtype="i4"), flat)


# What is read


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_archives(tmp_path: Path, save: Callable[..., None], order: Any) -> None:
    path = tmp_path / "a.npz"
    save(path, x=np.asarray(VALUES, order=order), ids=np.array(LABELS))
    assert (read(open_source(path, "x")) == VALUES).all()
    assert read(open_source(path, "ids")).tolist() == LABELS
    save(path, only=VALUES.astype(">f8"))
    found = open_source(path)
    assert (found.dtype, found.shape, found.shown) == (np.dtype("f8"), (37, 6), "a.npz (only)")
    assert (read(found) == VALUES).all()


@pytest.mark.parametrize("kind", ["BOOL", "U8", "I16", "U32", "I64", "F16", "F32", "F64"])
def test_tensors(tmp_path: Path, kind: str) -> None:
    dtype = {"BOOL": "?", "U8": "u1", "I16": "i2", "U32": "u4", "I64": "i8", "F16": "f2", "F32": "f4", "F64": "f8"}[
        kind
    ]
    values = np.abs(VALUES * 3).astype(dtype)
    header = {"__metadata__": {"format": "pt"}, "layer": tensor(values, kind)}
    found = open_source(safetensors(tmp_path / "a.safetensors", header, values.tobytes()))
    assert (found.dtype, found.shown) == (np.dtype(dtype), "a.safetensors (layer)")
    assert (read(found) == values).all()


def test_bfloat16_becomes_float32_exactly(lab: Lab, tmp_path: Path) -> None:
    stored = np.arange(2**16, dtype="u2")
    finite = stored[(stored >> 7 & 0xFF) != 0xFF].reshape(-1, 8)
    path = safetensors(tmp_path / "a.safetensors", {"x": tensor(finite, "BF16")}, finite.tobytes())
    found = import_file(path, lab.roots, "lab", "x")
    assert found.dtype == "float32"
    values = np.asarray(zarr.open_array(lab.directory / "x", mode="r")[...])
    for bits, value in zip(finite.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True):
        sign, exponent, fraction = bits >> 15, bits >> 7 & 0xFF, bits & 0x7F
        size = (fraction / 128) * 2.0**-126 if exponent == 0 else (1 + fraction / 128) * 2.0 ** (exponent - 127)
        assert value == (-size if sign else size)


@pytest.mark.parametrize("fixed", [True, False])
def test_vectors_of_parquet(tmp_path: Path, fixed: bool) -> None:
    path = parquet(tmp_path / "a.parquet", embedding=vectors(VALUES, fixed), id=pa.array(range(37)))
    found = open_source(path, "embedding")
    assert (found.shape, found.dtype) == ((37, 6), np.dtype("f4"))
    assert (read(found) == VALUES).all()
    assert read(open_source(path, "id")).tolist() == list(range(37))
    assert "Choose one, as FILE::NAME: embedding (" in refusal(path).detail


def test_columns_of_parquet(tmp_path: Path) -> None:
    columns = {f"d{place}": pa.array(VALUES[:, place]) for place in range(6)}
    path = parquet(tmp_path / "a.parquet", **columns)
    assert (read(open_source(path)) == VALUES).all()
    assert (read(open_source(path, "d4, d1")) == VALUES[:, [4, 1]]).all()
    mixed = parquet(
        tmp_path / "b.parquet", a=pa.array([1, 2], pa.int8()), b=pa.array([0.5, 1.5]), name=pa.array(["x", "y"])
    )
    assert read(open_source(mixed, "*")).tolist() == [[1.0, 0.5], [2.0, 1.5]]
    assert "* (the 2 columns of numbers, side by side)" in refusal(mixed).detail
    assert "has no 'c'" in refusal(mixed, "c").detail


def test_datasets(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("deep/x", data=VALUES.astype(">f8"), chunks=(8, 2), compression="gzip")
        file["plain"] = VALUES
        file["ids"] = LABELS
        file["padded"] = np.array([b"ab", b"c"])
    for key in ("deep/x", "/deep/x", "plain"):
        assert (read(open_source(path, key), 20) == VALUES).all()
    assert open_source(path, "deep/x").dtype == np.dtype("f8")
    assert read(open_source(path, "ids")).tolist() == LABELS
    assert read(open_source(path, "padded")).tolist() in ([b"ab", b"c"], ["ab", "c"])
    assert "deep/x (37 x 6 float64)" in refusal(path).detail.replace(">f8", "float64")


@pytest.mark.parametrize("kind", ["npz", "parquet", "h5"])
def test_labels_of_any_length(lab: Lab, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"labels.{kind}"
    if kind == "npz":
        np.savez(path, labels=np.array(LABELS))
    elif kind == "parquet":
        parquet(path, labels=pa.array(LABELS).dictionary_encode())
    else:
        with h5py.File(path, "w") as file:
            file["labels"] = LABELS
    found = import_file(path, lab.roots, "lab", "labels")
    assert (found.shape, found.dtype) == ((4,), "bytes56")
    assert read_identifiers(lab.roots, Reference("lab", "labels"), "x").tolist() == LABELS


# How much at a time


@pytest.mark.parametrize("lengths", [[], [3], [5], [1, 9, 0, 2, 7], [100]])
def test_pieces_of_any_length_become_even_blocks(lengths: list[int]) -> None:
    whole = np.arange(sum(lengths))
    ends = np.cumsum([0, *lengths]).tolist()
    blocks = list(even((whole[begin:end] for begin, end in itertools.pairwise(ends)), 5))
    assert [len(block) for block in blocks[:-1]] == [5] * (len(blocks) - 1)
    assert sum(len(block) for block in blocks) == len(whole)
    assert not blocks or (np.concatenate(blocks) == whole).all()


def large(path: Path, rows: int) -> Path:
    """A file of `rows` x 256 float32, in rows that are easily packed."""
    values = np.repeat(np.arange(rows, dtype="f4")[:, None], 256, axis=1)
    if path.suffix == ".npz":
        np.savez_compressed(path, x=values)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"x": vectors(values)}), path, row_group_size=rows, use_dictionary=False)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=values, chunks=(64, 256), compression="gzip")
    else:
        safetensors(path, {"x": tensor(values, "F32")}, values.tobytes())
    return path


@pytest.mark.parametrize("suffix", ["npz", "parquet", "h5", "safetensors"])
def test_memory_does_not_grow_with_the_file(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(importing, "CHUNK_BYTES", 1024**2)
    path = large(tmp_path / f"large.{suffix}", 40_000)  # 39 MiB
    tracemalloc.start()
    before = pa.default_memory_pool().max_memory()
    import_file(path, lab.roots, "lab", "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < LITTLE
    assert suffix != "parquet" or pa.default_memory_pool().max_memory() - before < LITTLE
    stored = zarr.open_array(lab.directory / "x", mode="r")
    assert stored.shape == (40_000, 256)
    assert (np.asarray(stored[39_990:, 255]) == np.arange(39_990, 40_000)).all()


def test_blocks_are_read_one_after_another(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alive: list[int] = []

    def blocks(rows: int) -> Iterator[np.ndarray]:
        for start in range(0, 40, rows):
            alive.append(start)
            assert len(list(lab.directory.rglob("*/c/*/0"))) == start // rows  # what was read before is written
            yield np.ones((rows, 2), "f4")

    monkeypatch.setattr(importing, "CHUNK_BYTES", 80)
    monkeypatch.setattr(importing, "open_source", lambda *_: Source("x", (40, 2), np.dtype("f4"), blocks))
    import_file(tmp_path / "x", lab.roots, "lab", "x")
    assert alive == [0, 10, 20, 30]


@pytest.mark.parametrize("rows", [30, 50])
def test_a_source_that_has_not_the_rows_it_says_is_refused(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rows: int
) -> None:
    def opened(*_: Any) -> Source:
        return Source("x", (40, 2), np.dtype("f4"), lambda step: even([np.ones((rows, 2), "f4")], step))

    monkeypatch.setattr(importing, "CHUNK_BYTES", 80)
    monkeypatch.setattr(importing, "open_source", opened)
    with pytest.raises(ProblemError, match="but says 40"):
        import_file(tmp_path / "x", lab.roots, "lab", "x")
    assert list(lab.directory.iterdir()) == []


# What is refused


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def packed(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def test_damaged_archives(tmp_path: Path) -> None:
    whole = packed(VALUES)
    assert "its size is not what its header says" in refusal(archive(tmp_path / "a.npz", x=whole[:-4])).detail
    assert "its size is not" in refusal(archive(tmp_path / "a.npz", x=whole + b"more")).detail
    lying = whole.replace(b"(37, 6)", b"(99, 6)")
    assert "its size is not" in refusal(archive(tmp_path / "a.npz", x=lying)).detail
    assert refusal(archive(tmp_path / "a.npz", x=b"no array")).slug == "invalid-request"
    assert "holds no array" in refusal(archive(tmp_path / "a.npz")).detail
    content = archive(tmp_path / "a.npz", x=whole).read_bytes()
    for end in range(0, len(content), 37):
        (tmp_path / "cut.npz").write_bytes(content[:end])
        assert refusal(tmp_path / "cut.npz").slug == "invalid-request"
    place = content.index(b"x.npy") + 200
    (tmp_path / "a.npz").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert refusal(tmp_path / "a.npz", whole=True).slug == "invalid-request"


def test_archives_that_explode_and_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "BOMB_BYTES", 2**20)
    bomb = archive(tmp_path / "bomb.npz", x=packed(np.zeros((600, 600), "f4")))
    found = refusal(bomb)
    assert found.slug == "over-limit"
    assert "1440128 bytes" in found.detail
    pickled = archive(tmp_path / "a.npz", x=packed(np.array([[None, 1]], object)))
    assert "never unpickled" in refusal(pickled).detail
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_LZMA) as file:
        file.writestr("x.npy", packed(VALUES))
    assert "in a way that numpy does not use" in refusal(tmp_path / "b.npz").detail


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"x": {"dtype": "F32", "shape": [37, 6], "data_offsets": [0, 884]}}, "header does not fit"),
        ({"x": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 888]}}, "header does not fit"),
        ({"x": {"dtype": "F32", "shape": [37, 6], "data_offsets": [8, 896]}}, "header does not fit"),
        ({"x": {"dtype": "F32", "shape": [-1, 6], "data_offsets": [0, 888]}}, "ValueError"),
        ({"x": {"dtype": "F32", "shape": [37.0, 6], "data_offsets": [0, 888]}}, "ValueError"),
        ({"x": {"dtype": "F32", "data_offsets": [0, 888]}}, "KeyError"),
        ({"x": {"dtype": "F8_E4M3", "shape": [148, 6], "data_offsets": [0, 888]}}, "'F8_E4M3': convert them"),
        ([1, 2], "no known format"),
        (b'{"x": ', "not a whole"),
        (b'{"x": 1, "x": 2}', "not a whole"),
        ({"__metadata__": {}}, "holds no array"),
    ],
)
def test_safetensors_that_lie(tmp_path: Path, header: Any, says: str) -> None:
    assert says in refusal(safetensors(tmp_path / "a.safetensors", header, VALUES.tobytes())).detail


def test_a_header_longer_than_its_file(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "a.safetensors", {"x": tensor(VALUES, "F32")}, VALUES.tobytes(), length=2**40)
    assert "no known format" in refusal(path).detail
    deep = safetensors(tmp_path / "deep.safetensors", b'{"x":' + b"[" * 100_000)
    assert refusal(deep).slug == "invalid-request"


def test_parquet_that_is_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for column, says in (
        (pa.array([[1.0, 2.0], [3.0]]), "another length than 2"),
        (pa.array([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]), "another length than 2"),
        (pa.array([[1.0, 2.0], None, [4.0, 5.0, 6.0, 7.0]]), ""),
        (pa.array([[1.0, None], [3.0, 4.0]], pa.list_(pa.float32(), 2)), "a missing value in row 0"),
        (pa.array(["a", None]), "no value in row 1"),
        (pa.array([1, None]), "no value in row 1"),
        (pa.array([b"a"]), "neither numbers nor strings"),
        (pa.array([["a", "b"]]), "neither numbers nor strings"),
    ):
        assert says in refusal(parquet(path, x=column), whole=True).detail
    content = parquet(path, x=vectors(VALUES)).read_bytes()
    for end in (4, 30, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:end])
        assert refusal(path, whole=True).slug == "invalid-request"


def test_datasets_that_lead_elsewhere(tmp_path: Path) -> None:
    secret, path = tmp_path / "secret", tmp_path / "a.h5"
    secret.write_bytes(VALUES.tobytes())
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (37, 6), "f4", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
    assert "values in other files" in refusal(path).detail
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = VALUES
    with h5py.File(path, "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "/x")
        layout = h5py.VirtualLayout((37, 6), "f4")
        layout[:] = h5py.VirtualSource("other.h5", "x", (37, 6))
        file.create_virtual_dataset("virtual", layout)
    assert "has no 'link'" in refusal(path, "link").detail
    assert "values in other files" in refusal(path, "virtual").detail


def test_datasets_that_are_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("huge", (2**31, 2**20), "f4", chunks=(2**10, 2**19))
        file["long"] = ["a" * (text.LONGEST_LABEL + 1)]
    assert refusal(path, "huge").slug == "over-limit"
    assert refusal(path, "long", whole=True).slug == "over-limit"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert refusal(path).slug == "invalid-request"


@pytest.mark.parametrize(("name", "package"), [("a.h5", "h5py"), ("a.parquet", "pyarrow")])
def test_a_package_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    (tmp_path / name).write_bytes(b"\x89HDF\r\n\x1a\n" if package == "h5py" else b"PAR1")
    monkeypatch.setitem(sys.modules, package, None)
    assert f"which {package} reads. Install it: pip install 'ordsim[imports]'" in refusal(tmp_path / name).detail
