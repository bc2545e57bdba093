"""What is fixed about two arrays before their factor is computed: rows near their means, and powers of two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BLOCK_VALUES = 1 << 20
"""Values that are looked through at a time."""
SAMPLE_ROWS = 1024
"""Rows from all over an array whose mean is taken for its centre: it need not be near to the last digit."""
LARGEST_EXPONENT = 1000
"""Powers of two up to this are numbers, whatever the sign."""


@dataclass(frozen=True, eq=False)
class Side:
    """One array.

    Attributes
    ----------
    exponent : int
        Values are used in units of 2^exponent, which changes no correlation.
    centre : ndarray of float64, shape (D,)
        A row near the mean, in those units; of a constant column its value.
    constant : ndarray of bool, shape (D,)
        Columns whose values are all equal.
    """

    exponent: int
    centre: NDArray[np.float64]
    constant: NDArray[np.bool_]

    def scaled(self, block: NDArray[Any]) -> NDArray[np.float64]:
        """Widen some rows to float64, in these units."""
        if abs(self.exponent) <= LARGEST_EXPONENT:
            return np.asarray(np.multiply(block, 2.0**-self.exponent, dtype=np.float64, order="C"))
        return np.ldexp(np.ascontiguousarray(block, np.float64), -self.exponent)


@dataclass(frozen=True, eq=False)
class Layout:
    """What the columns of a factor are.

    Attributes
    ----------
    rows : int
        N, of all blocks together.
    x_constant, y_constant : ndarray of bool, shape (Dx,) and (Dy,)
        Columns whose values are all equal.
    """

    rows: int
    x_constant: NDArray[np.bool_]
    y_constant: NDArray[np.bool_]

    @property
    def difference(self) -> bool:
        """Whether the arrays have as many columns, so that the second is kept as what it differs by from the first."""
        return len(self.x_constant) == len(self.y_constant)


@dataclass(frozen=True, eq=False)
class Pilot:
    """Both arrays; every block of rows must use the same. `rows` is N."""

    rows: int
    x: Side
    y: Side

    @property
    def layout(self) -> Layout:
        """What the factor's columns will be."""
        return Layout(self.rows, self.x.constant, self.y.constant)


def survey(x: NDArray[Any], y: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Pilot:
    """Look through two arrays, (N, Dx) and (N, Dy) of any real dtype: a pure function of their values.

    Raises
    ------
    ValueError
        If they differ in rows or have none.
    """
    if len(x) != len(y) or len(x) == 0:
        raise ValueError(f"x has {len(x)} rows and y has {len(y)}: both need the same number, and at least one")
    (of_x, x_size), (of_y, y_size) = (_survey(side, checkpoint) for side in (x, y))
    if x.shape[1] == y.shape[1] and x_size > 0 and y_size > 0:
        # The power of two that brings both to about the same size: an array and 4 times itself do not differ.
        exponent = of_x.exponent + round(of_y.exponent - of_x.exponent + math.log2(y_size) - math.log2(x_size))
        of_y = Side(exponent, np.ldexp(of_y.centre, of_y.exponent - exponent), of_y.constant)
    return Pilot(len(x), of_x, of_y)


def _survey(values: NDArray[Any], checkpoint: Callable[[], None]) -> tuple[Side, float]:
    """Survey one array; also gives the length of some of its rows less the centre."""
    low, high = np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)
    step = max(1, BLOCK_VALUES // max(values.shape[1], 1))
    for begin in range(0, len(values), step):
        checkpoint()
        block = values[begin : begin + step]
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
    exponent = math.frexp(float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0))))[1]
    constant = low == high
    plain = Side(exponent, np.zeros(len(low)), constant)
    sample = plain.scaled(values[np.unique(np.linspace(0, len(values) - 1, SAMPLE_ROWS).astype(np.int64))])
    centre = np.where(constant, np.ldexp(low, -exponent), sample.mean(axis=0))
    return Side(exponent, centre, constant), float(np.linalg.norm(sample - centre))
