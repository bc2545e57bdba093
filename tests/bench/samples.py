"""Sampled TSI and QSI: million samples a second.

* Over gather: nanoseconds of a sample, drawing it included, over those of a compiled loop that only reads every value
  of the same rows in the same order, and sums them up: memory sets this floor.
* Loop over ordsim: against Python going through the same samples, each with a few numpy operations on rows.

Rates in exact precision; float32 is measured beside it. The target of the loop is the least that prototypes gained on
the authors' published implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import data
import numpy as np
from figures import Figure, at_least, at_most
from timing import NANOSECONDS, Series, in_turns

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core._numba import Int, kernel, reordering_kernel
from ordsim_core.distances import Precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from data import Arrays
    from figures import Options
    from numpy.typing import NDArray
    from timing import Call

    from ordsim_core.comparisons import Sampled
    from ordsim_core.spaces import Space

    Sample = Callable[[Space, Space, int, int, int], Sampled]

SIZES = ((50_000, 512), (50_000, 64), (2_000, 512))
QUICK_SIZES = ((600, 64),)
GATHER, LOOP = at_most(1.5), at_least(48)
SAMPLES, QUICK_SAMPLES = 100_000, 10_000
LOOPED = 2_000
SEED = 7


def measure(options: Options) -> Iterator[Figure]:
    """Measure both indices on Gaussian rows."""
    for rows, columns in QUICK_SIZES if options.quick else SIZES:
        arrays = data.gaussian(rows, columns)
        sides = {precision: arrays.spaces(precision) for precision in (Precision.EXACT, Precision.FLOAT32)}
        for index, sample in (("TSI", triplets.sampled_range), ("QSI", quadruplets.sampled_range)):
            yield from _Case(arrays, sides, index, sample).figures(options)


class _Case:
    """Samples of one index on one pair of arrays."""

    def __init__(self, arrays: Arrays, sides: dict[Precision, tuple[Space, Space]], index: str, sample: Sample) -> None:
        self.arrays, self.sides, self.index, self.sample = arrays, sides, index, sample
        self.samples = SAMPLES

    def figures(self, options: Options) -> Iterator[Figure]:
        """Measure the rate, and what else goes through the same samples."""
        self.samples = QUICK_SAMPLES if options.quick else SAMPLES
        self._check()
        contenders = {
            "exact": lambda repetition: self._ordsim(Precision.EXACT, repetition),
            "float32": lambda repetition: self._ordsim(Precision.FLOAT32, repetition),
            "gather": self._gather,
            "loop": self._loop,
        }
        seconds = in_turns(contenders, options.repetitions)
        each = {name: found / (LOOPED if name == "loop" else self.samples) for name, found in seconds.items()}
        measured = {name: found.median * NANOSECONDS for name, found in each.items()}
        case = f"{self.index}, {self.arrays.case}"
        million = Series(1e-6 / each["exact"].values)
        yield Figure(case, "rate", million, "M samples/s", None, measured, "ns")
        yield Figure(case, "ordsim / gather", each["exact"] / each["gather"], target=GATHER)
        yield Figure(case, "loop / ordsim", each["loop"] / each["exact"], target=LOOP)

    def _ordsim(self, precision: Precision, repetition: int) -> Call:
        x, y = self.sides[precision]
        return lambda: self.sample(x, y, SEED, repetition * self.samples, (repetition + 1) * self.samples)

    def _gather(self, repetition: int) -> Call:
        rows = self._drawn(repetition).reshape(-1)
        return lambda: [_gather(values, rows) for values in (self.arrays.x, self.arrays.y)]

    def _loop(self, repetition: int) -> Call:
        pairs = self._pairs(self._drawn(repetition)[:LOOPED])
        return lambda: _count_in_loop(self.arrays.x, self.arrays.y, pairs)

    def _drawn(self, repetition: int) -> NDArray[np.int64]:
        """Rows of every sample, each row of it once."""
        draw = sampling.triplets if self.index == "TSI" else sampling.quadruplets
        return draw(SEED, repetition * self.samples, (repetition + 1) * self.samples, self.arrays.rows)

    def _pairs(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Samples as two pairs of rows."""
        return drawn[:, (0, 1, 0, 2)] if self.index == "TSI" else drawn

    def _check(self) -> None:
        looped = _count_in_loop(self.arrays.x, self.arrays.y, self._pairs(self._drawn(0)[:LOOPED]))
        counted = self.sample(*self.sides[Precision.EXACT], SEED, 0, LOOPED).counts.agreeing
        if abs(looped - counted) > LOOPED // 500:
            raise AssertionError(f"{self.index}, {self.arrays.case}: the loop counts {looped}, ordsim {counted}")


def _count_in_loop(x: NDArray[Any], y: NDArray[Any], tuples: NDArray[np.int64]) -> int:
    agreeing = 0
    for i, j, k, m in tuples.tolist():
        nearer = [np.linalg.norm(values[i] - values[j]) < np.linalg.norm(values[k] - values[m]) for values in (x, y)]
        agreeing += nearer[0] == nearer[1]
    return int(agreeing)


@reordering_kernel
def _row_sum(values: NDArray[Any], row: Int) -> Any:
    total = values[row, 0] - values[row, 0]
    for column in range(values.shape[1]):
        total += values[row, column]
    return total


@kernel
def _gather(values: NDArray[Any], rows: NDArray[np.int64]) -> float:
    total = 0.0
    for place in range(rows.shape[0]):
        total += _row_sum(values, rows[place])
    return total
