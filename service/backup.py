"""A copy of a state directory that can take its place, made while a service may be working on it."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from service import lock
from service.database import DamagedStoreError
from service.settings import Settings
from service.states import JobStatus
from workers.durable import sync_tree

if TYPE_CHECKING:
    from pathlib import Path

INCOMPLETE = ".incomplete"
ATTEMPTS = 5
"""Jobs may expire while their artifacts are copied: then the copy is begun anew."""


class BackupError(Exception):
    """There is nothing to copy, no place for the copy, or the copy is not sound; says which."""


def backup(state_dir: Path, target: Path) -> int:
    """Copy the job store and the artifacts that its results name, and return how many jobs there are.

    The store is copied as it is at one moment. Artifacts of a job do not change once it has its results, so those that
    are copied afterwards belong to it. `target` comes into being whole, under its name, or not at all. It is a state
    directory: a service started on it, or on a copy of it, goes on from that moment. Staged copies are not part of it;
    they are made again from the arrays.

    Raises
    ------
    BackupError
        If there is no job store, `target` exists, or the copied store is damaged.
    """
    source = Settings(state_dir=state_dir, roots={})
    if not source.database.is_file():
        raise BackupError(f"{state_dir} is no state directory: it has no {source.database.name}")
    if target.exists():
        raise BackupError(f"{target} exists already: name a directory that does not, so that no backup is lost")
    partial = target.with_name(target.name + INCOMPLETE)
    try:
        for attempt in range(ATTEMPTS):
            shutil.rmtree(partial, ignore_errors=True)
            copy = Settings(state_dir=partial, roots={})
            lock.make_private(partial)
            try:
                jobs = _copy_store(source.database, copy.database)
                _copy_artifacts(source, copy)
                break
            except (FileNotFoundError, shutil.Error):
                if attempt == ATTEMPTS - 1:
                    raise
        sync_tree(partial)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return jobs


def _copy_store(source: Path, target: Path) -> int:
    with closing(_open(source)) as live, closing(sqlite3.connect(target)) as copy:
        target.chmod(0o600)
        try:
            live.backup(copy)
            (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, that can be copied as it is
            (jobs,) = copy.execute("SELECT COUNT(*) FROM jobs").fetchone()
        except sqlite3.DatabaseError as error:
            raise BackupError(str(DamagedStoreError.of(source, error) or error)) from error
    if verdict != "ok":
        raise BackupError(f"the job store {source} is damaged: {verdict}")
    return int(jobs)


def _open(path: Path) -> sqlite3.Connection:
    """Open a store for reading only; not as SQLite's own read-only mode, which cannot make the files of its log."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _copy_artifacts(source: Settings, copy: Settings) -> None:
    """Copy what the copied store has results for; FileNotFoundError if a job has expired meanwhile."""
    copy.artifacts_directory.mkdir(mode=0o700)
    wanted = _with_results(copy.database)
    for job in wanted:
        if (source.artifacts_directory / job).is_dir():
            shutil.copytree(source.artifacts_directory / job, copy.artifacts_directory / job)
    if not wanted <= _with_results(source.database):
        raise FileNotFoundError(errno.ENOENT, "jobs expired while they were copied", str(source.artifacts_directory))


def _with_results(database: Path) -> set[str]:
    with closing(_open(database)) as connection:
        rows = connection.execute(
            "SELECT job FROM jobs WHERE status = ? AND expired IS NULL", (JobStatus.SUCCESSFUL,)
        ).fetchall()
    return {job for (job,) in rows}
