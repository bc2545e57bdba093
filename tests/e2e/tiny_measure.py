"""A measure for tests alone: its shards finish out of order, and it stops when their sum has a certain remainder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from tiny_numbers import EACH, MODULUS, SHARDS, number

from ordsim_core.counts import AgreementCounts
from workers.measures import registry
from workers.measures.protocol import Measure, MeasureOptions, Outcome, Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from workers.measures.given import Pair
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape

EVEN_SECONDS = 0.15
"""Every other shard takes long, so that later ones are done first wherever there are two workers."""


class TinyOptions(MeasureOptions):
    """What remainder is enough; one that no sum has means never."""

    measure: Literal["tiny"]
    method: Literal["sequential"]
    remainder: int
    shards: int = SHARDS


class Tiny(Measure):
    """Adds up numbers that follow from seed and shard."""

    measure = "tiny"
    method = "sequential"
    title = "A measure for tests"
    minimum_rows = 1
    maximum_rows: int | None = None
    options: type[MeasureOptions] = TinyOptions

    def comparisons(self, shape: PairShape, options: TinyOptions) -> int:
        return EACH * options.shards

    def seconds(self, shape: PairShape, options: TinyOptions) -> float:
        return EVEN_SECONDS * options.shards / 2

    def memory(self, shape: PairShape, options: TinyOptions, budget: Budget) -> int:
        return 0

    def shards(self, shape: PairShape, options: TinyOptions, budget: Budget) -> list[Shard]:
        return [Shard(index, index, index + 1, EACH) for index in range(options.shards)]

    def partial(self, pair: Pair, shard: Shard, options: TinyOptions, seed: int, checkpoint: Checkpoint) -> Partial:
        end = time.monotonic() + (EVEN_SECONDS if shard.index % 2 == 0 else 0)
        while time.monotonic() < end:
            checkpoint()
            time.sleep(0.01)
        agreeing = number(seed, shard.index)
        return Partial(AgreementCounts(concordant=agreeing, discordant=EACH - agreeing))

    def sequential(self, options: TinyOptions) -> bool:
        return True

    def enough(self, total: Partial, pair: PairFacts, options: TinyOptions, confidence: float) -> bool:
        return total.counts.agreeing % MODULUS == options.remainder

    def finish(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> Outcome:
        counts = total.counts
        return Outcome(counts.score, counts.deficit, counts, EACH * SHARDS, pair.precision, {})


registry.register(Tiny())
