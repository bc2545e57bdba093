"""Orthogonal Procrustes similarity, with a deficit that is half a squared distance.

Of centred arrays of unit norm, 1 less the nuclear norm of X'Y is |X - Y Q|^2 / 2 for the best orthogonal Q (Schönemann
1966). Near each other, Q is I + P with a small P that is found from the difference E = Y - X alone, and X - Y Q is
-(E + Y P): nothing is subtracted that is nearly equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine import canonical, exact_rotation, factors
from ordsim_core.cosine.alignment import Reader
from ordsim_core.cosine.cosine_form import zero_norm
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import IDENTICAL
from ordsim_core.cosine.plan import ROUNDOFF, Route, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.cosine.plan import LinearPlan

FAR = 1e-3
"""A deficit above it loses no digit that counts when it is subtracted from one."""
SMALL_TURN = 0.05
"""Entries of P, in a basis of principal directions, up to which it is found by Newton's method from nothing."""
STEPS = 12
CONVERGED = 1e-13


@dataclass(frozen=True, slots=True)
class ProcrustesResult:
    """How well one array can be rotated and scaled onto the other.

    Attributes
    ----------
    score, deficit, naive_deficit : float or None
        Nuclear norm of X'Y for centred arrays of unit norm, 1 less it, and what subtraction would have given.
    disparity : float or None
        1 - score^2, as `scipy.spatial.procrustes` gives it.
    reason : str or None
        Why there is no score.
    route : str
        "identical", "naive", or of what the direct distance was made: "tiles" of rows, "tsqr", or "exact" rotation.
    relative_error : float
        Estimate of the relative error of the deficit.
    """

    score: float | None
    deficit: float | None
    naive_deficit: float | None
    disparity: float | None
    reason: str | None
    route: str
    relative_error: float


def procrustes(x: NDArray[Any], y: NDArray[Any]) -> ProcrustesResult:
    """Compare two arrays over the same rows.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Finite values of any real type and in any layout; the narrower one is padded with columns of zeros.

    Raises
    ------
    ValueError
        If the arrays are not two-dimensional with equally many rows, at least 2.
    """
    plan = plan_rows(x, y)
    cut = canonical.blocks(len(x), plan.alignment.columns)
    parts = [block_rows(x, y, plan, start, stop) for start, stop in cut]
    return result(plan.route, plan.survey.constant, plan.survey.equal, len(x), parts)


def plan_rows(x: NDArray[Any], y: NDArray[Any], checkpoint: Callable[[], None] = lambda: None) -> LinearPlan:
    """Prepare as for linear CKA; rows are kept where there are few of them, and else their triangular factor."""
    plan = prepare(x, y, Statistic.BIASED, checkpoint)
    rows, columns = plan.alignment.rows, plan.alignment.columns
    if plan.route is Route.EXACT and rows * columns * columns <= exact_rotation.PRODUCTS_LIMIT:
        return plan
    return replace(plan, route=Route.TILES if rows <= 2 * columns else Route.FACTORS)


