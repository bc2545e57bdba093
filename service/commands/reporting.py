"""`report` and `artifact`: what a job found, as files."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from service.client import DEFAULT_URL, Client
from service.commands import jobs, options
from service.commands.outcome import CommandError, tell

SUFFIXES = (".html", ".csv", ".json", ".md")


def report(
    job: options.Job,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help=f"Where it goes; one of {', '.join(SUFFIXES)}."),
    ],
    url: options.Url = DEFAULT_URL,
) -> None:
    """Write the report of a successful job to a file, whose suffix says in which form.

    .html is one page with drawings that needs nothing else: no other file, no network. .csv has a line for each
    measure, or for each pair of arrays; .json is the service's document; .md is for notes and issues.
    """
    if output.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{output.name}: the suffix must be one of {', '.join(SUFFIXES)}", param_hint="-o")
    with options.connect(url) as client:
        job = jobs.named(client, job)
        found = jobs.document(client, job)
        text = _written(client, job, found, output.suffix)
    _write(output, text.encode())
    tell(f"{output} has the report of job {job}.")


def artifact(
    job: options.Job,
    name: Annotated[str, typer.Argument(metavar="NAME", help="E.g. 0-per_anchor; `ordsim results` lists them.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where it goes, .npy or .csv. [default: CSV on standard output]"
        ),
    ] = None,
    url: options.Url = DEFAULT_URL,
) -> None:
    """Fetch a large output of a job: scores of single rows, statistics of permutations."""
    suffix = ".csv" if output is None else output.suffix
    if suffix not in (".npy", ".csv"):
        raise typer.BadParameter(f"{output}: the suffix must be .npy or .csv", param_hint="-o")
    with options.connect(url) as client:
        content = client.artifact_file(
            jobs.named(client, job), f"{name.removesuffix('.npy').removesuffix('.csv')}{suffix}"
        )
    if output is None:
        sys.stdout.write(content.decode())
    else:
        _write(output, content)


def _written(client: Client, job: str, found: dict[str, Any], suffix: str) -> str:
    # These bring numpy and jinja2.
    from service import composing, written  # noqa: PLC0415

    if suffix == ".json":
        return written.as_json(found)
    if suffix == ".csv":
        return composing.as_csv(found)
    write = composing.as_html if suffix == ".html" else composing.as_markdown
    return write(found, client.status(job), lambda name: client.artifact(job, name).tolist())


def plot(client: Client, found: dict[str, Any], output: Path) -> None:
    """Draw all measures of a comparison, or the heat map of a grid, into one SVG file."""
    from service import composing  # noqa: PLC0415 - brings numpy

    drawn = composing.as_svg(found, lambda name: client.artifact(str(found["jobID"]), name).tolist())
    _write(output, drawn.encode())
    tell(f"{output} has the drawing.")


def require_svg(output: Path | None) -> None:
    """Refuse another kind of drawing, and a place where none can be written, before anything is computed."""
    if output is None:
        return
    if output.suffix != ".svg":
        raise typer.BadParameter(f"{output.name}: drawings are .svg files", param_hint="--plot")
    if not output.parent.is_dir():
        raise typer.BadParameter(f"{output.parent} is not a directory", param_hint="--plot")


def _write(output: Path, content: bytes) -> None:
    try:
        output.write_bytes(content)
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}") from None
