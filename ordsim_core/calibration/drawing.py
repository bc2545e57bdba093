"""Statistics of permuted arrays, one draw after the other, for any similarity of two arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ordsim_core.calibration import schemes
from ordsim_core.calibration.conclusions import Conclusion
from ordsim_core.calibration.errors import NonFiniteStatisticError
from ordsim_core.calibration.values import as_float, reaches

if TYPE_CHECKING:
    from numpy.typing import NDArray

Similarity: TypeAlias = Callable[["NDArray[Any]", "NDArray[Any]"], Any]
"""Of two arrays of N rows: an integer or fraction, which are compared exactly, or a float. Larger is more similar."""

Permute: TypeAlias = Callable[[int], Any]
"""Gives permutation 1, 2, ... of the rows of y, as N row numbers."""

Grid: TypeAlias = list[Any]
"""Statistics of all pairs of layers, row by row."""

Found = TypeVar("Found", bound=Conclusion)


@dataclass(frozen=True)
class Draws:
    """Which permutations there will be: `index(1)` to `index(count)`, of the rows of one side."""

    count: int
    index: Callable[[int], NDArray[np.int64]]
    enumerated: bool
    permuted: schemes.Side


def draws_of(
    xs: Sequence[NDArray[Any]],
    ys: Sequence[NDArray[Any]],
    permutations: int,
    seed: int,
    kind: schemes.Kind,
    groups: NDArray[Any] | None,
    permute: Permute | None,
) -> Draws:
    """Choose permutations of the rows that all arrays share; see `callables.calibrate`.

    Raises
    ------
    ValueError
        If arguments do not fit, or arrays differ in their rows.
    UndefinedPermutationError
        If the groups do not permit the scheme.
    """
    rows = _shared_rows(xs, ys)
    if permutations < 1:
        raise ValueError(f"calibration needs at least 1 permutation, not {permutations}")
    if permute is not None:
        if groups is not None or kind != "rows":
            raise ValueError("permute takes the place of scheme and groups; give one or the other")
        own = permute
        return Draws(permutations, lambda number: _checked(own(number), number, rows), False, "y")
    constant = None
    if kind == "between-groups" and groups is not None:
        constant = _constant_side(xs, ys, groups)
    scheme = schemes.scheme(kind, rows, groups, constant=constant)
    if scheme.has_at_most(permutations):
        return Draws(scheme.number - 1, scheme.listed, True, scheme.side)
    return Draws(permutations, lambda number: scheme.drawn(seed, number), False, scheme.side)


def run(
    similarity: Similarity,
    xs: Sequence[NDArray[Any]],
    ys: Sequence[NDArray[Any]],
    draws: Draws,
    *,
    total: Callable[[Grid], Any],
    conclude: Callable[[Grid, list[Grid]], Found],
    early_stop: int | None,
    tolerance: float | None,
) -> tuple[Found, list[Grid]]:
    """Draw until there are enough, and give the conclusion and the statistics of all draws made.

    Parameters
    ----------
    total : callable
        What of a grid is calibrated.
    conclude : callable
        Of the observed grid and those of all draws so far.
    """
    observed = _grid(similarity, xs, ys, 0)
    null: list[Grid] = []
    reached = 0
    for number in range(1, draws.count + 1):
        index = draws.index(number)
        left = [x[index] for x in xs] if draws.permuted == "x" else xs
        right = [y[index] for y in ys] if draws.permuted == "y" else ys
        null.append(_grid(similarity, left, right, number))
        if early_stop is None:
            continue
        reached += int(reaches(total(observed), [total(null[-1])], tolerance)[0])
        # All draws together have the last word, should the similarity return numbers of different types.
        if reached >= early_stop and (found := conclude(observed, null)).stopped_early:
            return found, null
    return conclude(observed, null), null


def _grid(similarity: Similarity, xs: Sequence[NDArray[Any]], ys: Sequence[NDArray[Any]], draw: int) -> Grid:
    grid = []
    for row, x in enumerate(xs):
        for column, y in enumerate(ys):
            value = similarity(x, y)
            if not isinstance(value, Rational) and not math.isfinite(as_float(value)):
                where = "" if len(xs) == len(ys) == 1 else f" of layer {row} of x and layer {column} of y"
                raise NonFiniteStatisticError(draw, as_float(value), where)
            grid.append(value)
    return grid


def _shared_rows(xs: Sequence[NDArray[Any]], ys: Sequence[NDArray[Any]]) -> int:
    if not xs or not ys:
        raise ValueError("there must be at least one array on each side")
    if any(values.ndim == 0 for values in (*xs, *ys)):
        raise ValueError("an array must have rows, and a single number has none")
    rows = sorted({len(values) for values in (*xs, *ys)})
    if len(rows) > 1:
        raise ValueError(f"arrays must have the same rows in the same order, and some have {rows[0]}, some {rows[-1]}")
    return rows[0]


def _constant_side(xs: Sequence[NDArray[Any]], ys: Sequence[NDArray[Any]], groups: NDArray[Any]) -> schemes.Side | None:
    if all(schemes.constant_within(y, groups) for y in ys):
        return "y"
    return "x" if all(schemes.constant_within(x, groups) for x in xs) else None


def _checked(index: Any, number: int, rows: int) -> NDArray[np.int64]:
    found = np.asarray(index)
    if found.shape != (rows,) or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= rows:
        raise ValueError(f"permute({number}) must give {rows} row numbers from 0 to {rows - 1}")
    return found.astype(np.int64)
