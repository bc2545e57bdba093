"""Looking at an interval while comparisons are drawn, until it is as narrow as was asked for.

Shards follow from the width alone, so that the stopping point does not depend on the cluster. Looks are few however
long it takes: between two of them, a quarter is added to what was drawn. Where that is much it makes several shards,
for several workers; a measure whose intervals cost little may look after each of these too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from workers.measures.cutting import LEDGER_LIMIT, SHARDS_LIMIT
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


@lru_cache(maxsize=64)
def looks(draws: int, first: int = FIRST_DRAWS) -> tuple[int, ...]:
    """Give after how many draws, of at most `draws`, the interval is looked at."""
    found: list[int] = []
    drawn = 0
    while drawn < draws:
        drawn = min(draws, drawn + max(first, int(drawn * (GROWTH - 1))))
        found.append(drawn)
    return tuple(found)


def shards(
    draws: int,
    comparisons_each: int,
    first: int = FIRST_DRAWS,
    longest: int = LONGEST_DRAWS,
    *,
    ledger_bytes: int = 0,
) -> list[Shard]:
    """Cut a stream of at most `draws` into shards that end at every look; `ledger_bytes` as for `cutting.shards`."""
    between = looks(draws, first)
    most = min(SHARDS_LIMIT, LEDGER_LIMIT // ledger_bytes) if ledger_bytes else SHARDS_LIMIT
    longest = max(longest, -(-draws // max(1, most - len(between))))
    found: list[Shard] = []
    for start, stop in pairwise((0, *between)):
        parts = -(-(stop - start) // longest)
        cuts = [start + (stop - start) * part // parts for part in range(parts + 1)]
        for one, other in pairwise(cuts):
            found.append(Shard(len(found), one, other, (other - one) * comparisons_each))
    return found