def block_rows(
    x: NDArray[Any],
    y: NDArray[Any],
    plan: LinearPlan,
    start: int,
    stop: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Give rows start <= row < stop of [S E], or their triangular factor, shape (n, 2 D)."""
    if plan.route is Route.EXACT:
        return exact_rotation.rotated_rows(x, y)[start:stop]
    reader = Reader(x, y, plan.alignment)
    if plan.route is Route.FACTORS:
        return factors.block_factor(reader, start, stop, checkpoint)[0]
    return np.concatenate([np.hstack(chunk) for chunk in reader.chunks(start, stop)])


def result(
    route: Route, constant: tuple[bool, bool], equal: bool, rows: int, parts: Sequence[NDArray[np.float64]]
) -> ProcrustesResult:
    """Turn the parts of all rows, in their order, into a score and a deficit.

    Parameters
    ----------
    route : Route
    constant, equal
        As of `Survey`.
    rows : int
        N.
    parts : sequence of ndarray of float64
        As `block_rows` gave them.
    """
    reason = zero_norm(*constant)
    if reason is not None:
        return ProcrustesResult(None, None, None, None, reason, str(route), 0.0)
    whole = factors.fold(parts) if route is Route.FACTORS else np.concatenate(parts)
    scaled = whole / math.sqrt(float(np.vdot(whole, whole)))
    columns = whole.shape[1] // 2
    sums, differences = scaled[:, :columns], scaled[:, columns:]
    x, y = (sums - differences) / 2, (sums + differences) / 2
    size_x, size_y = float(np.vdot(x, x)), float(np.vdot(y, y))
    left, values, right = np.linalg.svd(y.T @ x)
    score = float(values.sum()) / math.sqrt(size_x * size_y)
    naive = 1 - score
    if naive > FAR:
        return _found(score, naive, naive, "naive", 8 * ROUNDOFF / naive)
    if equal or rows == 2:
        # Two centred rows are a vector and its negative, and any vector can be turned into any other.
        return _found(1.0, 0.0, naive, IDENTICAL if equal else str(route), 0.0)
    distance, terms = _distance(sums, differences, left @ right)
    longer = float(np.vdot(sums, differences)) / (math.sqrt(size_x) + math.sqrt(size_y))
    deficit = max(distance - longer * longer, 0.0) / (2 * math.sqrt(size_x * size_y))
    error = 8 * ROUNDOFF * max(math.sqrt(terms / deficit), 1.0) if deficit else math.inf
    return _found(1 - deficit, deficit, naive, str(route), error)


def _found(score: float, deficit: float, naive: float, route: str, error: float) -> ProcrustesResult:
    return ProcrustesResult(score, deficit, naive, deficit * (2 - deficit), None, route, error)


def _distance(
    sums: NDArray[np.float64], differences: NDArray[np.float64], rotation: NDArray[np.float64]
) -> tuple[float, float]:
    """Give |X - Y Q|^2 for the best Q, and the size of what cancels in it.

    `rotation` is Q as rounding lets it be found directly.
    """
    found = _small_turn(sums, differences)
    # What was rotated is rounded as a whole, and what is left over from a small difference is not.
    terms = np.vdot(sums, sums) if found is None else 0.0
    if found is None:
        x, y = (sums - differences) / 2, (sums + differences) / 2 @ rotation
        sums, differences = y + x, y - x
        found = _small_turn(sums, differences)
    turn = np.zeros_like(rotation) if found is None else found
    turned = (sums + differences) / 2 @ turn
    left = differences + turned
    terms += np.vdot(differences, differences) + np.vdot(turned, turned)
    return float(np.vdot(left, left)), float(terms)


def _small_turn(sums: NDArray[np.float64], differences: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Find P of the best orthogonal I + P with all its digits; None if it is not small.

    Of Y'X = B + K with symmetric B and antisymmetric K, the antisymmetric W with W B + B W = 2 K is a Newton step, and
    its Cayley transform is orthogonal: I + P = (I - W/2)^-1 (I + W/2).
    """
    ss, se, ee = sums.T @ sums, sums.T @ differences, differences.T @ differences
    values, basis = np.linalg.eigh((ss - ee) / 4)
    pairs = values[:, None] + values[None, :]
    # Directions in which neither array has any length cannot be turned.
    pairs[np.abs(pairs) <= len(values) * ROUNDOFF * np.abs(values).max()] = np.inf
    product = basis.T @ ((ss - ee) / 4 + (se.T - se) / 4) @ basis
    skew = basis.T @ ((se.T - se) / 4) @ basis
    identity, turn, first = np.eye(len(values)), np.zeros_like(skew), float(np.abs(skew).max())
    left = skew
    for _ in range(STEPS):
        step = 2 * left / pairs
        if not np.abs(step).max() <= SMALL_TURN:
            return None
        small = np.linalg.solve(identity - step / 2, step)
        turn = turn + small + turn @ small
        rest = turn.T @ product
        left = skew + (rest - rest.T) / 2
        left = (left - left.T) / 2
        if np.abs(left).max() <= CONVERGED * first:
            break
    return np.asarray(basis @ turn @ basis.T)
