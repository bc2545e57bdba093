"""What finished jobs leave is kept for a time. Then the job alone stays: its request, status and end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from service.clock import written
from service.states import JobStatus

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from service.database import Database

KEY_LIFE = timedelta(days=1)
"""An idempotency key answers at least so long, whatever became of the results."""

BATCH = 50
"""Jobs that are let go of in one transaction: submissions wait for it."""

DUE = "finished IS NOT NULL AND finished < ? AND expired IS NULL"


@dataclass(frozen=True, slots=True)
class Due:
    """A job whose time is over, and the bytes that the store holds for it."""

    job: str
    stored_bytes: int


class Retention:
    """Lets go of jobs, in the store; their files are `service.cleaning`'s."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def due(self, days: float) -> Sequence[Due]:
        """Return the jobs that ended more than `days` ago and still have what they left."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT job, COALESCE(LENGTH(results), 0)"
                " + (SELECT TOTAL(LENGTH(partial)) FROM shards WHERE shards.job = jobs.job) AS stored"
                f" FROM jobs WHERE {DUE}",
                (self._before(days),),
            ).fetchall()
        return [Due(row["job"], int(row["stored"])) for row in rows]

    def expire(self, days: float) -> Sequence[str]:
        """Let go of some jobs that ended more than `days` ago, and name them; none when there are no more.

        Their results answer 410 from then on.
        """
        with self._database.write() as connection:
            rows = connection.execute(
                f"SELECT job FROM jobs WHERE {DUE} ORDER BY finished LIMIT {BATCH}", (self._before(days),)
            ).fetchall()
            jobs = [str(row["job"]) for row in rows]
            for job in jobs:
                _let_go(connection, job, written(self._clock()))
            connection.execute(
                "DELETE FROM idempotency WHERE created < ? AND job IN (SELECT job FROM jobs WHERE expired IS NOT NULL)",
                (written(self._clock() - KEY_LIFE),),
            )
        return jobs

    def abandoned_files(self) -> frozenset[str]:
        """Return the staged copies that expired jobs used, and no other job uses."""
        return self._files("expired IS NOT NULL") - self._files("expired IS NULL")

    def staging(self) -> bool:
        """Whether a job runs that did not yet say which staged copies it uses."""
        with self._database.read() as connection:
            query = f"SELECT 1 FROM jobs WHERE status = '{JobStatus.RUNNING}' AND staged IS NULL LIMIT 1"
            return connection.execute(query).fetchone() is not None

    def unfinished_files(self) -> frozenset[str]:
        """Return the staged copies that jobs use which are not over."""
        return self._files(f"status IN ('{JobStatus.ACCEPTED}', '{JobStatus.RUNNING}')")

    def keeping(self) -> frozenset[str]:
        """Return all jobs that may have artifacts."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT job FROM jobs WHERE expired IS NULL").fetchall()
        return frozenset(row["job"] for row in rows)

    def compact(self) -> None:
        """Give the room of what was removed back to the disk; nobody else may have the store open."""
        with self._database.alone() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _files(self, condition: str) -> frozenset[str]:
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT json_extract(value, '$.file') AS file FROM"
                f" (SELECT staged FROM jobs WHERE staged IS NOT NULL AND {condition}) AS used, json_each(used.staged)"
            ).fetchall()
        return frozenset(row["file"] for row in rows if row["file"])

    def _before(self, days: float) -> str:
        return written(self._clock() - timedelta(days=days))


def _let_go(connection: sqlite3.Connection, job: str, now: str) -> None:
    for table in ("shards", "prefixes"):
        connection.execute(f"DELETE FROM {table} WHERE job = ?", (job,))
    # The last event stays: whoever listens then hears how it ended.
    connection.execute(
        "DELETE FROM events WHERE job = ? AND number < (SELECT MAX(number) FROM events WHERE job = ?)", (job, job)
    )
    connection.execute("UPDATE jobs SET results = NULL, expired = ?, updated = ? WHERE job = ?", (now, now, job))
