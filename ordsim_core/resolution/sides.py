"""What one array contributes to the resolution of a deficit: found once, whatever it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordsim_core.lattice import no_checkpoint
from ordsim_core.resolution.floors import measured_storage_floor, procrustes_storage_floor, spread, storage_floor
from ordsim_core.resolution.precision import StoragePrecision, precision_of
from ordsim_core.resolution.scatter import scatter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.resolution.floors import Deficit

FLOOR_ROWS = 2048
"""Enough rows for a floor; it costs no more than this however many there are."""

TWO_LEVELS = "two values only, which do not tell how large the values before them were"
CONSTANT = "all rows are equal"
UNDEFINED = "the measure is undefined on some of its rows"
NO_FORMULA = "there is no formula for this measure"


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
    """

    precision: StoragePrecision
    storage_floor: float | None
    reason: str | None = None
    participation: float | None = None


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
    precision = precision_of(values, checkpoint)
    some = values if rows is None else spread(values, rows)
    scatter = scatter_of(some, checkpoint)
    ratio = scatter.participation_ratio(len(values)) if len(values) else None
    if ratio is None:
        return Side(precision, None, CONSTANT)
    participation = ratio / scatter.columns
    if _is_binary(precision):
        return Side(precision, None, TWO_LEVELS, participation)
    return Side(precision, storage_floor(some, precision, scatter, checkpoint, len(values)), None, participation)


def procrustes_side(
    values: NDArray[Any], rows: int | None = FLOOR_ROWS, checkpoint: Callable[[], None] = no_checkpoint
) -> Side:
    """Examine one array for orthogonal Procrustes similarity; parameters as in `linear_cka_side`."""
    precision = precision_of(values, checkpoint)
    if _is_binary(precision):
        return Side(precision, None, TWO_LEVELS)
    some = values if rows is None else spread(values, rows)
    floor = procrustes_storage_floor(some, precision, None, checkpoint, len(values))
    return Side(precision, floor, CONSTANT if floor is None else None)


def plain_side(
    values: NDArray[Any], deficit: Deficit | None = None, checkpoint: Callable[[], None] = no_checkpoint
) -> Side:
    """Examine one array for a measure that has no formula for its floor.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        As in `linear_cka_side`.
    deficit : callable or None
        The measure itself, with which the floor is measured on some rows (`floors.measured_storage_floor`); None leaves
        the floor open.
    checkpoint : callable
        Called between blocks; may raise to give up.
    """
    precision = precision_of(values, checkpoint)
    if deficit is None:
        return Side(precision, None, NO_FORMULA)
    if _is_binary(precision):
        return Side(precision, None, TWO_LEVELS)
    floor = measured_storage_floor(values, precision, deficit)
    return Side(precision, floor, UNDEFINED if floor is None else None)


def _is_binary(precision: StoragePrecision) -> bool:
    return precision.grid is not None and precision.grid.levels == 2
