"""Waiting for a job before a person's eyes, and saying how it ended."""

from typing import Any

import typer
from rich.console import Console

from service.answers import ServiceError
from service.client import Client
from service.commands import options
from service.commands.outcome import INTERRUPTED, JOB_FAILED, CommandError, problem, tell
from service.progress import JobProgress


def watch(client: Client, status: dict[str, Any], outage: float = 30.0) -> dict[str, Any]:
    """Show a job's progress until it is final; returns the last status."""
    console = Console(stderr=True, highlight=False, markup=False)
    with JobProgress(console) as progress:
        progress.update(status)
        return client.wait(status["jobID"], progress=progress.update, outage=outage)


def watch_or_leave(client: Client, status: dict[str, Any]) -> dict[str, Any]:
    """Watch a job to its end and require its success; an interruption leaves it alone and says so."""
    job = status["jobID"]
    try:
        final = watch(client, status)
    except KeyboardInterrupt:
        at = options.at(client.url)
        tell(f"\nThe job goes on. Watch it again: ordsim watch {job}{at}   Stop it: ordsim cancel {job}{at}")
        raise typer.Exit(INTERRUPTED) from None
    require_success(final)
    return final


def require_success(status: dict[str, Any]) -> None:
    """Go on if the job was successful; else say why not and end the command.

    Raises
    ------
    CommandError
        With the code of a failed job.
    """
    if status["status"] == "successful":
        return
    exception = status.get("exception")
    if status["status"] == "failed" and exception:
        error = ServiceError(exception, int(exception.get("status", 500)))
        raise CommandError(f"job {status['jobID']} failed. {problem(error)}", JOB_FAILED, exception)
    reason = status.get("message") or "no reason was given"
    raise CommandError(f"job {status['jobID']} is {status['status']}: {reason}", JOB_FAILED)
