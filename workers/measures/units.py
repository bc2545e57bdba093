"""Scores estimated from units of many comparisons that share rows: for equal time, far narrower intervals."""

from __future__ import annotations

from functools import partial as bind
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
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape, Shard
    from workers.partials import Partial

AGREEING = "agreeing"
"""Agreeing comparisons of every unit, in the order in which they were drawn."""
TALLY = "tally"
"""How many units have 0, 1, ... agreeing comparisons: all that an interval needs that may be looked at at any time."""
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
    """Options of TSI by units.

    Attributes
    ----------
    targets : int
        Rows beside the anchor of a unit, all of whose pairs are compared.
    """

    measure: Literal["tsi"]
    targets: Members = 32


class QsiUnitsOptions(UnitsOptions):
    """Options of QSI by units.

    Attributes
    ----------
    pairs : int
        Pairs of a unit, which share no row, each compared with each.
    """

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

    def memory(self, shape: PairShape, options: UnitsOptions, budget: Budget) -> int:
        """Bound what is drawn at a time, of which all may be in doubt, and what a shard keeps of every unit."""
        each = self._each(options)
        units = cutting.longest(options.draws, self._unit_seconds(shape, options), budget.seconds)
        return costs.SAMPLES_BYTES + 16 * each + 32 * (each if options.width is not None else units)

    def shards(self, shape: PairShape, options: UnitsOptions, budget: Budget) -> list[Shard]:
        """Cut the stream into ranges of about as long as the budget says, or between looks at the interval."""
        if options.width is not None:
            each = self._each(options)
            return looking.shards(options.draws, each, FIRST_UNITS, LONGEST_UNITS, ledger_bytes=8 * each)
        return cutting.shards(options.draws, self._unit_seconds(shape, options), budget.seconds, self._each(options))

    def partial(self, pair: Pair, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Count one range of the stream, tile by tile."""
        tiles = []
        for start, stop in cutting.tiles(shard, self._unit_seconds(pair.shape, options)):
            checkpoint()
            tiles.append(self.kind.units(pair.x, pair.y, seed, start, stop, self._members(options)))
        agreeing = np.concatenate([tile.agreeing for tile in tiles])
        if options.width is not None:
            return to_partial(tiles, sums={TALLY: np.bincount(agreeing, minlength=self._each(options) + 1)})
        return to_partial(tiles, {AGREEING: {shard.start: agreeing}})

    def sequential(self, options: UnitsOptions) -> bool:
        """Whether a width was asked for."""
        return options.width is not None

    def enough(self, total: Partial, pair: PairFacts, options: UnitsOptions, confidence: float) -> bool:  # noqa: ARG002
        """Whether the interval is as narrow as was asked for, if it is time to look at it."""
        drawn = total.counts.comparisons // self._each(options)
        if options.width is None or drawn not in looking.looks(options.draws, FIRST_UNITS):
            return False
        return looking.width(betting.sequential_tally(total.sums[TALLY], confidence)) <= options.width

    def null(self, shape: PairShape, options: UnitsOptions, seed: int, *, own: bool) -> NullStatistic:
        """The first of the units that are drawn, or all of them."""
        units = options.draws if own else min(options.draws, ordinal_nulls.UNITS)
        return ordinal_nulls.of_units(self.kind, shape, seed, units, self._members(options))

    def finish(self, total: Partial, pair: PairFacts, options: UnitsOptions, confidence: float) -> Outcome:
        """Score the units; they are independent, the comparisons in one are not."""
        each = self._each(options)
        if options.width is not None:
            tally = total.sums[TALLY]
            require_all_comparisons(f"{self.measure} units", total.counts, int(tally.sum()) * each)
            bounds = bind(betting.sequential_tally, tally)
        else:
            require_all_comparisons(f"{self.measure} units", total.counts, options.draws * each)
            bounds = bind(betting.interval, total.vector(AGREEING), each)
        return outcome(self.kind, total, pair, with_population(self.kind, pair, confidence, bounds))

    def _members(self, options: Any) -> int:
        return int(getattr(options, self.kind.members))

    def _each(self, options: Any) -> int:
        return comb(self._members(options), 2)

    def _unit_seconds(self, shape: PairShape, options: Any) -> float:
        return costs.unit_seconds(shape, self._members(options))


UNITS = (UnitsMeasure(TSI, TsiUnitsOptions), UnitsMeasure(QSI, QsiUnitsOptions))
