"""The results of a compare job as JSON, and what a reader of them is warned of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from service import artifacts, cautions, planning
from workers import versions
from workers.measures import registry
from workers.measures.protocol import EXACT, FLOAT64, NoInterval, PairFacts
from workers.partials import PATHS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.intervals import Interval
    from service.choosing import Choice
    from service.preparing import Prepared
    from service.schemas import Request
    from workers.groups import Groups
    from workers.measures.protocol import MeasureOptions, Outcome
    from workers.staging import StagedArray

ARITHMETIC = "arithmetic"
"""The kind of interval that says what rounding may have changed."""


@dataclass(frozen=True)
class Finished:
    """What a finished job is made of.

    `unsettled` are the positions of measures that were to stop at a width and did not reach it.
    """

    job: str
    request: Request
    arrays: Mapping[str, Any]
    staged: Mapping[str, StagedArray]
    groups: Groups | None
    choice: Choice | None
    outcomes: Sequence[tuple[MeasureOptions, Outcome]]
    unsettled: Sequence[int]
    plan: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]
    workers: int


def facts(request: Request, prepared: Prepared) -> PairFacts:
    """What measures may know of the data.

    Shards say with which precision they ordered distances; what stands here is for shards of earlier versions.
    """
    exact = all(
        request.arrays()[name].distance == "euclidean" and staged.exactness == "integer"
        for name, staged in prepared.arrays.items()
    )
    precision = EXACT if exact else FLOAT64
    groups = None if prepared.groups is None else prepared.groups.codes
    repeated = any(staged.repeated for staged in prepared.arrays.values())
    return PairFacts(planning.shape_as_staged(request, prepared.arrays), precision, groups, repeated)


def build(finished: Finished) -> dict[str, Any]:
    """Build the whole document."""
    request = finished.request
    return {
        "jobID": finished.job,
        "process": request.process,
        "inputs": {"x": describe("x", finished), "y": describe("y", finished), **rows(finished)},
        "results": [
            _result(position, request, options, outcome)
            for position, (options, outcome) in enumerate(finished.outcomes)
        ],
        "warnings": cautions.warnings(finished),
        "provenance": provenance(finished),
    }


def rows(finished: Finished) -> dict[str, Any]:
    """Say which rows took part."""
    request = finished.request
    return {
        "n": next(iter(finished.staged.values())).rows,
        "align": request.align if request.identifiers_of(request.names()[0][0]) else None,
        "rowsDropped": _most(finished, 0),
        "columnsDropped": _most(finished, 1),
        "groups": None if finished.groups is None else {"count": finished.groups.count},
    }


def _most(finished: Finished, what: int) -> dict[str, int]:
    """What was left out of x and of y: rows, or columns; of several arrays the most, and each says its own."""
    sides = zip(("x", "y"), finished.request.names(), strict=True)
    return {side: max(_dropped(name, finished)[what] for name in names) for side, names in sides}


def _dropped(name: str, finished: Finished) -> tuple[int, int]:
    return (0, 0) if finished.choice is None else finished.choice.dropped(name)


def provenance(finished: Finished) -> dict[str, Any]:
    """Say what made the results."""
    measures = {options.innermost.measure for _, options in finished.request.options()}
    plugins = [plugin for plugin in map(registry.plugin_of, sorted(measures)) if plugin is not None]
    return {
        "versions": {
            **versions.installed(),
            **{plugin.distribution: plugin.version for plugin in plugins},
        },
        "seed": finished.request.seed,
        "plan": [dict(entry) for entry in finished.plan],
        "timings": dict(finished.timings),
        "workers": finished.workers,
    }


def describe(name: str, finished: Finished) -> dict[str, Any]:
    """Describe one array as it was compared."""
    array, staged = finished.request.arrays()[name], finished.staged[name]
    rows = finished.request.rows_of(name)
    dropped_rows, dropped_columns = _dropped(name, finished)
    return {
        "root": array.root,
        "path": array.path,
        "shape": finished.arrays[name]["shape"],
        "dtype": staged.dtype,
        "distance": array.distance.value,
        "rows": rows.model_dump(exclude_none=True) if rows else None,
        "rowsDropped": dropped_rows,
        "columnsDropped": dropped_columns,
        "fingerprint": staged.fingerprint,
        "exactness": str(staged.exactness),
        "missingChunksFilled": staged.missing_chunks_filled,
    }


def _result(position: int, request: Request, options: MeasureOptions, outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "measure": options.measure,
        "method": options.method,
        "spec": spec(request, options),
        "score": outcome.score,
        "deficit": outcome.deficit,
    }
    if outcome.reason is not None:
        found["reason"] = outcome.reason
    if outcome.naive_deficit is not None:
        found["naiveDeficit"] = outcome.naive_deficit
    if outcome.counts is not None and outcome.population is not None:
        found["counts"] = _counts(outcome.counts, outcome.population)
        if outcome.counts.comparisons:
            found["baseline"] = outcome.counts.baseline
            found["attainableMaximum"] = outcome.counts.attainable_maximum
    if outcome.precision is not None:
        paths = {name: outcome.paths.get(name, 0) for name in PATHS}
        found["precision"] = {"used": outcome.precision, "paths": paths}
    found["intervals"] = _intervals(outcome)
    if outcome.resolution is not None:
        found["resolution"] = outcome.resolution
    if outcome.figures:
        found["figures"] = dict(outcome.figures)
    if outcome.calibration is not None:
        found["calibration"] = dict(outcome.calibration)
    found["artifacts"] = [artifacts.name(position, what) for what in outcome.artifacts]
    return found


def _intervals(outcome: Outcome) -> dict[str, Any]:
    """All intervals by kind; where one does not exist, null, and beside them the reason, also by kind."""
    found: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for kind, interval in outcome.intervals.items():
        if isinstance(interval, NoInterval):
            found[kind] = None
            reasons[kind] = interval.reason
        else:
            found[kind] = _interval(interval)
            if kind == ARITHMETIC and outcome.uncertified is not None:
                found[kind]["uncertified"] = str(outcome.uncertified)
    if reasons:
        found |= {"reason": " ".join(dict.fromkeys(reasons.values())), "reasons": reasons}
    return found


def _interval(interval: Interval) -> dict[str, Any]:
    """An interval's figures under the contract's names; whole numbers, which may be long, as decimal strings."""
    values = {field.name: getattr(interval, field.name) for field in fields(interval)}
    return {
        to_camel(name): str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in values.items()
    }


def spec(request: Request, options: MeasureOptions) -> dict[str, Any]:
    """Every option, those that were not sent and those that follow from others included."""
    found = {**options.model_dump(mode="json", exclude_none=True), "confidence": request.confidence_of(options)}
    if getattr(options, "samples", 0) is None and getattr(options, "width", None) is None:
        found["samples"] = getattr(options, "draws", None)
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
