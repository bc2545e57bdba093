"""What several commands share: their options, and how a request is read from them."""

import json
import math
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from service.answers import ServiceError
from service.client import DEFAULT_URL, Client, reference
from service.commands.outcome import REFUSED, CommandError, problem
from service.connection import KEY_VARIABLE

DEFAULT_MEASURES = ("tsi:exact", "qsi:sampled,epsilon=0.001,delta=0.01")
URL_VARIABLE = "ORDSIM_URL"
ROOTS_VARIABLE = "ORDSIM_ROOTS"

Url = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, metavar="URL", help="Address of the service.")]
Job = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job, or how it begins if no other does.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the service's JSON document instead; of a refusal or failure, its problem document."
    ),
]
Measure = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="NAME:METHOD[,OPTION=VALUE...], e.g. tsi:exact,per_anchor=true, qsi:sampled,samples=1e6 or "
        "tsi:sampled,epsilon=0.001,delta=0.01; repeat it for several. `ordsim measures` lists all with their options. "
        f"[default: {' and '.join(DEFAULT_MEASURES)}]",
    ),
]
Distance = Annotated[
    str | None,
    typer.Option(
        "--distance",
        metavar="NAME",
        help="euclidean, cosine, correlation, dot, manhattan, hamming, or precomputed for arrays of distances. "
        "[default: euclidean]",
    ),
]
XDistance = Annotated[
    str | None, typer.Option("--x-distance", metavar="NAME", help="Distance of X alone. [default: --distance]")
]
YDistance = Annotated[
    str | None, typer.Option("--y-distance", metavar="NAME", help="Distance of Y alone. [default: --distance]")
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="NAME",
        help="exact, or float32: rarely faster, with an interval for what rounding may have changed. [default: exact]",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="LABELS",
        help="Array of labels, integers or strings, that say which rows belong together, one for each row: root:path, "
        "or a local file where X and Y may be local files.",
    ),
]
WorkerMemory = Annotated[
    str | None,
    typer.Option(
        "--worker-memory",
        envvar="ORDSIM_WORKER_MEMORY",
        metavar="SIZE",
        help="Private memory that one worker may use, e.g. 8GiB; what needs more is refused. "
        "[default: its part of most of the machine's]",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        help="Confidence of the intervals. [default: 0.99; for a measure with delta, 1 - delta]",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of whatever is drawn. [default: 0]")]
Rows = Annotated[
    str | None, typer.Option("--rows", metavar="START:STOP", help="Compare these rows only, STOP excluded.")
]
XRows = Annotated[
    str | None, typer.Option("--x-rows", metavar="START:STOP", help="Rows of X alone; not together with --rows.")
]
YRows = Annotated[
    str | None, typer.Option("--y-rows", metavar="START:STOP", help="Rows of Y alone; not together with --rows.")
]
MissingChunks = Annotated[
    str | None,
    typer.Option(
        "--missing-chunks",
        metavar="POLICY",
        help="What an absent zarr chunk means: error, or fill with the array's fill value. [default: error]",
    ),
]
Calibrate = Annotated[
    str | None,
    typer.Option(
        "--calibrate",
        metavar="N",
        help="Also compare every score with those of N permutations of rows: N[,OPTION=VALUE...], e.g. 200, or "
        "999,scheme=within-groups,alpha=0.01.",
    ),
]
RetainDays = Annotated[
    float | None,
    typer.Option(
        "--retain-days",
        min=0,
        metavar="DAYS",
        envvar="ORDSIM_RETAIN_DAYS",
        help="Keep results and artifacts so long after a job's end. [default: for ever]",
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw what was found into an .svg file, too.")
]
Label = Annotated[str | None, typer.Option("--label", help="Free text to find the job by.")]
Root = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="NAME=DIR",
        help="A directory with arrays, and its name in root:path; repeat it for several. "
        'Or ORDSIM_ROOTS, JSON: {"NAME": "DIR"}.',
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        envvar="ORDSIM_WORKERS",
        metavar="N",
        help="Worker processes. [default: the number of cores]",
    ),
]


@contextmanager
def in_words(measures: Sequence[str] | None) -> Iterator[None]:
    """Let a refusal speak of measures as they were written on the command line."""
    written = measures or DEFAULT_MEASURES
    try:
        yield
    except ServiceError as error:
        if not any(str(fault.get("pointer", "")).startswith("/measures/") for fault in error.errors):
            raise

        def as_written(found: re.Match[str]) -> str:
            return f"-m {written[int(found[1])]}{f': {found[2]}' if found[2] else ''}"

        said = re.sub(r"/measures/\d+\S*: (?=measures\.)", "", problem(error))
        raise CommandError(
            re.sub(r"/?\bmeasures[./](\d+)(?:[./](\w+))?", as_written, said), REFUSED, error.problem
        ) from None


def connect(url: str = DEFAULT_URL) -> Client:
    """Make a client with the API key of the environment."""
    try:
        return Client(url, key=os.environ.get(KEY_VARIABLE))
    except ValueError as error:
        raise CommandError(str(error)) from None


def at(url: str) -> str:
    """What a command in a hint needs to reach the same service: nothing if it would find it by itself."""
    return "" if url == DEFAULT_URL and not os.environ.get(URL_VARIABLE) else f" --url {shlex.quote(url)}"


def measure(text: str) -> dict[str, Any]:
    """Read ``tsi:exact,per_anchor=true`` as one entry of a request's measures."""
    head, *pairs = (part.strip() for part in text.split(","))
    name, colon, method = head.partition(":")
    if not name or (colon and not method) or "=" in head:
        raise typer.BadParameter(f"{text!r}: write NAME:METHOD, e.g. tsi:exact", param_hint="--measure")
    entry: dict[str, Any] = {"measure": name}
    if method:
        entry["method"] = method
    for pair in pairs:
        option, equals, written = pair.partition("=")
        if not (option and equals and written):
            raise typer.BadParameter(
                f"{text!r}: {pair!r} is not OPTION=VALUE, e.g. samples=1000000", param_hint="--measure"
            )
        if option in entry:
            raise typer.BadParameter(f"{text!r}: {option} is given twice", param_hint="--measure")
        entry[option] = value(written)
    return entry


def value(text: str) -> Any:
    """Read a value as JSON would have it: 1e6 is the integer 1000000, 0.01 a number, true a truth, else text."""
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text  # which JSON cannot say: the service refuses it where a number is needed
    return int(number) if "." not in text and number.is_integer() else number


def row_range(text: str, option: str = "--rows") -> dict[str, int]:
    """Read START:STOP; an empty START is 0."""
    start, colon, stop = text.partition(":")
    try:
        if not colon:
            raise ValueError(text)
        return {"start": int(start or 0), "stop": int(stop)}
    except ValueError:
        raise typer.BadParameter(f"{text!r}: write START:STOP, e.g. 0:1000", param_hint=option) from None


def sides(
    distances: tuple[str | None, str | None, str | None], rows: str | None, x_rows: str | None, y_rows: str | None
) -> dict[str, dict[str, Any]]:
    """What belongs into the references of x and y beside their names: distances, of both and of each, and rows."""
    own = {name: text for name, text in (("x", x_rows), ("y", y_rows)) if text is not None}
    if own and rows is not None:
        raise typer.BadParameter(
            "these rows of both arrays do not go together with rows of one: write --x-rows and --y-rows instead",
            param_hint="--rows",
        )
    both, *each = distances
    measured = {name: both if one is None else one for name, one in zip(("x", "y"), each, strict=True)}
    read: dict[str, dict[str, Any]] = {
        name: {} if distance is None else {"distance": distance} for name, distance in measured.items()
    }
    for name, text in own.items():
        read[name]["rows"] = row_range(text, f"--{name}-rows")
    return read


def named(texts: Sequence[str]) -> dict[str, Path]:
    """Read each NAME=DIR."""
    directories: dict[str, Path] = {}
    for text in texts:
        name, equals, directory = text.partition("=")
        if not (name and equals and directory):
            raise typer.BadParameter(f"{text!r}: write NAME=DIR, e.g. lab=/data/lab", param_hint="--root")
        if name in directories:
            raise typer.BadParameter(f"{name} is given twice", param_hint="--root")
        directories[name] = Path(directory)
    return directories


def roots(texts: Sequence[str] | None) -> dict[str, Path]:
    """Directories of the data roots: those given, else those of the environment."""
    if texts:
        return named(texts)
    written = os.environ.get(ROOTS_VARIABLE)
    if not written:
        return {}
    try:
        return {name: Path(directory) for name, directory in json.loads(written).items()}
    except (ValueError, AttributeError, TypeError):
        raise typer.BadParameter(f'{written!r} is not JSON like {{"NAME": "DIR"}}', param_hint=ROOTS_VARIABLE) from None


def natural(text: str) -> list[tuple[int, str]]:
    """What sorts layer10 behind layer9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)]


def array(text: str) -> dict[str, Any]:
    """Read root:path."""
    name = text.partition("::")[0]
    if ":" not in name and Path(name).exists():
        raise typer.BadParameter(
            f"{text} is a file here, and {URL_VARIABLE} or --url names a service, whose arrays are root:path. To "
            f"compare files, unset {URL_VARIABLE}; to give the service this one, `ordsim import {text} ROOT:PATH`"
        )
    try:
        return reference(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def labels(text: str | None) -> dict[str, Any] | None:
    """Read root:path of an array of labels, if there is one."""
    return None if text is None else array(text)


def calibration(text: str | None) -> dict[str, Any] | None:
    """Read ``200,alpha=0.01`` as a request's calibration."""
    if text is None:
        return None
    number, *pairs = (part.strip() for part in text.split(","))
    read: dict[str, Any] = {"permutations": value(number)}
    for pair in pairs:
        option, equals, written = pair.partition("=")
        if not (option and equals and written) or option in read:
            raise typer.BadParameter(
                f"{text!r}: write N[,OPTION=VALUE...], e.g. 200,scheme=within-groups", param_hint="--calibrate"
            )
        read[option] = {"exceedances": value(written)} if option == "early_stop" else value(written)
    return read


def request(
    measures: Sequence[str] | None,
    rows: str | None,
    **fields: Any,
) -> dict[str, Any]:
    """Read the options that `compare` and `submit` share; what was not given is left to the service."""
    read: dict[str, Any] = {"measures": [measure(text) for text in measures or DEFAULT_MEASURES]}
    if rows is not None:
        read["rows"] = row_range(rows)
    return read | {name: field for name, field in fields.items() if field is not None}
