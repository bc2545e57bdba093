"""CCA, SVCCA and PWCCA from the triangular factor of two arrays (`factors.factor`).

* CCA (Hotelling 1936): the mean of all canonical correlations, as many as the smaller rank.
* SVCCA (Raghu et al. 2017): the same of the leading singular components of each side.
* PWCCA (Morcos et al. 2018): their mean weighted by how much of x each canonical direction h accounts for, the sum of
  |<h, x_j>| over its centred columns x_j. x and y cannot be swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.correlations import truncated
from ordsim_core.correlations.angles import angles, sines_and_cosines, weighted
from ordsim_core.correlations.spans import columns, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.correlations.angles import Angles
    from ordsim_core.correlations.pilots import Layout
    from ordsim_core.correlations.spans import Columns, Span

ILL_CONDITIONED = 2.0**26
"""From this condition on half of all digits are lost."""
ROUNDING = 2.0**-49
"""By how much rounding may turn well-conditioned spans."""


@dataclass(frozen=True, eq=False)
class Canonical:
    """A score with all that is needed to judge it, or the reason why there is none.

    Attributes
    ----------
    score, deficit : float or None
        The deficit is a mean of sin^2 / (1 + cos), never 1 - score. Of equal arrays exactly 1 and 0.
    correlations : ndarray of float64, shape (M,)
        In descending order; empty if there is no score.
    ranks : tuple of int
        Dimensions of what is compared, of x and of y: ranks of the columns, or components that were kept.
    columns : tuple of int
        How many columns there are.
    constant : tuple of int
        How many of them are constant.
    conditions : tuple of float
        Largest over smallest singular value that counts, of each.
    necessary : int
        How many correlations are 1 whatever the values, for want of rows.
    floor : float
        About the largest deficit that rounding alone can feign.
    reason : str or None
    """

    score: float | None
    deficit: float | None
    correlations: NDArray[np.float64]
    ranks: tuple[int, int]
    columns: tuple[int, int]
    constant: tuple[int, int]
    conditions: tuple[float, float]
    necessary: int
    floor: float
    reason: str | None = None


def cca(upper: NDArray[np.float64], layout: Layout) -> Canonical:
    """Give the mean canonical correlation of the arrays that this is the factor of."""
    found = columns(upper, layout)
    return _compared(found, layout, span(found.x), span(found.y))


def pwcca(upper: NDArray[np.float64], layout: Layout) -> Canonical:
    """Give the projection weighted mean of canonical correlations."""
    found = columns(upper, layout)
    return _compared(found, layout, span(found.x), span(found.y), projected=True)


def svcca(upper: NDArray[np.float64], layout: Layout, threshold: float = 0.99) -> Canonical:
    """Give the mean canonical correlation of the leading components that hold `threshold` of the variance.

    Raises
    ------
    ValueError
        If the threshold is not above 0 and at most 1.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold}")
    found = columns(upper, layout)
    x, y = truncated.decompose(found.x, threshold), truncated.decompose(found.y, threshold)
    return _compared(found, layout, x.span, y.span, parts=truncated.sines_and_cosines(found, x, y))


def _compared(
    found: Columns,
    layout: Layout,
    x: Span,
    y: Span,
    projected: bool = False,
    parts: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Canonical:
    ranks = x.rank, y.rank
    reason = _undefined(ranks, found.degrees)
    score, deficit, correlations = None, None, np.zeros(0)
    if reason is None:
        between = angles(*(sines_and_cosines(found, x, y) if parts is None else parts))
        weights = _projection_weights(found, x, between) if projected else np.ones(len(between.cosines))
        score, deficit = (1.0, 0.0) if found.equal else weighted(between, weights)
        correlations = np.ones_like(between.cosines) if found.equal else between.cosines
    return Canonical(
        score,
        deficit,
        correlations,
        ranks,
        (found.x.shape[1], found.y.shape[1]),
        (int(layout.x_constant.sum()), int(layout.y_constant.sum())),
        (x.condition, y.condition),
        max(0, x.rank + y.rank - found.degrees),
        0.0 if found.equal else (ROUNDING * max(x.condition, y.condition) * found.share) ** 2,
        reason,
    )


def _projection_weights(found: Columns, x: Span, between: Angles) -> NDArray[np.float64]:
    # Directions are unit vectors, so that these are |<h, x_j>| summed over columns.
    weights: NDArray[np.float64] = np.abs(between.directions.T @ (x.left.T @ found.x)).sum(axis=1)
    return weights


def _undefined(ranks: tuple[int, int], degrees: int) -> str | None:
    for name, rank in zip(("x", "y"), ranks, strict=True):
        if rank == 0:
            return f"All rows of {name} are equal: its columns are constant and correlate with nothing."
    for name, rank in zip(("x", "y"), ranks, strict=True):
        if rank >= degrees:
            return (
                f"The columns of {name} span all {degrees} dimensions that {degrees + 1} rows have, so every "
                "correlation is 1 whatever the values; more rows than columns are needed."
            )
    return None
