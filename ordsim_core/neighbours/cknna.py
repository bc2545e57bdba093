"""CKNNA (Huh et al. 2024): alignment of two kernels on the neighbours that two spaces share.

CKNNA = B(M K, M L) / sqrt(B(Mx K, Mx K) B(My L, My L)), where K and L are kernel matrices, Mx and My hold the shares of
each row's nearest neighbours, M the smaller one of both, products of masks and kernels are element by element, and B is
the independence criterion. Masks are not symmetric, so the score may exceed 1, and x and y cannot be swapped.
There is no epsilon in the denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.neighbours import doubled
from ordsim_core.neighbours.hsic import Criterion, Estimator, Sparse, criterion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.neighbours.doubled import Doubled
    from ordsim_core.neighbours.lists import Neighbours


@dataclass(frozen=True, slots=True)
class Cknna:
    """A score, or the reason why there is none.

    Attributes
    ----------
    score, deficit : float or None
        Both rounded from twice the precision, where the deficit is a difference: it is right to about 2^-96.
        Scores may exceed 1, deficits be negative. Of equal arrays exactly 1 and 0.
    shared : int
        Pairs of a row and a neighbour that both spaces have.
    reason : str or None
    """

    score: float | None
    deficit: float | None
    shared: int
    reason: str | None = None


def cknna(
    x: Neighbours, x_entries: NDArray[np.float64], y: Neighbours, y_entries: NDArray[np.float64], estimator: Estimator
) -> Cknna:
    """Score the neighbours of all N rows, in ascending order of rows.

    Parameters
    ----------
    x, y : Neighbours
        With the same k.
    x_entries, y_entries : ndarray of float64, shape (entries, 2)
        Of the kernel for each neighbour: high and low parts, see `kernels`. Their scale does not matter.
    estimator : Estimator

    Raises
    ------
    ValueError
        If they are not of the same rows, entries do not fit, or there are too few rows for the estimator.
    """
    for side, entries in ((x, x_entries), (y, y_entries)):
        if entries.shape != (len(side.rows), 2):
            raise ValueError(f"{len(side.rows)} neighbours need as many entries of two parts, not {entries.shape}")
    if len(x) != len(y) or x.nearest != y.nearest:
        raise ValueError(f"x has the neighbours of {len(x)} rows, y of {len(y)}: they must be of the same rows and k")
    x_entries, y_entries = _to_one(x_entries), _to_one(y_entries)
    of_x, of_y = weighed(x, x_entries), weighed(y, y_entries)
    shared_x, shared_y = shared(x, x_entries, y, y_entries)
    own = criterion(of_x, of_x, estimator), criterion(of_y, of_y, estimator)
    for name, one in zip(("x", "y"), own, strict=True):
        if one.high <= 0:
            reason = (
                f"The {estimator} criterion of {name} with itself is {one.high:.3g}, and CKNNA divides by its root: "
                "the kernel hardly varies among these neighbours. Another k, kernel or estimator may be defined."
            )
            return Cknna(None, None, len(shared_x.columns), reason)
    return _score(criterion(shared_x, shared_y, estimator), *own, len(shared_x.columns))


def weighed(neighbours: Neighbours, entries: NDArray[np.float64]) -> Sparse:
    """Multiply entries by the shares of the neighbours that they belong to."""
    found = entries.copy()
    _weigh(neighbours.start, neighbours.shared, neighbours.above, neighbours.below, found)
    return Sparse(neighbours.start, neighbours.rows, found)


def shared(
    x: Neighbours, x_entries: NDArray[np.float64], y: Neighbours, y_entries: NDArray[np.float64]
) -> tuple[Sparse, Sparse]:
    """Give the entries of both kernels for neighbours in both spaces, times the smaller share."""
    room = min(len(x.rows), len(y.rows))
    start, columns = np.zeros(len(x) + 1, np.int64), np.empty(room, np.int32)
    of_x, of_y = np.empty((room, 2)), np.empty((room, 2))
    _meet(
        x.start, x.rows, x.shared, x.above, x.below, x_entries,
        y.start, y.rows, y.shared, y.above, y.below, y_entries,
        start, columns, of_x, of_y,
    )  # fmt: skip
    end = int(start[-1])
    return Sparse(start, columns[:end], of_x[:end]), Sparse(start, columns[:end], of_y[:end])


def _to_one(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale by a power of two, so that criteria neither overflow nor underflow."""
    largest = float(np.abs(entries[:, 0]).max(initial=0.0))
    scaled: NDArray[np.float64] = np.ldexp(entries, -int(np.frexp(largest)[1])) if largest else entries
    return scaled


