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
PROGRESS = "SELECT * FROM progress WHERE job IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a job's ledger is filled.

    Attributes
    ----------
    remaining_seconds : float or None
        Worker seconds of the comparisons that are left: each measure at the rate of its own finished shards, or,
        before there are any, at the rate by the model of costs, corrected by how right that was about the other
        measures. None until a shard is finished.
    longest_shard : float
        Seconds that the longest of the shards that are left is expected to take.
    """

    shards_done: int = 0
    shards_total: int = 0
    comparisons_done: int = 0
    comparisons_total: int = 0
    remaining_seconds: float | None = None
    longest_shard: float = 0.0

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
    rows_digest: str | None
    reused_from: str | None
    exception: dict[str, Any] | None
    progress: Progress
    expired: str | None = None

    @property
    def percent(self) -> int:
        """Progress as it is shown: 100 only when successful."""
        return 100 if self.status is JobStatus.SUCCESSFUL else self.progress.percent


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a job's history, numbered from 1."""

    number: int
    time: str
    kind: str
    data: dict[str, Any]

    @property
    def final(self) -> bool:
        """Whether none comes after it."""
        return self.kind in FINAL


FINAL = frozenset(status.value for status in JobStatus if status.final)

COLUMNS = """number, job, process, status, phase, attempt, recoveries, cancel_requested, label, tags, request, arrays,
    request_id, owner, created, started, finished, updated, staged, groups_digest, rows_digest, reused_from,
    exception, expired"""
"""Everything but the results, which may be long."""


def read_jobs(connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> list[Job]:
    """Turn rows of `COLUMNS` into jobs with their progress."""
    rows = list(rows)
    progress = _progress(connection, [row["job"] for row in rows])
    return [_job(row, progress.get(row["job"], Progress())) for row in rows]


def read_event(row: sqlite3.Row) -> Event:
    """Turn a row of events into one."""
    return Event(row["number"], row["time"], row["kind"], json.loads(row["data"]))


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
        rows_digest=row["rows_digest"],
        reused_from=row["reused_from"],
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
    measures = [
        _Measure(
            shards_left=row["shards_total"] - row["shards_done"],
            done=(row["done_high"] << HALF) + row["done_low"],
            total=(row["total_high"] << HALF) + row["total_low"],
            seconds=row["seconds"],
            rate=row["rate"],
        )
        for row in rows
    ]
    shards_done = sum(row["shards_done"] for row in rows)
    left = _seconds_left(measures, shards_done) if shards_done else []
    shards_left = [measure.shards_left for measure in measures]
    return Progress(
        shards_done,
        sum(row["shards_total"] for row in rows),
        sum(measure.done for measure in measures),
        sum(measure.total for measure in measures),
        sum(left) if left else None,
        max((seconds / shards for seconds, shards in zip(left, shards_left, strict=False) if shards), default=0.0),
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    """How far one measure is: comparisons, and worker seconds."""

    shards_left: int
    done: int
    total: int
    seconds: float
    rate: float | None


def _seconds_left(measures: list[_Measure], shards_done: int) -> list[float]:
    """Worker seconds that each measure still takes."""
    known = [measure for measure in measures if measure.done and measure.rate]
    expected = sum(measure.done * (measure.rate or 0) for measure in known)
    correction = sum(measure.seconds for measure in known) / expected if expected else 1.0
    each = sum(measure.seconds for measure in measures) / shards_done
    left = []
    for measure in measures:
        if measure.done:
            left.append(measure.seconds / measure.done * (measure.total - measure.done))
        elif measure.rate is not None:
            left.append(correction * measure.rate * measure.total)
        else:  # planned before rates were written down
            left.append(each * measure.shards_left)
    return left
