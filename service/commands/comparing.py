"""`compare`: from two arrays to a report in one call."""

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from service.client import Client
from service.commands import checking, jobs, options, pairing, reporting, watching
from service.commands.outcome import INTERRUPTED, JOB_FAILED, CommandError, print_json, problems_as_json, tell
from service.estimate import print_plan
from service.local import Source, locate, require_local, split
from service.private import PrivateService, PrivateServiceError, starting

X = Annotated[str, typer.Argument(metavar="X", help="First array.")]
Y = Annotated[str, typer.Argument(metavar="Y", help="Second array, with as many rows.")]


def compare(
    x: X,
    y: Y,
    measure: options.Measure = None,
    distance: options.Distance = None,
    x_distance: options.XDistance = None,
    y_distance: options.YDistance = None,
    precision: options.Precision = None,
    groups: options.Groups = None,
    ids: pairing.Ids = None,
    align: pairing.Align = None,
    on_non_finite: pairing.OnNonFinite = None,
    calibrate: options.Calibrate = None,
    confidence: options.Confidence = None,
    seed: options.Seed = None,
    rows: options.Rows = None,
    x_rows: options.XRows = None,
    y_rows: options.YRows = None,
    missing_chunks: options.MissingChunks = None,
    anew: pairing.Anew = False,
    label: options.Label = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what the comparison would cost, and do not make it.")
    ] = False,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar=options.URL_VARIABLE,
            metavar="URL",
            help="Address of the service. [default: a private one, for this call]",
        ),
    ] = None,
    root: options.Root = None,
    workers: options.Workers = None,
) -> None:
    """Compare two arrays and print a report.

    With --url (or ORDSIM_URL), X and Y are root:path, arrays of that service. Without, a private service is
    started for the call, and X, Y and the labels of --groups and --ids may be local: .zarr directories, or .npy, .npz,
    .safetensors, Parquet and HDF5 files, as FILE::KEY where a file holds several arrays; --root and --workers are for
    it.

    What is measured by default: exact TSI, over every triplet of rows, and sampled QSI, over as many quadruplets as
    make it wrong by more than 0.001 with a probability of 1% at most. `ordsim measures` lists what else there is.
    """
    reporting.require_svg(plot)
    request = options.request(
        measure,
        rows,
        precision=precision,
        calibration=options.calibration(calibrate),
        confidence=confidence,
        seed=seed,
        align=align,
        on_non_finite=on_non_finite,
        missing_chunks=missing_chunks,
        reuse=False if anew else None,
        label=label,
    )
    sides = options.sides((distance, x_distance, y_distance), rows, x_rows, y_rows)
    texts = {"x": x, "y": y} | pairing.named_labels(groups, ids)
    if url is not None:
        request |= pairing.placed({name: options.array(text) | sides.get(name, {}) for name, text in texts.items()})
        with problems_as_json(as_json), options.in_words(measure), options.connect(url) as client:
            _at_service(client, request, plan, plot, as_json)
        return
    names = {name: text for name, text in (("x", x), ("y", y)) if split(text)[0].exists()}

    def show(client: Client, request: dict[str, Any]) -> None:
        if plan:
            _show_plan(client.plan(**request), as_json)
        else:
            status = client.submit(**request)
            watching.require_success(watching.watch(client, status, outage=0))
            _show_results(client, status["jobID"], plot, as_json, names)
        sys.stdout.flush()  # who reads it must not wait for the service to end

    with (
        problems_as_json(as_json),
        options.in_words(measure),
        _termination_as_exit(),
        tempfile.TemporaryDirectory(prefix="ordsim-", ignore_cleanup_errors=True) as scratch,
    ):
        _locally(texts, request, sides, Path(scratch), options.roots(root), workers, show)


def _at_service(client: Client, request: dict[str, Any], plan: bool, plot: Path | None, as_json: bool) -> None:
    """Compare at a service that is there, or ask it what that would cost."""
    if plan:
        _show_plan(client.plan(**request), as_json)
        return
    status = watching.watch_or_leave(client, client.submit(**request))
    _show_results(client, status["jobID"], plot, as_json)


def _show_results(
    client: Client, job: str, plot: Path | None, as_json: bool, names: dict[str, str] | None = None
) -> None:
    found = client.document(job)
    jobs.show_document(found, as_json, names)
    if plot is not None:
        reporting.plot(client, found, plot)


def _locally(
    texts: dict[str, str],
    request: dict[str, Any],
    sides: dict[str, dict[str, Any]],
    directory: Path,
    known: dict[str, Path],
    workers: int | None,
    show: Callable[[Client, dict[str, Any]], None],
) -> None:
    """Find the arrays on this machine, see that they can be compared, and ask a private service."""
    try:
        require_local(texts["x"], texts["y"], known)
        sources = {name: locate(text, name, known, directory / "imported") for name, text in texts.items()}
    except ValueError as error:
        raise CommandError(str(error)) from None
    request |= pairing.placed({name: source.reference | sides.get(name, {}) for name, source in sources.items()})
    checking.require_valid(request)
    checking.require_comparable(request, sources)
    lenient = request.get("on_non_finite", "error") != "error"
    _on_private_service(directory, known, sources, workers, lenient, lambda client: show(client, request))


def _show_plan(plan: dict[str, Any], as_json: bool) -> None:
    """Print a plan for a person, or as the service sent it."""
    if as_json:
        print_json(plan)
    else:
        print_plan(plan)


def _on_private_service(
    directory: Path,
    known: dict[str, Path],
    sources: dict[str, Source],
    workers: int | None,
    lenient: bool,
    show: Callable[[Client], None],
) -> None:
    """Start a service, ask it and show what it found, and only then end the service.

    `lenient`: whether files may hold values that are not finite.
    """
    made = dict(source.root for source in sources.values() if source.root is not None)
    for source in sources.values():
        if source.file is not None and source.root is not None:
            source.root[1].mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, highlight=False, markup=False)
    console.print(f"starting {starting()}", soft_wrap=True)
    shown = False
    try:
        with PrivateService(directory / "state", {**known, **made}, workers) as service:
            # While the service starts.
            for name, source in sources.items():
                if source.file is not None:
                    _import(source, name, made, console, lenient)
            with console.status("waiting until it is ready") if console.is_terminal else _nothing():
                client = service.connect()
            with client:
                show(client)
                shown = True
    except PrivateServiceError as error:
        raise CommandError(str(error), JOB_FAILED) from None
    except KeyboardInterrupt:
        tell("\nInterrupted." if shown else "\nCancelled: the comparison ended with its private service.")
        raise typer.Exit(INTERRUPTED) from None


def _import(source: Source, name: str, roots: dict[str, Path], console: Console, lenient: bool) -> None:
    """Import a file, and refuse a matrix for labels, or labels for a matrix, by the name that the person knows."""
    from service.importing import import_with_progress  # noqa: PLC0415 - brings zarr, for .npy files only

    assert source.file is not None
    place = source.reference["root"], source.reference["path"]
    array = import_with_progress(source.file, roots, *place, console, key=source.key, allow_non_finite=lenient)
    wanted = (2, "rows by features") if name in ("x", "y") else (1, "a label for each row")
    if len(array.shape) != wanted[0]:
        raise CommandError(
            f"{source.file.name}: {name} must be {wanted[0]}-D, {wanted[1]}, but its shape is {array.shape}"
        )


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _termination_as_exit() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, so that the private service and its files go."""

    def leave(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    # One that is ignored stays so: that is what nohup does.
    heeded = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
