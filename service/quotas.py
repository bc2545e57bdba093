"""What an owner may have in the queue and compute in a day, seen to inside the submission's own transaction."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from service.states import JobStatus, QuotaExceededError

if TYPE_CHECKING:
    import sqlite3

    from service.keys import Limits
    from service.submissions import NewJob

LONGEST_QUEUE = 1000
"""Jobs of all owners that may wait, if nothing else is said."""

QUEUE_RETRY_SECONDS = 10
"""When to try again that something left the queue: nobody knows, but often enough it has."""


def require(connection: sqlite3.Connection, new: NewJob, limits: Limits, queue: int, now: str) -> None:
    """See that a job may be submitted.

    Parameters
    ----------
    limits : Limits
        Quotas of the job's owner. That of running jobs is not seen to here: `JobStore.claim` leaves jobs in the queue.
    queue : int
        Jobs of all owners that may wait.
    now : str
        As the store writes times.

    Raises
    ------
    QuotaExceededError
    """
    waiting = _count(connection, "SELECT COUNT(*) FROM jobs WHERE status = ?", JobStatus.ACCEPTED)
    if waiting >= queue:
        raise QuotaExceededError(
            f"The queue is full: {waiting} jobs wait. Try again when some have ended.", QUEUE_RETRY_SECONDS
        )
    if limits.queued is not None:
        own = "SELECT COUNT(*) FROM jobs WHERE status = ? AND owner = ?"
        waiting = _count(connection, own, JobStatus.ACCEPTED, new.owner)
        if waiting >= limits.queued:
            raise QuotaExceededError(
                f"{waiting} jobs of this API key wait, and its quota is {limits.queued}. Try again when some have "
                "ended, or cancel some.",
                QUEUE_RETRY_SECONDS,
            )
    if limits.comparisons is not None:
        _require_comparisons(connection, new, limits.comparisons, now)


def _count(connection: sqlite3.Connection, query: str, *values: str) -> int:
    (count,) = connection.execute(query, values).fetchone()
    return int(count)


def _require_comparisons(connection: sqlite3.Connection, new: NewJob, limit: int, now: str) -> None:
    moment = datetime.fromisoformat(now).astimezone(UTC)
    rows = connection.execute(
        "SELECT comparisons FROM jobs WHERE owner = ? AND created >= ?", (new.owner, f"{moment:%Y-%m-%d}")
    )
    spent = sum(int(row["comparisons"]) for row in rows)  # by Python: it may exceed 64 bits
    if spent + new.comparisons <= limit:
        return
    midnight = datetime.combine(moment.date() + timedelta(days=1), time(), UTC)
    advice = f"{spent} of them were made or promised since midnight UTC. Try again tomorrow, or compare fewer rows."
    if new.comparisons > limit:
        advice = "That is too little for this job on any day: compare fewer rows, or sample."
    raise QuotaExceededError(
        f"The job may make {new.comparisons} comparisons, and the quota of this API key is {limit} a day. {advice}",
        int((midnight - moment).total_seconds()) + 1,
    )
