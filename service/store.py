"""The job store: jobs and their events, with the ledger of their shards, in one SQLite file.

Every method is one transaction and may be called from any thread.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from service import quotas, submissions, transactions
from service.clock import utc_now, written
from service.database import Database
from service.keyring import Keyring
from service.keys import UNLIMITED, Limits
from service.ledger import Ledger
from service.records import COLUMNS, Event, Job, read_event, read_jobs
from service.retention import Retention
from service.reusable import Reusable
from service.states import IllegalTransitionError, JobStatus, Phase, UnknownJobError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from service.submissions import NewJob
    from workers.staging import StagedArray

ALL_EVENTS = -1


@dataclass(frozen=True, slots=True)
class Filters:
    """Which jobs to list; None filters nothing."""

    status: JobStatus | None = None
    process: str | None = None
    label: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    owner: str | None = None
    prefix: str | None = None
    """How the id begins."""


CLAIMABLE = """
    SELECT job, jobs.started AS started FROM jobs
    LEFT JOIN (
        SELECT owner AS whose, COUNT(*) AS running FROM jobs WHERE status = 'running' GROUP BY owner
    ) ON whose IS jobs.owner
    LEFT JOIN keys ON keys.id = jobs.owner
    WHERE status = 'accepted' AND (running_limit IS NULL OR running_limit > COALESCE(running, 0))
    ORDER BY COALESCE(running, 0), number LIMIT 1
