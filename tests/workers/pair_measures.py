"""Runs measures that are given values, through the bytes that the ledger keeps, in any order of shards."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from ordsim_core.distances import Distance
from workers.measures.given import Values
from workers.measures.protocol import Budget, Measure, MeasureOptions, Outcome, PairFacts
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

MEMORY = 2**30


class Memo:
    """Keeps what was computed, and counts how often it was asked for something new."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, name: str, compute: Callable[[], Any]) -> Any:
        if name not in self.kept:
            self.kept[name] = compute()
        return self.kept[name]


def values(x: np.ndarray, y: np.ndarray, x_distance: str = "euclidean", y_distance: str = "euclidean") -> Values:
    return Values(x, y, Distance(x_distance), Distance(y_distance), None, Memo())


def partials(
    measure: Measure, given: Values, options: MeasureOptions, seconds: float = 60.0, seed: int = 0
) -> list[Partial]:
    """What each shard contributes."""
    shards = measure.shards(given.shape, options, Budget(seconds, MEMORY))
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert sum(shard.comparisons for shard in shards) == measure.comparisons(given.shape, options)
    return [
        Partial.from_bytes(measure.partial(given, shard, options, seed, lambda: None).to_bytes()) for shard in shards
    ]


def finish(measure: Measure, given: Values, options: MeasureOptions, parts: list[Partial]) -> Outcome:
    return measure.finish(Partial.total(parts), PairFacts(given.shape), options, 0.99)


def run(
    measure: Measure,
    given: Values,
    options: MeasureOptions,
    seconds: float = 60.0,
    seed: int = 0,
    order: int | None = None,
) -> Outcome:
    """All shards, shuffled if there is an order, with a memo of their own."""
    parts = partials(measure, given, options, seconds, seed)
    if order is not None:
        random.Random(order).shuffle(parts)
    return finish(measure, given, options, parts)
