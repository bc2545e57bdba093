"""Imports: a .npy file becomes an array, whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr
from zarr_cases import BASE

from workers import importing, label_imports, references
from workers.errors import ProblemError
from workers.identifiers import read_identifiers
from workers.importing import import_file
from workers.references import Reference

if TYPE_CHECKING:
    from zarr_cases import Lab

REPOSITORY = Path(__file__).parents[2]


def save(tmp_path: Path, values: Any, name: str = "source.npy") -> Path:
    np.save(tmp_path / name, values)
    return tmp_path / name


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def problem(lab: Lab, source: Path, path: str = "x", **options: Any) -> ProblemError:
    """The refusal of an import, which changes nothing below the root."""
    before = sorted(lab.directory.rglob("*"))
    with pytest.raises(ProblemError) as caught:
        import_file(source, lab.roots, "lab", path, **options)
    assert str(lab.directory.parent) not in str(caught.value)
    assert sorted(lab.directory.rglob("*")) == before
    return caught.value


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("code", ["?", "i1", ">i2", "u8", "f2", "<f4", ">f4", "f8", ">f8"])
def test_every_real_type_is_imported(lab: Lab, tmp_path: Path, code: str, order: Any) -> None:
    values = np.asarray(np.abs(BASE).astype(code), order=order)
    found = import_file(save(tmp_path, values), lab.roots, "lab", "a b/x")
    dtype = values.dtype.newbyteorder("=")
    assert found == references.ArrayDescription("a b/x", (8, 4), dtype.name, (8, 4), None, 3)
    assert (lab.staged("a b/x") == values).all()
    assert names(lab.directory / "a b") == ["x"]
    assert references.list_arrays(lab.roots, "lab") == [found]


def test_rows_are_streamed_in_whole_chunks(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "CHUNK_BYTES", 3 * 16 + 5)
    seen: list[tuple[int, int]] = []
    found = import_file(
        save(tmp_path, BASE), lab.roots, "lab", "x", progress=lambda done, total: seen.append((done, total))
    )
    assert found.chunks == (3, 4)
    assert seen == [(48, 128), (96, 128), (128, 128)]
    assert (lab.staged("x") == BASE).all()


def test_large_files_are_cut_into_chunks_of_megabytes(lab: Lab, tmp_path: Path) -> None:
    found = import_file(save(tmp_path, np.ones((5000, 1000), np.float32)), lab.roots, "lab", "x")
    assert 4 * 2**20 <= found.chunks[0] * 4000 <= 16 * 2**20
    assert found.chunks[1] == 1000


def test_chunks_of_zeros_are_stored(lab: Lab, tmp_path: Path) -> None:
    import_file(save(tmp_path, np.zeros((8, 4))), lab.roots, "lab", "x")
    assert lab.stage("x").missing_chunks_filled == 0


@pytest.mark.parametrize(
    ("values", "slug", "says"),
    [
        (np.zeros(8), "not-a-matrix", "its shape is (8,)"),
        (
            np.zeros(8),
            "not-a-matrix",
            "labels, integers or strings (e.g. labels.astype(str)), but its dtype",
        ),
        (np.zeros(8, bool), "not-a-matrix", "dtype is bool"),
        (np.zeros(0, int), "invalid-request", "has no labels"),
        (np.array([b"cat", b"\xff"]), "invalid-request", "not UTF-8 text in one of the rows 0 to 1"),
        (np.array(["cat", "\ud800"]), "invalid-request", "not UTF-8 text in one of the rows 0 to 1"),
        (np.zeros(()), "not-a-matrix", "its shape is ()"),
        (np.zeros((8, 2, 2)), "not-a-matrix", "values.reshape(len(values), -1)"),
        (np.zeros((0, 4)), "not-a-matrix", "has no rows, its shape is (0, 4)"),
        (np.zeros((4, 0)), "not-a-matrix", "has no columns, its shape is (4, 0)"),
        (np.array([[None, 1]]), "unsupported-dtype", "dtype object"),
        (np.zeros((8, 4), complex), "unsupported-dtype", "dtype complex128"),
        (np.array([["a", "b"]]), "unsupported-dtype", "dtype <U1"),
        (np.zeros((8, 4), "M8[s]"), "unsupported-dtype", "dtype datetime64[s]"),
        (np.zeros((8, 4), np.longdouble), "unsupported-dtype", "dtype float128"),
        (np.zeros((8, 4), [("a", "f4")]), "unsupported-dtype", "'a'"),
        (np.zeros((1, 2**20 + 1), "i1"), "over-limit", "1048577 values"),
    ],
)
def test_files_of_anything_else_are_refused(lab: Lab, tmp_path: Path, values: Any, slug: str, says: str) -> None:
    found = problem(lab, save(tmp_path, values))
    assert (found.slug, found.origin) == (slug, "request")
    assert "source.npy" in found.detail
    assert says in found.detail


@pytest.mark.parametrize(
    ("labels", "dtype", "zarr_format"),
    [
        (np.array([5, 0, -3, 0, 0, 9]), "int64", 3),
        (np.array([5, 0, 3, 0, 0, 9], ">u2"), "uint16", 3),
        (np.array(["cat", "größe", "", "", "日本", "a b"]), "bytes56", 2),
        (np.array(["cat", "größe", "", "", "日本", "a b"], ">U30"), "bytes56", 2),
        (np.array([b"cat", "größe".encode(), b"", b"", b"dog", b"a b"]), "bytes56", 2),
        (np.array(["", "", ""]), "bytes8", 2),
    ],
)
def test_labels_are_imported_as_they_are_read(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: Any, dtype: str, zarr_format: int
) -> None:
    monkeypatch.setattr(label_imports, "CHUNK_BYTES", 2 * labels.dtype.itemsize + 1)
    seen: list[tuple[int, int]] = []
    source = save(tmp_path, labels)
    found = import_file(source, lab.roots, "lab", "labels", progress=lambda done, total: seen.append((done, total)))
    assert found == references.ArrayDescription("labels", labels.shape, dtype, (2,), None, zarr_format)
    assert seen[-1] == (labels.nbytes, labels.nbytes)
    assert len(seen) == (len(labels) + 1) // 2
    read = read_identifiers(lab.roots, Reference("lab", "labels"), "x")
    assert read.tolist() == (np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels).tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(
    lab: Lab, tmp_path: Path, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "CHUNK_BYTES", 32)
    values = BASE.copy()
    values[6, 1] = value
    found = problem(lab, save(tmp_path, values), "new/folders/x")
    assert (found.slug, found.origin) == ("non-finite-input", "data")
    assert "row 6, column 1" in found.detail


def test_files_that_are_no_npy_are_refused(lab: Lab, tmp_path: Path) -> None:
    whole = save(tmp_path, BASE).read_bytes()
    contents = {
        "empty": b"",
        "text": b"1 2 3\n",
        "cut in its magic": whole[:4],
        "cut in its header": whole[:40],
        "cut in its values": whole[:-1],
        "header only": whole[:128],
        "header of rubbish": whole[:10] + b"(" * 118 + whole[128:],
        "later version": whole[:6] + b"\x09" + whole[7:],
    }
    for name, content in contents.items():
        source = tmp_path / f"{name}.npy"
        source.write_bytes(content)
        assert problem(lab, source).slug == "invalid-request"
    assert "No such file" in problem(lab, tmp_path / "absent.npy").detail
    np.savez(tmp_path / "several.npz", a=BASE, b=BASE)
    assert "Choose one, as FILE::NAME: a (8 x 4 float32), b (" in problem(lab, tmp_path / "several.npz").detail


def test_a_pickle_is_never_opened(lab: Lab, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Payload:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(ran),)

    source = tmp_path / "source.npy"
    np.save(source, np.array([[Payload()]], object), allow_pickle=True)
    assert problem(lab, source).slug == "unsupported-dtype"
    assert not ran.exists()


def test_a_name_that_is_taken_is_kept(lab: Lab, tmp_path: Path) -> None:
    lab.write("x", BASE)
    source = save(tmp_path, BASE + 1)
    found = problem(lab, source)
    assert found.slug == "invalid-request"
    assert "lab:x is taken" in found.detail
    assert (lab.staged("x") == BASE).all()
    import_file(source, lab.roots, "lab", "x", overwrite=True)
    assert (lab.staged("x") == BASE + 1).all()
    assert names(lab.directory) == ["x"]


def test_only_arrays_are_overwritten(lab: Lab, tmp_path: Path) -> None:
    zarr.open_group(lab.directory / "group", mode="w")
    lab.write("group/x", BASE)
    (lab.directory / "notes.txt").write_text("keep")
    source = save(tmp_path, BASE)
    for path in ("group", "notes.txt"):
        assert "It is not an array" in problem(lab, source, path, overwrite=True).detail


def test_nothing_is_put_into_an_array_or_a_file(lab: Lab, tmp_path: Path) -> None:
    lab.write("x", BASE)
    (lab.directory / "notes.txt").write_text("keep")
    source = save(tmp_path, BASE)
    for path in ("x/y", "x/c/0/y", "notes.txt/y"):
        assert "within an array or a file" in problem(lab, source, path, overwrite=True).detail


@pytest.mark.parametrize("path", ["", "../x", "/tmp/x", "a/../../x", "s3://bucket/x", "a%2fb", "link/x"])
def test_targets_outside_the_root_are_refused(lab: Lab, tmp_path: Path, path: str) -> None:
    (lab.directory / "link").symlink_to(lab.outside)
    assert problem(lab, save(tmp_path, BASE), path, overwrite=True).slug == "path-outside-root"
    assert names(lab.outside) == []
    with pytest.raises(ProblemError, match="unknown-root"):
        import_file(save(tmp_path, BASE), lab.roots, "elsewhere", "x")


def test_a_name_that_is_too_long_is_said(lab: Lab, tmp_path: Path) -> None:
    found = problem(lab, save(tmp_path, BASE), "a" * 300)
    assert (found.slug, found.origin) == ("storage-unavailable", "system")


def failing_renames(monkeypatch: pytest.MonkeyPatch, *failures: int) -> None:
    """Let some renames fail, counted from 1."""
    rename = Path.rename
    calls = 0

    def counting(self: Path, target: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls in failures:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", counting)


@pytest.mark.parametrize("failure", [1, 2])
def test_an_array_is_not_lost_when_its_replacement_fails(
    lab: Lab, tmp_path: Path, failure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("x", BASE)
    with monkeypatch.context() as patch:
        failing_renames(patch, failure)
        found = problem(lab, save(tmp_path, BASE + 1), overwrite=True)
    assert (found.slug, found.origin) == ("storage-unavailable", "system")
    assert names(lab.directory) == ["x"]
    assert (lab.staged("x") == BASE).all()


def test_an_array_that_could_not_be_put_back_is_put_back_by_the_next_import(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("x", BASE)
    source = save(tmp_path, BASE + 1)
    with monkeypatch.context() as patch:
        failing_renames(patch, 2, 3)
        with pytest.raises(ProblemError, match="storage-unavailable"):
            import_file(source, lab.roots, "lab", "x", overwrite=True)
    assert references.list_arrays(lab.roots, "lab") == []
    with pytest.raises(ProblemError, match="lab:x is taken"):
        import_file(source, lab.roots, "lab", "x")
    assert names(lab.directory) == ["x"]
    assert (lab.staged("x") == BASE).all()


def test_one_import_at_a_time_makes_an_array(lab: Lab, tmp_path: Path) -> None:
    source = save(tmp_path, BASE)
    refused: list[ProblemError] = []

    def meanwhile(done: int, total: int) -> None:
        with pytest.raises(ProblemError) as caught:
            import_file(source, lab.roots, "lab", "x", overwrite=True)
        refused.append(caught.value)

    import_file(source, lab.roots, "lab", "x", progress=meanwhile)
    assert [problem.slug for problem in refused] == ["invalid-request"]
    assert "Another import" in refused[0].detail
    assert (lab.staged("x") == BASE).all()


def test_an_array_is_on_the_disk_before_it_has_its_name(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    sync, rename = os.fsync, Path.rename
    renamed = 0

    def recording(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def checking(self: Path, target: Any) -> Any:
        nonlocal renamed
        renamed += 1
        assert {path.stat().st_ino for path in (self, *self.rglob("*"))} <= synced
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", recording)
    monkeypatch.setattr(Path, "rename", checking)
    import_file(save(tmp_path, BASE), lab.roots, "lab", "x")
    assert renamed == 1
    assert lab.directory.stat().st_ino in synced


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interrupted_import_leaves_what_was_there(
    lab: Lab, tmp_path: Path, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "CHUNK_BYTES", 32)
    if overwrite:
        lab.write("x", BASE)

    def stop(done: int, total: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        import_file(save(tmp_path, BASE + 1), lab.roots, "lab", "x", overwrite=overwrite, progress=stop)
    assert names(lab.directory) == (["x"] if overwrite else [])
    if overwrite:
        assert (lab.staged("x") == BASE).all()


def test_a_full_disk_is_said(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(lab.directory))

    monkeypatch.setattr(importing, "_write", full)
    found = problem(lab, save(tmp_path, BASE), "new/x")
    assert (found.slug, found.origin) == ("out-of-space", "system")


KILLED = """
import sys
from pathlib import Path
from workers import importing
from workers.references import Root

importing.CHUNK_BYTES = 32

def progress(done, total):
    print("in the middle", flush=True)
    sys.stdin.read()

importing.import_file(Path(sys.argv[1]), {"lab": Root("lab", sys.argv[2])}, "lab", "x", progress=progress)
"""


def test_a_killed_import_is_not_listed_and_can_be_done_again(lab: Lab, tmp_path: Path) -> None:
    source = save(tmp_path, BASE)
    command = [sys.executable, "-c", KILLED, str(source), str(lab.directory)]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        process.kill()
    assert references.list_arrays(lab.roots, "lab") == []
    import_file(source, lab.roots, "lab", "x")
    assert [array.path for array in references.list_arrays(lab.roots, "lab")] == ["x"]
    assert names(lab.directory) == ["x"]  # what the other left is gone
    assert (lab.staged("x") == BASE).all()
