"""Looking at an interval while comparisons are drawn, until it is as narrow as was asked for.

Shards follow from the width alone, so that the stopping point does not depend on the cluster. They grow, so that
there are few looks however long it takes: each adds a quarter to what was drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workers.measures.protocol import Shard

if TYPE_CHECKING:
    from ordsim_core.intervals import Interval

FIRST_DRAWS = 1000
GROWTH = 1.25
LONGEST_DRAWS = 2_000_000
"""Longest shard: a second or two of work."""


def width(interval: Interval) -> float:
    """Give the width of an interval."""
    return interval.high - interval.low


def most_draws(wanted: float) -> int:
    """Bound the independent values after which an interval is as narrow as wanted, at any confidence in use.

    Three times what Hoeffding's inequality needs at confidence 1 - 10^-6, which leaves room for looking often.
    """
    return math.ceil(3 * math.log(2e6) / (2 * (wanted / 2) ** 2))


def shards(draws: int, comparisons_each: int, first: int = FIRST_DRAWS, longest: int = LONGEST_DRAWS) -> list[Shard]:
    """Cut a stream of at most `draws` into growing shards; after each the interval is looked at."""
    found: list[Shard] = []
    start = 0
    while start < draws:
        size = min(max(first, int(start * (GROWTH - 1))), longest)
        stop = min(start + size, draws)
        found.append(Shard(len(found), start, stop, (stop - start) * comparisons_each))
        start = stop
    return found
