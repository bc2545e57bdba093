"""`layers` and `matrix`: many arrays at once, at a service that runs somewhere."""

from pathlib import Path
from typing import Annotated, Any

import typer

from service.client import DEFAULT_URL, Client
from service.commands import jobs, options, pairing, reporting, watching
from service.commands.outcome import print_json, problems_as_json
from service.estimate import print_plan

DEFAULT_MEASURE = "tsi:units,units=4096"
EVERY = "/*"
"""At the end of a path: all arrays below it."""

Measure = Annotated[
    str,
    typer.Option(
        "--measure", "-m", metavar="MEASURE", help="NAME:METHOD[,OPTION=VALUE...], the same for all pairs of arrays."
    ),
]
EachIds = Annotated[
    list[str] | None,
    typer.Option(
        "--ids",
        metavar="IDS",
        help="Row identifiers, integers or strings: one array for all, or the option once for each array, in their "
        "order.",
    ),
]
Plan = Annotated[bool, typer.Option("--plan", help="Print what it would cost, and do not do it.")]


def layers(
    x: Annotated[
        list[str],
        typer.Option("-x", "--x", metavar="X", help="A layer of the first model, root:path, or root:path/* for all."),
    ],
    y: Annotated[list[str], typer.Option("-y", "--y", metavar="Y", help="A layer of the second; repeat both.")],
    measure: Measure = DEFAULT_MEASURE,
    aggregate: Annotated[
        str | None,
        typer.Option(
            "--aggregate",
            metavar="NAME",
            help="What is calibrated: max, mean, row-max-mean or column-max-mean. [default: max]",
        ),
    ] = None,
    distance: options.Distance = None,
    calibrate: options.Calibrate = None,
    groups: options.Groups = None,
    ids: pairing.Ids = None,
    align: pairing.Align = None,
    on_non_finite: pairing.OnNonFinite = None,
    rows: options.Rows = None,
    missing_chunks: options.MissingChunks = None,
    confidence: options.Confidence = None,
    seed: options.Seed = None,
    label: options.Label = None,
    anew: pairing.Anew = False,
    plan: Plan = False,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    url: options.Url = DEFAULT_URL,
) -> None:
    """Compare every layer of one model with every layer of another, and print a report.

    All pairs share one sampling design and one set of permutations, so that the best pair is held against the best
    pairs that chance gives.
    """
    data = {"align": align, "on_non_finite": on_non_finite, "missing_chunks": missing_chunks}
    how = {"confidence": confidence, "seed": seed, "label": label, "reuse": False if anew else None}
    shared = _shared(measure, calibrate, groups, rows, aggregate=aggregate, **data, **how)
    shared |= pairing.placed({name: options.array(text) for name, text in pairing.named_labels(None, ids).items()})
    reporting.require_svg(plot)
    with problems_as_json(as_json), options.connect(url) as client:
        sides = {name: {"layers": _arrays(client, given, distance)} for name, given in (("x", x), ("y", y))}
        _run(client, {"process": "layers", **sides, **shared}, plan, plot, as_json)


def matrix(
    arrays: Annotated[
        list[str], typer.Argument(metavar="ARRAY...", help="Two arrays or more, root:path, or root:path/* for all.")
    ],
    measure: Measure = DEFAULT_MEASURE,
    differences: Annotated[
        str | None,
        typer.Option(
            "--differences",
            metavar="X,REFERENCE",
            help="Positions of two arrays, from 0: how much more alike x is to each other array than to the reference.",
        ),
    ] = None,
    distance: options.Distance = None,
    calibrate: options.Calibrate = None,
    groups: options.Groups = None,
    ids: EachIds = None,
    align: pairing.Align = None,
    on_non_finite: pairing.OnNonFinite = None,
    rows: options.Rows = None,
    missing_chunks: options.MissingChunks = None,
    confidence: options.Confidence = None,
    seed: options.Seed = None,
    label: options.Label = None,
    anew: pairing.Anew = False,
    plan: Plan = False,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    url: options.Url = DEFAULT_URL,
) -> None:
    """Compare all of several arrays with one another, and print a report."""
    data = {"align": align, "on_non_finite": on_non_finite, "missing_chunks": missing_chunks}
    how = {"confidence": confidence, "seed": seed, "label": label, "reuse": False if anew else None}
    shared = _shared(measure, calibrate, groups, rows, **data, **how) | _differences(differences)
    reporting.require_svg(plot)
    with problems_as_json(as_json), options.connect(url) as client:
        request = {"process": "matrix", "arrays": _arrays(client, arrays, distance), **shared}
        if ids:
            named = _arrays(client, ids, None)
            request["ids"] = named * len(request["arrays"]) if len(named) == 1 else named
        _run(client, request, plan, plot, as_json)


def _shared(measure: str, calibrate: str | None, groups: str | None, rows: str | None, **others: Any) -> dict[str, Any]:
    """Put what is given into a request; `others` stand there as they are."""
    fields: dict[str, Any] = {
        "measure": options.measure(measure),
        "calibration": options.calibration(calibrate),
        "groups": options.labels(groups),
        "rows": None if rows is None else options.row_range(rows),
        **others,
    }
    return {name: field for name, field in fields.items() if field is not None}


def _differences(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    x, comma, reference = text.partition(",")
    try:
        if not comma:
            raise ValueError(text)
        return {"differences": {"x": int(x), "reference": int(reference)}}
    except ValueError:
        raise typer.BadParameter(f"{text!r}: write X,REFERENCE, e.g. 0,1", param_hint="--differences") from None


def _arrays(client: Client, given: list[str], distance: str | None) -> list[dict[str, Any]]:
    """References of all arrays that were named, those below root:path/* in the order of their numbers and names."""
    found: list[dict[str, Any]] = []
    for text in given:
        reference = options.array(text)
        if not reference["path"].endswith(EVERY):
            found.append(reference)
            continue
        prefix = reference["path"].removesuffix("*")
        below = [array["path"] for array in client.arrays(reference["root"], prefix.rstrip("/"))]
        paths = sorted((path for path in below if path.startswith(prefix)), key=options.natural)
        if not paths:
            raise typer.BadParameter(f"{text}: there are no arrays below {reference['root']}:{prefix}")
        found += [{"root": reference["root"], "path": path} for path in paths]
    return [reference | ({} if distance is None else {"distance": distance}) for reference in found]


def _run(client: Client, request: dict[str, Any], plan: bool, plot: Path | None, as_json: bool) -> None:
    if plan:
        planned = client.plan_request(request)
        if as_json:
            print_json(planned)
        else:
            print_plan(planned)
        return
    status = watching.watch_or_leave(client, client.submit_request(request))
    found = client.document(status["jobID"])
    jobs.show_document(found, as_json)
    if plot is not None:
        reporting.plot(client, found, plot)
