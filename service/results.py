"""The results of a compare job as JSON, and what a reader of them is warned of."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from ordsim_core.distances import Distance
from service import artifacts
from workers.measures.protocol import PairFacts, PairShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ordsim_core.counts import AgreementCounts
    from service.schemas import JobRequest
    from workers.measures.protocol import MeasureOptions, Outcome
    from workers.staging import StagedArray

VERSIONED = ("ordsim", "numpy", "numba", "scipy", "zarr", "dask", "distributed")
CONSTANT_COLUMNS: Mapping[Distance, str] = {
    Distance.EUCLIDEAN: "they add nothing to Euclidean distances.",
    Distance.COSINE: "unless they are zero they change cosine distances, because they turn every row toward the same "
    "direction.",
}
SMALL_ROWS = 30
SMALL_DRAWS = 100


@dataclass(frozen=True)
class Finished:
    """What a finished job is made of."""

    job: str
    request: JobRequest
    arrays: Mapping[str, Any]
    x: StagedArray
    y: StagedArray
    outcomes: Sequence[tuple[MeasureOptions, Outcome]]
    plan: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]
    workers: int


def facts(request: JobRequest, x: StagedArray, y: StagedArray) -> PairFacts:
    """What measures may know of the data when they finish.

    Order is known to be exact for Euclidean distance between integers on a grid; for cosine distance that depends
    on more than is kept here, so no exactness is claimed.
    """
    exact = all(
        array.distance == "euclidean" and staged.exactness == "integer"
        for array, staged in ((request.x, x), (request.y, y))
    )
    return PairFacts(PairShape(x.rows, x.columns, y.columns), exact)


def build(finished: Finished) -> dict[str, Any]:
    """Build the whole document."""
    request = finished.request
    return {
        "jobID": finished.job,
        "process": request.process,
        "inputs": {
            "x": _input("x", finished),
            "y": _input("y", finished),
            "n": finished.x.rows,
            "rowsDropped": {"x": 0, "y": 0},
            "columnsDropped": {"x": 0, "y": 0},
            "groups": None,
        },
        "results": [
            _result(position, request, options, outcome)
            for position, (options, outcome) in enumerate(finished.outcomes)
        ],
        "warnings": warnings(finished),
        "provenance": {
            "versions": {"python": platform.python_version(), **{name: version(name) for name in VERSIONED}},
            "seed": request.seed,
            "plan": [dict(entry) for entry in finished.plan],
            "timings": dict(finished.timings),
            "workers": finished.workers,
        },
    }


def _input(name: Literal["x", "y"], finished: Finished) -> dict[str, Any]:
    array = finished.request.x if name == "x" else finished.request.y
    staged = finished.x if name == "x" else finished.y
    rows = finished.request.rows_of(name)
    return {
        "root": array.root,
        "path": array.path,
        "shape": finished.arrays[name]["shape"],
        "dtype": staged.dtype,
        "distance": array.distance.value,
        "rows": rows.model_dump() if rows else None,
        "fingerprint": staged.fingerprint,
        "exactness": str(staged.exactness),
        "missingChunksFilled": staged.missing_chunks_filled,
    }


def _result(position: int, request: JobRequest, options: MeasureOptions, outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "measure": options.measure,
        "method": options.method,
        "spec": _spec(request, options),
        "score": outcome.score,
        "deficit": outcome.deficit,
    }
    if outcome.reason is not None:
        found["reason"] = outcome.reason
    found["counts"] = _counts(outcome.counts, outcome.population)
    if outcome.counts.comparisons:
        found["baseline"] = outcome.counts.baseline
        found["attainableMaximum"] = outcome.counts.attainable_maximum
    found["precision"] = {"used": outcome.precision}
    found["intervals"] = {name: asdict(interval) for name, interval in outcome.intervals.items()}
    found["artifacts"] = [artifacts.name(position, what) for what in outcome.artifacts]
    return found


def _spec(request: JobRequest, options: MeasureOptions) -> dict[str, Any]:
    """Every option, those that were not sent and those that follow from others included."""
    found = {**options.model_dump(mode="json", exclude_none=True), "confidence": request.confidence_of(options)}
    draws = getattr(options, "draws", None)
    if draws is not None:
        found["samples"] = draws
    return found


def _counts(counts: AgreementCounts, population: int) -> dict[str, str]:
    """Decimal strings: a count may be more than the integers that JSON readers keep exactly."""
    return {
        "population": str(population),
        "comparisons": str(counts.comparisons),
        "agreeing": str(counts.agreeing),
        "concordant": str(counts.concordant),
        "discordant": str(counts.discordant),
        "tiedX": str(counts.tied_x),
        "tiedY": str(counts.tied_y),
        "tiedBoth": str(counts.tied_both),
    }


def warnings(finished: Finished) -> list[dict[str, str]]:
    """What a reader of the scores should know, in the contract's codes."""
    found: list[tuple[str, str]] = []
    if finished.request.ids is None:
        found.append(
            (
                "no-row-ids",
                "No row identifiers were given: that row i of x and row i of y are the same input is taken on trust.",
            )
        )
    for name, array, staged in (("x", finished.request.x, finished.x), ("y", finished.request.y, finished.y)):
        found += _array_warnings(name, array.distance, staged)
    fell_back = [
        f"{options.measure} ({options.method})"
        for options, outcome in finished.outcomes
        if outcome.precision != finished.request.precision
    ]
    if fell_back:
        found.append(
            (
                "precision-fell-back",
                f"{', '.join(fell_back)}: distances were ordered in float64 rather than in exact arithmetic, so "
                "distances that differ by rounding alone may be ordered either way.",
            )
        )
    found += _size_warnings(finished)
    return [{"code": code, "detail": detail} for code, detail in found]


def _array_warnings(name: str, distance: Distance, staged: StagedArray) -> list[tuple[str, str]]:
    found = []
    if staged.missing_chunks_filled:
        found.append(
            (
                "chunks-filled",
                f"{staged.missing_chunks_filled} chunks of {name} are not stored; the fill value stands in for them.",
            )
        )
    if staged.constant_columns:
        found.append(
            (
                "constant-columns",
                f"{staged.constant_columns} of the {staged.columns} columns of {name} are constant: "
                f"{CONSTANT_COLUMNS[distance]}",
            )
        )
    # From half on, the typical row has a twin.
    if 2 * staged.distinct_rows <= staged.rows:
        found.append(
            (
                "repeated-rows",
                f"Only {staged.distinct_rows} of the {staged.rows} rows of {name} are distinct: many distances tie, "
                "and repeated rows are not independent evidence.",
            )
        )
    return found


def _size_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Few rows say little about other rows; few draws say little about the exact score."""
    found = []
    if finished.x.rows < SMALL_ROWS:
        found.append(
            (
                "small-sample",
                f"There are {finished.x.rows} rows, fewer than {SMALL_ROWS}: the score of other rows may be far off.",
            )
        )
    for options, outcome in finished.outcomes:
        drawn = outcome.counts.comparisons
        if options.method == "sampled" and drawn < SMALL_DRAWS:
            found.append(
                (
                    "small-sample",
                    f"{options.measure} ({options.method}) rests on {drawn} comparisons, fewer than {SMALL_DRAWS}.",
                )
            )
    return found
