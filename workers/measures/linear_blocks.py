"""What measures from blocks of centred rows have in common: how they are cut, written down, costed and shown."""

from __future__ import annotations

import math
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine import canonical, linear
from ordsim_core.cosine.alignment import CHUNK_ROWS
from ordsim_core.cosine.linear import Block
from ordsim_core.cosine.moments import Moments
from ordsim_core.cosine.plan import PILOT_ROWS, Route
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.cosine.gram_sums import Statistic
    from ordsim_core.cosine.linear import LinearResult
    from ordsim_core.cosine.plan import LinearPlan
    from workers.measures.protocol import PairShape

NANOSECOND = 1e-9
PRODUCT = 0.14 * NANOSECOND
"""One pair of columns of one row, in the moments of both arrays; or one pair of rows of one column."""
VALUE = 5 * NANOSECOND
"""One value of a row of both arrays, aligned."""
LOOK = 5 * NANOSECOND
"""The same, while means are taken."""
DRAW = 120 * NANOSECOND
"""One row of a permutation."""
PILOT_BYTES = 64 * 1024**2

FACTS = "facts"
LINES = "lines"
DIAGONAL = "diagonal"
ROUTES = tuple(Route)

DOUBTFUL = 1e-9
"""Relative error of a deficit above which a reader is told."""
ILL_CONDITIONED = "ill-conditioned"


def shards(shape: PairShape) -> list[Shard]:
    """Cut the rows into canonical blocks; a block counts its pairs with rows before it, and its own."""
    cut = canonical.blocks(shape.rows, _columns(shape))
    return [Shard(index, start, stop, comb(stop, 2) - comb(start, 2)) for index, (start, stop) in enumerate(cut)]


def seconds(shape: PairShape) -> float:
    """Estimate the time of all blocks on one worker, the look at all rows included."""
    return look_seconds(shape) + sum_seconds(shape)


def look_seconds(shape: PairShape) -> float:
    """Estimate the time in which means are taken."""
    return LOOK * shape.rows * _columns(shape)


def sum_seconds(shape: PairShape) -> float:
    """Estimate the time of sums over Gram matrices, by the usual route."""
    columns = _columns(shape)
    return shape.rows * columns * (VALUE + PRODUCT * min(shape.rows, columns))


def memory(shape: PairShape) -> int:
    """Bound the private memory of one block by the route that takes most.

    That is the triangular factor: rows of twice the columns, three times as many of them, with a copy and a result.
    """
    columns = _columns(shape)
    chunks = 8 * CHUNK_ROWS * (8 * columns + 6 * CHUNK_ROWS)
    pilot = 8 * PILOT_ROWS * (10 * columns + 6 * PILOT_ROWS)
    # Blocks of fewer rows never fill it.
    height = min(3 * columns, shape.rows) + CHUNK_ROWS
    tiles = 80 * (shape.rows // CHUNK_ROWS + 1) ** 2 if shape.rows <= 2 * columns else 0
    return chunks + pilot + 8 * 2 * columns * 3 * height + 32 * columns * columns + tiles


def facts_of(plan: LinearPlan) -> NDArray[np.float64]:
    """Write down what `finish` must know of a plan, float64 of shape (1, 4)."""
    constant_x, constant_y = plan.survey.constant
    return np.array([[ROUTES.index(plan.route), constant_x, constant_y, plan.survey.equal]], np.float64)


def facts(total: Partial) -> tuple[Route, tuple[bool, bool], bool]:
    """Read what `facts_of` wrote; all shards made the same plan of the same arrays.

    Raises
    ------
    RuntimeError
        If they did not.
    """
    found = total.vector(FACTS)
    if (found != found[0]).any():
        raise RuntimeError("the shards planned differently, so that their sums cannot be added up")
    route, constant_x, constant_y, equal = found[0].tolist()
    return ROUTES[int(route)], (bool(constant_x), bool(constant_y)), bool(equal)


def require_all(total: Partial, shape: PairShape) -> None:
    """Refuse a total to which a block is missing: it would look like any other score."""
    starts = [start for start, _ in canonical.blocks(shape.rows, _columns(shape))]
    if sorted(total.pieces.get(FACTS, ())) != starts:
        raise RuntimeError(f"there are {len(total.pieces.get(FACTS, ()))} blocks of rows instead of {len(starts)}")


def to_partial(plan: LinearPlan, shard: Shard, found: Block) -> Partial:
    """Write down one block."""
    pieces = {FACTS: {shard.start: facts_of(plan)}}
    if found.moments is None:
        return Partial(pieces=pieces | {LINES: {shard.start: found.lines}}, moments={DIAGONAL: found.diagonal})
    sums = found.moments
    return Partial(pieces=pieces, moments={"ss": sums.ss, "se": sums.se, "ee": sums.ee, DIAGONAL: sums.diagonal})


def result(total: Partial, shape: PairShape, statistic: Statistic) -> LinearResult:
    """Turn the total of all blocks into a cosine."""
    require_all(total, shape)
    route, constant, equal = facts(total)
    found = linear.total(route, statistic, shape.rows, _columns(shape), _blocks(total, route))
    return linear.result(route, constant, equal, found)


def figures(found: LinearResult) -> dict[str, Any]:
    """Show the route and its condition numbers; an infinite one is null."""
    return {
        "route": found.route,
        "kappaScale": finite(found.kappa_scale),
        "kappaRotation": finite(found.kappa_rotation),
        "relativeError": finite(found.relative_error),
    }


def cautions(route: str, relative_error: float) -> tuple[tuple[str, str], ...]:
    """Warn of a deficit that rounding may have moved."""
    if relative_error <= DOUBTFUL:
        return ()
    size = f"about {relative_error:.0e} of it" if relative_error < 1 else "all of it"
    detail = (
        f"Rounding may have moved the deficit by {size}: one array is so close to a rotation, or a multiple, of the "
        f"other that the route taken ({route}) cancels digits. Take the deficit for an order of magnitude at most."
    )
    return ((ILL_CONDITIONED, detail),)


def _blocks(total: Partial, route: Route) -> list[Block]:
    if route is Route.MOMENTS:
        sums = total.moments
        whole = Moments(sums["ss"], sums["se"], sums["ee"], sums[DIAGONAL])
        return [Block(whole, np.empty((0, 0)), whole.diagonal)]
    lines = total.pieces[LINES]
    # The sums over rows were added up already, and belong to no block.
    diagonals = [total.moments[DIAGONAL], *([np.zeros_like(total.moments[DIAGONAL])] * (len(lines) - 1))]
    return [Block(None, lines[start], one) for start, one in zip(sorted(lines), diagonals, strict=True)]


def _columns(shape: PairShape) -> int:
    return max(shape.x_columns, shape.y_columns)


def finite(number: float) -> float | None:
    """Give None for infinity, which JSON has not."""
    return number if math.isfinite(number) else None
