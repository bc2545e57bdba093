"""Results as one table in the terminal, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from figures import Figure, Section
    from rich.console import Console

DIGITS = 3
WIDE = 120
"""Columns of a terminal from which on all that was measured is shown."""


@dataclass
class Measured:
    """What a section found, and why it found no more, if it did not get to its end."""

    section: Section
    figures: list[Figure] = field(default_factory=list)
    seconds: float = 0.0
    failure: str | None = None


def show(console: Console, machine: Mapping[str, Any], measured: Sequence[Measured]) -> None:
    """Print the machine, the table, and how many targets were met."""
    _show_machine(console, machine)
    table = _empty_table(console.width >= WIDE)
    for found in measured:
        _add_section(table, found)
    console.print(table)
    judged = [figure.met for found in measured for figure in found.figures if figure.met is not None]
    console.print(f"{sum(judged)} of {len(judged)} targets met")


def _empty_table(wide: bool) -> Table:
    table = Table(pad_edge=False)
    for name in ("case", "figure"):
        table.add_column(name, overflow="fold")
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("met", no_wrap=True)
    if wide:
        table.add_column("range", justify="right", no_wrap=True, style="dim")
        table.add_column("measured", style="dim", overflow="fold")
    return table


def document(
    machine: Mapping[str, Any], options: Mapping[str, Any], measured: Sequence[Measured], seconds: float
) -> dict[str, Any]:
    """Give all that was found, every repetition of it."""
    return {
        "machine": dict(machine),
        "options": dict(options),
        "seconds": round(seconds, 1),
        "sections": [
            {
                "name": found.section.name,
                "title": found.section.title,
                "seconds": round(found.seconds, 1),
                "failure": found.failure,
                "figures": [_figure(figure) for figure in found.figures],
            }
            for found in measured
        ],
    }


def _show_machine(console: Console, machine: Mapping[str, Any]) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    console.print(f"processor   {machine['processor']}, {machine['cores']} cores, {machine['vectors']}")
    console.print(f"BLAS        {'; '.join(machine['blas'])}, {machine['blasThreads']} thread")
    console.print(f"versions    {versions}; kernels {machine['kernels']}")
    console.print(f"load        {machine['load']} before, {machine.get('loadAfter', machine['load'])} after")
    for name, value in machine["environment"].items():
        console.print(f"[bold]{name}={value} is set: BLAS may use kernels for another processor[/bold]")


def _add_section(table: Table, found: Measured) -> None:
    table.add_section()
    table.add_row(f"[bold]{escape(found.section.title)}[/bold]")
    last = None
    for figure in found.figures:
        cells = (
            escape(figure.case) if figure.case != last else "",
            escape(figure.name),
            f"{_number(figure.value)} {figure.unit}".strip(),
            "" if figure.target is None else str(figure.target),
            {None: "", True: "[green]yes[/green]", False: "[red]no[/red]"}[figure.met],
            _range(figure),
            escape(_measured(figure)),
        )
        table.add_row(*cells[: len(table.columns)])
        last = figure.case
    if found.failure is not None:
        table.add_row("", f"[red]failed: {escape(found.failure)}[/red]")


def _range(figure: Figure) -> str:
    if len(figure.repeated) == 1:
        return ""
    return f"{_number(min(figure.repeated))} to {_number(max(figure.repeated))}"


def _measured(figure: Figure) -> str:
    shown = ", ".join(f"{name} {_number(value)}" for name, value in figure.measured.items())
    return f"{shown} {figure.measured_unit}" if shown else ""


def _number(value: float) -> str:
    """Write three digits, and no exponents where whole numbers will do."""
    return f"{value:,.0f}" if abs(value) >= 10**DIGITS else f"{value:.{DIGITS}g}"


def _figure(figure: Figure) -> dict[str, Any]:
    target = figure.target
    return {
        "case": figure.case,
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "repetitions": figure.repeated,
        "target": None if target is None else {"bound": target.bound, "kind": "most" if target.at_most else "least"},
        "met": figure.met,
        "measured": dict(figure.measured),
        "measuredUnit": figure.measured_unit,
    }
