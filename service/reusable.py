"""Which finished jobs have results that another may take over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service import transactions
from service.states import JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.database import Database


class Reusable:
    """Finished jobs by the key of what their results follow from. Every method is one transaction."""

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        self._database = database
        self._now = now

    def record(self, job: str, key: str | None) -> None:
        """Note a running job's key; none if shards were counted by an attempt that had another one."""
        with self._database.write() as connection:
            transactions.require_running(connection, job)
            earlier, counted = connection.execute(
                "SELECT reuse_key, EXISTS (SELECT 1 FROM shards WHERE job = ?1 AND seconds IS NOT NULL)"
                " FROM jobs WHERE job = ?1",
                (job,),
            ).fetchone()
            known = key if earlier == key or not counted else None
            transactions.update(connection, job, {"reuse_key": known}, self._now())

    def find(self, job: str, key: str) -> str | None:
        """Find the first job of the same owner that was successful, has this key, and still has its results."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT job FROM jobs WHERE reuse_key = ? AND status = ? AND results IS NOT NULL"
                " AND owner = (SELECT owner FROM jobs WHERE job = ?) ORDER BY number LIMIT 1",
                (key, JobStatus.SUCCESSFUL, job),
            ).fetchone()
        return None if row is None else str(row["job"])
