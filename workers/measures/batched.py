"""Scores as the mean over random batches of rows, each scored exactly (the B- scheme of Soares et al. 2026)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ordsim_core import quadruplets, sampling, spaces, triplets
from workers import costs
from workers.measures import cutting, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import QSI, TSI, OfEither, outcome, to_partial
from workers.measures.protocol import MeasureOptions, NoInterval, Shard
from workers.measures.sizes import Never

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ordsim_core.strips import ExactQuadruplets
    from ordsim_core.triplets import AnchorBlock
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape
    from workers.partials import Partial

BATCHES_LIMIT = 10**7
TSI_BATCH_LIMIT = 1 << 16
QSI_BATCH_LIMIT = 1 << 12

NO_GUARANTEE = "No interval with a guarantee is known for the mean over batches."


class BatchedOptions(MeasureOptions):
    """Options of a batched measure.

    Attributes
    ----------
    batches : int
        How many batches are drawn, independently of one another.
    batch_size : int
        Rows in a batch, all different.
    per_anchor : False
        Batches do not give scores of single anchors.
    """

    method: Literal["batched"]
    batches: Annotated[int, Field(ge=1, le=BATCHES_LIMIT, strict=True)]
    batch_size: int
    per_anchor: Never = False


class TsiBatchedOptions(BatchedOptions):
    """Options of batched TSI."""

    measure: Literal["tsi"]
    batch_size: Annotated[int, Field(ge=3, le=TSI_BATCH_LIMIT, strict=True)]


class QsiBatchedOptions(BatchedOptions):
    """Options of batched QSI."""

    measure: Literal["qsi"]
    batch_size: Annotated[int, Field(ge=4, le=QSI_BATCH_LIMIT, strict=True)]


class Batched(OfEither):
    """The mean of exact scores of random batches, which all make the same number of comparisons."""

    method = "batched"
    described = "as the mean over exactly scored random batches"
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1

    def rows_needed(self, options: BatchedOptions) -> int:
        """As many as a batch has."""
        return options.batch_size

    def comparisons(self, shape: PairShape, options: BatchedOptions) -> int:  # noqa: ARG002
        """All comparisons of every batch."""
        return options.batches * self.kind.population(options.batch_size)

    def seconds(self, shape: PairShape, options: BatchedOptions) -> float:
        """Estimate the time of all batches."""
        return options.batches * self._batch_seconds(shape, options)

    def memory(self, shape: PairShape, options: BatchedOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what one batch takes, prepared and counted, and the order in which its rows are drawn."""
        batch = costs.batch_shape(shape, options.batch_size)
        counting = costs.anchor_bytes(batch)
        if self.kind is QSI:
            counting = max(counting, costs.all_pairs_bytes(batch))
        return costs.selected_bytes(batch) + max(counting, costs.preparing_bytes(batch)) + 32 * shape.rows

    def shards(self, shape: PairShape, options: BatchedOptions, budget: Budget) -> list[Shard]:
        """Cut the batches into ranges of about as long as the budget says."""
        each = self.kind.population(options.batch_size)
        return cutting.shards(options.batches, self._batch_seconds(shape, options), budget.seconds, each)

    def partial(self, pair: Pair, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Score the batches one by one."""
        return to_partial(self._counted(pair, shard, options.batch_size, seed, checkpoint))

    def _counted(
        self, pair: Pair, shard: Shard, size: int, seed: int, checkpoint: Checkpoint
    ) -> Iterator[AnchorBlock | ExactQuadruplets]:
        anchors = Shard(0, 0, size, 0)
        anchor_seconds = costs.anchor_seconds(costs.batch_shape(pair.shape, size))
        for index in range(shard.start, shard.stop):
            checkpoint()
            rows = sampling.batch(seed, index, size, pair.x.rows)
            x, y = (spaces.select(side, rows, checkpoint) for side in (pair.x, pair.y))
            if self.kind is QSI:
                yield quadruplets.exact_counts(x, y, checkpoint=checkpoint)
                continue
            for start, stop in cutting.tiles(anchors, anchor_seconds):
                checkpoint()
                yield triplets.exact_block(x, y, start, stop)

    def null(self, shape: PairShape, options: BatchedOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """All comparisons, or a design of units."""
        if own:
            return None
        return ordinal_nulls.of_everything(self.kind, shape, seed, own=False)

    def finish(self, total: Partial, pair: PairFacts, options: BatchedOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Give the mean, which is the share of all comparisons made."""
        require_all_comparisons(f"{self.measure} batched", total.counts, self.comparisons(pair.shape, options))
        return outcome(self.kind, total, pair, {"sampling": NoInterval(NO_GUARANTEE)})

    def _batch_seconds(self, shape: PairShape, options: BatchedOptions) -> float:
        batch = costs.batch_shape(shape, options.batch_size)
        counting = options.batch_size * costs.anchor_seconds(batch)
        if self.kind is QSI:
            counting += costs.all_pairs_seconds(batch)
        return costs.select_seconds(batch) + counting


BATCHED = (Batched(TSI, TsiBatchedOptions), Batched(QSI, QsiBatchedOptions))
