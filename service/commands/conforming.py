"""`conform`: examine any function that compares two representations."""

import contextlib
import dataclasses
import importlib
import json
import math
import platform
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ordsim_core.conformance.kinds import Arrays, Kind
from ordsim_core.conformance.promises import DEFAULT, Promise
from service.commands.outcome import CommandError, print_json

if TYPE_CHECKING:
    from ordsim_core.conformance.findings import Finding, Report

CHECK_FAILED = 1
WIDEST = 110
STYLES = {"pass": "green", "fail": "bold red", "rounding": "yellow", "info": "dim"}
TO_STANDARD_OUTPUT = "-"


def conform(
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="A function of two arrays with as many rows, e.g. mylab.similarity:cka; modules are looked for in the "
            "current directory too.",
        ),
    ],
    kind: Annotated[
        Kind, typer.Option("--kind", help="Whether equal arrays have the value 1 (similarity) or 0 (distance).")
    ] = Kind.SIMILARITY,
    without: Annotated[
        list[Promise] | None,
        typer.Option(
            "--without",
            metavar="PROMISE",
            help="What the function does not promise: no fault then; repeat it.",
        ),
    ] = None,
    also: Annotated[
        list[Promise] | None,
        typer.Option("--also", metavar="PROMISE", help="What it promises beyond those above; repeat it."),
    ] = None,
    arrays: Annotated[
        Arrays | None,
        typer.Option("--arrays", help="What the function takes. [default: numpy arrays, else torch tensors]"),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the findings there too; - prints them instead of a table."),
    ] = None,
) -> None:
    """Examine a similarity function: equal arrays, limits, near-identity, invariances, degenerate arrays.

    It is held to the promises symmetry, row-permutation, rotation, scale, shift, no-variance (an error or NaN for an
    array whose rows are all equal), and not-finite (an error or NaN for one that holds NaN or infinity). With --also:
    exact-identity (equal arrays have exactly 1, or 0 as a distance, and nothing is beyond) and, of a debiased one,
    zero-if-independent.

    A value that is off by no more than rounding is called "rounding" and is no failure: up to 16 units of rounding
    (2^-53, or 2^-24 of float32) for equal arrays and limits, unless exact-identity is promised, and up to 1000 where
    the arrays were changed.

    Ends with code 1 if a check fails.
    """
    called = load(function)
    report = _examine(called, function, kind, _promises(without or (), also or ()), arrays)
    if json_file == TO_STANDARD_OUTPUT:
        print_json(document(report))
    else:
        print_table(report)
        if json_file is not None:
            _write(Path(json_file), document(report))
    if report.failed:
        raise typer.Exit(CHECK_FAILED)


def load(text: str) -> Callable[[Any, Any], Any]:
    """Import MODULE:FUNCTION, with the current directory on the path; FUNCTION may be dotted.

    Raises
    ------
    CommandError
        If there is no such module or function, the module fails, or it is not a function.
    """
    module_name, colon, path = text.partition(":")
    if not (module_name and colon and path):
        raise CommandError(f"{text!r}: write MODULE:FUNCTION, e.g. mylab.similarity:cka")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = str(error.name)
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise CommandError(f"there is no module {missing!r}, installed or in {here}") from None
        raise CommandError(f"importing {module_name} failed: it needs the module {missing!r}") from None
    except (Exception, SystemExit) as error:  # the module is a stranger's
        raise CommandError(f"importing {module_name} failed: {type(error).__name__}: {error}") from None
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise CommandError(f"{module_name} has no {path!r}") from None
    if isinstance(found, type) or not callable(found):
        what = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise CommandError(f"{text} is {what}; name a function of two arrays, or write a small one that calls it")
    return found  # type: ignore[no-any-return]


def _promises(without: Iterable[Promise], also: Iterable[Promise]) -> tuple[Promise, ...]:
    return tuple(promise for promise in Promise if (promise in DEFAULT or promise in also) and promise not in without)


def _examine(
    called: Callable[[Any, Any], Any],
    name: str,
    kind: Kind,
    promised: tuple[Promise, ...],
    arrays: Arrays | None,
) -> "Report":
    from ordsim_core.conformance.subjects import UnusableError  # noqa: PLC0415 - these bring numpy
    from ordsim_core.conformance.suite import examine  # noqa: PLC0415

    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for the report
            return examine(called, kind, promised=promised, arrays=arrays, name=name)
    except UnusableError as error:
        raise CommandError(f"{name} cannot be examined: {error}") from None


def print_table(report: "Report") -> None:
    """Print a report for a person."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(
        Text(report.name, style="bold"),
        f"a {report.kind}, called with {report.arrays} arrays, returns {report.precision}",
        sep=": ",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading, justify in (("check", "left"), ("", "left"), ("figure", "right"), ("what was seen", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for finding in report.findings:
        table.add_row(
            finding.check, Text(finding.verdict, style=STYLES[finding.verdict]), _figure(finding), finding.detail
        )
    console.print(table, width=min(console.width, WIDEST))
    failed, rounded = len(report.failed), len(report.rounded)
    said = f"{failed or 'None'} of {len(report.findings)} checks failed"
    said += f"; {rounded} {'is' if rounded == 1 else 'are'} off by rounding alone." if rounded else "."
    console.print(Text(said, style=STYLES["fail" if failed else "pass"]))


def _figure(finding: "Finding") -> str:
    return "" if finding.figure is None else f"{finding.figure:.3g}"


def document(report: "Report") -> dict[str, Any]:
    """A report as JSON."""
    return {
        "function": report.name,
        "kind": report.kind,
        "arrays": report.arrays,
        "precision": report.precision,
        "promises": list(report.promises),
        "failed": len(report.failed),
        "rounding": len(report.rounded),
        "findings": [_plain(finding) for finding in report.findings],
        "versions": {"ordsim": version("ordsim"), "numpy": version("numpy"), "python": platform.python_version()},
    }


def _plain(finding: "Finding") -> dict[str, Any]:
    figure = finding.figure if finding.figure is not None and math.isfinite(finding.figure) else None
    return dataclasses.asdict(finding) | {"figure": figure}


def _write(path: Path, what: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(what, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--json: {path} cannot be written: {error.strerror}") from None
