"""Every measure that this installation knows, by name and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.measures.qsi_sampled import QsiSampled
from workers.measures.tsi_exact import TsiExact
from workers.measures.tsi_sampled import TsiSampled

if TYPE_CHECKING:
    from workers.measures.protocol import Measure

_MEASURES: tuple[Measure, ...] = (TsiExact(), TsiSampled(), QsiSampled())


def all_measures() -> tuple[Measure, ...]:
    """All measures, in the order in which the catalogue shows them."""
    return _MEASURES


def find(measure: str, method: str) -> Measure:
    """Return the measure of this name and method.

    Raises
    ------
    LookupError
        If there is none; requests were validated long before.
    """
    for candidate in _MEASURES:
        if (candidate.measure, candidate.method) == (measure, method):
            return candidate
    known = ", ".join(f"{candidate.measure} {candidate.method}" for candidate in _MEASURES)
    raise LookupError(f"no measure {measure!r} with method {method!r}; known are: {known}")
