"""Scores of all pairs of several arrays, from one profile of each on a design that they share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import SerializeAsAny

from ordsim_core import betting, intervals
from ordsim_core.calibration.clustering import dendrogram_order
from ordsim_core.counts import AgreementCounts
from ordsim_core.nulls import designs, profiles
from workers import costs, kept_profiles
from workers.measures import contrasts, cutting, registry
from workers.measures.ordinal_nulls import DesignStatistic
from workers.measures.protocol import GRID, Measure, MeasureOptions, Outcome
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.intervals import Interval
    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.profiles import Profile
    from workers.measures.given import Grid
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape, Shard

AGREEING, BOUNDS = "agreeing", "bounds"
INTERVAL_UNIT = 2e-7
"""Seconds for one unit of an interval."""


class MatrixOptions(MeasureOptions):
    """Which arrays are compared by what.

    Attributes
    ----------
    inner : MeasureOptions
        TSI or QSI, by samples or units: the design.
    arrays : int
        M.
    difference : (int, int) or None
        The array all others are compared with, and the one whose score is taken off.
    confidence : float
        Of the intervals, which belong to the pieces of work.
    """

    measure: Literal["matrix"] = "matrix"
    method: Literal["profiles"] = "profiles"
    inner: SerializeAsAny[MeasureOptions]
    arrays: int
    difference: tuple[int, int] | None = None
    confidence: float = 0.99

    @property
    def innermost(self) -> MeasureOptions:
        """The measure whose scores are asked for."""
        return self.inner

    @property
    def label(self) -> tuple[str, str]:
        """The measure of all pairs."""
        return self.inner.label

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of arrays, those of the first few first: a prefix of the arrays has a prefix of the pairs."""
        return sorted(combinations(range(self.arrays), 2), key=lambda pair: (pair[1], pair[0]))

    @property
    def others(self) -> list[int]:
        """Arrays whose score is compared with that of the reference."""
        return [] if self.difference is None else [a for a in range(self.arrays) if a not in self.difference]


class Matrix(Measure):
    """The scores of all pairs, and differences of some of them."""

    measure = "matrix"
    method = "profiles"
    title = "Scores of all pairs of several arrays"
    minimum_rows = 3
    maximum_rows: int | None = None
    options: type[MeasureOptions] = MatrixOptions
    needs = GRID

    def rows_needed(self, options: MatrixOptions) -> int:
        """What the measure needs."""
        inner = registry.find(options.inner.measure, options.inner.method)
        return max(inner.minimum_rows, inner.rows_needed(options.inner))

    def comparisons(self, shape: PairShape, options: MatrixOptions) -> int:
        """Those of every pair, and of every difference."""
        return _statistic(shape, options, 0).unit * (len(options.pairs) + len(options.others))

    def seconds(self, shape: PairShape, options: MatrixOptions) -> float:
        """A profile of every array, and a look at every pair."""
        statistic = _statistic(shape, options, 0)
        profile = costs.unit_seconds(shape, statistic.design.members) * statistic.design.units / 2
        return options.arrays * profile + self._each_seconds(shape, options) * self._length(options)

    def memory(self, shape: PairShape, options: MatrixOptions, budget: Budget) -> int:  # noqa: ARG002
        """A few profiles, and what bounds take."""
        statistic = _statistic(shape, options, 0)
        counting = costs.anchor_bytes(shape) if options.others else 0
        return (kept_profiles.IN_MEMORY + 2) * statistic.fixed_bytes + 128 * statistic.design.units + counting

    def shards(self, shape: PairShape, options: MatrixOptions, budget: Budget) -> list[Shard]:
        """Cut up the pairs, and after them the differences."""
        unit = _statistic(shape, options, 0).unit
        return cutting.shards(self._length(options), self._each_seconds(shape, options), budget.seconds, unit)

    def partial(self, pair: Grid, shard: Shard, options: MatrixOptions, seed: int, checkpoint: Checkpoint) -> Partial:
        """Compare some pairs of profiles, and make some differences."""
        every = options.pairs
        design = _Designed(pair, designs.draw(_statistic(pair.shape, options, seed).design), options, checkpoint)
        agreeing, bounds = [], []
        found = contrasts.Contrasts(pair, options, design.profile, seed, checkpoint)
        contrasted = []
        for place in range(shard.start, shard.stop):
            checkpoint()
            if place < len(every):
                count, low, high = design.compare(*every[place])
                agreeing.append(count)
                bounds.append((low, high))
            else:
                contrasted.append(found.of(options.others[place - len(every)]))
        pieces: dict[str, dict[int, NDArray[Any]]] = {}
        if agreeing:
            pieces = {AGREEING: {shard.start: np.array(agreeing)}, BOUNDS: {shard.start: np.array(bounds)}}
        if contrasted:
            first = max(shard.start, len(every))
            pieces |= contrasts.pieces(contrasted, first)
        return Partial(pieces=pieces)

    def finish(self, total: Partial, pair: PairFacts, options: MatrixOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Lay the scores out as matrices."""
        unit = _statistic(pair.shape, options, 0).unit
        agreeing, bounds = total.vector(AGREEING), total.vector(BOUNDS)
        scores, low, high = (np.eye(options.arrays) for _ in range(3))
        for (i, j), count, (least, most) in zip(options.pairs, agreeing.tolist(), bounds.tolist(), strict=True):
            for matrix, value in ((scores, count / unit), (low, least), (high, most)):
                matrix[i, j] = matrix[j, i] = value
        figures: dict[str, Any] = {
            "scores": scores.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "order": dendrogram_order(scores),
        }
        if options.difference is not None:
            figures["differences"] = contrasts.shown(total, options, pair.shape.rows, pair.groups)
        return Outcome(None, None, figures=figures)

    def _length(self, options: MatrixOptions) -> int:
        return comb(options.arrays, 2) + len(options.others)

    def _each_seconds(self, shape: PairShape, options: MatrixOptions) -> float:
        statistic = _statistic(shape, options, 0)
        exact = contrasts.seconds(shape, options) * len(options.others) / max(1, self._length(options))
        return statistic.statistic_seconds + INTERVAL_UNIT * statistic.design.units + exact


MATRIX = Matrix()
registry.register(MATRIX, listed=False)


@dataclass(frozen=True)
class _Designed:
    """Profiles of the arrays of a grid on one design."""

    grid: Grid
    drawn: Drawn
    options: MatrixOptions
    checkpoint: Checkpoint

    def profile(self, place: int) -> Profile:
        one = self.grid.x[place]
        return kept_profiles.profile(one, self.drawn, one.precision, self.checkpoint)

    def compare(self, i: int, j: int) -> tuple[int, float, float]:
        """Count what agrees, and bound the score of all comparisons."""
        one, other = self.profile(i), self.profile(j)
        count = profiles.agreeing(one, other)
        bounds = self._bounds(one, other, count)
        return count, bounds.low, bounds.high

    def _bounds(self, one: Profile, other: Profile, count: int) -> Interval:
        design = self.drawn.design
        if design.stream.single:
            counts = AgreementCounts(concordant=count, discordant=design.comparisons - count)
            return intervals.clopper_pearson(counts, self.options.confidence)
        units = profiles.agreeing_by_unit(one, other)
        return betting.interval(units, design.each, self.options.confidence)


def _statistic(shape: PairShape, options: MatrixOptions, seed: int) -> DesignStatistic:
    inner = registry.find(options.inner.measure, options.inner.method)
    found = inner.null(shape, options.inner, seed, own=True)
    if not isinstance(found, DesignStatistic):
        raise TypeError(f"{inner.measure} ({inner.method}) has no sampling design")
    return found
