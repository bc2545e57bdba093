"""Calibration of any similarity of two arrays, for notebooks.

>>> found = calibrate(similarity, x, y, permutations=999)
>>> found.score, found.p_value, found.threshold
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import intervals
from ordsim_core.calibration import aggregates
from ordsim_core.calibration.conclusions import Conclusion, check_level, conclude
from ordsim_core.calibration.drawing import draws_of, run
from ordsim_core.calibration.layers import LayerConclusion, aggregated, conclude_layers
from ordsim_core.calibration.stopping import stops_after
from ordsim_core.calibration.values import gather, reaches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ordsim_core.calibration import schemes
    from ordsim_core.calibration.drawing import Draws, Grid, Permute, Similarity
    from ordsim_core.calibration.layers import Aggregate


@dataclass(frozen=True)
class Calibration(Conclusion):
    """What a null says of a similarity, and the null.

    Attributes
    ----------
    null : ndarray of float64, shape (draws made,)
        Statistics of the permutations, in the order of the draws, without the identity.
    permuted : {"x", "y"}
        The array whose rows changed places.
    """

    null: NDArray[np.float64] = field(compare=False, repr=False)
    permuted: schemes.Side


@dataclass(frozen=True)
class LayerCalibration(LayerConclusion):
    """What a null says of a grid of layers, and the null of the aggregate: as in `Calibration`."""

    null: NDArray[np.float64] = field(compare=False, repr=False)
    permuted: schemes.Side


def calibrate(
    similarity: Similarity,
    x: NDArray[Any],
    y: NDArray[Any],
    *,
    permutations: int = 200,
    alpha: float = 0.05,
    smax: float | None = 1.0,
    seed: int = 0,
    scheme: schemes.Kind = "rows",
    groups: NDArray[Any] | None = None,
    permute: Permute | None = None,
    early_stop: int | None = None,
    tolerance: float | None = None,
    confidence: float = 0.99,
) -> Calibration:
    """Set a similarity against what it is when rows of one array change places.

    Groger, Wen and Brbic 2026, algorithm 1. Where the scheme has at most `permutations` permutations, each is used once
    and the p-value is exact.

    Parameters
    ----------
    similarity : callable
        Of x and y. Where something else is to be permuted, such as matrices of distances, x and y can be arrays of row
        numbers, by which the callable picks.
    x, y : ndarray, shapes (N, ...)
    permutations : int
        K.
    alpha : float
        Level of the threshold, read as the decimal number it is written as.
    smax : float or None
        Largest value that the similarity can have; None for the excess over the threshold as the calibrated score.
    seed : int
        From 0 to 2^64 - 1. Permutations follow from it and the groups alone.
    scheme : {"rows", "within-groups", "between-groups"}
        What changes places: see `schemes.scheme`. If groups differ in size, the array that is constant within them.
    groups : ndarray, shape (N,), optional
        A label for each row.
    permute : callable, optional
        Takes the place of the scheme: gives draw 1, 2, ... of the rows of y as N row numbers.
    early_stop : int, optional
        Stop at the so-many-th permutation that reaches the observed value (see `stopping`). Makes no difference where
        all permutations are used.
    tolerance : float, optional
        Share of the observed value within which floats count as equal to it, 100 machine epsilons by default.
    confidence : float
        Of the interval on the p-value.

    Raises
    ------
    TypeError
        If the similarity, which comes first, is no function, or `permutations` no whole number.
    ValueError
        If an argument is out of bounds, arrays differ in their rows, or `permute` gives no row numbers.
    UndefinedPermutationError
        If the groups do not permit the scheme.
    NonFiniteStatisticError
        If the similarity is NaN or infinite, of the observed arrays or of any permutation.
    """
    _check("calibrate(similarity, x, y)", similarity, permutations, alpha, smax, early_stop, tolerance, confidence)
    x, y = np.asarray(x), np.asarray(y)
    draws = draws_of([x], [y], permutations, seed, scheme, groups, permute)
    _check_seed(draws, permute)
    stop = None if draws.enumerated else early_stop

    def concluded(observed: Grid, null: list[Grid]) -> Conclusion:
        return conclude(
            observed[0],
            [grid[0] for grid in null],
            alpha=alpha,
            smax=smax,
            tolerance=tolerance,
            enumerated=draws.enumerated,
            early_stop=stop,
            confidence=confidence,
        )

    found, null = run(
        similarity,
        [x],
        [y],
        draws,
        total=lambda grid: grid[0],
        conclude=concluded,
        early_stop=stop,
        tolerance=tolerance,
    )
    return Calibration(**vars(found), null=np.array([float(grid[0]) for grid in null]), permuted=draws.permuted)


def calibrate_layers(
    similarity: Similarity,
    xs: Sequence[NDArray[Any]],
    ys: Sequence[NDArray[Any]],
    *,
    aggregate: Aggregate = "max",
    permutations: int = 200,
    alpha: float = 0.05,
    smax: float | None = 1.0,
    seed: int = 0,
    scheme: schemes.Kind = "rows",
    groups: NDArray[Any] | None = None,
    permute: Permute | None = None,
    early_stop: int | None = None,
    tolerance: float | None = None,
    confidence: float = 0.99,
) -> LayerCalibration:
    """Set the aggregate over all pairs of layers against what it is when rows change places.

    Each permutation is shared by all layers, so that the null of the best pair is that of a search among as many pairs
    (Groger, Wen and Brbic 2026, algorithm 2).

    Parameters
    ----------
    similarity : callable
        Of one layer of x and one of y.
    xs, ys : sequences of ndarray, shapes (N, ...)
    aggregate : {"max", "mean", "row-max-mean", "column-max-mean"} or callable
        The best pair; the mean; the mean over layers of x of the best layer of y; that over layers of y of the best
        layer of x; or a function of the (LA, LB) matrix.
    permutations, alpha, smax, seed, scheme, groups, permute, early_stop, tolerance, confidence
        As of `calibrate`; the aggregate is what stops early.

    Raises
    ------
    TypeError, ValueError, UndefinedPermutationError, NonFiniteStatisticError
        As `calibrate` does; also if the aggregate is unknown.
    """
    call = "calibrate_layers(similarity, xs, ys)"
    _check(call, similarity, permutations, alpha, smax, early_stop, tolerance, confidence)
    xs, ys = [np.asarray(x) for x in xs], [np.asarray(y) for y in ys]
    draws = draws_of(xs, ys, permutations, seed, scheme, groups, permute)
    _check_seed(draws, permute)
    if not callable(aggregate):
        aggregates.aggregate(aggregate, np.zeros((len(xs), len(ys))))
    stop = None if draws.enumerated else early_stop

    def arranged(grids: list[Grid]) -> tuple[NDArray[Any], int]:
        values, unit = gather([value for grid in grids for value in grid])
        return values.reshape(len(grids), len(xs), len(ys)), unit

    def totals(grids: list[Grid]) -> list[Any]:
        found, unit = aggregated(aggregate, *arranged(grids))
        return found.tolist() if found.dtype.kind == "f" else [Fraction(value, unit) for value in found.tolist()]

    def concluded(observed: Grid, null: list[Grid]) -> LayerConclusion:
        values, unit = arranged([observed, *null])
        return conclude_layers(
            values[0],
            values[1:],
            aggregate=aggregate,
            alpha=alpha,
            smax=smax,
            denominator=unit,
            tolerance=tolerance,
            enumerated=draws.enumerated,
            early_stop=stop,
            confidence=confidence,
        )

    found, null = run(
        similarity,
        xs,
        ys,
        draws,
        total=lambda grid: totals([grid])[0],
        conclude=concluded,
        early_stop=stop,
        tolerance=tolerance,
    )
    return LayerCalibration(**vars(found), null=np.array([float(v) for v in totals(null)]), permuted=draws.permuted)


# A similarity may take hours, so what would be refused after it is refused before it.


def _check(
    call: str,
    similarity: Similarity,
    permutations: int,
    alpha: float,
    smax: float | None,
    early_stop: int | None,
    tolerance: float | None,
    confidence: float,
) -> None:
    """Raise what `calibrate` says of these arguments, in which `call` shows their order."""
    if not callable(similarity):
        raise TypeError(f"the similarity comes first, and is a function: {call}; this one is {_what(similarity)}")
    if not isinstance(permutations, Integral):
        raise TypeError(f"permutations must be a whole number, not {permutations!r}")
    check_level(alpha, smax)
    intervals.check_confidence(confidence)
    if early_stop is not None:
        stops_after(np.empty(0, np.bool_), early_stop)
    reaches(0.0, [0.0], tolerance)


def _check_seed(draws: Draws, permute: Permute | None) -> None:
    """Draw once from a scheme, which refuses a seed out of bounds; a permutation of the caller is drawn only once."""
    if permute is None:
        draws.index(1)


def _what(given: object) -> str:
    shape = getattr(given, "shape", None)
    return f"of type {type(given).__name__}" if shape is None else f"an array of shape {shape}"
