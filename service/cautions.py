"""What a reader of the scores should know, in the contract's codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordsim_core.distances import Distance
from workers.measures import registry
from workers.partials import PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.results import Finished
    from workers.measures.protocol import Outcome
    from workers.staging import StagedArray

CONSTANT_COLUMNS: Mapping[str, str] = {
    Distance.EUCLIDEAN: "they add nothing to Euclidean distances.",
    Distance.COSINE: "unless they are zero they change cosine distances, because they turn every row toward the same "
    "direction.",
    "correlation": "they change correlation distances, because they change the mean of every row.",
    "dot": "they add the same to every inner product, and nothing to the order.",
    "manhattan": "they add nothing to Manhattan distances.",
    "hamming": "they add nothing to Hamming distances.",
}
"""By distance; where the columns are rows themselves, constant ones say nothing."""

SMALL_ROWS = 30
SMALL_DRAWS = 100


def warnings(finished: Finished) -> list[dict[str, str]]:
    """What a reader of the scores should know, in the contract's codes."""
    found: list[tuple[str, str]] = []
    if not any(finished.request.identifiers_of(name) for name in finished.staged):
        found.append(
            (
                "no-row-ids",
                "No row identifiers were given: that row i of x and row i of y are the same input is taken on trust.",
            )
        )
    found += _selection_warnings(finished)
    arrays = finished.request.arrays()
    for name, staged in finished.staged.items():
        found += _array_warnings(name, arrays[name].distance, staged, finished.groups is not None)
    found += _scheme_warnings(finished)
    found += _distance_warnings(finished)
    found += _precision_warnings(finished)
    found += _width_warnings(finished)
    found += _size_warnings(finished)
    for options, outcome in finished.outcomes:
        measure = " ".join(options.label)
        found += [(code, f"{measure}: {detail}") for code, detail in outcome.cautions]
    return [{"code": code, "detail": detail} for code, detail in found]


def _selection_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Say which rows and columns were left out, and what identifiers do not show."""
    if finished.choice is None:
        return []
    found = finished.choice.left_out()
    if repeated := finished.choice.findings.repeated:
        found.append(
            (
                "repeated-ids",
                f"{repeated} row identifiers occur more than once: that rows of one identifier stand in the same order "
                "on both sides is taken on trust.",
            )
        )
    return found


def _scheme_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Say that permutations of single rows take no account of the groups that were given."""
    calibration = finished.request.calibration
    if calibration is None or calibration.scheme != "rows" or finished.groups is None:
        return []
    return [
        (
            "groups-not-permuted",
            "Single rows were permuted although groups were given: where rows of one group are alike, such p-values "
            'are far too small. Send calibration.scheme "between-groups" to permute whole groups, or "within-groups".',
        )
    ]


def _distance_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Name the measures that have no use for a distance that was asked for."""
    asked = {array.distance for array in finished.request.arrays().values()} - {Distance.EUCLIDEAN}
    measures = (registry.find(*options.innermost.label) for _, options in finished.request.options())
    without = dict.fromkeys(measure.measure for measure in measures if not measure.uses_distance)
    if not asked or not without:
        return []
    return [
        (
            "distance-ignored",
            f"{', '.join(without)}: compared as values; the distance {', '.join(sorted(asked))} has no part in that.",
        )
    ]


def _precision_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Name the measures that got better or weaker distances than were asked for."""
    asked = PRECISIONS.index(finished.request.precision)
    stronger = [
        f"{options.measure} ({options.method})"
        for options, outcome in finished.outcomes
        if outcome.precision is not None and PRECISIONS.index(outcome.precision) < asked
    ]
    if stronger:
        return [
            (
                "precision-exceeded",
                f"{', '.join(stronger)}: {finished.request.precision} was asked for, but for these arrays the order is "
                "better without being slower; precision.used says which it is.",
            )
        ]
    weak = [
        f"{options.measure} ({options.method})"
        for options, outcome in finished.outcomes
        if outcome.precision is not None and PRECISIONS.index(outcome.precision) > asked
    ]
    if not weak:
        return []
    return [
        (
            "precision-fell-back",
            f"{', '.join(weak)}: distances were ordered in float64 rather than in exact arithmetic, so "
            "distances that differ by rounding alone may be ordered either way.",
        )
    ]


def _width_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Name the measures whose intervals stayed wider than was asked for."""
    found = []
    for position in finished.unsettled:
        options, outcome = finished.outcomes[position]
        wanted = getattr(options, "width", None)
        asked = "the width that was asked for" if wanted is None else f"a width of {wanted}"
        found.append(
            (
                "width-not-reached",
                f"{options.measure} ({options.method}): the interval did not come to {asked} within "
                f"{_comparisons(outcome)} comparisons, the most that are made.",
            )
        )
    return found


def _array_warnings(name: str, distance: Distance, staged: StagedArray, grouped: bool) -> list[tuple[str, str]]:
    found = []
    if staged.missing_chunks_filled:
        found.append(
            (
                "chunks-filled",
                f"{staged.missing_chunks_filled} chunks of {name} are not stored; the fill value stands in for them.",
            )
        )
    if staged.constant_columns and distance in CONSTANT_COLUMNS:
        found.append(
            (
                "constant-columns",
                f"{staged.constant_columns} of the {staged.columns} columns of {name} are constant: "
                f"{CONSTANT_COLUMNS[distance]}",
            )
        )
    if staged.repeated and not grouped:
        found.append(
            (
                "repeated-rows",
                f"The {staged.rows} rows of {name} hold only {staged.distinct_rows} different ones, and no groups were "
                "given: repeated rows are not independent evidence, so permuting single rows is not valid, and "
                "intervals of the population are left out. Send groups that say which rows belong together.",
            )
        )
    return found


def _size_warnings(finished: Finished) -> list[tuple[str, str]]:
    """Few rows say little about other rows; few draws say little about the exact score."""
    found = []
    rows = next(iter(finished.staged.values())).rows
    if rows < SMALL_ROWS:
        found.append(
            (
                "small-sample",
                f"There are {rows} rows, fewer than {SMALL_ROWS}: the score of other rows may be far off.",
            )
        )
    for options, outcome in finished.outcomes:
        drawn = _comparisons(outcome)
        if options.method != "exact" and drawn is not None and drawn < SMALL_DRAWS:
            found.append(
                (
                    "small-sample",
                    f"{options.measure} ({options.method}) rests on {drawn} comparisons, fewer than {SMALL_DRAWS}.",
                )
            )
    return found


def _comparisons(outcome: Outcome) -> int | None:
    return None if outcome.counts is None else outcome.counts.comparisons
