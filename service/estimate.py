"""What a job would cost, as a person reads it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from service import numerals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from rich.console import RenderableType

WIDEST = 100


def print_plan(plan: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """Print a plan: on standard output, if nothing else is said."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.print(render(plan), width=min(console.width, WIDEST))


def render(plan: Mapping[str, Any]) -> RenderableType:
    """Lay out a plan, as something rich can print."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("measure")
    for heading in ("comparisons", "shards", "a worker's memory", "time"):
        table.add_column(heading, justify="right", overflow="fold")
    for measure in plan["measures"]:
        most = "at most " if measure.get("atMost") else ""
        table.add_row(
            Text(f"{measure['measure']} {measure['method']}", style="bold"),
            most + numerals.rounded(int(measure["comparisons"])),
            numerals.grouped(measure["shards"]),
            numerals.size(measure["peakWorkerBytes"]),
            most + numerals.duration(measure["seconds"]),
        )
    return Group(table, Text(), Text(_whole(plan)))


def _whole(plan: Mapping[str, Any]) -> str:
    workers = plan.get("workers")
    if not workers:
        with_what = "on one worker of an idle machine; none is connected now"
    else:
        with_what = f"with {'1 worker' if workers == 1 else f'{workers} workers'} on an idle machine"
    said = [f"In all about {numerals.duration(plan['seconds'])} {with_what}."]
    memory = plan.get("workerMemoryBytes")
    allowed = f" of the {numerals.size(memory)} that it may use" if memory else ""
    said.append(f"A worker needs up to {numerals.size(plan['peakWorkerBytes'])}{allowed};")
    said.append(f"local copies of the arrays take {numerals.size(plan['stageBytes'])} of disk.")
    return " ".join(said)
