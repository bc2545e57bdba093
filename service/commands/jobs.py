"""`submit`, `watch`, `results`, `list` and `cancel`: jobs of a service that runs somewhere."""

import re
from typing import Annotated, Any

import typer

from service.answers import Results, ServiceError
from service.client import DEFAULT_URL, FINAL, Client
from service.commands import options, pairing, watching
from service.commands.outcome import CommandError, print_json, problems_as_json, tell
from service.listing import print_jobs
from service.report import print_report

ID_LENGTH = 32
HEXADECIMAL = re.compile(r"[0-9a-f]+")

X = Annotated[str, typer.Argument(metavar="X", help="First array, root:path.")]
Y = Annotated[str, typer.Argument(metavar="Y", help="Second array, root:path.")]


def submit(
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
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is final.")] = False,
    as_json: options.AsJson = False,
    url: options.Url = DEFAULT_URL,
) -> None:
    """Submit a comparison and print the job's id, or with --json its status."""
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
    request |= pairing.placed({name: options.array(text) | sides.get(name, {}) for name, text in texts.items()})
    with problems_as_json(as_json), options.in_words(measure), options.connect(url) as client:
        status = client.submit(**request)
        if not as_json:
            print(status["jobID"], flush=True)
        if wait:
            status = follow(client, status)
    if as_json:
        print_json(status)


def watch(job: options.Job, as_json: options.AsJson = False, url: options.Url = DEFAULT_URL) -> None:
    """Show a job's progress until it is final; with --json print its last status too."""
    with problems_as_json(as_json), options.connect(url) as client:
        status = follow(client, client.status(named(client, job)))
    if as_json:
        print_json(status)


def follow(client: Client, status: dict[str, Any]) -> dict[str, Any]:
    """Watch a job and return its last status; an interruption leaves it alone and says so."""
    final = watching.watch_or_leave(client, status)
    tell(f"Done. See what it found: ordsim results {status['jobID']}{options.at(client.url)}")
    return final


def results(job: options.Job, as_json: options.AsJson = False, url: options.Url = DEFAULT_URL) -> None:
    """Print the report of a successful job."""
    with problems_as_json(as_json), options.connect(url) as client:
        found = document(client, named(client, job))
    show_document(found, as_json)


def named(client: Client, text: str) -> str:
    """The id that begins so, if there is only one; what is as long as an id is taken for one.

    Raises
    ------
    CommandError
        If there are several.
    """
    if len(text) >= ID_LENGTH or not HEXADECIMAL.fullmatch(text):
        return text
    found = client.jobs(limit=2, prefix=text)
    if len(found) > 1:
        raise CommandError(f"several jobs begin with {text}, e.g. {' and '.join(job['jobID'] for job in found)}")
    return str(found[0]["jobID"]) if found else text


def document(client: Client, job: str) -> dict[str, Any]:
    """Results of a job; of one that failed or was dismissed its end, as that of the command."""
    try:
        return client.document(job)
    except ServiceError:
        # The answer may be the job's own problem: the job failed, and nothing was wrong with the question.
        status = client.status(job)
        if status["status"] in FINAL - {"successful"}:
            watching.require_success(status)
        raise


def show_document(found: dict[str, Any], as_json: bool, names: dict[str, str] | None = None) -> None:
    """Print results of any process as a report, or as JSON."""
    if as_json:
        print_json(found)
    elif found.get("process", "compare") == "compare":
        print_report(Results(found), names)
    else:
        from service import grid_answers  # noqa: PLC0415 - brings numpy, for these results only
        from service.grid_report import print_grid  # noqa: PLC0415

        print_grid(grid_answers.read(found))


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


def cancel(job: options.Job, as_json: options.AsJson = False, url: options.Url = DEFAULT_URL) -> None:
    """Stop a job; what runs of it ends within a moment."""
    with problems_as_json(as_json), options.connect(url) as client:
        job = named(client, job)
        status = client.cancel(job)
    if as_json:
        print_json(status)
        return
    gone = status["status"] == "dismissed"
    print(f"{job} is dismissed" if gone else f"{job} was asked to stop")
