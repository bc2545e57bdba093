"""What a deficit can be trusted for: each array is examined once, on a worker, and judged when the deficit is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic.alias_generators import to_camel

from ordsim_core.resolution import formats, resolving, sides
from ordsim_core.resolution.precision import StoragePrecision
from ordsim_core.resolution.sides import Side
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.measures.given import Values
    from workers.measures.protocol import Checkpoint, MeasureOptions, Outcome

PIECE = "resolution"
"""Of the first shard: what is known of both arrays, as JSON."""


def examine(options: MeasureOptions, pair: Values, checkpoint: Checkpoint) -> Partial:
    """Examine both arrays for a measure."""
    examined = _plain
    if options.measure == "procrustes":
        examined = _procrustes
    elif options.label == ("cka", "linear") and getattr(options, "estimator", "") == "biased":
        examined = _linear_cka
    known = [_known(examined(values, checkpoint)) for values in (pair.x, pair.y)]
    return Partial(pieces={PIECE: {0: np.frombuffer(json.dumps(known).encode(), np.uint8)}})


def resolution(total: Partial, outcome: Outcome, *, identical: bool) -> dict[str, Any] | None:
    """Judge the deficit of a measure by names as the contract writes them; None if it has none, or nothing is known.

    `identical` : whether the arrays hold the same values.
    """
    if PIECE not in total.pieces or outcome.deficit is None or not outcome.deficit >= 0:
        return None
    x, y = (_side(known) for known in json.loads(total.vector(PIECE).tobytes()))
    route = str(outcome.figures.get("route", "direct"))
    found = asdict(
        resolving.resolve(
            outcome.deficit,
            route,
            x,
            y,
            identical=identical or route == "identical",
            uncertain=float(outcome.figures.get("deficitFloor") or 0.0),
            relative_error=float(outcome.figures.get("relativeError") or 0.0),
        )
    )
    return {to_camel(name): value for name, value in found.items()}


def _plain(values: NDArray[Any], checkpoint: Checkpoint) -> Side:
    return sides.plain_side(values, None, checkpoint)


def _linear_cka(values: NDArray[Any], checkpoint: Checkpoint) -> Side:
    return sides.linear_cka_side(values, checkpoint=checkpoint)


def _procrustes(values: NDArray[Any], checkpoint: Checkpoint) -> Side:
    return sides.procrustes_side(values, checkpoint=checkpoint)


def _known(side: Side) -> dict[str, Any]:
    return {
        "precision": side.precision.name,
        "storage_floor": side.storage_floor,
        "reason": side.reason,
        "participation": side.participation,
    }


def _side(known: dict[str, Any]) -> Side:
    # What is left out is for examining values, which was done.
    precision = StoragePrecision(known["precision"], 0.0, formats.FLOAT64)
    return Side(precision, known["storage_floor"], known["reason"], known["participation"])
