"""Linear CKA, biased and debiased, in blocks that any number of workers may share.

Kornblith et al. 2019; the debiased estimator takes U-centred Gram matrices (Song et al. 2012; Nguyen et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine import canonical, exact_gram, factors, moments, tiles
from ordsim_core.cosine.alignment import Reader
from ordsim_core.cosine.cosine_form import Cosine, zero_norm
from ordsim_core.cosine.gram_sums import Statistic, StatisticSums
from ordsim_core.cosine.plan import Route, prepare, relative_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ordsim_core.cosine.moments import Moments
    from ordsim_core.cosine.plan import LinearPlan

VANISHING = 1e-13
"""Share of its terms below which a squared norm is rounding: it is zero then, or cannot be told from it."""
NO_NORM = "the squared norm of {} is zero as far as rounding lets it be told, so the cosine is undefined"
IDENTICAL = "identical"
"""Route as reported where no value differs."""


@dataclass(frozen=True, eq=False)
class Block:
    """What some rows contribute: moments add up in the order of blocks, lines stand upon one another in it.

    Attributes
    ----------
    moments : Moments or None
        Of the route by moments.
    lines : ndarray of float64
        Tiles, or a triangular factor; no lines of the route by moments.
    diagonal : ndarray of float64, shape (7,)
        Sums over the rows, of the route by factors.
    """

    moments: Moments | None
    lines: NDArray[np.float64]
    diagonal: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearResult:
    """A cosine of two arrays' Gram matrices, or of what is made of them.

    Attributes
    ----------
    score, deficit, naive_deficit : float or None
        As of `Cosine`.
    reason : str or None
        Why score and deficit are None.
    route : str
        "identical", or a `Route`.
    kappa_scale, kappa_rotation : float
        Condition numbers of all rows.
    relative_error : float
        Estimate of the relative error of the deficit.
    """

    score: float | None
    deficit: float | None
    naive_deficit: float | None
    reason: str | None
    route: str
    kappa_scale: float
    kappa_rotation: float
    relative_error: float


def linear_cka(
    x: NDArray[Any], y: NDArray[Any], statistic: Statistic = Statistic.BIASED, route: Route | None = None
) -> LinearResult:
    """Compute linear CKA of two arrays over the same rows.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Finite values of any real type and in any layout; columns may differ in number. The result is the same bits
        for every layout.
    statistic : Statistic
        The estimator, BIASED or DEBIASED.
    route : Route or None
        Take this one rather than that which condition numbers demand.

    Raises
    ------
    ValueError
        If the arrays are not two-dimensional with equally many rows, or there are too few rows.
    """
    plan, sums = statistic_sums(x, y, statistic, route)
    return result(plan.route, plan.survey.constant, plan.survey.equal, sums)


def statistic_sums(
    x: NDArray[Any],
    y: NDArray[Any],
    statistic: Statistic,
    route: Route | None = None,
    unit_rows: bool = False,
    checkpoint: Callable[[], None] = lambda: None,
) -> tuple[LinearPlan, StatisticSums]:
    """Plan, and add up all blocks; parameters and errors as of `prepare`."""
    plan = prepare(x, y, statistic, checkpoint, route, unit_rows)
    parts = (
        block(x, y, plan, start, stop, checkpoint) for start, stop in canonical.blocks(len(x), plan.alignment.columns)
    )
    return plan, total(plan.route, statistic, len(x), plan.alignment.columns, parts)


def block(
    x: NDArray[Any],
    y: NDArray[Any],
    plan: LinearPlan,
    start: int,
    stop: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> Block:
    """Compute what rows start <= row < stop contribute, one of `canonical.blocks`."""
    reader, nothing, no_diagonal = Reader(x, y, plan.alignment), np.empty((0, 0)), np.zeros(moments.DIAGONAL)
    match plan.route:
        case Route.MOMENTS:
            return Block(
                moments.block_moments(reader, start, stop, checkpoint, plan.statistic is not Statistic.BIASED),
                nothing,
                no_diagonal,
            )
        case Route.TILES:
            readers = (reader, Reader(x, y, plan.alignment))
            return Block(None, tiles.block_tiles(readers, start, stop, checkpoint), no_diagonal)
        case Route.FACTORS:
            return Block(None, *factors.block_factor(reader, start, stop, checkpoint))
        case Route.EXACT:
            lines = exact_gram.exact_gram_sums(x, y).of(plan.statistic).numbers()[None] if start == 0 else nothing
            return Block(None, lines, no_diagonal)


def total(route: Route, statistic: Statistic, rows: int, columns: int, blocks: Iterable[Block]) -> StatisticSums:
    """Add up all blocks, given in the order of their rows.

    Parameters
    ----------
    route : Route
    statistic : Statistic
        As of the plan by which the blocks were computed.
    rows, columns : int
        N, and D of the wider array.
    blocks : iterable of Block
    """
    if route is Route.MOMENTS:
        whole = reduce(add, [one.moments for one in blocks if one.moments is not None])
        return moments.from_moments(rows, whole).of(statistic)
    found = list(blocks)
    lines = [one.lines for one in found if len(one.lines)]
    if route is Route.EXACT:
        return StatisticSums.total(lines[0])
    if route is Route.FACTORS:
        diagonal = reduce(add, (one.diagonal for one in found))
        return factors.from_factor(rows, factors.fold(lines), diagonal).of(statistic)
    return tiles.from_tiles(rows, columns, np.concatenate(lines)).of(statistic)


def result(route: Route, constant: tuple[bool, bool], equal: bool, found: StatisticSums) -> LinearResult:
    """Turn sums into a score, a deficit, and what they can be trusted for.

    Parameters
    ----------
    route : Route
    constant, equal
        As of `Survey`.
    found : StatisticSums
    """
    cosine = found.sums.cosine()
    reason = zero_norm(*constant) or cosine.reason or (None if route is Route.EXACT else _vanishing(found))
    if reason is not None:
        cosine = Cosine(None, None, None, reason)
    return LinearResult(
        cosine.score,
        cosine.deficit,
        cosine.naive_deficit,
        cosine.reason,
        IDENTICAL if equal else str(route),
        found.kappa_scale,
        found.kappa_rotation,
        0.0 if equal else relative_error(route, found),
    )


def _vanishing(found: StatisticSums) -> str | None:
    whole = found.sums.m2 + found.sums.q / 4
    least = VANISHING * found.m2_terms
    sides = [name for name, norm in (("x", whole - found.sums.t), ("y", whole + found.sums.t)) if norm <= least]
    return NO_NORM.format(" and of ".join(sides)) if sides else None
