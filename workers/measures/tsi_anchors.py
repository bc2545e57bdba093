"""TSI of some anchors with all their targets: anchors are drawn without replacement."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ordsim_core import betting, concordance, sampling, triplets
from workers import costs
from workers.measures import cutting, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import TSI, outcome, to_partial, with_population
from workers.measures.protocol import Measure, MeasureOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.intervals import Interval
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape, Shard
    from workers.partials import Partial

AGREEING = "agreeing"
"""Agreeing comparisons of each anchor, in the order in which they were drawn."""
PER_ANCHOR = "per_anchor"
ANCHORS = "anchors"


class TsiAnchorsOptions(MeasureOptions):
    """Options of TSI by anchors.

    Attributes
    ----------
    anchors : int
        How many rows are anchors, at most all.
    per_anchor : bool
        Also return the TSI of each anchor, and which rows they are, as the artifacts per_anchor and anchors.
    """

    measure: Literal["tsi"]
    method: Literal["anchors"]
    anchors: Annotated[int, Field(ge=1, le=concordance.ELEMENTS_LIMIT, strict=True)]
    per_anchor: bool = Field(default=False, strict=True)


class TsiAnchors(Measure):
    """TSI estimated from all comparisons of some anchors."""

    measure = "tsi"
    method = "anchors"
    title = "Triplet Similarity Index of sampled anchors with all their targets"
    minimum_rows = 3
    maximum_rows: int | None = concordance.ELEMENTS_LIMIT
    options: type[MeasureOptions] = TsiAnchorsOptions

    def rows_needed(self, options: TsiAnchorsOptions) -> int:
        """As many as there are to be anchors."""
        return max(self.minimum_rows, options.anchors)

    def comparisons(self, shape: PairShape, options: TsiAnchorsOptions) -> int:
        """All pairs of targets of every anchor."""
        return options.anchors * comb(max(shape.rows - 1, 0), 2)

    def seconds(self, shape: PairShape, options: TsiAnchorsOptions) -> float:
        """Estimate the time of all anchors that are drawn."""
        return options.anchors * costs.anchor_seconds(shape)

    def memory(self, shape: PairShape, options: TsiAnchorsOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what a tile of anchors takes, and the order in which rows are drawn."""
        return costs.anchor_bytes(shape) + 32 * shape.rows

    def shards(self, shape: PairShape, options: TsiAnchorsOptions, budget: Budget) -> list[Shard]:
        """Cut the anchors, in the order in which they are drawn, into blocks as long as the budget says."""
        pairs = comb(max(shape.rows - 1, 0), 2)
        return cutting.shards(options.anchors, costs.anchor_seconds(shape), budget.seconds, pairs)

    def partial(
        self,
        pair: Pair,
        shard: Shard,
        options: Any,  # noqa: ARG002
        seed: int,
        checkpoint: Checkpoint,
    ) -> Partial:
        """Count the block's anchors, tile by tile."""
        anchors = _drawn(seed, pair.x.rows)
        blocks = []
        for start, stop in cutting.tiles(shard, costs.anchor_seconds(pair.shape)):
            checkpoint()
            blocks.append(triplets.exact_anchors(pair.x, pair.y, anchors[start:stop]))
        pieces = {
            AGREEING: {shard.start: np.concatenate([block.agreeing for block in blocks])},
            ANCHORS: {shard.start: anchors[shard.start : shard.stop]},
        }
        return to_partial(blocks, pieces)

    def null(self, shape: PairShape, options: TsiAnchorsOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """All triplets, or a design of units."""
        if own:
            return None
        return ordinal_nulls.of_everything(TSI, shape, seed, own=False)

    def finish(self, total: Partial, pair: PairFacts, options: TsiAnchorsOptions, confidence: float) -> Outcome:
        """Score the anchors that were drawn; with all of them the interval is a point."""
        rows, counts = pair.shape.rows, total.counts
        each = comb(rows - 1, 2)
        require_all_comparisons("tsi anchors", counts, options.anchors * each)
        agreeing = total.vector(AGREEING)

        def bounds(level: float) -> Interval:
            return betting.without_replacement(agreeing, each, rows, level)

        found = outcome(TSI, total, pair, with_population(TSI, pair, confidence, bounds))
        if not options.per_anchor:
            return found
        anchors = total.vector(ANCHORS)
        return replace(found, artifacts={PER_ANCHOR: agreeing / each, ANCHORS: anchors}, positions=anchors)


@lru_cache(maxsize=2)
def _drawn(seed: int, rows: int) -> NDArray[np.int64]:
    """Give all rows in the order in which they are drawn: the same for all shards of a job."""
    drawn = sampling.permutation(seed, rows)
    drawn.flags.writeable = False
    return drawn
