"""Backups are whole, sound, and made while a service works; a damaged store says so."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from service import artifacts, backup, lock
from service.commands import outcome
from service.commands.application import application
from service.database import DamagedStoreError
from service.settings import Settings
from service.store import JobStore
from service.submissions import NewJob
from tests.service.conftest import EXACT, finish, request

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run a command line here, and return its exit code."""
    monkeypatch.setattr("sys.argv", ["ordsim", *map(str, arguments)])
    return outcome.run(application)


def make_state(directory: Path, jobs: int = 1) -> Settings:
    settings = Settings(state_dir=directory, roots={})
    directory.mkdir(exist_ok=True)
    with closing(JobStore(settings.database)) as store:
        for number in range(jobs):
            store.submit(NewJob(id=f"job{number}", process="compare", request={"label": "x" * 500}))
            store.claim()
            artifacts.write(settings.artifacts_directory, f"job{number}", "0-null", np.arange(number + 2))
            store.succeed(f"job{number}", json.dumps({"job": number}))
    return settings


def test_a_copy_of_a_working_service_has_its_results(
    client: httpx2.Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = finish(client, request(measures=[{**EXACT, "per_anchor": True}]))["jobID"]
    results = client.get(f"/v1/jobs/{job}/results").json()
    assert run(monkeypatch, "backup", settings.state_dir, tmp_path / "copy") == 0
    copy = Settings(state_dir=tmp_path / "copy", roots={})
    with closing(JobStore(copy.database)) as store:
        assert json.loads(store.results(job)) == results
    sent = client.get(f"/v1/jobs/{job}/artifacts/0-per_anchor.npy").content
    assert (copy.artifacts_directory / job / "0-per_anchor.npy").read_bytes() == sent
    assert sorted(path.name for path in copy.state_dir.iterdir()) == ["artifacts", "jobs.sqlite3"]
    assert copy.state_dir.stat().st_mode & 0o777 == 0o700
    assert client.get(f"/v1/jobs/{job}/results").json() == results


def test_jobs_that_expire_meanwhile_begin_the_copy_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_state(tmp_path / "state", jobs=2)
    real = backup._copy_store

    def copy_and_expire(live: Path, target: Path) -> int:
        jobs = real(live, target)
        with closing(sqlite3.connect(live)) as connection, connection:
            connection.execute("UPDATE jobs SET expired = finished, results = NULL WHERE job = 'job0'")
        (source.artifacts_directory / "job0" / "0-null.npy").unlink(missing_ok=True)
        return jobs

    monkeypatch.setattr(backup, "_copy_store", copy_and_expire)
    assert backup.backup(source.state_dir, tmp_path / "copy") == 2
    with closing(JobStore(tmp_path / "copy" / "jobs.sqlite3")) as store:
        assert store.get("job0").expired
        assert store.results("job1") == '{"job": 1}'
    assert [path.name for path in (tmp_path / "copy" / "artifacts").iterdir()] == ["job1"]


def test_what_cannot_be_backed_up_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = make_state(tmp_path / "state").state_dir
    (tmp_path / "there").mkdir()
    assert run(monkeypatch, "backup", tmp_path / "there", tmp_path / "copy") == 2
    assert "no state directory" in capsys.readouterr().err
    assert run(monkeypatch, "backup", state, tmp_path / "there") == 2
    assert "exists already" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "there"]


@pytest.mark.parametrize("damage", ["header", "inside"])
def test_a_damaged_store_says_so(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = make_state(tmp_path / "state", jobs=40).database
    values = bytearray(database.read_bytes())
    start = 0 if damage == "header" else 8192
    values[start : start + 16384] = b"\xa5" * 16384
    database.write_bytes(values)
    assert run(monkeypatch, "backup", database.parent, tmp_path / "copy") == 2
    said = capsys.readouterr().err
    assert "damaged" in said
    assert "Traceback" not in said
    assert not (tmp_path / "copy").exists()
    if damage == "header":
        with pytest.raises(DamagedStoreError, match="put a backup in the state directory's place"):
            JobStore(database)
        assert run(monkeypatch, "serve", "--state-dir", database.parent, "--port", 0) == outcome.NOT_STARTED
        assert "damaged" in capsys.readouterr().err


def test_the_command_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    settings = make_state(tmp_path / "state")
    settings.staging_directory.mkdir()
    (settings.staging_directory / "left.incomplete").write_bytes(b"v" * 2048)
    options = ("clean", "--state-dir", settings.state_dir, "--retain-days", "0")
    assert run(monkeypatch, *options, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "staged copies and profiles: 1, 2.0 KiB" in said
    assert "expired jobs: 1" in said
    assert "would be freed" in said
    with lock.own(settings.state_dir):
        assert run(monkeypatch, *options) == 1
        assert "in use by another service" in capsys.readouterr().err
    assert run(monkeypatch, *options) == 0
    assert "were freed" in capsys.readouterr().out
    assert not any(settings.staging_directory.iterdir())
    assert not any(settings.artifacts_directory.iterdir())
    with closing(JobStore(settings.database)) as store:
        assert store.get("job0").expired
    assert run(monkeypatch, "clean", "--state-dir", tmp_path / "none") == 2
    assert "no state directory" in capsys.readouterr().err
