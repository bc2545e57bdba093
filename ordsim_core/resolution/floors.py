"""The deficits that rounding alone leaves: of the values when they were stored, and of the arithmetic.

Linear CKA, to second order: let C = Xc^T Xc, a = |C|, and let independent errors with variances v_ij be added to the
entries of X. Then the expected deficit is

    sum_ij v_ij { [C_jj (1 - 1/N) + Xc_ij^2] / a^2 - 2 (Xc C)_ij^2 / a^4 }.

It is the trace of the Hessian of the deficit, weighted with the variances, after centring.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ordsim_core.lattice import no_checkpoint
from ordsim_core.resolution.scatter import Part, Scatter, parts, scatter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.resolution.precision import StoragePrecision

    Variances: TypeAlias = Callable[[Part], NDArray[np.float64]]
    Deficit: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], float | None]

UNIT_ROUNDOFF = 2.0**-53
"""Of float64, in which deficits are computed."""

_ARITHMETIC = {
    "identical": 0.0,
    "moments": 0.0,
    "tiles": 0.0,
    "differences": 0.0,
    "twice-precision": 0.0,
    "exact": 0.0,
    "counts": 0.0,
    "tsqr": 4 * UNIT_ROUNDOFF**2,
    "direct": 4 * UNIT_ROUNDOFF**2,
    "separate": 4 * UNIT_ROUNDOFF**2,
    "naive": 4 * UNIT_ROUNDOFF,
}


def arithmetic_floor(method: str, deficit: float = 0.0, relative_error: float = 0.0) -> float:
    """Largest deficit that rounding in the computation itself can feign.

    Parameters
    ----------
    method : str
        ``moments``, ``tiles`` and ``differences`` begin from Y - X, whose entries are exact to the last bit: they have
        no floor, only a relative error, nor has ``twice-precision``. ``tsqr``, ``direct`` and ``separate`` subtract
        normalised matrices: 4 u^2. ``naive`` is 1 - s: 4 u. ``identical`` compares values, ``exact`` and ``counts``
        compute with whole numbers.
    deficit : float
        The one that was computed.
    relative_error : float
        How far rounding can have moved it, relative to it.

    Returns
    -------
    float
        The larger of the floor of the method and of the relative error times the deficit.

    Raises
    ------
    ValueError
        For a method that is not known.
    """
    if method not in _ARITHMETIC:
        raise ValueError(f"the method {method!r} is not known; its name is one of {', '.join(_ARITHMETIC)}")
    return max(_ARITHMETIC[method], relative_error * deficit)


def expected_deficit(
    values: NDArray[Any],
    variances: Variances,
    scatter: Scatter | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
    rows: int | None = None,
) -> float | None:
    """Expected linear CKA deficit between an array and the same with small independent errors in its entries.

    Costs two products of N x D x min(N, D), the scatter included, and O(block + min(N, D)^2) memory.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype, finite; may be memory-mapped.
    variances : callable
        Gives the variance of the error of each entry of a part of the array.
    scatter : Scatter or None
        That of the array, if it is known.
    checkpoint : callable
        Called between blocks; may raise to give up.
    rows : int or None
        If these are only some of the rows, how many there are in all: the figure is for those then.

    Returns
    -------
    float or None
        None if all rows are equal: linear CKA is undefined then.
    """
    scatter = scatter_of(values, checkpoint) if scatter is None else scatter
    rows = scatter.rows if rows is None else rows
    norm, growth = scatter.norm_squared_of(rows), rows / max(1, scatter.rows)
    if norm <= 0:
        return None
    remaining = 1 - 1 / rows  # of an error's variance, once the column is centred
    sums = []
    for part in parts(values, scatter.mean, checkpoint):
        centred = part.centred
        along = centred @ scatter.matrix if scatter.by_columns else scatter.matrix @ centred
        curvature = scatter.squares[part.columns] * (growth * remaining) + centred * centred
        curvature -= 2 * growth**2 * along * along / norm
        sums.append(float(np.einsum("ij,ij->", variances(part), curvature)))
    return max(0.0, growth * math.fsum(sums) / norm)


def storage_floor(
    values: NDArray[Any],
    precision: StoragePrecision,
    scatter: Scatter | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
    rows: int | None = None,
) -> float | None:
    """Linear CKA deficit that one side's rounding leaves, where the values before it were those of the other side.

    The error of a value is taken to be uniform within half a step of the values as they are stored, before anything
    is subtracted: an offset takes up precision. Parameters, cost and None as in `expected_deficit`.
    """
    return expected_deficit(values, lambda part: precision.variances(part.stored), scatter, checkpoint, rows)


def procrustes_storage_floor(
    values: NDArray[Any],
    precision: StoragePrecision,
    scatter: Scatter | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
    rows: int | None = None,
) -> float | None:
    """Deficit of orthogonal Procrustes similarity that one side's rounding leaves.

    Half the squared relative size of the error, less what the alignment takes back: of the (N - 1) D directions in
    which the rows can move, r (r - 1) / 2 + r (D - r) are rotations of r = min(N - 1, D) dimensions, and one is the
    scale. Otherwise as `storage_floor`.
    """
    scatter = scatter_of(values, checkpoint) if scatter is None else scatter
    if scatter.trace <= 0:
        return None
    rounding = math.fsum(
        float(precision.variances(part.stored).sum()) for part in parts(values, scatter.mean, checkpoint)
    )
    rows = scatter.rows if rows is None else rows
    rank = min(rows - 1, scatter.columns)
    rotations = rank * (rank - 1) / 2 + rank * (scatter.columns - rank)
    taken_back = (rotations + 1) / ((rows - 1) * scatter.columns)
    return max(0.0, rounding * (1 - 1 / rows) * (1 - taken_back) / (2 * scatter.trace))


def dead_zone_variances(steps: NDArray[np.float64], differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean square of the stored difference of two values that differ by less than, or about, a step.

    Both are rounded to multiples of the step, so they differ in storage by whole steps: with |difference| = (k + f)
    steps, by k of them, or with probability f by k + 1. A small difference mostly vanishes, but is a full step where
    it does not: with these as variances, `expected_deficit` is what one observes, larger than the true deficit.

    Parameters
    ----------
    steps : ndarray
        Spacing of stored values at each entry.
    differences : ndarray
        What the values differed by before they were rounded.
    """
    whole, fraction = np.divmod(np.abs(differences) / steps, 1.0)
    squared: NDArray[np.float64] = whole**2 * (1 - fraction) + (whole + 1) ** 2 * fraction
    return steps * steps * squared


