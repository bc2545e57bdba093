"""Cutting a walk into shards, and shards into tiles, by what they cost rather than by how many there are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workers.measures.protocol import Shard

if TYPE_CHECKING:
    from collections.abc import Iterator

TILE_SECONDS = 0.1
"""Time between two checkpoints: a cancelled shard ends within it."""

SHARDS_LIMIT = 200_000
"""Most shards of one measure: beyond it shards get longer, so that ledger and scheduler stay small."""

LEDGER_LIMIT = 2 * 1024**3
"""Most bytes that the shards of one measure write into the ledger, where each writes much."""


def shards(
    length: int, seconds_each: float, seconds: float, comparisons_each: int, *, ledger_bytes: int = 0
) -> list[Shard]:
    """Cut positions 0 <= p < `length` into shards of about `seconds`, equal to within one position.

    The list is a function of the arguments alone, and covers every position exactly once. `ledger_bytes` is what
    every shard writes down however short it is, such as a vector of sums: shards get longer so that they keep to
    `LEDGER_LIMIT` together.
    """
    if seconds <= 0:
        raise ValueError(f"seconds must be positive, not {seconds}")
    longest = max(1, int(seconds / seconds_each))
    most = min(SHARDS_LIMIT, max(1, LEDGER_LIMIT // ledger_bytes) if ledger_bytes else SHARDS_LIMIT)
    number = min(-(-length // longest), most)
    # Integer arithmetic: float bounds would leave gaps beyond 2^53 positions.
    bounds = [length * index // number for index in range(number + 1)] if number else [0]
    return [
        Shard(index, start, stop, (stop - start) * comparisons_each)
        for index, (start, stop) in enumerate(pairwise(bounds))
    ]


def longest(length: int, seconds_each: float, seconds: float) -> int:
    """Give the length of the longest shard that `shards` cuts, where it does not write much."""
    return min(length, max(1, int(seconds / seconds_each), -(-length // SHARDS_LIMIT)))


def tiles(shard: Shard, seconds_each: float) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of the shard of about `TILE_SECONDS`, at least one position each."""
    step = max(1, int(TILE_SECONDS / seconds_each))
    for start in range(shard.start, shard.stop, step):
        yield start, min(start + step, shard.stop)
