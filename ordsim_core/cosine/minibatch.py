"""Minibatch linear CKA (Nguyen et al. 2021): debiased sums over batches of equal size add up.

Batches are consecutive rows of a permutation; when it is used up, another is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import sampling
from ordsim_core.cosine import moments, tiles
from ordsim_core.cosine.alignment import Reader
from ordsim_core.cosine.gram_sums import Statistic, StatisticSums
from ordsim_core.cosine.linear import LinearResult, result
from ordsim_core.cosine.plan import Route, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.cosine.plan import LinearPlan

MINIBATCH_STREAM = 0x27D4EB2F165667C5
"""Tells the permutations from other draws of the same seed; even steps from it, one for each pass over the rows."""


def minibatch_cka(x: NDArray[Any], y: NDArray[Any], batches: int, batch_size: int, seed: int = 0) -> LinearResult:
    """Compute minibatch linear CKA.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Finite values of any real type and in any layout; columns may differ in number.
    batches : int
        How many batches.
    batch_size : int
        Rows in a batch, from 4 to N.
    seed : int

    Raises
    ------
    ValueError
        If the arrays are not two-dimensional with equally many rows, or sizes are out of bounds.
    """
    plan = plan_batches(x, y)
    lines = batch_lines(x, y, plan, seed, 0, batches, batch_size)
    return from_lines(plan.survey.constant, plan.survey.equal, lines)


def plan_batches(x: NDArray[Any], y: NDArray[Any], checkpoint: Callable[[], None] = lambda: None) -> LinearPlan:
    """Align the arrays, as a whole: batches must not be stretched each by its own factor."""
    return prepare(x, y, Statistic.DEBIASED, checkpoint, Route.TILES)


def batch_rows(seed: int, start: int, stop: int, batch_size: int, rows: int) -> Iterator[NDArray[np.int64]]:
    """Draw the rows of batches start <= batch < stop, int64 of shape (batch_size,) each, ascending.

    Rows that are left over when a permutation has no whole batch any more are not used in that pass.

    Raises
    ------
    ValueError
        If there are fewer rows than a batch has, or a batch has fewer than 4.
    """
    if not 4 <= batch_size <= rows:
        raise ValueError(f"batch_size must lie between 4 and the {rows} rows, not {batch_size}")
    each = rows // batch_size
    drawn, order = -1, np.empty(0, np.int64)
    for batch in range(start, stop):
        turn, place = divmod(batch, each)
        if turn != drawn:
            drawn, order = turn, sampling.permutation(_seed_of_pass(seed, turn), rows)
        yield np.sort(order[place * batch_size : (place + 1) * batch_size])


def batch_lines(
    x: NDArray[Any],
    y: NDArray[Any],
    plan: LinearPlan,
    seed: int,
    start: int,
    stop: int,
    batch_size: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Give the sums of batches start <= batch < stop, float64 of shape (batches, 5)."""
    reader, found = Reader(x, y, plan.alignment, batch_size), []
    for rows in batch_rows(seed, start, stop, batch_size, len(x)):
        checkpoint()
        sums, differences = reader.read(rows)
        # Translation does not matter to the statistic, but to its rounding.
        sums, differences = (values - values.mean(axis=0) for values in (sums, differences))
        few = tiles.gram_sums if batch_size <= plan.alignment.columns else moments.gram_sums
        found.append(few(sums, differences).of(Statistic.DEBIASED).numbers())
    return np.array(found).reshape(-1, 5)


def from_lines(constant: tuple[bool, bool], equal: bool, lines: NDArray[np.float64]) -> LinearResult:
    """Add up all batches, in any order, and turn them into a result; `constant` and `equal` as of `Survey`."""
    return result(Route.TILES, constant, equal, StatisticSums.total(lines))


def _seed_of_pass(seed: int, turn: int) -> int:
    return int(sampling.stream_key(seed, (MINIBATCH_STREAM + 2 * turn) % sampling.SEEDS))
