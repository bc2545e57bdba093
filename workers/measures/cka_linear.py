"""CKA with a linear kernel, from moments of blocks of rows: memory does not grow with the rows."""

from __future__ import annotations

from functools import partial as bind
from math import comb
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from ordsim_core.cosine import linear, minibatch
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.plan import prepare
from ordsim_core.nulls.features import Kind
from workers import costs
from workers.measures import cutting, linear_blocks
from workers.measures.protocol import VALUES, Measure, MeasureOptions, NoInterval, Outcome, Shard
from workers.measures.value_nulls import FeatureStatistic
from workers.partials import Partial

if TYPE_CHECKING:
    from ordsim_core.cosine.linear import LinearResult
    from ordsim_core.cosine.plan import LinearPlan
    from workers.measures.given import NullStatistic, Values
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape

MINIBATCH = "minibatch"
BATCHES = "batches"
BATCHES_LIMIT = 10**7
BATCH_SIZE_LIMIT = 1 << 13

NO_GUARANTEE = "No interval with a guarantee is known for the mean over batches."


class CkaLinearOptions(MeasureOptions):
    """Options of linear CKA.

    Attributes
    ----------
    estimator : str
        "biased" (Kornblith et al. 2019), "debiased" (HSIC1, Song et al. 2012), or "minibatch" (Nguyen et al. 2021).
    batches : int or None
        Of minibatch alone: how many batches; None for as many as the rows make.
    batch_size : int or None
        Of minibatch alone: rows in a batch.
    """

    measure: Literal["cka"]
    method: Literal["linear"]
    kernel: Literal["linear"] = "linear"
    estimator: Literal["biased", "debiased", "minibatch"] = "biased"
    batches: Annotated[int, Field(ge=1, le=BATCHES_LIMIT, strict=True)] | None = None
    batch_size: Annotated[int, Field(ge=4, le=BATCH_SIZE_LIMIT, strict=True)] | None = None

    @model_validator(mode="after")
    def _batches_of_minibatch(self) -> Self:
        if self.estimator == MINIBATCH and self.batch_size is None:
            raise ValueError("batch_size is missing: minibatch needs it")
        if self.estimator != MINIBATCH and not (self.batch_size is None and self.batches is None):
            raise ValueError(f"batches and batch_size are of minibatch: leave them out with {self.estimator}")
        return self

    @property
    def statistic(self) -> Statistic:
        """What the cosine is taken of; batches are debiased."""
        return Statistic.BIASED if self.estimator == "biased" else Statistic.DEBIASED

    def drawn(self, rows: int) -> tuple[int, int]:
        """How many batches there are, of how many rows."""
        if self.batch_size is None:
            raise ValueError("batch_size is needed")
        return (rows // self.batch_size if self.batches is None else self.batches), self.batch_size


class CkaLinear(Measure):
    """Linear CKA: biased, debiased, or as the mean over debiased batches."""

    measure = "cka"
    method = "linear"
    title = "Centered Kernel Alignment with a linear kernel"
    minimum_rows = 2
    maximum_rows: int | None = None
    options: type[MeasureOptions] = CkaLinearOptions
    needs = VALUES
    streams = True
    uses_distance = False
    default = True
    chosen_by = "kernel"

    def rows_needed(self, options: CkaLinearOptions) -> int:
        """Four for what is debiased, a whole batch for batches."""
        return options.batch_size or options.statistic.minimum_rows

    def comparisons(self, shape: PairShape, options: CkaLinearOptions) -> int:
        """All pairs of rows, of each batch if there are batches."""
        if options.estimator != MINIBATCH:
            return comb(shape.rows, 2)
        batches, size = options.drawn(shape.rows)
        return batches * comb(size, 2)

    def seconds(self, shape: PairShape, options: CkaLinearOptions) -> float:
        """Estimate the time of all blocks or batches, and of one look at all rows."""
        if options.estimator != MINIBATCH:
            return linear_blocks.seconds(shape)
        batches, _ = options.drawn(shape.rows)
        return linear_blocks.look_seconds(shape) + batches * self._batch_seconds(shape, options)

    def memory(self, shape: PairShape, options: CkaLinearOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what one block or batch takes: neither can be cut smaller."""
        if options.estimator != MINIBATCH:
            return linear_blocks.memory(shape)
        _, size = options.drawn(shape.rows)
        columns = max(shape.x_columns, shape.y_columns)
        grams = 8 * min(size, columns) * max(min(size, columns), columns)
        return 32 * shape.rows + 64 * size * columns + 8 * grams + linear_blocks.PILOT_BYTES

    def shards(self, shape: PairShape, options: CkaLinearOptions, budget: Budget) -> list[Shard]:
        """Cut the rows into blocks that follow from the shape alone, or the batches by what they cost."""
        if options.estimator != MINIBATCH:
            return linear_blocks.shards(shape)
        batches, size = options.drawn(shape.rows)
        return cutting.shards(batches, self._batch_seconds(shape, options), budget.seconds, comb(size, 2))

    def partial(
        self, pair: Values, shard: Shard, options: CkaLinearOptions, seed: int, checkpoint: Checkpoint
    ) -> Partial:
        """Sum one block, or the batches of one shard."""
        plan = self._plan(pair, options, checkpoint)
        if options.estimator != MINIBATCH:
            found = linear.block(pair.x, pair.y, plan, shard.start, shard.stop, checkpoint)
            return linear_blocks.to_partial(plan, shard, found)
        _, size = options.drawn(len(pair.x))
        lines = minibatch.batch_lines(pair.x, pair.y, plan, seed, shard.start, shard.stop, size, checkpoint)
        facts = linear_blocks.facts_of(plan)
        return Partial(pieces={BATCHES: {shard.start: lines}, linear_blocks.FACTS: {shard.start: facts}})

    def null(self, shape: PairShape, options: CkaLinearOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """The score from products of columns; for batches that of all rows, debiased."""
        if own and options.estimator == MINIBATCH:
            return None
        kind = Kind.CKA if options.estimator == "biased" else Kind.CKA_DEBIASED
        estimator = "biased" if kind is Kind.CKA else "debiased"
        return FeatureStatistic(shape, kind, {"measure": "cka", "kernel": "linear", "estimator": estimator})

    def finish(self, total: Partial, pair: PairFacts, options: CkaLinearOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Turn all sums into a cosine."""
        if options.estimator != MINIBATCH:
            return outcome(linear_blocks.result(total, pair.shape, options.statistic))
        lines = total.vector(BATCHES)
        batches, _ = options.drawn(pair.shape.rows)
        if len(lines) != batches:
            raise RuntimeError(f"cka minibatch: the shards have {len(lines)} batches instead of {batches}")
        _, constant, equal = linear_blocks.facts(total)
        return outcome(minibatch.from_lines(constant, equal, lines), intervals={"sampling": NoInterval(NO_GUARANTEE)})

    def _plan(self, pair: Values, options: CkaLinearOptions, checkpoint: Checkpoint) -> LinearPlan:
        if options.estimator == MINIBATCH:
            return pair.memo("minibatch", bind(minibatch.plan_batches, pair.x, pair.y, checkpoint))
        statistic = options.statistic
        return pair.memo(f"linear {statistic}", bind(prepare, pair.x, pair.y, statistic, checkpoint))

    def _batch_seconds(self, shape: PairShape, options: CkaLinearOptions) -> float:
        batches, size = options.drawn(shape.rows)
        # Every pass over the rows draws a permutation of all of them.
        drawing = linear_blocks.DRAW * shape.rows / max(1, min(batches, shape.rows // size))
        return drawing + linear_blocks.sum_seconds(costs.batch_shape(shape, size))


def outcome(found: LinearResult, intervals: dict[str, NoInterval] | None = None) -> Outcome:
    """Show what was found, with the route taken and its condition numbers."""
    return Outcome(
        score=found.score,
        deficit=found.deficit,
        reason=found.reason,
        naive_deficit=found.naive_deficit,
        intervals=intervals or {},
        figures=linear_blocks.figures(found),
        cautions=() if found.score is None else linear_blocks.cautions(found.route, found.relative_error),
    )
