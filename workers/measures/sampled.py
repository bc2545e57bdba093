"""What sampled TSI and sampled QSI share: everything but the tuple they draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ordsim_core import intervals, sampling
from ordsim_core.counts import AgreementCounts
from workers.measures import cutting
from workers.measures.checks import require_all_comparisons
from workers.measures.protocol import MeasureOptions, Outcome, PairShape
from workers.partials import Partial

if TYPE_CHECKING:
    from typing import Self

    from workers.measures.protocol import Checkpoint, Pair, PairFacts, Shard

SAMPLES_LIMIT = 10**12

Probability = Annotated[float, Field(gt=0, lt=1, strict=True, allow_inf_nan=False)]


class SampledOptions(MeasureOptions):
    """Options of a sampled measure: how many tuples to draw, said outright or by the precision wanted.

    Attributes
    ----------
    samples : int or None
        Number of tuples drawn.
    epsilon, delta : float or None
        Draw as many as make the score wrong by more than `epsilon` with probability at most `delta`.
    per_anchor : False
        Samples do not give scores of single anchors.
    """

    method: Literal["sampled"]
    samples: Annotated[int, Field(ge=1, le=SAMPLES_LIMIT, strict=True)] | None = None
    epsilon: Probability | None = None
    delta: Probability | None = None
    per_anchor: Literal[False] = False

    @field_validator("per_anchor", mode="before")
    @classmethod
    def _boolean(cls, sent: object) -> object:
        if not isinstance(sent, bool):  # 0 equals False, and would be taken for it
            raise ValueError(f"{sent!r} is not a boolean")
        return sent

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.samples is not None:
            for field in ("epsilon", "delta"):
                if getattr(self, field) is not None:
                    raise ValueError(f"samples and {field} exclude each other: send one form or the other")
            return self
        for field, other in (("epsilon", "delta"), ("delta", "epsilon")):
            if getattr(self, field) is None:
                if getattr(self, other) is None:
                    raise ValueError("samples is missing: send samples, or epsilon and delta")
                raise ValueError(f"{field} is missing: epsilon and delta go together")
        try:
            within = self.draws <= SAMPLES_LIMIT
        except ArithmeticError:  # epsilon squared may underflow, 2 / delta overflow
            within = False
        if not within:
            raise ValueError(f"epsilon or delta is too small: it takes more than {SAMPLES_LIMIT} samples")
        return self

    @property
    def draws(self) -> int:
        """Number of tuples to draw, whichever way it was asked for."""
        if self.samples is not None:
            return self.samples
        if self.epsilon is None or self.delta is None:
            raise ValueError("epsilon and delta go together")
        return intervals.samples_for(self.epsilon, self.delta)


class SampledMeasure(ABC):
    """A score estimated from independent tuples; subclasses say which tuples and what one costs."""

    measure: str
    method = "sampled"
    title: str
    minimum_rows: int
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1
    options: type[MeasureOptions]

    @abstractmethod
    def sample_seconds(self, shape: PairShape) -> float:
        """Estimate the time of one sample."""

    @abstractmethod
    def count(self, pair: Pair, seed: int, start: int, stop: int) -> AgreementCounts:
        """Count one range of the stream."""

    @abstractmethod
    def population(self, rows: int) -> int:
        """Count all comparisons that could be drawn."""

    def shards(self, shape: PairShape, options: SampledOptions, seconds: float) -> list[Shard]:
        """Cut the stream into ranges of about `seconds`."""
        return cutting.shards(options.draws, self.sample_seconds(shape), seconds, 1)

    def partial(
        self,
        pair: Pair,
        shard: Shard,
        options: SampledOptions,  # noqa: ARG002
        seed: int,
        checkpoint: Checkpoint,
    ) -> Partial:
        """Count one range of the stream, tile by tile."""
        shape = PairShape(pair.x.rows, pair.x.columns, pair.y.columns)
        counts = AgreementCounts()
        for start, stop in cutting.tiles(shard, self.sample_seconds(shape)):
            checkpoint()
            counts += self.count(pair, seed, start, stop)
        return Partial(counts)

    def finish(self, total: Partial, pair: PairFacts, options: SampledOptions, confidence: float) -> Outcome:
        """Score the samples, with an interval that is exact for them and the wider one of the paper."""
        require_all_comparisons(f"{self.measure} sampled", total.counts, options.draws)
        return Outcome(
            score=total.counts.score,
            deficit=total.counts.deficit,
            counts=total.counts,
            population=self.population(pair.shape.rows),
            precision="exact" if pair.exact_order else "float64",
            intervals={
                "sampling": intervals.clopper_pearson(total.counts, confidence),
                "hoeffding": intervals.hoeffding(total.counts, confidence),
            },
        )
