"""Orthogonal Procrustes similarity from blocks of rows, or their triangular factors."""

from __future__ import annotations

from functools import partial as bind
from math import comb
from typing import TYPE_CHECKING, Literal

from ordsim_core.cosine import procrustes
from ordsim_core.nulls.features import Kind
from workers.measures import linear_blocks
from workers.measures.protocol import VALUES, Measure, MeasureOptions, Outcome
from workers.measures.value_nulls import FeatureStatistic
from workers.partials import Partial

if TYPE_CHECKING:
    from workers.measures.given import NullStatistic, Values
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape, Shard

FACTOR_TIMES = 6
"""Multiply moments take that triangular factors take."""


class ProcrustesOptions(MeasureOptions):
    """Procrustes has no options."""

    measure: Literal["procrustes"]
    method: Literal["exact"]


class Procrustes(Measure):
    """1 less half the squared distance of centred arrays of unit norm, the best rotation between them."""

    measure = "procrustes"
    method = "exact"
    title = "Orthogonal Procrustes similarity"
    minimum_rows = 2
    maximum_rows: int | None = None
    options: type[MeasureOptions] = ProcrustesOptions
    needs = VALUES
    uses_distance = False
    default = True

    def comparisons(self, shape: PairShape, options: ProcrustesOptions) -> int:  # noqa: ARG002
        """All pairs of rows."""
        return comb(shape.rows, 2)

    def seconds(self, shape: PairShape, options: ProcrustesOptions) -> float:  # noqa: ARG002
        """Estimate the time of all blocks."""
        return linear_blocks.look_seconds(shape) + FACTOR_TIMES * linear_blocks.sum_seconds(shape)

    def memory(self, shape: PairShape, options: ProcrustesOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what one block takes."""
        return linear_blocks.memory(shape)

    def shards(self, shape: PairShape, options: ProcrustesOptions, budget: Budget) -> list[Shard]:  # noqa: ARG002
        """Cut the rows into blocks that follow from the shape alone."""
        return linear_blocks.shards(shape)

    def partial(
        self,
        pair: Values,
        shard: Shard,
        options: ProcrustesOptions,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        checkpoint: Checkpoint,
    ) -> Partial:
        """Give rows of one block, or their factor."""
        plan = pair.memo("procrustes", bind(procrustes.plan_rows, pair.x, pair.y, checkpoint))
        lines = procrustes.block_rows(pair.x, pair.y, plan, shard.start, shard.stop, checkpoint)
        return Partial(
            pieces={
                linear_blocks.FACTS: {shard.start: linear_blocks.facts_of(plan)},
                linear_blocks.LINES: {shard.start: lines},
            }
        )

    def null(self, shape: PairShape, options: ProcrustesOptions, seed: int, *, own: bool) -> NullStatistic:  # noqa: ARG002
        """The score from products of columns."""
        return FeatureStatistic(shape, Kind.PROCRUSTES, {"measure": "procrustes"})

    def finish(self, total: Partial, pair: PairFacts, options: ProcrustesOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Find the best rotation, and the distance that it leaves."""
        linear_blocks.require_all(total, pair.shape)
        route, constant, equal = linear_blocks.facts(total)
        lines = total.pieces[linear_blocks.LINES]
        found = procrustes.result(route, constant, equal, pair.shape.rows, [lines[start] for start in sorted(lines)])
        figures = {
            "route": found.route,
            "disparity": found.disparity,
            "relativeError": linear_blocks.finite(found.relative_error),
        }
        return Outcome(
            score=found.score,
            deficit=found.deficit,
            reason=found.reason,
            naive_deficit=found.naive_deficit,
            figures=figures,
            cautions=linear_blocks.cautions(found.route, found.relative_error),
        )
