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
    """Print a few lines a job: its id above x, y and its label; state, age and measures beside them."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not jobs:
        console.print("There are no jobs.")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    # An id is copied, so it is never broken; names stand below it, because beside it a usual terminal has no room.
    table.add_column("job: x, y, label", overflow="fold", min_width=max(len(str(job["jobID"])) for job in jobs))
    table.add_column("state", no_wrap=True)
    table.add_column("submitted", no_wrap=True)
    table.add_column("measures", no_wrap=True)
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
    below = [_side(request.get(name) or {}) for name in ("x", "y")]
    if label := job.get("label") or request.get("label"):
        below.append(str(label))
    return [
        Text("\n  ".join([str(job["jobID"]), *below])),
        Text(shown, style=STYLES.get(state, "default")),
        Text(age(str(job.get("created") or ""), datetime.now(UTC))),
        Text("\n".join(measures)),
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
