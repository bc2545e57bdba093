"""A job's status as it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service.states import JobStatus, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.records import Job

JSON = "application/json"
RETRY_SECONDS = "1"
"""When to ask again for what is not final."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who works: connected workers, shards that run at once, worker seconds that each running job still takes."""

    workers: int = 0
    threads: int = 0
    workload: Mapping[str, float] = field(default_factory=dict)


def status_document(job: Job, crew: Crew) -> dict[str, Any]:
    """Build the status of a job."""
    progress, workers = job.progress, crew.workers
    return {
        "jobID": job.id,
        "process": job.process,
        "type": "process",
        "status": job.status.value,
        "progress": job.percent,
        "message": message(job, workers),
        "created": job.created,
        "started": job.started,
        "finished": job.finished,
        "updated": job.updated,
        "exception": job.exception,
        "request": job.request,
        "label": job.label,
        "tags": job.tags,
        "ordsim": {
            "phase": job.phase,
            "shardsDone": progress.shards_done,
            "shardsTotal": progress.shards_total,
            "comparisonsDone": progress.comparisons_done,
            "comparisonsTotal": progress.comparisons_total,
            "etaSeconds": eta_seconds(job, crew),
            "attempt": job.attempt,
            # Nothing that changes later may stand in the status of a final job.
            "workers": workers if job.status is JobStatus.RUNNING else 0,
            "reusedFrom": job.reused_from,
        },
        "links": links(job),
    }


def eta_seconds(job: Job, crew: Crew) -> float | None:
    """Seconds until the shards are done, if all workers go on as they did; None while nobody can know.

    Jobs that run share the workers equally: until this one is done, each of the others gets as much as it, or all that
    it still needs if that is less.
    """
    own = job.progress.remaining_seconds
    if job.status is not JobStatus.RUNNING or job.phase is Phase.FINISH or own is None or crew.threads == 0:
        return None
    others = sum(min(own, left) for name, left in crew.workload.items() if name != job.id)
    # The last shards leave threads idle: none ends sooner than the longest of them takes.
    return round(max((own + others) / crew.threads, job.progress.longest_shard), 1)


def links(job: Job) -> list[dict[str, str]]:
    """Where a job and its results are."""
    here = f"/v1/jobs/{job.id}"
    found = [{"rel": "self", "href": here, "type": JSON}]
    if job.status is not JobStatus.DISMISSED and not job.expired:
        found.append({"rel": "results", "href": f"{here}/results", "type": JSON})
    return found


def message(job: Job, workers: int) -> str:
    """Say in a sentence how the job is doing."""
    if job.status is JobStatus.ACCEPTED:
        waiting = "for a place in the queue" if workers else "until a worker is connected"
        return f"Waiting {waiting}."
    if job.status is JobStatus.SUCCESSFUL:
        if job.expired:
            return "Finished; the results were removed after their time."
        if job.reused_from is not None:
            return f"Finished; job {job.reused_from} asked the same of the same data, and these are its results."
        return "Finished; the results are ready."
    if job.status is JobStatus.FAILED:
        return f"Failed: {job.exception['detail'] if job.exception else 'the reason is lost.'}"
    if job.status is JobStatus.DISMISSED:
        return "Cancelled."
    if job.cancel_requested:
        return "Cancelling: waiting for the shards that still run."
    if job.phase is Phase.STAGE:
        return "Reading and checking the arrays."
    if job.phase is Phase.FINISH:
        return "Adding up the counts."
    progress = job.progress
    return f"Counting: {progress.shards_done} of {progress.shards_total} shards are done."
