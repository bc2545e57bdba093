"""What one array contributes to the resolution of a deficit: found once, whatever it is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.lattice import no_checkpoint
from ordsim_core.resolution.floors import measured_storage_floor, procrustes_storage_floor, spread, storage_floor
from ordsim_core.resolution.precision import StoragePrecision, precision_of
from ordsim_core.resolution.scatter import scatter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.resolution.floors import Deficit

WIDEST = 100
"""Arrays whose largest value is beyond 2^100 or below 2^-100 are scaled."""
FLOOR_ROWS = 2048
"""Enough rows for a floor; it costs no more than this however many there are."""

TWO_LEVELS = "two values only, which do not tell how large the values before them were"
CONSTANT = "all rows are equal"
UNDEFINED = "the measure is undefined on some of its rows"


@dataclass(frozen=True)
class Side:
    """One array, as a measure sees it.

    Attributes
    ----------
    precision : StoragePrecision
    storage_floor : float or None
        The deficit that its rounding alone leaves.
    reason : str or None
        Why there is no storage floor.
    participation : float or None
        Effective number of dimensions, as a share of the columns: the deficit of linear CKA is about this times the
        squared relative size of a random perturbation. None for other measures.
    floor_rows : int or None
        On how many rows the floor was measured; None where it comes from a formula, or there is none.
    """

    precision: StoragePrecision
    storage_floor: float | None
    reason: str | None = None
    participation: float | None = None
    floor_rows: int | None = None


def linear_cka_side(
    values: NDArray[Any], rows: int | None = FLOOR_ROWS, checkpoint: Callable[[], None] = no_checkpoint
) -> Side:
    """Examine one array for linear CKA.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype, finite; may be memory-mapped, it is read block by block.
    rows : int or None
        How many rows the figures come from at most, evenly spread; None takes all. They depend little on it, unless a
        few rows are far longer than the others.
    checkpoint : callable
        Called between blocks; may raise to give up.
    """
    stored = precision_of(values, checkpoint)
    some, precision = _in_range(values if rows is None else spread(values, rows), stored)
    scatter = scatter_of(some, checkpoint)
    ratio = scatter.participation_ratio(len(values)) if len(values) else None
    if ratio is None:
        return Side(stored, None, CONSTANT)
    participation = ratio / scatter.columns
    if _is_binary(stored):
        return Side(stored, None, TWO_LEVELS, participation)
    return Side(stored, storage_floor(some, precision, scatter, checkpoint, len(values)), None, participation)


def procrustes_side(
    values: NDArray[Any], rows: int | None = FLOOR_ROWS, checkpoint: Callable[[], None] = no_checkpoint
) -> Side:
    """Examine one array for orthogonal Procrustes similarity; parameters as in `linear_cka_side`."""
    stored = precision_of(values, checkpoint)
    if _is_binary(stored):
        return Side(stored, None, TWO_LEVELS)
    some, precision = _in_range(values if rows is None else spread(values, rows), stored)
    floor = procrustes_storage_floor(some, precision, None, checkpoint, len(values))
    return Side(stored, floor, CONSTANT if floor is None else None)


def measured_side(
    values: NDArray[Any],
    deficit: Deficit,
    rows: int = FLOOR_ROWS,
    draws: int = 1,
    checkpoint: Callable[[], None] = no_checkpoint,
    least: float = 0.0,
) -> Side:
    """Examine one array for a measure that has no formula for its floor, by rounding some rows anew.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        As in `linear_cka_side`.
    deficit : callable
        The measure itself, see `floors.measured_storage_floor`.
    rows : int
        How many rows the floor is measured on at most. Where it depends on how dense the rows lie, as of neighbours,
        the floor of many more is larger.
    draws : int
        How often errors are drawn; the floor is the mean.
    checkpoint : callable
        Called between blocks; may raise to give up.
    least : float
        The smallest floor that can be found on so many rows: none that was measured is taken to be smaller.
    """
    precision = precision_of(values, checkpoint)
    if _is_binary(precision):
        return Side(precision, None, TWO_LEVELS)
    floor = measured_storage_floor(values, precision, deficit, rows, draws)
    if floor is None:
        return Side(precision, None, UNDEFINED)
    return Side(precision, max(floor, least), floor_rows=min(rows, len(values)))


def plain_side(values: NDArray[Any], reason: str, checkpoint: Callable[[], None] = no_checkpoint) -> Side:
    """Examine one array of which, for the reason given, no floor can be told; parameters as in `measured_side`."""
    return Side(precision_of(values, checkpoint), None, reason)


def _in_range(values: NDArray[Any], precision: StoragePrecision) -> tuple[NDArray[Any], StoragePrecision]:
    """Scale by a power of two, which changes no floor, where fourth powers would leave the range of float64."""
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    exponent = math.frexp(largest)[1]
    if abs(exponent) <= WIDEST:
        return values, precision
    return np.ldexp(values.astype(np.float64), -exponent), precision.scaled(-exponent)


def _is_binary(precision: StoragePrecision) -> bool:
    return precision.grid is not None and precision.grid.levels == 2
