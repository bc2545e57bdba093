"""Compiled loops over the entries of one tile: the RBF kernel, and sums.

Sums may be taken in any order, see `kernels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import kernel, reordering_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


LARGEST_EXPONENT = 1e6
SMALL_EXPONENT = 0.5
"""Up to this exponent, the difference of two exponentials is computed as one of them times expm1."""


@kernel
def radial(
    squared: NDArray[np.float64],
    others: NDArray[np.float64],
    own: float,
    other: float,
    shift: float,
    changed: bool,
    less_one: bool,
) -> None:
    """Turn squared distances into exp(-own d^2), and `others` into by how much the kernel of y is larger, in place.

    Parameters
    ----------
    others : ndarray of float64
        Squared distances in y; where `changed`, by how much these are larger than those in x.
    own, other : float
        1 / (2 sigma^2) of either side.
    shift : float
        `other` - `own`.
    less_one : bool
        Give exp(-own d^2) - 1, which keeps its digits where exponents are small.
    """
    for i in range(squared.shape[0]):
        row, change = squared[i], others[i]
        for j in range(row.shape[0]):
            # Beyond the limit all is 0, and infinity less infinity is not a number.
            exponent = min(own * row[j], LARGEST_EXPONENT)
            if changed:
                more = other * change[j] + shift * row[j]
                other_exponent = exponent + more
            else:
                other_exponent = min(other * change[j], LARGEST_EXPONENT)
                more = other_exponent - exponent
            if less_one:
                row[j] = np.expm1(-exponent)
                own_kernel = 1.0 + row[j]
            else:
                row[j] = np.exp(-exponent)
                own_kernel = row[j]
            if abs(more) < SMALL_EXPONENT:
                change[j] = own_kernel * np.expm1(-more)
            else:
                change[j] = np.exp(-other_exponent) - own_kernel


@reordering_kernel
def row_sums(
    entries: NDArray[np.float64], changes: NDArray[np.float64], mean: float, mean_change: float
) -> tuple[float, float, float, float, float]:
    """Sum m, d, m m, m d and d d of one row, of m = entry + change / 2 - mean and d = change - mean_change."""
    s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(entries.shape[0]):
        m = (entries[j] - mean) + 0.5 * changes[j]
        d = changes[j] - mean_change
        s0 += m
        s1 += d
        s2 += m * m
        s3 += m * d
        s4 += d * d
    return s0, s1, s2, s3, s4


@kernel
def sums_of_pairs(
    entries: NDArray[np.float64],
    changes: NDArray[np.float64],
    mean: float,
    mean_change: float,
    diagonal: bool,
    found: NDArray[np.float64],
) -> None:
    """Write the sums of `row_sums` over the pairs of a tile, each pair once; `found` has shape (5,)."""
    found[:] = 0.0
    for i in range(entries.shape[0]):
        begin = i + 1 if diagonal else 0
        s0, s1, s2, s3, s4 = row_sums(entries[i, begin:], changes[i, begin:], mean, mean_change)
        found[0] += s0
        found[1] += s1
        found[2] += s2
        found[3] += s3
        found[4] += s4


@kernel
def sums_of_kernels(
    entries: NDArray[np.float64],
    changes: NDArray[np.float64],
    mean: float,
    mean_change: float,
    sums: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    diagonal: bool,
) -> None:
    """Write sums over the entries of a tile of two kernel matrices, off the diagonal.

    Parameters
    ----------
    sums : ndarray of float64, shape (3,)
        Of m = entry + change / 2 - mean and d = change - mean_change the sums of m m, m d, d d.
    rows : ndarray of float64, shape (2, m)
        Sums of m and of d along rows.
    columns : ndarray of float64, shape (2, n)
        The same along columns; in a tile on the diagonal, m and d on the diagonal.
    """
    sums[:] = 0.0
    columns[:] = 0.0
    for i in range(entries.shape[0]):
        row, change = entries[i], changes[i]
        end = i if diagonal else row.shape[0]
        s0, s1, s2, s3, s4 = row_sums(row[:end], change[:end], mean, mean_change)
        if diagonal:
            m0, m1, m2, m3, m4 = row_sums(row[i + 1 :], change[i + 1 :], mean, mean_change)
            s0, s1, s2, s3, s4 = s0 + m0, s1 + m1, s2 + m2, s3 + m3, s4 + m4
            columns[0, i] = (row[i] - mean) + 0.5 * change[i]
            columns[1, i] = change[i] - mean_change
        else:
            _add_columns(row, change, mean, mean_change, columns[0], columns[1])
        rows[0, i], rows[1, i] = s0, s1
        sums[0] += s2
        sums[1] += s3
        sums[2] += s4


@kernel
def _add_columns(
    entries: NDArray[np.float64],
    changes: NDArray[np.float64],
    mean: float,
    mean_change: float,
    totals: NDArray[np.float64],
    total_changes: NDArray[np.float64],
) -> None:
    for j in range(entries.shape[0]):
        totals[j] += (entries[j] - mean) + 0.5 * changes[j]
        total_changes[j] += changes[j] - mean_change