"""
"""The oldest accepted job of an owner with the fewest that run, and who may have one more."""


class JobStore:
    """The only way to the database; `states.TRANSITIONS` is enforced here, in the UPDATE itself."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._database = Database(path)
        self.ledger = Ledger(self._database, self._now)
        self.retention = Retention(self._database, clock)
        self.keys = Keyring(self._database, self._now)
        self.reusable = Reusable(self._database, self._now)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _now(self) -> str:
        return written(self._clock())

    def check(self) -> None:
        """See that the file can be written; sqlite3.Error if not."""
        with self._database.write() as connection:
            connection.execute("UPDATE jobs SET updated = updated WHERE 0")

    # Submitting and reading

    def submit(self, new: NewJob, limits: Limits = UNLIMITED, queue: int = quotas.LONGEST_QUEUE) -> tuple[Job, bool]:
        """Accept a job, or return the one that this idempotency key made; the flag says which: True if new.

        Parameters
        ----------
        new : NewJob
        limits : Limits
            Quotas of the job's owner.
        queue : int
            Jobs of all owners that may wait.

        Raises
        ------
        KeyReuseError
            If the key came with another request before.
        QuotaExceededError
            If the job is one too many.
        """
        with self._database.write() as connection:
            if (earlier := submissions.known(connection, new)) is not None:
                return transactions.fetch(connection, earlier), False
            now = self._now()
            quotas.require(connection, new, limits, queue, now)
            submissions.insert(connection, new, now)
            return transactions.fetch(connection, new.id), True

    def find_known(self, new: NewJob) -> Job | None:
        """Return the job that this idempotency key made, if any; KeyReuseError as in `submit`."""
        with self._database.read() as connection:
            job = submissions.known(connection, new)
            return None if job is None else transactions.fetch(connection, job)

    def get(self, job: str, owner: str | None = None) -> Job:
        """Return one job; UnknownJobError if there is none, or if an owner is named and it is another's."""
        with self._database.read() as connection:
            return transactions.fetch(connection, job, owner)

    def list(self, filters: Filters, limit: int, before: int | None = None) -> tuple[Sequence[Job], int | None]:
        """Return the newest jobs older than `before`, and the number to go on from, if there are more."""
        clauses, values = ["1"], list[Any]()
        if before is not None:
            clauses.append("number < ?")
            values.append(before)
        for column in ("owner", "status", "process", "label"):
            if (value := getattr(filters, column)) is not None:
                clauses.append(f"{column} = ?")
                values.append(value)
        if filters.prefix is not None:
            clauses.append("job >= ? AND job < ?")  # which the index answers
            values += [filters.prefix, filters.prefix + "g"]  # ids are hexadecimal
        for key, value in filters.tags:
            clauses.append("EXISTS (SELECT 1 FROM json_each(jobs.tags) WHERE key = ? AND value = ?)")
            values += [key, value]
        where = " AND ".join(clauses)  # made of the constants above; what a client sent is bound
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM jobs WHERE {where} ORDER BY number DESC LIMIT ?", (*values, limit + 1)
            ).fetchall()
            jobs = read_jobs(connection, rows[:limit])
        return jobs, jobs[-1].number if len(rows) > limit else None

    def count(self) -> Mapping[tuple[str, str], int]:
        """How many jobs there are of each status and process."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT status, process, COUNT(*) FROM jobs GROUP BY status, process").fetchall()
        return {(status, process): number for status, process, number in rows}

    def results(self, job: str) -> str:
        """Return the results of a successful job as JSON text; LookupError before that."""
        with self._database.read() as connection:
            row = connection.execute("SELECT results FROM jobs WHERE job = ?", (job,)).fetchone()
        if row is None or row["results"] is None:
            raise LookupError(job)
        return str(row["results"])

    def on_events(self, tell: Callable[[Collection[str]], None]) -> None:
        """Have `tell` called with the names of jobs that have new events, from whichever thread wrote them."""
        self._database.tell = tell

    def events(self, job: str, after: int = 0, limit: int = ALL_EVENTS) -> Sequence[Event]:
        """Return what happened to a job after event number `after`, the first `limit` of it."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT number, time, kind, data FROM events WHERE job = ? AND number > ? ORDER BY number LIMIT ?",
                (job, after, limit),
            ).fetchall()
        return [read_event(row) for row in rows]

    def last_event(self, job: str) -> Event:
        """Return the newest event of a job; UnknownJobError if there is no such job."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT number, time, kind, data FROM events WHERE job = ? ORDER BY number DESC LIMIT 1", (job,)
            ).fetchone()
        if row is None:
            raise UnknownJobError(job)
        return read_event(row)

    # The life of a job

    def running(self) -> Sequence[str]:
        """Jobs that run, as far as the store knows."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT job FROM jobs WHERE status = ?", (JobStatus.RUNNING,)).fetchall()
        return [row["job"] for row in rows]

    def workload(self) -> Mapping[str, float]:
        """Worker seconds that each running job still takes, as far as that is known."""
        with self._database.read() as connection:
            rows = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE status = ?", (JobStatus.RUNNING,)).fetchall()
            jobs = read_jobs(connection, rows)
        return {job.id: job.progress.remaining_seconds or 0.0 for job in jobs}

    def recover(self, jobs: Collection[str] | None = None, *, broken_off: bool = True) -> None:
        """Put jobs that nobody runs any more back into the queue, one attempt further; dismiss the cancelled.

        Parameters
        ----------
        jobs : collection of str, optional
            Which ones, unless they have left the status running meanwhile; all that have it, if None.
        broken_off : bool
            Whether the attempt ended unforeseen, perhaps through the job itself, and is to be counted.
        """
        with self._database.write() as connection:
            rows = connection.execute(
                "SELECT job, attempt, cancel_requested, recoveries, recovered_shards,"
                " (SELECT COALESCE(SUM(shards_done), 0) FROM progress WHERE progress.job = jobs.job) AS done"
                " FROM jobs WHERE status = ?",
                (JobStatus.RUNNING,),
            ).fetchall()
            for row in rows:
                if jobs is not None and row["job"] not in jobs:
                    continue
                if row["cancel_requested"]:
                    transactions.move(connection, row["job"], JobStatus.DISMISSED, {}, self._now())
                    continue
                columns = {"attempt": row["attempt"] + 1}
                if broken_off:
                    further = row["done"] != row["recovered_shards"]
                    columns |= {
                        "recoveries": 1 if further else row["recoveries"] + 1,
                        "recovered_shards": row["done"],
                    }
                transactions.move(connection, row["job"], JobStatus.ACCEPTED, columns, self._now())

    def claim(self) -> Job | None:
        """Start the oldest accepted job of an owner with the fewest that run, and who may have one more."""
        with self._database.write() as connection:
            row = connection.execute(CLAIMABLE).fetchone()
            if row is None:
                return None
            columns = {"phase": Phase.STAGE, "started": row["started"] or self._now()}
            transactions.move(connection, row["job"], JobStatus.RUNNING, columns, self._now())
            return transactions.fetch(connection, row["job"])

    def cancel(self, job: str, owner: str | None = None) -> Job:
        """Dismiss an accepted job, ask a running one to stop; nothing more happens to a dismissed one.

        Raises
        ------
        IllegalTransitionError
            If the job was successful or failed.
        UnknownJobError
            As `get`.
        """
        with self._database.write() as connection:
            current = transactions.fetch(connection, job, owner)
            if current.status is JobStatus.ACCEPTED:
                transactions.move(connection, job, JobStatus.DISMISSED, {"cancel_requested": 1}, self._now())
            elif current.status is JobStatus.RUNNING:
                if not current.cancel_requested:
                    transactions.update(connection, job, {"cancel_requested": 1}, self._now())
                    transactions.append(connection, job, "cancel-requested", {}, self._now())
            elif current.status is not JobStatus.DISMISSED:
                raise IllegalTransitionError(job, current.status, JobStatus.DISMISSED)
            return transactions.fetch(connection, job)

    def cancelled(self) -> Sequence[str]:
        """Running jobs that were asked to stop."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT job FROM jobs WHERE status = ? AND cancel_requested = 1", (JobStatus.RUNNING,)
            ).fetchall()
        return [row["job"] for row in rows]

    def succeed(self, job: str, results: str, reused_from: str | None = None) -> None:
        """Finish a job with its results, JSON text, and say which job they were taken from, if any."""
        with self._database.write() as connection:
            found = {"results": results, "reused_from": reused_from}
            transactions.move(connection, job, JobStatus.SUCCESSFUL, found, self._now())

    def fail(self, job: str, exception: Mapping[str, Any]) -> None:
        """Finish a job with a problem."""
        with self._database.write() as connection:
            transactions.move(connection, job, JobStatus.FAILED, {"exception": json.dumps(exception)}, self._now())

    def dismiss(self, job: str) -> None:
        """Finish a job that was cancelled and of which nothing runs any more."""
        with self._database.write() as connection:
            transactions.move(connection, job, JobStatus.DISMISSED, {}, self._now())

    # The work of a running job

    def enter(self, job: str, phase: Phase) -> None:
        """Note that a running job began a phase."""
        with self._database.write() as connection:
            transactions.require_running(connection, job)
            transactions.update(connection, job, {"phase": phase}, self._now())
            transactions.append(connection, job, "phase", {"phase": phase}, self._now())

    def record_staged(self, job: str, arrays: Mapping[str, StagedArray], **digests: str | None) -> None:
        """Note what was staged, and digests by their columns, the first time; a later attempt must find the same."""
        columns = {"staged": json.dumps({name: asdict(array) for name, array in arrays.items()}), **digests}
        with self._database.write() as connection:
            transactions.require_running(connection, job)
            if transactions.fetch(connection, job).staged is None:
                transactions.update(connection, job, columns, self._now())
