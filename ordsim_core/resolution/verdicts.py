"""Whether a deficit says that something differs: of the stored arrays, and of the values behind them."""

from __future__ import annotations

from enum import StrEnum

CLEARLY = 10.0
"""A deficit that is this many times the floors is resolved."""

EXPLAINED = 2.0
"""A deficit below this many times the floors is not resolved.

The storage floor is an expected value: where nothing but rounding differs, the deficit is as often above it as below.
At twice the floor, half the deficit is rounding.
"""


class Verdict(StrEnum):
    """How a deficit compares with what it would be if nothing differed."""

    IDENTICAL = "identical"
    RESOLVED = "resolved"
    MARGINAL = "marginal"
    BELOW_RESOLUTION = "below-resolution"


class Question(StrEnum):
    """What a verdict answers."""

    STORED = "stored-arrays"
    UNDERLYING = "underlying-values"


def judge(deficit: float, floor: float) -> Verdict:
    """Compare a deficit with what it would be, or could be, if nothing differed."""
    if deficit == 0 or deficit < EXPLAINED * floor:
        return Verdict.BELOW_RESOLUTION
    return Verdict.RESOLVED if deficit >= CLEARLY * floor else Verdict.MARGINAL
