"""A list of jobs as a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from service import numerals
from service.progress import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

STYLES = {"successful": "green", "failed": "red", "dismissed": "dim", "running": "cyan"}


def print_jobs(jobs: Sequence[Mapping[str, Any]], stream: IO[str] | None = None) -> None:
    """Print one line a job: id, state, age, what is compared by what, label."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not jobs:
        console.print("There are no jobs.")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("job", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("submitted", no_wrap=True)
    table.add_column("x and y", overflow="fold")
    table.add_column("measures", no_wrap=True)
    table.add_column("label", overflow="fold")
    for job in jobs:
        table.add_row(*_cells(job))
    console.print(table)


def _cells(job: Mapping[str, Any]) -> list[Text]:
    request = job.get("request") or {}
    state = str(job["status"])
    shown = f"{state} {numerals.percent(percent(job) / 100)}" if state == "running" else state
    measures = [
        ":".join(str(measure[key]) for key in ("measure", "method") if measure.get(key))
        for measure in request.get("measures", ())
    ]
    return [
        Text(str(job["jobID"])),
        Text(shown, style=STYLES.get(state, "default")),
        Text(age(str(job.get("created") or ""), datetime.now(UTC))),
        Text("\n".join(_side(request.get(name) or {}) for name in ("x", "y"))),
        Text("\n".join(measures)),
        Text(str(job.get("label") or request.get("label") or "")),
    ]


def _side(side: Mapping[str, Any]) -> str:
    return f"{side.get('root', '?')}:{side.get('path', '?')}"


def age(created: str, now: datetime) -> str:
    """Say how long ago something was: to the minute, hour or day; the date after a month."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    seconds = max(0, int((now - moment).total_seconds()))
    for unit, name, limit in ((1, "s", 90), (60, "min", 90 * 60), (3600, "h", 48 * 3600), (86400, "days", 30 * 86400)):
        if seconds < limit:
            return f"{seconds // unit} {name} ago"
    return f"{moment.astimezone():%Y-%m-%d}"
