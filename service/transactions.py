"""Steps inside a transaction, shared by the job store and its ledger."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from service.records import COLUMNS, Job, read_jobs
from service.states import IllegalTransitionError, JobStatus, UnknownJobError, sources

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from service.database import Connection


def fetch(connection: sqlite3.Connection, job: str, owner: str | None = None) -> Job:
    """Return one job; UnknownJobError if there is none, or if an owner is named and it is another's."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE job = ?", (job,)).fetchall()
    if not rows or owner not in (None, rows[0]["owner"]):
        raise UnknownJobError(job)
    return read_jobs(connection, rows)[0]


def status(connection: sqlite3.Connection, job: str) -> JobStatus:
    """Return a job's status alone; UnknownJobError if there is no such job."""
    row = connection.execute("SELECT status FROM jobs WHERE job = ?", (job,)).fetchone()
    if row is None:
        raise UnknownJobError(job)
    return JobStatus(row["status"])


def require_running(connection: sqlite3.Connection, job: str) -> None:
    """Refuse to write to a job that does not run: its time is over."""
    current = status(connection, job)
    if current is not JobStatus.RUNNING:
        raise IllegalTransitionError(job, current, JobStatus.RUNNING)


def update(connection: sqlite3.Connection, job: str, columns: Mapping[str, Any], now: str) -> None:
    """Change columns other than the status."""
    columns = {**columns, "updated": now}
    assignments = ", ".join(f"{column} = ?" for column in columns)
    connection.execute(f"UPDATE jobs SET {assignments} WHERE job = ?", (*columns.values(), job))


def move(connection: Connection, job: str, to: JobStatus, columns: Mapping[str, Any], now: str) -> None:
    """Change a job's status, if the table of transitions allows it from where the job is now."""
    columns = {**columns, "status": to, "updated": now}
    if to.final:
        columns |= {"finished": now}
    if to is not JobStatus.RUNNING:
        columns |= {"phase": None}
    assignments = ", ".join(f"{column} = ?" for column in columns)
    allowed = sources(to)
    changed = connection.execute(
        f"UPDATE jobs SET {assignments} WHERE job = ? AND status IN ({', '.join('?' * len(allowed))})",
        (*columns.values(), job, *allowed),
    ).rowcount
    if not changed:
        raise IllegalTransitionError(job, status(connection, job), to)
    append(connection, job, to, {}, now)


def append(connection: Connection, job: str, kind: str, data: Mapping[str, Any], now: str) -> None:
    """Add an entry to a job's history, of which those who listen learn with the end of the transaction."""
    connection.touched.add(job)
    connection.execute(
        "INSERT INTO events (job, number, time, kind, data)"
        " SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? FROM events WHERE job = ?",
        (job, now, kind, json.dumps(data), job),
    )
