"""Histograms: of permutations behind a score, of the scores of single rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service import numerals
from service.drawings import axes, shapes
from service.drawings.shapes import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.drawings.axes import Axis

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720.0, 118.0, 700.0, 34.0, 154.0
MOST_BARS = 60


@dataclass(frozen=True)
class Counted:
    """How many values fall between each two of equally distant ends."""

    low: float
    width: float
    counts: tuple[int, ...]


def count(values: Sequence[float], bins: int, low: float, high: float) -> Counted:
    """Count values into bins; equal values are one bin."""
    if not low < high:
        room = abs(low) * 1e-3 or 1e-3
        return Counted(low - room, 2 * room, (len(values),))
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / (high - low) * bins))] += 1
    return Counted(low, (high - low) / bins, tuple(counts))


def shapes_of(counted: Counted, axis: Axis, top: float, bottom: float, kind: str) -> Iterator[str]:
    """A bar for each bin that is not empty."""
    most = max(counted.counts)
    for place, number in enumerate(counted.counts):
        if number:
            begin, end = (axis.place(counted.low + counted.width * (place + side)) for side in (0, 1))
            height = max(1.5, (bottom - top) * number / most)
            tip = f"{numerals.grouped(number)} near {counted.low + counted.width * (place + 0.5):.4g}"
            width = max(1.0, end - begin - 0.6)
            yield shapes.rectangle((begin, bottom - height), width, height, kind, tip=tip)


def per_anchor(values: Sequence[float]) -> Drawing:
    """Draw the scores of single rows, and their mean; rows without a score are left out."""
    known = [value for value in values if math.isfinite(value)]
    title = "Scores of single rows"
    head = shapes.text((0, 18), title, "title")
    if not known:
        return Drawing(WIDTH, 52, f"{title}: none", (head, shapes.text((0, 40), "no row has a score", "faint")))
    low, high, mean = min(known), max(known), math.fsum(known) / len(known)
    axis = axes.linear(known, LEFT, RIGHT)
    counted = count(known, min(MOST_BARS, max(8, round(2 * math.sqrt(len(known))))), low, high)
    x = axis.place(mean)
    said = f"{numerals.grouped(len(known))} rows, {low:.4f} to {high:.4f}, {mean:.4f} on average"
    parts = (
        head,
        shapes.text((RIGHT, 18), said, "faint", "end"),
        *axis.shapes(TOP, BOTTOM),
        *shapes_of(counted, axis, TOP + 4, BOTTOM, "bars"),
        shapes.line((x, TOP), (x, BOTTOM), "scored"),
        shapes.text((0, BOTTOM - 4), "rows", "faint"),
    )
    return Drawing(WIDTH, BOTTOM + 24, f"{title}: {said}", parts)
