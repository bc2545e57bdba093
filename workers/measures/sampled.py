"""Scores estimated from independent tuples: by number, by precision, or until the interval is narrow enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from ordsim_core import intervals, sampling
from workers import costs
from workers.measures import cutting, looking, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import QSI, TSI, OfEither, outcome, to_partial, with_population
from workers.measures.protocol import MeasureOptions
from workers.measures.sizes import DRAWS_LIMIT, Draws, Never, Probability, Width

if TYPE_CHECKING:
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape, Shard
    from workers.partials import Partial


class SampledOptions(MeasureOptions):
    """Options of a sampled measure: how many tuples to draw, said outright or by the precision wanted.

    Attributes
    ----------
    samples : int or None
        Number of tuples drawn.
    epsilon, delta : float or None
        Draw as many as make the score wrong by more than `epsilon` with probability at most `delta`.
    width : float or None
        Draw until the interval is this narrow; it holds although it was looked at again and again.
    per_anchor : False
        Samples do not give scores of single anchors.
    """

    method: Literal["sampled"]
    samples: Draws | None = None
    epsilon: Probability | None = None
    delta: Probability | None = None
    width: Width | None = None
    per_anchor: Never = False

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        chosen = [name for name in ("samples", "epsilon", "width") if getattr(self, name) is not None]
        if not chosen and self.delta is None:
            raise ValueError("samples is missing: send samples, or epsilon and delta, or width")
        if len(chosen) > 1:
            raise ValueError(f"{chosen[0]} and {chosen[1]} exclude each other: send one form or the other")
        if self.samples is not None and self.delta is not None:
            raise ValueError("samples and delta exclude each other: send one form or the other")
        if self.width is not None:
            return self
        if self.samples is None:
            for field, other in (("epsilon", "delta"), ("delta", "epsilon")):
                if getattr(self, field) is None and getattr(self, other) is not None:
                    raise ValueError(f"{field} is missing: epsilon and delta go together")
        try:
            within = self.draws <= DRAWS_LIMIT
        except ArithmeticError:  # epsilon squared may underflow, 2 / delta overflow
            within = False
        if not within:
            raise ValueError(f"epsilon or delta is too small: it takes more than {DRAWS_LIMIT} samples")
        return self

    @property
    def draws(self) -> int:
        """Number of tuples to draw, whichever way it was asked for: with a width, the most."""
        if self.samples is not None:
            return self.samples
        if self.width is not None:
            return looking.most_draws(self.width)
        if self.epsilon is None or self.delta is None:
            raise ValueError("epsilon and delta go together")
        return intervals.samples_for(self.epsilon, self.delta)


class TsiSampledOptions(SampledOptions):
    """Options of sampled TSI."""

    measure: Literal["tsi"]


class QsiSampledOptions(SampledOptions):
    """Options of sampled QSI."""

    measure: Literal["qsi"]


class Sampled(OfEither):
    """A score estimated from independent tuples."""

    method = "sampled"
    described = "from independently sampled comparisons"
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1

    def comparisons(self, shape: PairShape, options: SampledOptions) -> int:  # noqa: ARG002
        """One a sample."""
        return options.draws

    def seconds(self, shape: PairShape, options: SampledOptions) -> float:
        """Estimate the time of all samples."""
        return options.draws * self.kind.sample_seconds(shape)

    def memory(self, shape: PairShape, options: SampledOptions, budget: Budget) -> int:  # noqa: ARG002
        """Next to nothing: a few thousand samples are drawn at a time."""
        return costs.SAMPLES_BYTES

    def shards(self, shape: PairShape, options: SampledOptions, budget: Budget) -> list[Shard]:
        """Cut the stream into ranges of about as long as the budget says, or between looks at the interval."""
        if options.width is not None:
            return looking.shards(options.draws, 1, looking.FIRST_DRAWS)
        return cutting.shards(options.draws, self.kind.sample_seconds(shape), budget.seconds, 1)

    def partial(self, pair: Pair, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:  # noqa: ARG002
        """Count one range of the stream, tile by tile."""
        tiles = []
        for start, stop in cutting.tiles(shard, self.kind.sample_seconds(pair.shape)):
            checkpoint()
            tiles.append(self.kind.sampled(pair.x, pair.y, seed, start, stop))
        return to_partial(tiles)

    def sequential(self, options: SampledOptions) -> bool:
        """Whether a width was asked for."""
        return options.width is not None

    def enough(self, total: Partial, pair: PairFacts, options: SampledOptions, confidence: float) -> bool:  # noqa: ARG002
        """Whether the interval is as narrow as was asked for."""
        return (
            options.width is not None and looking.width(intervals.sequential(total.counts, confidence)) <= options.width
        )

    def null(self, shape: PairShape, options: SampledOptions, seed: int, *, own: bool) -> NullStatistic:
        """The first of the comparisons that are drawn, or all of them."""
        samples = options.draws if own else min(options.draws, ordinal_nulls.SAMPLES)
        return ordinal_nulls.of_samples(self.kind, shape, seed, samples)

    def finish(self, total: Partial, pair: PairFacts, options: SampledOptions, confidence: float) -> Outcome:
        """Score the samples, with an interval that is exact for them and the wider one of the paper."""
        counts = total.counts
        bounds = intervals.clopper_pearson
        if options.width is not None:
            bounds = intervals.sequential
        else:
            require_all_comparisons(f"{self.measure} sampled", counts, options.draws)
        found = with_population(self.kind, pair, confidence, lambda level: bounds(counts, level))
        if options.width is None:  # beside the other interval of the same score
            found = {"sampling": found["sampling"], "hoeffding": intervals.hoeffding(counts, confidence), **found}
        return outcome(self.kind, total, pair, found)


SAMPLED = (Sampled(TSI, TsiSampledOptions), Sampled(QSI, QsiSampledOptions))
