"""The Hilbert-Schmidt independence criterion of two sparse matrices that need not be symmetric, in twice the precision.

For P and Q with an empty diagonal, both estimators are a bilinear form of the same few sums:

    B(P, Q) = tr(P Q) + alpha (1'P1)(1'Q1) - beta 1'PQ1 - gamma 1'QP1

* unbiased (Song et al. 2012), times n (n - 3): alpha = 1 / ((n - 1)(n - 2)), beta = 2 / (n - 2), gamma = 0;
* biased, tr(P H Q H): alpha = 1 / n^2, beta = gamma = 1 / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.neighbours import doubled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.neighbours.doubled import Doubled

NOTHING = 2.0**-90
"""A criterion below this share of what it is made of is rounding."""


class Estimator(StrEnum):
    """Of the independence criterion; UNBIASED needs 4 rows."""

    UNBIASED = "unbiased"
    BIASED = "biased"


@dataclass(frozen=True, eq=False)
class Sparse:
    """A square matrix by rows: entries of row i are at ``start[i]:start[i + 1]``, columns ascending.

    Attributes
    ----------
    start : ndarray of int64, shape (N + 1,)
    columns : ndarray of int32, shape (entries,)
        Never the row itself.
    entries : ndarray of float64, shape (entries, 2)
        High and low parts.
    """

    start: NDArray[np.int64]
    columns: NDArray[np.int32]
    entries: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion in twice the precision, high + low; exactly 0 where it is nothing but rounding."""

    high: float
    low: float

    def __float__(self) -> float:
        return self.high


def criterion(p: Sparse, q: Sparse, estimator: Estimator) -> Criterion:
    """Give the criterion of two matrices, up to a factor that depends on N alone: B(P, Q) as above.

    Raises
    ------
    ValueError
        If they differ in size, or have too few rows for the estimator.
    """
    size = len(p)
    needed = 4 if estimator is Estimator.UNBIASED else 2
    if len(q) != size or size < needed:
        raise ValueError(f"{estimator} needs two matrices of the same size of at least {needed}: {size}, {len(q)}")
    unbiased = estimator is Estimator.UNBIASED
    sums = np.zeros((4, 2))
    sizes = np.zeros(4)
    _sums(p.start, p.columns, p.entries, q.start, q.columns, q.entries, sums, sizes)
    high, low = _combine(sums, np.float64(size), unbiased)
    made_of = sizes[0] + sizes[1] / size**2 + (sizes[2] + sizes[3]) / size
    return Criterion(0.0, 0.0) if abs(high) <= NOTHING * made_of else Criterion(high, low)


@kernel
def _sums(
    p_start: NDArray[np.int64],
    p_columns: NDArray[np.int32],
    p_entries: NDArray[np.float64],
    q_start: NDArray[np.int64],
    q_columns: NDArray[np.int32],
    q_entries: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Write tr(PQ), (1'P1)(1'Q1), 1'PQ1 and 1'QP1, and bounds on their size."""
    size = p_start.shape[0] - 1
    p_rows, p_sums = np.zeros((size, 2)), np.zeros((size, 2))
    q_rows, q_sums = np.zeros((size, 2)), np.zeros((size, 2))
    p_total = _margins(p_start, p_columns, p_entries, p_rows, p_sums)
    q_total = _margins(q_start, q_columns, q_entries, q_rows, q_sums)
    sums[1] = doubled.multiply(p_total[0], p_total[1], q_total[0], q_total[1])
    sizes[1] = p_total[2] * q_total[2]
    for i in range(size):
        for place in range(p_start[i], p_start[i + 1]):
            j = np.int64(p_columns[place])
            other = _find(q_columns, q_start[j], q_start[j + 1], i)
            if other >= 0:
                _accumulate(sums[0], sizes[0:1], p_entries[place], q_entries[other])
        _accumulate(sums[2], sizes[2:3], p_sums[i], q_rows[i])
        _accumulate(sums[3], sizes[3:4], q_sums[i], p_rows[i])


@kernel
def _accumulate(
    total: NDArray[np.float64], size: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]
) -> None:
    high, low = doubled.multiply(one[0], one[1], other[0], other[1])
    total[0], total[1] = doubled.add(total[0], total[1], high, low)
    size[0] += abs(high)


@kernel
def _margins(
    start: NDArray[np.int64],
    columns: NDArray[np.int32],
    entries: NDArray[np.float64],
    rows: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> tuple[float, float, float]:
    high, low, size = 0.0, 0.0, 0.0
    for i in range(rows.shape[0]):
        for place in range(start[i], start[i + 1]):
            one, one_low, j = entries[place, 0], entries[place, 1], columns[place]
            rows[i, 0], rows[i, 1] = doubled.add(rows[i, 0], rows[i, 1], one, one_low)
            sums[j, 0], sums[j, 1] = doubled.add(sums[j, 0], sums[j, 1], one, one_low)
            size += abs(one)
        high, low = doubled.add(high, low, rows[i, 0], rows[i, 1])
    return high, low, size


@kernel
def _find(columns: NDArray[np.int32], start: Int, stop: Int, wanted: Int) -> Int:
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and columns[low] == wanted else np.int64(-1)


@kernel
def _combine(sums: NDArray[np.float64], size: float, unbiased: bool) -> Doubled:
    if unbiased:
        total, total_low = doubled.divide(sums[1, 0], sums[1, 1], (size - 1.0) * (size - 2.0), 0.0)
        cross, cross_low = doubled.divide(2.0 * sums[2, 0], 2.0 * sums[2, 1], size - 2.0, 0.0)
    else:
        total, total_low = doubled.divide(sums[1, 0], sums[1, 1], size * size, 0.0)
        both, both_low = doubled.add(sums[2, 0], sums[2, 1], sums[3, 0], sums[3, 1])
        cross, cross_low = doubled.divide(both, both_low, size, 0.0)
    high, low = doubled.add(sums[0, 0], sums[0, 1], total, total_low)
    return doubled.add(high, low, -cross, -cross_low)
