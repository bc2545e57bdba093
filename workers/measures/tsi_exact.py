"""Exact TSI: every anchor with every pair of targets, sharded by blocks of anchors."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ordsim_core import concordance, intervals, triplets
from ordsim_core.counts import AgreementCounts, triplet_population
from workers import costs
from workers.measures import cutting
from workers.measures.checks import require_all_comparisons
from workers.measures.protocol import MeasureOptions, Outcome, PairShape
from workers.partials import Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.measures.protocol import Checkpoint, Pair, PairFacts, Shard

PER_ANCHOR = "per_anchor"


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


class TsiExact:
    """TSI over all N (N - 1)(N - 2) / 2 comparisons."""

    measure = "tsi"
    method = "exact"
    title = "Triplet Similarity Index over all triplets"
    minimum_rows = 3
    maximum_rows: int | None = concordance.ELEMENTS_LIMIT
    options: type[MeasureOptions] = TsiExactOptions

    def shards(self, shape: PairShape, options: TsiExactOptions, seconds: float) -> list[Shard]:  # noqa: ARG002
        """Cut the anchors into blocks of about `seconds`."""
        pairs = comb(max(shape.rows - 1, 0), 2)
        return cutting.shards(shape.rows, costs.anchor_seconds(shape), seconds, pairs)

    def partial(
        self,
        pair: Pair,
        shard: Shard,
        options: TsiExactOptions,
        seed: int,  # noqa: ARG002
        checkpoint: Checkpoint,
    ) -> Partial:
        """Count the block's anchors, tile by tile."""
        shape = PairShape(pair.x.rows, pair.x.columns, pair.y.columns)
        counts = AgreementCounts()
        agreeing: list[NDArray[np.int64]] = []
        for start, stop in cutting.tiles(shard, costs.anchor_seconds(shape)):
            checkpoint()
            block = triplets.exact_block(pair.x, pair.y, start, stop)
            counts += block.counts
            agreeing.append(block.agreeing)
        if not options.per_anchor:
            return Partial(counts)
        return Partial(counts, {PER_ANCHOR: {shard.start: np.concatenate(agreeing)}})

    def finish(self, total: Partial, pair: PairFacts, options: TsiExactOptions, confidence: float) -> Outcome:
        """Score all comparisons; nothing was sampled, so the sampling interval is a point."""
        rows = pair.shape.rows
        population = triplet_population(rows)
        require_all_comparisons("tsi exact", total.counts, population)
        artifacts = {PER_ANCHOR: _per_anchor(total, rows)} if options.per_anchor else {}
        return Outcome(
            score=total.counts.score,
            deficit=total.counts.deficit,
            counts=total.counts,
            population=population,
            precision="exact" if pair.exact_order else "float64",
            intervals={"sampling": intervals.exact(total.counts, confidence)},
            artifacts=artifacts,
        )


def _per_anchor(total: Partial, rows: int) -> NDArray[np.float64]:
    agreeing = total.vector(PER_ANCHOR)
    if agreeing.shape != (rows,) or int(agreeing.sum(dtype=object)) != total.counts.agreeing:
        raise RuntimeError("tsi exact: the counts per anchor do not add up to the counts of all comparisons")
    return agreeing.astype(np.float64) / comb(rows - 1, 2)
