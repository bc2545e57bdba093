"""Artifacts on disk: whole, under their names, and nothing beside them."""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service import artifacts

VALUES = np.arange(5.0)


def test_what_a_killed_attempt_left_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", lambda *_: None)
        artifacts.write(tmp_path, "job", "0-per_anchor", VALUES + 1)
    (left,) = (tmp_path / "job").iterdir()
    assert left.suffix == ".part"
    assert artifacts.find(tmp_path, "job", "0-per_anchor") is None
    artifacts.write(tmp_path, "job", "0-per_anchor", VALUES)
    (written,) = (tmp_path / "job").iterdir()
    assert written == artifacts.find(tmp_path, "job", "0-per_anchor")
    assert np.array_equal(np.load(written), VALUES)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="disk full"):
        artifacts.write(tmp_path, "job", "0-per_anchor", VALUES)
    assert list((tmp_path / "job").iterdir()) == []


def test_the_folders_are_on_disk_after_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronized: list[tuple[int, bool]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            synchronized.append((found.st_ino, (tmp_path / "job" / "0-per_anchor.npy").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    artifacts.write(tmp_path, "job", "0-per_anchor", VALUES)
    assert synchronized == [((tmp_path / "job").stat().st_ino, True), (tmp_path.stat().st_ino, True)]


def test_identifiers_stand_beside_the_values_of_their_rows(tmp_path: Path) -> None:
    names = np.array(["plain", 'a "quoted", one', "two\nlines", "", "naïve"])
    for artifact, values in (("0-per_anchor", VALUES), ("0-rows", np.arange(7, 12)), ("0-ids", names)):
        artifacts.write(tmp_path, "job", artifact, values)
    path = artifacts.find(tmp_path, "job", "0-per_anchor")
    assert path is not None
    text = "".join(artifacts.as_csv(path, "0-per_anchor"))
    assert text.startswith("row,id,per_anchor\n7,plain,0.0\n")
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [line["id"] for line in read] == names.tolist()
    assert [float(line["per_anchor"]) for line in read] == VALUES.tolist()


def test_only_values_of_rows_are_called_rows(tmp_path: Path) -> None:
    for artifact, values in (("0-per_anchor", VALUES), ("0-rows", np.arange(7, 12)), ("1-correlations", VALUES[:2])):
        artifacts.write(tmp_path, "job", artifact, values)
    texts = {path.stem: "".join(artifacts.as_csv(path, path.stem)) for path in (tmp_path / "job").iterdir()}
    assert texts == {
        "0-per_anchor": "row,per_anchor\n7,0.0\n8,1.0\n9,2.0\n10,3.0\n11,4.0\n",
        "0-rows": "position,rows\n0,7\n1,8\n2,9\n3,10\n4,11\n",
        "1-correlations": "component,correlations\n0,0.0\n1,1.0\n",
    }
