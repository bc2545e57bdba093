"""Equally spaced values: whole numbers, quantised values, two levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LEVELS = 256
"""As many levels as 8 bits have are looked for at any spacing; finer grids only at powers of two."""

_FIRST_LOOK = 4096
_REPETITIONS = 4
_CLEAR_STEP = 16

_NAMES = ((2, "binary"), (16, "int4"), (256, "int8"), (65536, "int16"))


@dataclass(frozen=True)
class Grid:
    """Values that are an offset plus whole multiples of a step.

    Attributes
    ----------
    step : float
        The largest step that fits.
    levels : int
        Multiples from the smallest value to the largest, both included, whether or not they occur.
    """

    step: float
    levels: int

    @property
    def name(self) -> str:
        """The narrowest usual integer type that has as many levels; beyond 16 bits, integer."""
        return next((name for most, name in _NAMES if self.levels <= most), "integer")


class DistinctValues:
    """The different values of an array that is seen block by block, as long as they are few."""

    def __init__(self) -> None:
        self.values: NDArray[np.float64] | None = np.empty(0)
        """Sorted; None once there are more than `MOST_LEVELS`."""

    def see(self, block: NDArray[np.float64]) -> None:
        """Take another block of an array; most real-valued ones show in a glance that they have too many values."""
        for part in (block.ravel()[:_FIRST_LOOK], block.ravel()):
            if self.values is not None:
                merged = np.union1d(self.values, self._unknown(part))
                self.values = merged if len(merged) <= MOST_LEVELS else None

    def _unknown(self, part: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those of the values that have not been seen: most often none, and looking them up is quicker than sorting."""
        if self.values is None or len(self.values) == 0:
            return part
        places = np.minimum(np.searchsorted(self.values, part), len(self.values) - 1)
        unknown: NDArray[np.float64] = part[self.values[places] != part]
        return unknown


def spaced(distinct: NDArray[np.float64], entries: int, rounding: float) -> Grid | None:
    """Find the step of few values that lie equally spaced up to rounding, e.g. integers times a scale.

    Parameters
    ----------
    distinct : ndarray of float64, shape (L,)
        The different values, sorted.
    entries : int
        How many values have been seen in all. Where values hardly repeat, no grid is believed in.
    rounding : float
        How far a value may lie from its place on the grid.

    Returns
    -------
    Grid or None
        None if there is no step, or none that stands out from rounding.
    """
    if len(distinct) < 2 or entries < _REPETITIONS * len(distinct):
        return None
    offsets, gaps = distinct - distinct[0], np.diff(distinct)
    # Among hundreds of levels some are neighbours. The mean of their gaps is accurate enough to count the steps from
    # end to end, and that number gives the step itself.
    steps = round(float(offsets[-1] / gaps[gaps < 1.5 * gaps.min()].mean()))
    step = float(offsets[-1] / steps)
    if steps >= MOST_LEVELS or step <= _CLEAR_STEP * rounding:
        return None
    if np.abs(offsets - np.rint(offsets / step) * step).max() > 4 * rounding:
        return None
    return Grid(step, steps + 1)
