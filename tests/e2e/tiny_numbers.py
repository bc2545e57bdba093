"""What the tiny measure adds up, for tests that must not register it in their own process."""

from __future__ import annotations

import random

SHARDS = 400
EACH = 1000
MODULUS = 101


def number(seed: int, shard: int) -> int:
    """What a shard contributes."""
    return random.Random(f"{seed} {shard}").randrange(EACH)


def stops_after(seed: int, remainder: int) -> int:
    """How many shards are enough, by plain addition."""
    total = 0
    for length in range(1, SHARDS + 1):
        total += number(seed, length - 1)
        if total % MODULUS == remainder:
            return length
    raise AssertionError("no prefix is enough: choose another seed")
