"""The results of layers and matrix jobs as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import artifacts, cautions
from service.grids import LayersRequest, MatrixRequest
from service.results import describe, provenance, rows, spec

if TYPE_CHECKING:
    from service.results import Finished


def layers(finished: Finished) -> dict[str, Any]:
    """Lay out the scores of all pairs of layers, and what their aggregate is worth."""
    request = finished.request
    assert isinstance(request, LayersRequest)
    ((options, outcome),) = finished.outcomes
    x, y = ([describe(name, finished) for name in names] for names in request.names())
    found: dict[str, Any] = {
        **_head(finished),
        "inputs": {"x": {"layers": x}, "y": {"layers": y}, **rows(finished)},
        "spec": {**spec(request, options.inner), "aggregate": request.aggregate},  # type: ignore[attr-defined]
        "matrix": outcome.figures.get("matrix"),
        "best": outcome.figures.get("best"),
        "aggregate": {"kind": request.aggregate, "score": outcome.score},
    }
    if outcome.reason is not None:
        found["reason"] = outcome.reason
    if request.calibration is not None:
        found["calibration"] = outcome.calibration
        found["perPair"] = outcome.figures.get("perPair")
    return {**found, **_tail(finished)}


def matrix(finished: Finished) -> dict[str, Any]:
    """Lay out the scores of all pairs of arrays."""
    request = finished.request
    assert isinstance(request, MatrixRequest)
    ((options, outcome),) = finished.outcomes
    arrays = request.arrays()
    figures = outcome.figures
    found: dict[str, Any] = {
        **_head(finished),
        "inputs": {"arrays": [describe(name, finished) for name in arrays], **rows(finished)},
        "spec": spec(request, options.inner),  # type: ignore[attr-defined]
        "labels": [f"{array.root}:{array.path}" for array in arrays.values()],
        **{name: figures[name] for name in ("scores", "low", "high", "order")},
    }
    for name in ("pValues", "adjusted", "holm", "differences"):
        if name in figures:
            found[name] = figures[name]
    if request.calibration is not None:
        found["calibration"] = outcome.calibration
    return {**found, **_tail(finished)}


def _head(finished: Finished) -> dict[str, Any]:
    return {"jobID": finished.job, "process": finished.request.process}


def _tail(finished: Finished) -> dict[str, Any]:
    ((_, outcome),) = finished.outcomes
    return {
        "artifacts": [artifacts.name(0, what) for what in outcome.artifacts],
        "warnings": cautions.warnings(finished),
        "provenance": provenance(finished),
    }
