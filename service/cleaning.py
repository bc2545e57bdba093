"""Removing what is not needed any more: what expired jobs left, orphaned files, staged copies."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service import artifacts
from workers import staging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from service.settings import Settings
    from service.store import JobStore

log = logging.getLogger(__name__)

DAY_SECONDS = 86400.0
LOOKS = 24
SHORTEST_SECONDS, LONGEST_SECONDS = 1.0, 3600.0
"""Between two looks at what has expired, of which there are so many while a job is kept."""


@dataclass(frozen=True, slots=True)
class Freed:
    """What was removed, or would be: how many, and their bytes."""

    what: str
    number: int
    size: int


async def keep_clean(settings: Settings, store: JobStore) -> None:
    """Let go of jobs when their time is over, for as long as the service runs."""
    days = settings.retain_days
    period = (
        LONGEST_SECONDS if days is None else min(LONGEST_SECONDS, max(SHORTEST_SECONDS, days * DAY_SECONDS / LOOKS))
    )
    while True:
        try:
            await asyncio.to_thread(_tidy, settings, store)
        except (OSError, sqlite3.Error):
            log.exception("what expired jobs left could not be removed; it is tried again")
        await asyncio.sleep(period)


def _tidy(settings: Settings, store: JobStore) -> None:
    """Remove what expired jobs left, and what an earlier service could not remove any more."""
    days = settings.retain_days
    while days is not None and (jobs := store.retention.expire(days)):
        log.info("%d jobs have expired", len(jobs))
    # Of all that ever expired: an earlier look may have been broken off here. Jobs say what they use once all of it is
    # staged; while one stages, it may be using what nobody else does.
    for file in () if store.retention.staging() else store.retention.abandoned_files():
        if (settings.staging_directory / file).exists():
            staging.remove(settings.staging_directory, file)
    for path in _orphaned_artifacts(settings, store):
        _remove(path)


def clean(settings: Settings, store: JobStore, dry_run: bool = False) -> list[Freed]:
    """Remove all that no job needs, while no service runs on the state directory.

    Staged copies that unfinished jobs use stay; others are made again when they are needed. Files go first: on a full
    disk they make the room that the job store needs to change.

    Returns
    -------
    list of Freed
        What was removed, by kind; what would be, if `dry_run`.
    """
    retention = store.retention
    needed = {file.partition(".")[0] for file in retention.unfinished_files()}
    staged = [path for path in _entries(settings.staging_directory) if path.name.partition(".")[0] not in needed]
    found = [
        _freed("staged copies and profiles", staged, dry_run),
        _freed("temporary files", _temporary(settings), dry_run),
        _freed("orphaned artifacts", _orphaned_artifacts(settings, store), dry_run),
    ]
    if settings.retain_days is not None:
        due = retention.due(settings.retain_days)
        while not dry_run and retention.expire(settings.retain_days):
            pass
        folders = [settings.artifacts_directory / one.job for one in due]
        left = _freed("", (folder for folder in folders if folder.exists()), dry_run)
        found.append(Freed("expired jobs", len(due), left.size + sum(one.stored_bytes for one in due)))
    if not dry_run:
        retention.compact()
    return [one for one in found if one.number]


def _temporary(settings: Settings) -> Iterator[Path]:
    """What processes left that were killed."""
    yield from _entries(settings.scratch_directory)
    for folder in _entries(settings.artifacts_directory):
        yield from folder.glob(f"*{artifacts.PART}")


def _orphaned_artifacts(settings: Settings, store: JobStore) -> list[Path]:
    """Folders of artifacts that belong to no job, or to one that has expired."""
    # Folders are listed first: one that a job makes meanwhile is not among them.
    folders = list(_entries(settings.artifacts_directory))
    kept = store.retention.keeping()
    return [folder for folder in folders if folder.name not in kept]


def _entries(directory: Path) -> Iterable[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _freed(what: str, paths: Iterable[Path], dry_run: bool) -> Freed:
    sizes = []
    for path in paths:
        sizes.append(_size(path))
        if not dry_run:
            _remove(path)
    return Freed(what, len(sizes), sum(sizes))


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(one.lstat().st_size for one in inside if one.is_symlink() or not one.is_dir())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
