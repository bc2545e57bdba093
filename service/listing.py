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

DATE = len("2026-01-31")
STYLES = {"successful": "green", "failed": "red", "dismissed": "dim", "running": "cyan"}


def print_jobs(jobs: Sequence[Mapping[str, Any]], stream: IO[str] | None = None) -> None:
    """Print a few lines a job: its id above its arrays and label; state, age and measures beside them."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not jobs:
        console.print("There are no jobs.")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    # An id is copied, so it is never broken; names stand below it, because beside it a usual terminal has no room.
    table.add_column("job: arrays, label", overflow="fold", min_width=max(len(str(job["jobID"])) for job in jobs))
    table.add_column("state", no_wrap=True)
    table.add_column("submitted", no_wrap=True)
    table.add_column("measures", no_wrap=True)
    for job in jobs:
        table.add_row(*_cells(job))
    console.print(table)


def print_keys(keys: Sequence[Mapping[str, Any]], stream: IO[str] | None = None) -> None:
    """Print a line a key, as `ordsim keys list --json` has them."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not keys:
        console.print("There are no keys.")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("key", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("made", no_wrap=True)
    table.add_column("expires", no_wrap=True)
    table.add_column("scopes, quotas")
    table.add_column("label", overflow="fold")
    for key in keys:
        made, expires = key["created"][:DATE], (key["expires"] or "never")[:DATE]
        allowed = "\n".join([", ".join(key["scopes"]), *_quotas(key["limits"])])
        style = "default" if key["state"] == "active" else "dim"
        table.add_row(*map(Text, (key["id"], key["state"], made, expires, allowed, key["label"])), style=style)
    console.print(table)


def _quotas(limits: Mapping[str, Any]) -> list[str]:
    words = {"queued": "queued", "running": "running", "comparisonsPerDay": "comparisons a day"}
    return [f"{limits[name]} {word}" for name, word in words.items() if limits[name] is not None]


def _cells(job: Mapping[str, Any]) -> list[Text]:
    request = job.get("request") or {}
    state = str(job["status"])
    shown = f"{state} {numerals.percent(percent(job) / 100)}" if state == "running" else state
    below = _arrays(request)
    if label := job.get("label") or request.get("label"):
        below.append(str(label))
    return [
        Text("\n  ".join([str(job["jobID"]), *below])),
        Text(shown, style=STYLES.get(state, "default")),
        Text(age(str(job.get("created") or ""), datetime.now(UTC))),
        Text("\n".join(_measures(request))),
    ]


def _measures(request: Mapping[str, Any]) -> list[str]:
    """Names of the measures; layers and matrix have one."""
    measures = request.get("measures") or [request.get("measure") or {}]
    return [":".join(str(measure[key]) for key in ("measure", "method") if measure.get(key)) for measure in measures]


def _arrays(request: Mapping[str, Any]) -> list[str]:
    """What is compared: x and y; for the other processes their name, and the first of each list of arrays."""
    process, x, y = request.get("process"), request.get("x") or {}, request.get("y") or {}
    if process == "layers":
        return ["layers", *(_several(side.get("layers") or []) for side in (x, y))]
    if process == "matrix":
        return ["matrix", _several(request.get("arrays") or [])]
    return [_one(x), _one(y)]


def _several(arrays: Sequence[Mapping[str, Any]]) -> str:
    if not arrays:
        return "no arrays"
    return _one(arrays[0]) if len(arrays) == 1 else f"{_one(arrays[0])} and {len(arrays) - 1} more"


def _one(array: Mapping[str, Any]) -> str:
    return f"{array.get('root', '?')}:{array.get('path', '?')}"


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