def dithered(
    stored: NDArray[np.float64], precision: StoragePrecision, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw values that may have stood where the stored ones are: each plus an error uniform within half a step."""
    return stored + precision.steps(stored) * (generator.random(stored.shape) - 0.5)


def spread(values: NDArray[Any], rows: int) -> NDArray[Any]:
    """Take at most so many rows of an array, evenly spread over it."""
    if len(values) <= rows:
        return values
    return values[np.linspace(0, len(values) - 1, rows).round().astype(np.int64)]


def measured_storage_floor(
    values: NDArray[Any],
    precision: StoragePrecision,
    deficit: Deficit,
    rows: int = 1000,
    draws: int = 1,
    seed: int = 0,
) -> float | None:
    """Deficit that one side's rounding leaves, for a measure without a formula: that of some rows, dithered.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype; may be memory-mapped.
    precision : StoragePrecision
        That of all of them.
    deficit : callable
        The measure: takes two float64 arrays of equal shape, returns their deficit, or None if it is undefined. It may
        be negative, of a measure that can exceed 1: its size is what counts.
    rows : int
        How many rows to take at most, evenly spread.
    draws : int
        How often errors are drawn; the floor is the mean.
    seed : int
        Of the errors that are drawn.
    """
    stored, generator = spread(values, rows).astype(np.float64), np.random.default_rng(seed)
    found = [deficit(stored, dithered(stored, precision, generator)) for _ in range(draws)]
    sizes = [abs(one) for one in found if one is not None]
    return math.fsum(sizes) / draws if len(sizes) == draws else None
