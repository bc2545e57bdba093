"""From figures to places along a line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.drawings import shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TICKS = 6
STEPS = (1, 2, 2.5, 5, 10)
NARROWEST = 1e-9
"""Room beside the values at least, so that labels of ticks stay short."""

MOST_POWERS = 8
"""Ticks of a logarithmic axis, about."""


@dataclass(frozen=True)
class Axis:
    """Figures from `low` to `high`, drawn from `begin` to `end`; on a logarithmic one they are powers of ten."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a figure is drawn; what lies beyond an end is drawn at the end."""
        if self.logarithmic:
            value = math.log10(value) if value > 0 else -math.inf
        share = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)

    def ticks(self) -> list[tuple[float, str]]:
        """Round figures between the ends, with their labels."""
        if self.logarithmic:
            step = max(1, math.ceil((self.high - self.low) / MOST_POWERS))
            whole = range(math.ceil(self.low), math.floor(self.high) + 1, step)
            return [(10.0**power, _power(power)) for power in whole]
        width = _step(self.high - self.low)
        decimals = _decimals(width)
        first, last = math.ceil(self.low / width - 1e-9), math.floor(self.high / width + 1e-9)
        return [(place * width, f"{place * width:.{decimals}f}") for place in range(first, last + 1)]

    def shapes(self, top: float, bottom: float) -> Iterator[str]:
        """A grid from top to bottom, its labels below it."""
        for value, label in self.ticks():
            x = self.place(value)
            yield shapes.line((x, top), (x, bottom), "grid")
            yield shapes.text((x, bottom + 15), label, "faint", "middle")


def linear(values: Iterable[float], begin: float, end: float) -> Axis:
    """An axis that shows all these values, with a little room beside them."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = max(0.03 * (high - low) or 0.05 * abs(high) or 0.5, NARROWEST)
    return Axis(low - room, high + room, begin, end)


def powers(values: Iterable[float], begin: float, end: float) -> Axis:
    """A logarithmic axis from a power of ten to another that shows all values above 0."""
    known = [math.log10(value) for value in values if value > 0 and math.isfinite(value)] or [-1.0, 0.0]
    low, high = math.floor(min(known)), math.ceil(max(known))
    return Axis(low - 1 if low == high else low, high, begin, end, logarithmic=True)


def _step(width: float) -> float:
    """The round step that gives about `TICKS` ticks."""
    rough = width / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))


def _decimals(step: float) -> int:
    """As many as tell the multiples of a step apart."""
    return next(decimals for decimals in range(20) if math.isclose(round(step, decimals), step, rel_tol=1e-6))


def _power(power: int) -> str:
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return "1" if power == 0 else f"10{digits}"
