"""What every task has around it on its worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from distributed import get_worker

from workers import cancellation, logs, versions
from workers.cancellation import ShardCancelled
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Task(Protocol):
    """What `execute` must know of a task."""

    @property
    def job(self) -> str:
        """The job it belongs to."""

    @property
    def attempt(self) -> int:
        """The job's attempt: told to workers together with the job when it is cancelled."""

    @property
    def request_id(self) -> str:
        """The request that submitted the job: what logs call it."""


Result = TypeVar("Result")
TaskType = TypeVar("TaskType", bound=Task)


def report(
    function: Callable[[TaskType], Result], task: TaskType, expected: Mapping[str, str]
) -> Result | ShardCancelled | ProblemError:
    """Run a task on a worker that has the expected versions, and return what is no defect instead of raising it.

    Dask logs whatever a task raises as an error with its traceback; a cancellation or a zero row in somebody's
    data is neither.
    """
    try:
        with (
            logs.bound(request_id=task.request_id, job=task.job, attempt=task.attempt),
            cancellation.running(task.job, task.attempt),
        ):
            versions.require(expected, worker_address())
            return function(task)
    except (ShardCancelled, ProblemError) as error:
        # The causes stay here: they need not be importable, nor even picklable, where the problem is told.
        return error.with_traceback(None)


def worker_address() -> str:
    """Where the running task runs."""
    try:
        return str(get_worker().address)
    except ValueError:
        return "no worker"
