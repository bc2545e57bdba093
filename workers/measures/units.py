"""Scores estimated from units of many comparisons that share rows: for equal time, far narrower intervals."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import model_validator

from ordsim_core import betting, sampling
from workers import costs
from workers.measures import cutting, looking, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import QSI, TSI, OfEither, outcome, to_partial, with_population
from workers.measures.protocol import MeasureOptions
from workers.measures.sizes import UNITS_LIMIT, Members, Never, Units, Width

if TYPE_CHECKING:
    from ordsim_core.intervals import Interval
    from workers.measures.protocol import Budget, Checkpoint, NullStatistic, Outcome, Pair, PairFacts, PairShape, Shard
    from workers.partials import Partial

AGREEING = "agreeing"
"""Agreeing comparisons of every unit, in the order in which they were drawn."""
FIRST_UNITS = 200
LONGEST_UNITS = 50_000


class UnitsOptions(MeasureOptions):
    """Options of a measure by units: how many, or how narrow the interval is to be.

    Attributes
    ----------
    units : int or None
        Number of units drawn.
    width : float or None
        Draw until the interval is this narrow; it holds although it was looked at again and again.
    per_anchor : False
        Units do not give scores of all anchors.
    """

    method: Literal["units"]
    units: Units | None = None
    width: Width | None = None
    per_anchor: Never = False

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.units is None and self.width is None:
            raise ValueError("units is missing: send units, or width")
        if self.units is not None and self.width is not None:
            raise ValueError("units and width exclude each other: send one form or the other")
        return self

    @property
    def draws(self) -> int:
        """Number of units to draw: with a width, the most."""
        if self.units is not None:
            return self.units
        if self.width is None:
            raise ValueError("units or width is needed")
        return min(looking.most_draws(self.width), UNITS_LIMIT)


class TsiUnitsOptions(UnitsOptions):
    """Options of TSI by units: an anchor with `targets` targets, all of whose pairs are compared."""

    measure: Literal["tsi"]
    targets: Members = 32


class QsiUnitsOptions(UnitsOptions):
    """Options of QSI by units: `pairs` pairs that share no row, each compared with each."""

    measure: Literal["qsi"]
    pairs: Members = 32


class UnitsMeasure(OfEither):
    """A score estimated from independent units."""

    method = "units"
    described = "from units of comparisons that share rows"
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1

    def rows_needed(self, options: Any) -> int:
        """Rows in one unit, all different."""
        members = self._members(options)
        return 1 + members if self.kind is TSI else 2 * members

    def comparisons(self, shape: PairShape, options: UnitsOptions) -> int:  # noqa: ARG002
        """All pairs of members of every unit."""
        return options.draws * self._each(options)

    def seconds(self, shape: PairShape, options: UnitsOptions) -> float:
        """Estimate the time of all units."""
        return options.draws * self._unit_seconds(shape, options)

    def memory(self, shape: PairShape, options: UnitsOptions, budget: Budget) -> int:  # noqa: ARG002
        """A few thousand comparisons are drawn at a time; of every unit a shard keeps its count."""
        return costs.SAMPLES_BYTES + 64 * self._members(options) ** 2

    def shards(self, shape: PairShape, options: UnitsOptions, budget: Budget) -> list[Shard]:
        """Cut the stream into ranges of about as long as the budget says, or between looks at the interval."""
        if options.width is not None:
            return looking.shards(options.draws, self._each(options), FIRST_UNITS, LONGEST_UNITS)
        return cutting.shards(options.draws, self._unit_seconds(shape, options), budget.seconds, self._each(options))

    def partial(self, pair: Pair, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Count one range of the stream, tile by tile."""
        tiles = []
        for start, stop in cutting.tiles(shard, self._unit_seconds(pair.shape, options)):
            checkpoint()
            tiles.append(self.kind.units(pair.x, pair.y, seed, start, stop, self._members(options)))
        agreeing = np.concatenate([tile.agreeing for tile in tiles])
        return to_partial(tiles, {AGREEING: {shard.start: agreeing}})

    def sequential(self, options: UnitsOptions) -> bool:
        """Whether a width was asked for."""
        return options.width is not None

    def enough(self, total: Partial, pair: PairFacts, options: UnitsOptions, confidence: float) -> bool:  # noqa: ARG002
        """Whether the interval is as narrow as was asked for."""
        if options.width is None:
            return False
        interval = betting.sequential(total.vector(AGREEING), self._each(options), confidence)
        return looking.width(interval) <= options.width

    def null(self, shape: PairShape, options: UnitsOptions, seed: int, *, own: bool) -> NullStatistic:
        """The first of the units that are drawn, or all of them."""
        units = options.draws if own else min(options.draws, ordinal_nulls.UNITS)
        return ordinal_nulls.of_units(self.kind, shape, seed, units, self._members(options))

    def finish(self, total: Partial, pair: PairFacts, options: UnitsOptions, confidence: float) -> Outcome:
        """Score the units; they are independent, the comparisons in one are not."""
        counts, each = total.counts, self._each(options)
        agreeing = total.vector(AGREEING)
        if options.width is None:
            require_all_comparisons(f"{self.measure} units", counts, options.draws * each)

        def bounds(level: float) -> Interval:
            return (betting.sequential if options.width is not None else betting.interval)(agreeing, each, level)

        return outcome(self.kind, total, pair, with_population(self.kind, pair, confidence, bounds))

    def _members(self, options: Any) -> int:
        return int(getattr(options, self.kind.members))

    def _each(self, options: Any) -> int:
        return comb(self._members(options), 2)

    def _unit_seconds(self, shape: PairShape, options: Any) -> float:
        return costs.unit_seconds(shape, self._members(options))


UNITS = (UnitsMeasure(TSI, TsiUnitsOptions), UnitsMeasure(QSI, QsiUnitsOptions))
