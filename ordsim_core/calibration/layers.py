"""A grid of layers against its null: one permutation for all pairs, so that the search for the best is in the null too.

Groger, Wen and Brbic 2026, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ordsim_core.calibration import aggregates
from ordsim_core.calibration.conclusions import Conclusion, conclude, place
from ordsim_core.calibration.errors import NonFiniteStatisticError
from ordsim_core.calibration.values import compare, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

Aggregate: TypeAlias = aggregates.Kind | Callable[["NDArray[Any]"], Any]
"""A kind by name, or a function of the (LA, LB) float64 matrix of scores."""


@dataclass(frozen=True, eq=False)
class PairConclusions:
    """Every pair of layers against its own null. Not corrected for looking at many pairs.

    Attributes
    ----------
    scores, p_values, thresholds : ndarray of float64, shape (LA, LB)
        As in `Conclusion`, of each pair by itself.
    corrected : bool
        False: the best of many pairs has a small p-value by chance.
    """

    scores: NDArray[np.float64]
    p_values: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    corrected: bool = False


@dataclass(frozen=True)
class LayerConclusion(Conclusion):
    """The aggregate over all pairs of layers, set against what chance gives.

    Attributes
    ----------
    matrix : ndarray of float64, shape (LA, LB)
        Scores of layers of x (rows) with layers of y (columns).
    best : (int, int)
        Positions of the pair with the largest score, the first of them in the order of the matrix.
    pairs : PairConclusions or None
        None where draws stopped early: they stopped for the aggregate, and single pairs have no p-value then.
    """

    matrix: NDArray[np.float64] = field(compare=False)
    best: tuple[int, int]
    pairs: PairConclusions | None = field(compare=False)


def conclude_layers(
    observed: NDArray[Any],
    null: NDArray[Any],
    *,
    aggregate: Aggregate = "max",
    alpha: float = 0.05,
    smax: float | None = 1.0,
    denominator: int = 1,
    tolerance: float | None = None,
    size: float = 0.0,
    enumerated: bool = False,
    early_stop: int | None = None,
    confidence: float = 0.99,
) -> LayerConclusion:
    """Set the aggregate of a matrix of statistics, and each of its entries, against their nulls.

    Parameters
    ----------
    observed : ndarray of floats, int64 or object (integers, fractions), shape (LA, LB)
    null : ndarray of the same, shape (K, LA, LB)
        Each draw has one permutation for all pairs.
    aggregate : {"max", "mean", "row-max-mean", "column-max-mean"} or callable
    alpha, smax, denominator, tolerance, size, enumerated, early_stop, confidence
        As of `conclude`. Single pairs have the same `smax`.

    Raises
    ------
    ValueError
        If shapes do not fit, or as `conclude` and `aggregate` do.
    NonFiniteStatisticError
        If a value is NaN or infinite, naming pair and draw.
    """
    if observed.ndim != 2 or null.ndim != 3 or null.shape[1:] != observed.shape:
        raise ValueError(
            f"scores of layers need shapes (LA, LB) and (K, LA, LB), not {observed.shape} and {null.shape}"
        )
    # As objects if unsigned, which do not mix with int64.
    parts = [part.astype(object) if part.dtype.kind == "u" else part for part in (observed[None], null)]
    values, unit = gather(np.concatenate(parts))
    _check_finite(values)
    if values.dtype.kind == "f" and denominator != 1:
        raise ValueError("a denominator is for integers; divide floats by it before")
    unit *= denominator
    matrix = _scores(values[0], unit)
    totals, terms = aggregated(aggregate, values, unit)
    made = conclude(
        totals[0],
        totals[1:],
        alpha=alpha,
        smax=smax,
        denominator=terms,
        tolerance=tolerance,
        size=size,
        enumerated=enumerated,
        early_stop=early_stop,
        confidence=confidence,
    )
    row, column = np.unravel_index(int(np.argmax(values[0])), matrix.shape)
    pairs = None if made.stopped_early else _each(values, unit, alpha, smax, tolerance, size)
    return LayerConclusion(**vars(made), matrix=matrix, best=(int(row), int(column)), pairs=pairs)


def aggregated(aggregate: Aggregate, values: NDArray[Any], unit: int) -> tuple[NDArray[Any], int]:
    """Aggregate each (LA, LB) matrix of units, and give what integers among the results are to be divided by."""
    if callable(aggregate):
        return gather([aggregate(_scores(matrix, unit)) for matrix in values])
    totals, terms = aggregates.aggregate(aggregate, values)
    return totals, terms * unit


def _each(
    values: NDArray[Any], unit: int, alpha: float, smax: float | None, tolerance: float | None, size: float
) -> PairConclusions:
    shape = values.shape[1:]
    scores, p_values, thresholds = np.empty(shape), np.empty(shape), np.empty(shape)
    for pair in np.ndindex(*shape):
        own = values[(slice(None), *pair)]
        placed = place(compare(own[0], own[1:], unit, tolerance, size), alpha, smax)
        scores[pair], p_values[pair], thresholds[pair] = placed.score, placed.p_value, placed.threshold
    return PairConclusions(scores, p_values, thresholds)


def _scores(values: NDArray[Any], unit: int) -> NDArray[np.float64]:
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    # By Python's integers: correctly rounded beyond 2^53 as well.
    return np.array([value / unit for value in values.ravel().tolist()]).reshape(values.shape)


def _check_finite(values: NDArray[Any]) -> None:
    if values.dtype.kind != "f":
        return
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        draw, row, column = wrong[0].tolist()
        where = f" of layer {row} of x and layer {column} of y"
        raise NonFiniteStatisticError(draw, float(values[draw, row, column]), where)
