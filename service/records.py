"""What the job store hands out: jobs as they were at one moment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.states import JobStatus, Phase

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

HALF = 32
LOW = (1 << HALF) - 1

PROGRESS = f"""
    SELECT job, measure, COUNT(*) AS total, COUNT(seconds) AS done, TOTAL(seconds) AS spent,
           SUM(comparisons >> {HALF}) AS total_high, SUM(comparisons & {LOW}) AS total_low,
           SUM(IIF(seconds IS NULL, 0, comparisons >> {HALF})) AS done_high,
           SUM(IIF(seconds IS NULL, 0, comparisons & {LOW})) AS done_low
    FROM shards WHERE job IN (SELECT value FROM json_each(?)) GROUP BY job, measure
"""
"""Progress of several jobs. Halves are summed apart: the comparisons of a job may exceed 64 bits."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a job's ledger is filled.

    Attributes
    ----------
    remaining_seconds : float or None
        Worker seconds of the shards that are left, at the rate of the finished shards of the same measure; a
        measure without finished shards is taken to have shards as long as the others'. None until a shard is
        finished.
    """

    shards_done: int = 0
    shards_total: int = 0
    comparisons_done: int = 0
    comparisons_total: int = 0
    remaining_seconds: float | None = None

    @property
    def percent(self) -> int:
        """Whole percent of the comparisons, at most 99: 100 belongs to successful jobs."""
        if self.comparisons_total == 0:
            return 0
        return min(99, 100 * self.comparisons_done // self.comparisons_total)


@dataclass(frozen=True, slots=True)
class Job:
    """One job. JSON columns are parsed; times are as they are shown.

    `expired` is when its results were let go of. `recoveries` counts attempts in a row that broke off and left the
    ledger as they found it. `owner` is the id of the API key that submitted it, empty where there were none.
    """

    number: int
    id: str
    process: str
    status: JobStatus
    phase: Phase | None
    attempt: int
    recoveries: int
    cancel_requested: bool
    label: str | None
    tags: dict[str, str]
    request: dict[str, Any]
    arrays: dict[str, Any]
    request_id: str
    owner: str
    created: str
    started: str | None
    finished: str | None
    updated: str
    staged: dict[str, Any] | None
    groups_digest: str | None
    exception: dict[str, Any] | None
    progress: Progress
    expired: str | None = None

    @property
    def percent(self) -> int:
        """Progress as it is shown: 100 only when successful."""
        return 100 if self.status is JobStatus.SUCCESSFUL else self.progress.percent


COLUMNS = """number, job, process, status, phase, attempt, recoveries, cancel_requested, label, tags, request, arrays,
    request_id, owner, created, started, finished, updated, staged, groups_digest, exception, expired"""
"""Everything but the results, which may be long."""


def read_jobs(connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> list[Job]:
    """Turn rows of `COLUMNS` into jobs with their progress."""
    rows = list(rows)
    progress = _progress(connection, [row["job"] for row in rows])
    return [_job(row, progress.get(row["job"], Progress())) for row in rows]


def _job(row: sqlite3.Row, progress: Progress) -> Job:
    return Job(
        number=row["number"],
        id=row["job"],
        process=row["process"],
        status=JobStatus(row["status"]),
        phase=Phase(row["phase"]) if row["phase"] else None,
        attempt=row["attempt"],
        recoveries=row["recoveries"],
        cancel_requested=bool(row["cancel_requested"]),
        label=row["label"],
        tags=json.loads(row["tags"]),
        request=json.loads(row["request"]),
        arrays=json.loads(row["arrays"]),
        request_id=row["request_id"],
        owner=row["owner"],
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        updated=row["updated"],
        staged=_parsed(row["staged"]),
        groups_digest=row["groups_digest"],
        exception=_parsed(row["exception"]),
        progress=progress,
        expired=row["expired"],
    )


def _parsed(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json.loads(text)


def _progress(connection: sqlite3.Connection, jobs: list[str]) -> dict[str, Progress]:
    by_job: dict[str, list[sqlite3.Row]] = {}
    for row in connection.execute(PROGRESS, (json.dumps(jobs),)):
        by_job.setdefault(row["job"], []).append(row)
    return {job: _add_up(rows) for job, rows in by_job.items()}


def _add_up(rows: list[sqlite3.Row]) -> Progress:
    done = [(row["done_high"] << HALF) + row["done_low"] for row in rows]
    total = [(row["total_high"] << HALF) + row["total_low"] for row in rows]
    shards_done = sum(row["done"] for row in rows)
    remaining = None
    if shards_done:
        seconds_per_shard = sum(row["spent"] for row in rows) / shards_done
        remaining = sum(
            row["spent"] * (of - part) / part if part else row["total"] * seconds_per_shard
            for row, part, of in zip(rows, done, total, strict=True)
        )
    return Progress(shards_done, sum(row["total"] for row in rows), sum(done), sum(total), remaining)
