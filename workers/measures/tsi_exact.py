"""Exact TSI: every anchor with every pair of targets, sharded by blocks of anchors."""

from __future__ import annotations

from functools import partial as bind
from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ordsim_core import coincidence, concordance, drawing, intervals, jackknife, triplets
from ordsim_core.counts import AgreementCounts
from workers import costs
from workers.measures import cutting, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import REPEATED, TSI, outcome, to_partial, with_population
from workers.measures.protocol import Measure, MeasureOptions, NoInterval
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.intervals import Interval
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape, Shard

PER_ANCHOR = "per_anchor"
PER_TARGET = "per_target"
COINCIDENT = tuple(f"coincident_{kind}" for kind in ("concordant", "discordant", "tied_x", "tied_y", "tied_both"))

JACKKNIFE_ROWS = 1 << 17
"""Up to this many rows, every shard writes down the agreement of every target."""
COINCIDENT_SAMPLES = 100_000
"""Comparisons within groups that are sampled: the jackknife over groups speaks of those between them."""


class TsiExactOptions(MeasureOptions):
    """Options of exact TSI.

    Attributes
    ----------
    per_anchor : bool
        Also return the TSI of each anchor, as an artifact.
    """

    measure: Literal["tsi"]
    method: Literal["exact"]
    per_anchor: bool = Field(default=False, strict=True)


class TsiExact(Measure):
    """TSI over all N (N - 1)(N - 2) / 2 comparisons."""

    measure = "tsi"
    method = "exact"
    default = True
    title = "Triplet Similarity Index over all triplets"
    minimum_rows = 3
    maximum_rows: int | None = concordance.ELEMENTS_LIMIT
    options: type[MeasureOptions] = TsiExactOptions

    def comparisons(self, shape: PairShape, options: TsiExactOptions) -> int:  # noqa: ARG002
        """All there are."""
        return TSI.population(shape.rows)

    def seconds(self, shape: PairShape, options: TsiExactOptions) -> float:  # noqa: ARG002
        """Estimate the time of all anchors."""
        return shape.rows * costs.anchor_seconds(shape)

    def memory(self, shape: PairShape, options: TsiExactOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what a tile of anchors takes, however long the shard."""
        return costs.anchor_bytes(shape)

    def shards(self, shape: PairShape, options: TsiExactOptions, budget: Budget) -> list[Shard]:  # noqa: ARG002
        """Cut the anchors into blocks of about as long as the budget says."""
        pairs = comb(max(shape.rows - 1, 0), 2)
        written = 8 * shape.rows if shape.rows <= JACKKNIFE_ROWS else 0
        seconds = costs.anchor_seconds(shape)
        return cutting.shards(shape.rows, seconds, budget.seconds, pairs, ledger_bytes=written)

    def partial(
        self,
        pair: Pair,
        shard: Shard,
        options: TsiExactOptions,  # noqa: ARG002
        seed: int,
        checkpoint: Checkpoint,
    ) -> Partial:
        """Count the block's anchors, tile by tile."""
        per_target = pair.x.rows <= JACKKNIFE_ROWS
        blocks = []
        sums = {PER_TARGET: np.zeros(pair.x.rows, np.int64)} if per_target else {}
        for start, stop in cutting.tiles(shard, costs.anchor_seconds(pair.shape)):
            checkpoint()
            block = triplets.exact_block(pair.x, pair.y, start, stop, per_target)
            if block.targets is not None:
                sums[PER_TARGET] += block.targets
            blocks.append(block)
        pieces = {PER_ANCHOR: {shard.start: np.concatenate([block.agreeing for block in blocks])}}
        counted = to_partial(blocks, pieces, sums)
        return counted + _coincident(pair, seed) if shard.start == 0 and per_target else counted

    def null(self, shape: PairShape, options: TsiExactOptions, seed: int, *, own: bool) -> NullStatistic:  # noqa: ARG002
        """All triplets, or a design of units."""
        return ordinal_nulls.of_everything(TSI, shape, seed, own=own)

    def finish(self, total: Partial, pair: PairFacts, options: TsiExactOptions, confidence: float) -> Outcome:
        """Score all comparisons; nothing was sampled, so the sampling interval is a point."""
        rows, counts = pair.shape.rows, total.counts
        require_all_comparisons("tsi exact", counts, TSI.population(rows))
        agreeing = total.vector(PER_ANCHOR)
        if agreeing.shape != (rows,) or intervals.exact_sum(agreeing) != counts.agreeing:
            raise RuntimeError("tsi exact: the counts per anchor do not add up to the counts of all comparisons")
        found = with_population(TSI, pair, confidence, bind(intervals.exact, counts))
        found["jackknife"] = _jackknife(total, pair, confidence)
        artifacts = {PER_ANCHOR: agreeing / comb(rows - 1, 2)} if options.per_anchor else {}
        return outcome(TSI, total, pair, found, artifacts)


def _coincident(pair: Pair, seed: int) -> Partial:
    """Sample the comparisons of rows that are not of three different groups, where there are any."""
    if pair.groups is None or coincidence.population(np.bincount(pair.groups)) == 0:
        return Partial()
    drawn = coincidence.triplets(pair.groups, seed, COINCIDENT_SAMPLES).take((0, 1, 0, 2), axis=1)
    counted = drawing.count_tuples(pair.x, pair.y, lambda start, stop: drawn[start:stop], 0, len(drawn)).counts
    kinds = (counted.concordant, counted.discordant, counted.tied_x, counted.tied_y, counted.tied_both)
    return Partial(tally=dict(zip(COINCIDENT, kinds, strict=True)))


def _jackknife(total: Partial, pair: PairFacts, confidence: float) -> Interval | NoInterval:
    rows = pair.shape.rows
    if rows > JACKKNIFE_ROWS:
        return NoInterval(f"The agreement of every target is kept for at most {JACKKNIFE_ROWS} rows.")
    if pair.groups is not None and len(np.unique(pair.groups)) < 3:
        return NoInterval("A jackknife over groups needs at least 3 of them.")
    if pair.repeated and pair.groups is None:
        return NoInterval(REPEATED)
    coincident = AgreementCounts(*(total.tally.get(kind, 0) for kind in COINCIDENT))
    targets: NDArray[np.int64] = total.sums[PER_TARGET]
    return jackknife.interval(
        total.vector(PER_ANCHOR),
        targets,
        total.counts,
        confidence,
        pair.groups,
        coincident if coincident.comparisons else None,
    )
