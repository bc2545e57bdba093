"""What `finish` verifies before a total becomes a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordsim_core.counts import AgreementCounts


def require_all_comparisons(measure: str, counts: AgreementCounts, expected: int) -> None:
    """Refuse a total to which a shard is missing or was added twice: it would look like any other score."""
    if counts.comparisons != expected:
        raise RuntimeError(f"{measure}: the shards add up to {counts.comparisons} comparisons instead of {expected}")
