"""`submit`, `watch`, `results`, `list` and `cancel`: jobs of a service that runs somewhere."""

from typing import Annotated, Any

import typer

from service.answers import Results, ServiceError
from service.client import DEFAULT_URL, FINAL, Client
from service.commands import options, watching
from service.commands.outcome import print_json, problems_as_json, tell
from service.listing import print_jobs
from service.report import print_report

X = Annotated[str, typer.Argument(metavar="X", help="First array, root:path.")]
Y = Annotated[str, typer.Argument(metavar="Y", help="Second array, root:path.")]


def submit(
    x: X,
    y: Y,
    measure: options.Measure = None,
    distance: options.Distance = None,
    precision: options.Precision = None,
    groups: options.Groups = None,
    calibrate: options.Calibrate = None,
    confidence: options.Confidence = None,
    seed: options.Seed = None,
    rows: options.Rows = None,
    x_rows: options.XRows = None,
    y_rows: options.YRows = None,
    missing_chunks: options.MissingChunks = None,
    label: options.Label = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is final.")] = False,
    url: options.Url = DEFAULT_URL,
) -> None:
    """Submit a comparison and print the job's id."""
    request = options.request(
        measure,
        rows,
        precision=precision,
        groups=options.labels(groups),
        calibration=options.calibration(calibrate),
        confidence=confidence,
        seed=seed,
        missing_chunks=missing_chunks,
        label=label,
    )
    sides = options.sides(distance, rows, x_rows, y_rows)
    for name, text in (("x", x), ("y", y)):
        request[name] = options.array(text) | sides[name]
    with options.connect(url) as client:
        status = client.submit(**request)
        print(status["jobID"], flush=True)
        if wait:
            follow(client, status)


def watch(job: options.Job, url: options.Url = DEFAULT_URL) -> None:
    """Show a job's progress until it is final."""
    with options.connect(url) as client:
        follow(client, client.status(job))


def follow(client: Client, status: dict[str, Any]) -> None:
    """Watch a job; an interruption leaves it alone and says so."""
    watching.watch_or_leave(client, status)
    tell(f"Done. See what it found: ordsim results {status['jobID']}{options.at(client.url)}")


def results(job: options.Job, as_json: options.AsJson = False, url: options.Url = DEFAULT_URL) -> None:
    """Print the report of a successful job."""
    with problems_as_json(as_json), options.connect(url) as client:
        try:
            found = client.document(job)
        except ServiceError:
            # The answer may be the job's own problem: the job failed, and nothing was wrong with the question.
            status = client.status(job)
            if status["status"] in FINAL - {"successful"}:
                watching.require_success(status)
            raise
    if as_json:
        print_json(found)
    elif found["process"] == "compare":
        print_report(Results(found))
    else:
        from service.grid_answers import GridResults  # noqa: PLC0415 - brings numpy, for these results only
        from service.grid_report import print_grid  # noqa: PLC0415

        print_grid(GridResults(found))


def show(found: Results, as_json: bool, names: dict[str, str] | None = None) -> None:
    """Print results as a report or as JSON."""
    if as_json:
        print_json(found.json)
        return
    print_report(found, names)


def list_jobs(
    status: Annotated[
        str | None,
        typer.Option("--status", help="accepted, running, successful, failed or dismissed. [default: all]"),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Jobs with this label only.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many at most.")] = 20,
    as_json: options.AsJson = False,
    url: options.Url = DEFAULT_URL,
) -> None:
    """List jobs, the newest first."""
    filters = {name: wanted for name, wanted in (("status", status), ("label", label)) if wanted}
    with problems_as_json(as_json), options.connect(url) as client:
        found = client.jobs_document(limit=limit, **filters)
    if as_json:
        print_json(found)
        return
    print_jobs(found["jobs"])


def cancel(job: options.Job, url: options.Url = DEFAULT_URL) -> None:
    """Stop a job; what runs of it ends within a moment."""
    with options.connect(url) as client:
        status = client.cancel(job)
    gone = status["status"] == "dismissed"
    print(f"{job} is dismissed" if gone else f"{job} was asked to stop")
