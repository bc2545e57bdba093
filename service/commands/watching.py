"""Waiting for a job before a person's eyes, and saying how it ended."""

from typing import Any

import typer
from rich.console import Console

from service.answers import ServiceError
from service.client import Client
from service.commands.outcome import JOB_FAILED, problem, tell
from service.progress import JobProgress


def watch(client: Client, status: dict[str, Any], outage: float = 30.0) -> dict[str, Any]:
    """Show a job's progress until it is final; returns the last status."""
    console = Console(stderr=True, highlight=False, markup=False)
    with JobProgress(console) as progress:
        progress.update(status)
        return client.wait(status["jobID"], progress=progress.update, outage=outage)


def require_success(status: dict[str, Any]) -> None:
    """Go on if the job was successful; else say why not and end the command.

    Raises
    ------
    typer.Exit
        With the code of a failed job.
    """
    if status["status"] == "successful":
        return
    exception = status.get("exception")
    if status["status"] == "failed" and exception:
        error = ServiceError(exception, int(exception.get("status", 500)))
        tell(f"ordsim: job {status['jobID']} failed. {problem(error)}")
    else:
        tell(f"ordsim: job {status['jobID']} is {status['status']}: {status.get('message') or 'no reason given'}")
    raise typer.Exit(JOB_FAILED)
