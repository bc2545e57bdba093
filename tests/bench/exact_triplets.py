"""Exact TSI, a block of anchors: nanoseconds for an anchor and a target.

* float32 over floor: the floor of the work is, in each space, a float32 product of the block with all rows and
  numpy's sort of what comes out, into memory that is there.
* exact over float32: what it costs to have the counts of exact arithmetic.
* textbook over float32: see `textbook`; its distances are timed for the whole block, its counting for a part of it.

Beside these float64 without certificates, and what float32 spends on its arithmetic interval: the same without
counting what is in doubt. Where keys of integers are exact in float32 or float64, all precisions are the same path.
Targets were measured with prototypes whose float32 path had no interval, with AVX-512.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING

import data
import numpy as np
import textbook
from figures import Figure, at_least, at_most
from timing import NANOSECONDS, in_turns

from ordsim_core import triplets
from ordsim_core.distances import Precision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data import Arrays
    from figures import Options, Target
    from timing import Call, Contender, Series

    from ordsim_core.spaces import Space

FULL_SIZES = ((2_000, 64), (2_000, 512), (10_000, 64), (10_000, 512), (50_000, 64), (50_000, 512))
OTHER_SIZES = ((10_000, 512), (50_000, 512))
"""Of data that is not Gaussian, unless all sizes were asked for."""
QUICK_SIZES = ((600, 64),)

ANCHORS = 256
BLOCK_DISTANCES = 4_000_000
TEXTBOOK_DISTANCES = 400_000

WIDE = 256
"""From this many columns on, products are most of the floor."""

TOLERANCE = 1e-3
"""By how much scores may differ: rounded distances make ties that are none."""


def measure(options: Options) -> Iterator[Figure]:
    """Measure every kind of data."""
    for arrays in _cases(options):
        yield from _Case(arrays, options.repetitions).figures()


def _cases(options: Options) -> Iterator[Arrays]:
    for kind in data.KINDS:
        sizes = FULL_SIZES if kind is data.gaussian or options.all_sizes else OTHER_SIZES
        for rows, columns in QUICK_SIZES if options.quick else sizes:
            yield kind(rows, columns)
    yield from data.real()


class _Case:
    """One pair of arrays, prepared in every precision."""

    def __init__(self, arrays: Arrays, repetitions: int) -> None:
        self.arrays, self.repetitions = arrays, repetitions
        rows = arrays.rows
        # Every repetition, the first one included that does not count, has anchors of its own.
        self.anchors = max(1, min(ANCHORS, rows // (repetitions + 1), BLOCK_DISTANCES // rows))
        self.few = max(1, min(self.anchors, TEXTBOOK_DISTANCES // rows))
        self.plain = [np.ascontiguousarray(values, np.float32) for values in (arrays.x, arrays.y)]
        self.spaces = {precision: arrays.spaces(precision) for precision in Precision}

    def figures(self) -> Iterator[Figure]:
        """Measure, and say how the figures stand to each other."""
        self._check()
        seconds = in_turns(self._contenders(), self.repetitions)
        each = NANOSECONDS / self.arrays.rows
        per_target = {
            name: found * (each / (self.few if name == "counting" else self.anchors)) for name, found in seconds.items()
        }
        book = per_target["distances"] + per_target["counting"]
        float32, exact, floor = (per_target[name] for name in ("float32", "exact", "floor"))
        case, wide = self.arrays.case, self.arrays.x.shape[1] >= WIDE
        measured = {"floor": floor, **{precision.value: per_target[precision.value] for precision in Precision}}
        if "no interval" in per_target:
            measured["its interval"] = float32 + per_target["no interval"] * -1
        measured["textbook"] = book
        yield _ratio(case, "float32 / floor", float32 / floor, at_most(1.5 if wide else 2.2), measured)
        yield _ratio(case, "exact / float32", exact / float32, at_most(self._limit()))
        yield _ratio(case, "textbook / float32", book / float32, at_least(5.8 if wide else 8.8))

    def _limit(self) -> float:
        both = all(space.packing.repeated for space in self.spaces[Precision.EXACT])
        return 1.9 if both else 1.7

    def _contenders(self) -> dict[str, Contender]:
        found: dict[str, Contender] = {"floor": self._floor()}
        for precision, sides in self.spaces.items():
            found[precision.value] = self._block(*sides)
        float32 = self.spaces[Precision.FLOAT32]
        if any(space.precision is Precision.FLOAT32 for space in float32):
            # The same keys, of which nobody asks how many are in doubt.
            found["no interval"] = self._block(*(replace(space, precision=Precision.FLOAT64) for space in float32))
        return found | {"distances": self._distances, "counting": self._counting}

    def _rows(self, repetition: int) -> tuple[int, int]:
        return repetition * self.anchors, (repetition + 1) * self.anchors

    def _block(self, x: Space, y: Space) -> Contender:
        return lambda repetition: lambda: triplets.exact_block(x, y, *self._rows(repetition))

    def _floor(self) -> Contender:
        room = np.empty((self.anchors, self.arrays.rows), np.float32)

        def make(repetition: int) -> Call:
            start, stop = self._rows(repetition)

            def run() -> None:
                for values in self.plain:
                    np.matmul(values[start:stop], values.T, out=room)
                    room.sort(axis=1)

            return run

        return make

    def _distances(self, repetition: int) -> Call:
        anchors = np.arange(*self._rows(repetition))
        return lambda: [textbook.distances(values, anchors) for values in self.plain]

    def _counting(self, repetition: int) -> Call:
        anchors = np.arange(*self._rows(repetition))[: self.few]
        x, y = (textbook.distances(values, anchors) for values in self.plain)
        return lambda: textbook.count_anchors(x, y, anchors)

    def _check(self) -> None:
        """See that all do the same work."""
        anchors = np.arange(min(self.few, 8))
        x, y = (textbook.distances(values, anchors) for values in self.plain)
        agreeing = {"textbook": textbook.count_anchors(x, y, anchors)}
        for precision, sides in self.spaces.items():
            agreeing[precision.value] = triplets.exact_anchors(*sides, anchors).counts.agreeing
        comparisons = len(anchors) * comb(self.arrays.rows - 1, 2)
        if max(agreeing.values()) - min(agreeing.values()) > TOLERANCE * comparisons:
            raise AssertionError(f"{self.arrays.case}: of {comparisons} comparisons agree {agreeing}")


def _ratio(case: str, name: str, values: Series, target: Target, measured: dict[str, Series] | None = None) -> Figure:
    medians = {what: series.median for what, series in (measured or {}).items()}
    return Figure(case, name, values, target=target, measured=medians, measured_unit="ns")
