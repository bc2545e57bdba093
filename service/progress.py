"""How far a job is: a bar on a terminal, single lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from service import numerals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from rich.console import Console

WINDOW_SECONDS = 10.0
BEFORE_THE_END = 99.0
"""Percent that an unfinished job shows at most: adding up and storing the results come after the last comparison."""
STEP = 10
"""Without a terminal, a line is printed each time this many percent are passed."""

PHASES = {
    "stage": "reading the arrays",
    "count": "comparing",
    "finish": "adding up",
}
STATES = {
    "accepted": "waiting in the queue",
    "running": "starting",
    "successful": "done",
    "failed": "failed",
    "dismissed": "cancelled",
}


class Speed:
    """Comparisons per second over the last seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, done: int) -> None:
        """Note how many are done now."""
        self._seen.append((self._now(), done))
        while len(self._seen) > 2 and self._seen[-1][0] - self._seen[0][0] > WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Comparisons per second; None until some were done."""
        if len(self._seen) < 2:
            return None
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        return (after - before) / (last - first) if after > before and last > first else None


class JobProgress:
    """Shows the statuses of one job; a context manager whose `update` is a client's ``progress``."""

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._speed = Speed(now)
        self._shown: tuple[str, int] | None = None
        self._bar = Progress(
            TextColumn("{task.description}", style="bold"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}", style="cyan"),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("submitted", total=100, rate="", left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, status: dict[str, Any]) -> None:
        """Show a status, as the service sends it."""
        details = status.get("ordsim") or {}
        phase = words(status)
        share = percent(status)
        rate, left = "", ""
        if status["status"] == "running" and details.get("phase") == "count":
            self._speed.add(int(details.get("comparisonsDone") or 0))
            rate, left = self._pace(details)
        if self._console.is_terminal:
            self._bar.update(self._task, description=phase, completed=share, rate=rate, left=left)
        elif self._shown is None or (phase, int(share) // STEP) != self._shown:
            self._shown = (phase, int(share) // STEP)
            parts = [f"{phase}: {int(share)}%", rate, left]
            self._console.print(", ".join(part for part in parts if part), markup=False, highlight=False)

    def _pace(self, details: dict[str, Any]) -> tuple[str, str]:
        rate = self._speed.rate
        left = details.get("etaSeconds")
        if left is None and rate is not None:
            left = (int(details["comparisonsTotal"]) - int(details["comparisonsDone"])) / rate
        return (
            f"{numerals.rounded(rate)}/s" if rate is not None else "",
            f"{numerals.duration(max(1, left))} left" if left is not None else "",
        )


def words(status: Mapping[str, Any]) -> str:
    """Say in words what a job is doing."""
    phase = (status.get("ordsim") or {}).get("phase")
    if status["status"] == "running" and phase in PHASES:
        return PHASES[phase]
    return STATES.get(status["status"], str(status["status"]))


def percent(status: Mapping[str, Any]) -> float:
    """Share of the comparisons that is done, with fractions; 100 only for a successful job, 99 at most before."""
    if status["status"] == "successful":
        return 100.0
    details = status.get("ordsim") or {}
    total = int(details.get("comparisonsTotal") or 0)
    share = 100 * int(details.get("comparisonsDone") or 0) / total if total else float(status.get("progress") or 0)
    return min(BEFORE_THE_END, share)
