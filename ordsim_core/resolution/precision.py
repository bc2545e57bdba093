"""The effective precision of stored values: what they were last rounded to, read from the values themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice
from ordsim_core.lattice import no_checkpoint
from ordsim_core.resolution.formats import FLOAT16, FLOAT32, FLOAT64, FORMATS, Format
from ordsim_core.resolution.grids import DistinctValues, Grid, spaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_CONTAINERS = {"float16": FLOAT16, "float32": FLOAT32}
_NO_EXPONENT = 1 << 30


@dataclass(frozen=True)
class StoragePrecision:
    """What the values of an array were rounded to when they were stored.

    Attributes
    ----------
    name : str
        A floating-point format (float64, float32, float16, bfloat16, float8_e4m3, float8_e5m2) or, for equally spaced
        values, the narrowest integer type with as many levels (binary, int4, int8, int16, integer).
    unit_roundoff : float
        Largest error of one rounding, relative to the value; on a grid, relative to the largest magnitude.
    form : Format
        The narrowest floating-point format that holds all values.
    grid : Grid or None
        Set if the values are equally spaced.
    """

    name: str
    unit_roundoff: float
    form: Format
    grid: Grid | None = None

    def steps(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance between neighbouring stored values at each of the given ones."""
        if self.grid is not None:
            return np.full(values.shape, self.grid.step)
        return np.ldexp(1.0, self.form.step_exponents(values))

    def scaled(self, exponent: int) -> StoragePrecision:
        """Give the precision of the values times 2^exponent."""
        if self.grid is None:
            return self
        return replace(self, grid=replace(self.grid, step=math.ldexp(self.grid.step, exponent)))

    def variances(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of the error that rounding to the nearest stored value left in each: step^2 / 12."""
        steps = self.steps(values)
        return steps * steps / 12


def precision_of(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> StoragePrecision:
    """Find the coarsest format or grid that holds every value of an array, whatever its dtype.

    A float32 array that was converted from float16 is found to be float16; one of dequantised 8-bit integers, int8.
    Where both a format and a grid hold the values, it is the grid if its step is nowhere finer: the integers below 256
    are integers, though bfloat16 holds them too.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        Any real dtype, layout and byte order, finite; may be memory-mapped. It is read block by block, and no further
        than until the answer is certain: the first block, if the values have the precision of their dtype.
    checkpoint : callable
        Called between blocks; may raise to give up.

    Returns
    -------
    StoragePrecision
        That of the dtype if the values say nothing, because there is one value only, or none.

    Raises
    ------
    NonFiniteError, NotRepresentableError
        For a value in the blocks that were read that is NaN or infinite, or an integer that float64 cannot hold.
    """
    evidence = _Evidence(values.dtype)
    for _, block in lattice.blocks(values, checkpoint):
        evidence.see(block)
        if evidence.settled:
            break
    return evidence.conclusion()


class _Evidence:
    """What the blocks that were read tell."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.own = _CONTAINERS.get(dtype.name, FLOAT64)
        self.whole = dtype.kind in "iub"
        self.holding = FORMATS[: FORMATS.index(self.own) + 1]
        self.distinct = DistinctValues()
        self.entries = 0
        self.least, self.most = np.inf, -np.inf
        self.smallest = np.inf  # magnitude that is not 0
        self.lowest, self.highest = _NO_EXPONENT, -_NO_EXPONENT  # of all bits

    def see(self, block: NDArray[np.float64]) -> None:
        """Take another block of the array."""
        self.holding = tuple(form for form in self.holding if form is self.own or form.holds(block))
        self.distinct.see(block)
        self.entries += block.size
        if not self.may_be_grid:
            return
        found = lattice.scan(block)
        self.lowest = min(self.lowest, int(found.low.min(initial=_NO_EXPONENT)))
        self.highest = max(self.highest, int(found.high.max(initial=-_NO_EXPONENT)))
        self.least = min(self.least, float(block.min(initial=np.inf)))
        self.most = max(self.most, float(block.max(initial=-np.inf)))
        magnitudes = np.abs(block)
        self.smallest = min(self.smallest, float(magnitudes.min(where=magnitudes > 0, initial=np.inf)))

    @property
    def may_be_grid(self) -> bool:
        """Whether the values may yet turn out to be equally spaced."""
        return self.distinct.values is not None or self.lowest >= self.highest - self.own.significant_bits

    @property
    def settled(self) -> bool:
        """Whether nothing that follows can change the conclusion."""
        return len(self.holding) == 1 and not self.may_be_grid

    def conclusion(self) -> StoragePrecision:
        """Name the precision."""
        form = self.holding[0] if self.least < self.most else self.own
        grid = self._grid(form) if self.least < self.most and self.may_be_grid else None
        if grid is None:
            return StoragePrecision(form.name, form.unit_roundoff, form)
        return StoragePrecision(grid.name, grid.step / (2 * max(abs(self.least), abs(self.most))), form, grid)

    def _grid(self, form: Format) -> Grid | None:
        """The coarsest grid, if the format does not explain the values as well."""
        of_two = None
        if self.highest - self.lowest <= FLOAT64.significant_bits:
            # The values are multiples of 2^lowest. That says more than the format if the step is as large as the
            # format's at the largest value, and larger than the format's at the smallest.
            at_smallest = int(form.step_exponents(np.array(self.smallest)))
            coarse = self.lowest >= self.highest - form.significant_bits and self.lowest > at_smallest
            if self.whole or coarse:
                of_two = Grid(2.0**self.lowest, round((self.most - self.least) / 2.0**self.lowest) + 1)
        if self.distinct.values is None:
            return of_two
        rounding = 2.0 ** (max(self.highest - form.significant_bits, form.lowest_exponent) - 1)
        distinct = self.distinct.values
        scaled = spaced(distinct, self.entries, 0.0) or spaced(distinct, self.entries, rounding)
        return scaled if scaled is not None and (of_two is None or scaled.step > of_two.step) else of_two
