"""`doctor`: whether all is well, and what to do if not."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.commands import options
from service.commands.outcome import print_json

if TYPE_CHECKING:
    from service.doctor import Check

FAILED = 1
WIDEST = 110
STYLES = {"ok": "green", "warning": "yellow", "failure": "bold red"}


def doctor(
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar=options.URL_VARIABLE,
            metavar="URL",
            help="Examine the service at this address. [default: this machine, before one is started]",
        ),
    ] = None,
    state_dir: Annotated[
        Path, typer.Option("--state-dir", metavar="DIR", envvar="ORDSIM_STATE_DIR", help="As of `ordsim serve`.")
    ] = Path(".ordsim"),
    root: options.Root = None,
    workers: options.Workers = None,
    worker_memory: options.WorkerMemory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Look whether all is well: on this machine for a service with these options, or at a service that runs.

    Roots that can be read, state directory and disk, kernel cache, threads and memory of workers, clock, versions; of a
    running service its readiness, versions, workers and roots as a client sees them. Nothing is changed.

    Ends with code 1 if something failed; warnings do not count.
    """
    from service import doctor as examination  # noqa: PLC0415 - these bring Dask and numba

    if url is not None:
        from service.visiting import service  # noqa: PLC0415

        with options.connect(url) as client:
            checks = list(service(client))
    else:
        number = workers or examination.cores()
        memory = _bytes(worker_memory)
        checks = list(examination.machine(options.roots(root), state_dir, number, memory))
    verdict = examination.worst(checks)
    if as_json:
        print_json({"verdict": verdict, "checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks)
    if verdict == "failure":
        raise typer.Exit(FAILED)


def print_checks(checks: "list[Check]") -> None:
    """Print a table: what was looked at, how it is, and below it what to do."""
    console = Console(highlight=False, markup=False, emoji=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("check", "", "found"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        found = Text(check.found)
        if check.advice:
            found.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.name, style="bold"), Text(check.verdict, style=STYLES[check.verdict]), found)
    console.print(table, width=min(console.width, WIDEST))
    failures, warnings = (sum(check.verdict == kind for check in checks) for kind in ("failure", "warning"))
    said = "All is well." if not failures + warnings else _counted(failures, warnings)
    console.print(Text(f"\n{said}", style=STYLES["failure" if failures else "warning" if warnings else "ok"]))


def _counted(failures: int, warnings: int) -> str:
    parts = [(failures, "failure"), (warnings, "warning")]
    return ", ".join(f"{number} {name}{'' if number == 1 else 's'}" for number, name in parts if number) + "."


def _bytes(text: str | None) -> int | None:
    """Read a size as `ordsim serve` does."""
    if text is None:
        return None
    from pydantic import ByteSize, TypeAdapter, ValidationError  # noqa: PLC0415 - as above

    try:
        return TypeAdapter(ByteSize).validate_python(text)
    except ValidationError:
        raise typer.BadParameter(f"{text!r} is no size: write e.g. 8GiB", param_hint="--worker-memory") from None