def _score(xy: Criterion, xx: Criterion, yy: Criterion, pairs: int) -> Cknna:
    if xy == xx == yy:
        return Cknna(1.0, 0.0, pairs)
    score, deficit = ratio(xy.high, xy.low, xx.high, xx.low, yy.high, yy.low)
    return Cknna(float(score), float(deficit), pairs)


@kernel
def ratio(xy: float, xy_low: float, xx: float, xx_low: float, yy: float, yy_low: float) -> tuple[float, float]:
    """Give xy / sqrt(xx yy), and what is missing to 1."""
    # Roots first: of products of twice the precision more bits are lost.
    x_root, y_root = doubled.root(xx, xx_low), doubled.root(yy, yy_low)
    both, both_low = doubled.multiply(x_root[0], x_root[1], y_root[0], y_root[1])
    score, _ = doubled.divide(xy, xy_low, both, both_low)
    missing, missing_low = doubled.add(both, both_low, -xy, -xy_low)
    deficit, _ = doubled.divide(missing, missing_low, both, both_low)
    return score, deficit


@kernel
def _times_share(entry: NDArray[np.float64], above: Int, below: Int) -> Doubled:
    if above == below:
        return entry[0], entry[1]
    share, share_low = doubled.divide(np.float64(above), 0.0, np.float64(below), 0.0)
    return doubled.multiply(entry[0], entry[1], share, share_low)


@kernel
def _weigh(
    start: NDArray[np.int64],
    shared: NDArray[np.bool_],
    above: NDArray[np.int64],
    below: NDArray[np.int64],
    entries: NDArray[np.float64],
) -> None:
    for a in range(above.shape[0]):
        for place in range(start[a], start[a + 1]):
            if shared[place]:
                entries[place] = _times_share(entries[place], above[a], below[a])


@kernel
def _meet(
    x_start: NDArray[np.int64],
    x_rows: NDArray[np.int32],
    x_shared: NDArray[np.bool_],
    x_above: NDArray[np.int64],
    x_below: NDArray[np.int64],
    x_entries: NDArray[np.float64],
    y_start: NDArray[np.int64],
    y_rows: NDArray[np.int32],
    y_shared: NDArray[np.bool_],
    y_above: NDArray[np.int64],
    y_below: NDArray[np.int64],
    y_entries: NDArray[np.float64],
    start: NDArray[np.int64],
    columns: NDArray[np.int32],
    of_x: NDArray[np.float64],
    of_y: NDArray[np.float64],
) -> None:
    end = np.int64(0)
    for a in range(x_above.shape[0]):
        i, j = x_start[a], y_start[a]
        while i < x_start[a + 1] and j < y_start[a + 1]:
            if x_rows[i] == y_rows[j]:
                one, one_below = (x_above[a], x_below[a]) if x_shared[i] else (np.int64(1), np.int64(1))
                other, other_below = (y_above[a], y_below[a]) if y_shared[j] else (np.int64(1), np.int64(1))
                if one * other_below > other * one_below:
                    one, one_below = other, other_below
                columns[end] = x_rows[i]
                of_x[end] = _times_share(x_entries[i], one, one_below)
                of_y[end] = _times_share(y_entries[j], one, one_below)
                end += 1
                i += 1
                j += 1
            elif x_rows[i] < y_rows[j]:
                i += 1
            else:
                j += 1
        start[a + 1] = end
