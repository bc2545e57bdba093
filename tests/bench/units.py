"""Units against independent samples at equal time: how much narrower their intervals are, at 95 % confidence.

Independent samples are as many as epsilon = 0.001 asks for; a few of them and of units, timed in turns, say how many
units take as long. Then both are drawn and timed. By how much equal time was missed is taken into account: the width of
samples falls with the square root of their number. Ratios are over the empirical Bernstein width (Maurer and Pontil) of
the independent samples' zeros and ones; their Clopper-Pearson width is measured beside it. The time to find the
intervals, once a job, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_least
from timing import Series, in_turns

from ordsim_core import betting, intervals, quadruplets, triplets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from data import Arrays
    from figures import Options
    from timing import Call

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.intervals import Interval
    from ordsim_core.spaces import Space

SIZE, QUICK_SIZE = (50_000, 512), (600, 64)
EPSILON, QUICK_EPSILON = 0.001, 0.005
PILOT, QUICK_PILOT = 100_000, 5_000
RACES = 3
"""Repetitions at most: widths hardly differ from seed to seed."""
MEMBERS = 32
"""As a job has them that does not say how many."""
CONFIDENCE = 0.95

EMPIRICAL_BERNSTEIN = at_least(1.8)
BETTING = at_least(2.5)


@dataclass(frozen=True)
class Index:
    """One index and its two ways of sampling."""

    name: str
    sampled: Callable[[Space, Space, int, int, int], Sampled]
    units: Callable[[Space, Space, int, int, int, int], Units]


INDICES = (
    Index("TSI", triplets.sampled_range, triplets.units_range),
    Index("QSI", quadruplets.sampled_range, quadruplets.units_range),
)


def measure(options: Options) -> Iterator[Figure]:
    """Measure both indices on data of which rows are independent, correlated in columns, and clustered."""
    for kind in (data.gaussian, data.correlated, data.clustered):
        arrays = kind(*(QUICK_SIZE if options.quick else SIZE))
        spaces = arrays.spaces()
        for index in INDICES:
            yield from _Race(arrays, spaces, index, options).figures()


class _Race:
    """Both ways of sampling on one pair of arrays."""

    def __init__(self, arrays: Arrays, spaces: tuple[Space, Space], index: Index, options: Options) -> None:
        self.case, self.spaces, self.index = f"{index.name}, {arrays.case}", spaces, index
        self.repetitions = options.repetitions
        self.pilot = QUICK_PILOT if options.quick else PILOT
        self.samples = intervals.samples_for(QUICK_EPSILON if options.quick else EPSILON, 1 - CONFIDENCE)

    def figures(self) -> Iterator[Figure]:
        """Draw as many of both as take the same time, and compare widths."""
        pilot = in_turns(self._contenders(self.pilot, self.pilot // MEMBERS, [], []), self.repetitions)
        units = max(100, int(self.samples / MEMBERS * (pilot["samples"] / pilot["units"]).median))
        sampled: list[Sampled] = []
        united: list[Units] = []
        contenders = self._contenders(self.samples, units, sampled, united)
        seconds = in_turns(contenders, min(RACES, self.repetitions), warm=0)
        each = comb(MEMBERS, 2)
        widths = {
            "Clopper-Pearson": _widths(intervals.clopper_pearson(found.counts, CONFIDENCE) for found in sampled),
            "Bernstein": _widths(_of_zeros_and_ones(found) for found in sampled),
            "units' Bernstein": _widths(intervals.maurer_pontil(u.agreeing, each, CONFIDENCE) for u in united),
            "betting": _widths(betting.interval(u.agreeing, each, CONFIDENCE) for u in united),
        }
        # In the time that the units took, so much wider would the samples have been.
        fair = Series(np.sqrt((seconds["samples"] / seconds["units"]).values))
        baseline = Series(widths["Bernstein"].values * fair.values)
        measured = {name: found.median * 1e4 for name, found in widths.items()}
        bernstein, bets = baseline / widths["units' Bernstein"], baseline / widths["betting"]
        drawn = {"samples": float(self.samples), "units": float(units), "time / time": fair.median**2}
        yield Figure(self.case, "Bernstein / units' Bernstein", bernstein, "", EMPIRICAL_BERNSTEIN, measured, "1e-4")
        yield Figure(self.case, "Bernstein / units' betting", bets, "", BETTING, drawn)

    def _contenders(
        self, samples: int, units: int, sampled: list[Sampled], united: list[Units]
    ) -> dict[str, Callable[[int], Call]]:
        # A seed for each repetition: all draws begin at the first of a stream.
        return {
            "samples": lambda seed: lambda: sampled.append(self.index.sampled(*self.spaces, seed, 0, samples)),
            "units": lambda seed: lambda: united.append(self.index.units(*self.spaces, seed, 0, units, MEMBERS)),
        }


def _of_zeros_and_ones(found: Sampled) -> Interval:
    counts = found.counts
    shares = np.repeat(np.array([1, 0], np.int64), [counts.agreeing, counts.comparisons - counts.agreeing])
    return intervals.maurer_pontil(shares, 1, CONFIDENCE)


def _widths(found: Iterator[Interval]) -> Series:
    return Series(np.array([interval.high - interval.low for interval in found]))
