"""Which powers of two an array's values are made of: what decides whether float64 arithmetic on them is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.errors import NonFiniteError, NotRepresentableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

FLOAT64_INTEGERS = 2.0**53
ZERO = np.int64(2**31)
"""Stands for the lowest bit of a row of zeros."""

_BLOCK_VALUES = 1 << 20


def no_checkpoint() -> None:
    """Go on: what is called between blocks of work when the caller has nothing to say."""


@dataclass(frozen=True)
class Lattice:
    """The grid on which an (N, D) array lies.

    Attributes
    ----------
    low : ndarray of int64, shape (N,)
        Exponent of the lowest set bit in each row; `ZERO` for a row of zeros.
    high : ndarray of int64, shape (N,)
        Smallest exponent with abs(value) < 2^high in each row; -`ZERO` for a row of zeros.
    spread : ndarray of float64, shape (D,)
        Largest minus smallest value of each column, rounded up.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    spread: NDArray[np.float64]

    @property
    def lowest(self) -> int:
        """All values are multiples of 2^lowest; 0 if all are zero."""
        low = int(self.low.min(initial=ZERO))
        return 0 if low == ZERO else low

    @property
    def squares_fit(self) -> bool:
        """Whether every squared Euclidean distance, counted on the grid, is an integer of at most 53 bits.

        Then all partial sums are exact in float64 in whatever order they are taken.
        """
        low, high = int(self.low.min(initial=ZERO)), int(self.high.max(initial=-ZERO))
        if high <= low:  # nothing but zeros
            return True
        if high - low > 53:
            return False
        steps = np.ldexp(self.spread, -low)
        return bool(np.sum(steps * steps) * (1 + 2.0**-40) <= FLOAT64_INTEGERS)


def blocks(
    values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield (first row, rows as float64) of an array of any real dtype, layout and byte order, block by block.

    `checkpoint` is called before each block, and may raise to give up.

    Raises
    ------
    NotRepresentableError
        If an integer has no float64 equal to it.
    """
    for start, stop in ranges(values, checkpoint):
        given = values[start:stop]
        block = np.ascontiguousarray(given, np.float64)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            _check_integers(given, start)
        yield start, block


def ranges(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Iterator[tuple[int, int]]:
    """Yield (first row, row after the last) of consecutive blocks, calling `checkpoint` before each."""
    rows, columns = values.shape
    step = max(1, _BLOCK_VALUES // max(1, columns))
    for start in range(0, rows, step):
        checkpoint()
        yield start, min(start + step, rows)


def scan(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Lattice:
    """Find the grid of an (N, D) array; `checkpoint` is called between blocks, and may raise to give up.

    Raises
    ------
    NonFiniteError, NotRepresentableError
        For the first value that is NaN or infinite, or an integer that float64 cannot hold.
    """
    rows, columns = values.shape
    low, high = np.empty(rows, np.int64), np.empty(rows, np.int64)
    smallest, largest = np.full(columns, np.inf), np.full(columns, -np.inf)
    for start, block in blocks(values, checkpoint):
        stop = start + len(block)
        bits = block.view(np.int64)
        bits.flags.writeable = False  # as a read-only float64 array is already: one compiled kernel serves both
        at = _scan(bits, low[start:stop], high[start:stop])
        if at >= 0:
            raise NonFiniteError(start + at // columns, at % columns)
        np.minimum(smallest, block.min(axis=0), out=smallest)
        np.maximum(largest, block.max(axis=0), out=largest)
    with np.errstate(over="ignore"):
        spread = np.nextafter(largest - smallest, np.inf) if rows else np.zeros(columns)
    # A difference of equal values is 0 exactly; nextafter would turn it into a subnormal step.
    spread[largest == smallest] = 0.0
    return Lattice(low, high, spread)


def _check_integers(given: NDArray[Any], start: int) -> None:
    limit = 2**53
    beyond = (given > limit) | (given < -limit) if given.dtype.kind == "i" else given > limit
    if not beyond.any():
        return
    # Odd multiples of the lowest set bit must fit 53 bits; abs() leaves the most negative value, a power of two.
    magnitude = np.abs(given).astype(np.uint64)
    lowest = magnitude & (~magnitude + np.uint64(1))
    wide = magnitude // np.maximum(lowest, np.uint64(1)) >= np.uint64(limit)
    if wide.any():
        row, column = np.argwhere(wide)[0]
        raise NotRepresentableError(start + int(row), int(column))


@kernel
def _scan(bits: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> Int:
    # Returns the flat position of the first NaN or infinity, or -1.
    mantissa_mask = np.int64((1 << 52) - 1)
    for row in range(bits.shape[0]):
        lowest, highest = np.int64(2**31), -np.int64(2**31)
        for column in range(bits.shape[1]):
            value = bits[row, column]
            mantissa = value & mantissa_mask
            exponent = (value >> 52) & np.int64(0x7FF)
            if exponent == 0x7FF:
                return np.int64(row * bits.shape[1] + column)
            if exponent == 0:
                if mantissa == 0:
                    continue
                exponent = np.int64(1)
            else:
                mantissa |= np.int64(1 << 52)
            # The lowest set bit as a power of two, whose float64 exponent is its number.
            lowest = min(lowest, exponent - 1075 + _trailing_zeros(mantissa))
            highest = max(highest, exponent - 1022)
        low[row] = lowest
        high[row] = highest
    return np.int64(-1)


@kernel
def _trailing_zeros(value: Int) -> Int:
    count = np.int64(0)
    for width in (32, 16, 8, 4, 2, 1):
        if value & ((np.int64(1) << width) - 1) == 0:
            count += width
            value >>= width
    return count
