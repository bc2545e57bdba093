"""What a job can be, and which change of it is allowed: the one table."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class JobStatus(StrEnum):
    """Where a job is in its life. The last three are final."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    DISMISSED = "dismissed"

    @property
    def final(self) -> bool:
        """Whether nothing can change it any more."""
        return not TRANSITIONS[self]


class Phase(StrEnum):
    """What a running job is doing."""

    STAGE = "stage"
    COUNT = "count"
    FINISH = "finish"


TRANSITIONS: Mapping[JobStatus, frozenset[JobStatus]] = {
    JobStatus.ACCEPTED: frozenset({JobStatus.RUNNING, JobStatus.DISMISSED, JobStatus.FAILED}),
    # Back to accepted: the service was stopped or killed, and the next one takes the job up again.
    JobStatus.RUNNING: frozenset({JobStatus.SUCCESSFUL, JobStatus.FAILED, JobStatus.DISMISSED, JobStatus.ACCEPTED}),
    JobStatus.SUCCESSFUL: frozenset(),
    JobStatus.FAILED: frozenset(),
    JobStatus.DISMISSED: frozenset(),
}


def sources(status: JobStatus) -> tuple[JobStatus, ...]:
    """From where a job may come to `status`."""
    return tuple(before for before, after in TRANSITIONS.items() if status in after)


class StoreError(Exception):
    """The job store refused; subclasses say why."""


class UnknownJobError(StoreError):
    """There is no job of this name."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job


class IllegalTransitionError(StoreError):
    """The job cannot go from where it is to where it was sent."""

    def __init__(self, job: str, current: JobStatus, wanted: JobStatus) -> None:
        super().__init__(job, current, wanted)
        self.job = job
        self.current = current
        self.wanted = wanted

    def __str__(self) -> str:
        return f"job {self.job} is {self.current} and cannot become {self.wanted}"


class QuotaExceededError(StoreError):
    """An owner may not have so many jobs in the queue, or so many comparisons a day; says so in words for the client.

    Attributes
    ----------
    retry_seconds : int
        When it is worth another try.
    """

    def __init__(self, detail: str, retry_seconds: int) -> None:
        super().__init__(detail, retry_seconds)
        self.detail = detail
        self.retry_seconds = retry_seconds


class KeyReuseError(StoreError):
    """The idempotency key was used before, with another request."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job
