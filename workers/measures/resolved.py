"""What a deficit can be trusted for: each array is examined once, on a worker, and judged when the deficit is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial as bind
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic.alias_generators import to_camel

from ordsim_core.distances import Distance
from ordsim_core.errors import DataError
from ordsim_core.resolution import formats, resolving, sides
from ordsim_core.resolution.precision import StoragePrecision
from ordsim_core.resolution.sides import Side
from workers.measures import rounding
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workers.measures.given import Operand
    from workers.measures.protocol import Checkpoint, MeasureOptions, Outcome
    from workers.measures.rounding import Rounding

PIECE = "resolution"
"""Of the first shard: what is known of both arrays, as JSON."""

COUNTED = frozenset({"tsi", "qsi", "mutual_knn"})
"""Measures whose deficit is a quotient of whole numbers."""
BATCHES = "there is no formula for the mean over batches"
NO_ROUNDING = {
    Distance.PRECOMPUTED: "the distances were given, not the values that they are of",
    Distance.HAMMING: "under the hamming distance values are names, which are not rounded",
}
"""Why values cannot be rounded anew, by their distance."""


def examine(options: MeasureOptions, x: Operand, y: Operand, checkpoint: Checkpoint) -> Partial:
    """Examine both arrays for a measure: nothing is found of measures that other packages add."""
    examined = _examiner(options)
    if examined is None:
        return Partial()
    known = [_known(examined(one, checkpoint)) for one in (x, y)]
    return Partial(pieces={PIECE: {0: np.frombuffer(json.dumps(known).encode(), np.uint8)}})


def resolution(options: MeasureOptions, total: Partial, outcome: Outcome, *, identical: bool) -> dict[str, Any] | None:
    """Judge the deficit of a measure by names as the contract writes them; None if it has none, or nothing is known.

    `identical` : whether the arrays hold the same values.
    """
    if PIECE not in total.pieces or outcome.deficit is None or not outcome.deficit >= 0:
        return None
    x, y = (_side(known) for known in json.loads(total.vector(PIECE).tobytes()))
    route = str(outcome.figures.get("route", "counts" if options.measure in COUNTED else "direct"))
    found = asdict(
        resolving.resolve(
            outcome.deficit,
            route,
            x,
            y,
            identical=identical or route == "identical",
            uncertain=max(float(outcome.figures.get("deficitFloor") or 0.0), _turned(outcome)),
            relative_error=float(outcome.figures.get("relativeError") or 0.0),
        )
    )
    return {to_camel(name): value for name, value in found.items()}


def _turned(outcome: Outcome) -> float:
    """Largest share of the comparisons that rounding may have turned, where they are not certain."""
    if outcome.counts is None or not outcome.uncertified:
        return 0.0
    return outcome.uncertified / outcome.counts.comparisons


def _examiner(options: MeasureOptions) -> Callable[[Operand, Checkpoint], Side] | None:
    """Find how to examine an array: by a formula where there is one, else by rounding some of its rows anew."""
    if options.measure == "procrustes":
        return lambda one, checkpoint: sides.procrustes_side(one.values(), checkpoint=checkpoint)
    if options.label == ("cka", "linear") and getattr(options, "estimator", "") == "biased":
        return lambda one, checkpoint: sides.linear_cka_side(one.values(), checkpoint=checkpoint)
    found = rounding.of(options)
    if found is not None:
        return bind(_measured, found)
    if getattr(options, "estimator", None) == "minibatch":
        return lambda one, checkpoint: sides.plain_side(one.values(), BATCHES, checkpoint)
    return None


def _measured(found: Rounding, one: Operand, checkpoint: Checkpoint) -> Side:
    distance = one.distance if found.measure.uses_distance else Distance.EUCLIDEAN
    if distance in NO_ROUNDING:
        return sides.plain_side(one.values(), NO_ROUNDING[distance], checkpoint)

    def deficit(stored: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
        try:
            return found.deficit(stored, other, distance, checkpoint)
        except DataError:
            return None  # such as a row that is zero until it is rounded anew

    values = one.values()
    return sides.measured_side(values, deficit, found.rows, found.draws, checkpoint, found.least(len(values)))


def _known(side: Side) -> dict[str, Any]:
    return {
        "precision": side.precision.name,
        "storage_floor": side.storage_floor,
        "floor_rows": side.floor_rows,
        "reason": side.reason,
        "participation": side.participation,
    }


def _side(known: dict[str, Any]) -> Side:
    # What is left out is for examining values, which was done.
    precision = StoragePrecision(known["precision"], 0.0, formats.FLOAT64)
    return Side(precision, known["storage_floor"], known["reason"], known["participation"], known.get("floor_rows"))
