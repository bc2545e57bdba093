"""A deficit on a logarithmic axis, among what it must exceed to be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service import numerals
from service.drawings import axes, shapes
from service.drawings.shapes import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.answers import Result
    from service.drawings.axes import Axis

WIDTH, LEFT, RIGHT, TOP, ROW = 720.0, 118.0, 700.0, 34.0, 22.0
EXACT_ZERO = "0, exactly"


def draw(result: Result) -> Drawing | None:
    """Draw the deficit of a measure that says what it is worth; None of one that does not."""
    resolution, deficit = result.json.get("resolution"), result.deficit
    if not resolution or deficit is None:
        return None
    rows = [
        ("deficit", deficit, "score"),
        ("by subtraction", result.json.get("naiveDeficit"), "null"),
        ("rounding", resolution.get("floorArithmetic"), "limited"),
        ("storage", resolution.get("floorStorage"), "limited"),
    ]
    known = [(label, abs(float(value)), kind) for label, value, kind in rows if value is not None]
    axis = axes.powers([1.0, *(value for _, value, _ in known)], LEFT, RIGHT)
    bottom = TOP + ROW * len(known) + 4
    verdict = str(resolution.get("verdict", "")).replace("-", " ")
    parts = [
        shapes.text((0, 18), "What the deficit is worth", "title"),
        shapes.text((RIGHT, 18), verdict, "figure", "end"),
        *axis.shapes(TOP, bottom),
        *_rows(axis, known),
    ]
    said = ", ".join(f"{label} {numerals.deficit(value)}" for label, value, _ in known)
    return Drawing(WIDTH, bottom + 24, f"Deficit, {verdict}: {said}", tuple(parts))


def _rows(axis: Axis, known: list[tuple[str, float, str]]) -> Iterator[str]:
    """The deficit as a dot, what it is held against as bars from the left."""
    for place, (label, value, kind) in enumerate(known):
        y = TOP + ROW * (place + 0.5) + 2
        words = numerals.deficit(value) if value else EXACT_ZERO
        yield shapes.text((0, y + 4), label, "faint")
        x = axis.place(value)
        if kind == "score":
            yield shapes.dot((x, y), kind)
        elif value:
            yield shapes.rectangle((LEFT, y - 4), max(2.0, x - LEFT), 8, kind)
        after = x + 10
        if after + shapes.LETTER * len(words) > RIGHT:
            yield shapes.text((x - 10, y + 4), words, "off", "end")
        else:
            yield shapes.text((after, y + 4), words, "off")
