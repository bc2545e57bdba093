"""A score with its intervals, what chance gives, and what is possible."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from service import numerals, sentences
from service.drawings import axes, bars, shapes
from service.drawings.shapes import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.answers import Result
    from service.drawings.axes import Axis

WIDTH, LEFT, RIGHT = 720.0, 118.0, 700.0
HEAD, BARE, ROW, NULL = 34.0, 6.0, 24.0, 84.0
NULL_BARS = 60
LABELS = {
    "sampling": "these rows",
    "hoeffding": "Hoeffding",
    "population": "population",
    "jackknife": "jackknife",
    "arithmetic": "rounding",
}


def draw(result: Result, null: Sequence[float] = (), *, headed: bool = True) -> Drawing:
    """Draw one measure.

    Parameters
    ----------
    result : Result
    null : sequence of float
        Statistics of the permutations, where there was a calibration.
    headed : bool
        Whether name and score stand above.
    """
    title = sentences.title(result)
    if result.score is None:
        said = shapes.text((0, 40), f"no score: {result.reason or 'no reason was given'}", "faint")
        return Drawing(WIDTH, 52, f"{title}: no score", (shapes.text((0, 18), title, "title"), said))
    calibration = result.json.get("calibration") or {}
    if calibration.get("pValue") is None:
        calibration = {}
    found = _intervals(result)
    marks = _marks(result, calibration)
    chance = NULL if len(null) else 0.0
    top = HEAD if headed else BARE
    axis = axes.linear([*_shown(result, found), *(value for _, value, _ in marks), *null], LEFT, RIGHT)
    bottom = top + chance + ROW * max(1, len(found)) + 6
    parts = [
        *(_head(title, numerals.score(result.score, result.deficit)) if headed else ()),
        *axis.shapes(top, bottom),
        *(_chance(axis, null, calibration, top) if chance else ()),
        *_rows(axis, result.score, found, top + chance),
        *(shapes.line((axis.place(value), top), (axis.place(value), bottom), kind) for kind, value, _ in marks),
        *_legend(marks, bottom + 36),
    ]
    said = ", ".join(f"{label} {numerals.number(value)}" for _, value, label in marks)
    return Drawing(WIDTH, bottom + 44, f"{title}: {numerals.number(result.score)}; {said}", tuple(parts))


def _head(title: str, score: str) -> Iterator[str]:
    yield shapes.text((0, 18), title, "title")
    yield shapes.text((RIGHT, 18), score, "figure", "end")


def _intervals(result: Result) -> list[tuple[str, float, float, bool]]:
    """Label, ends and rigour of each interval that has a width or is the only one."""
    known = result.intervals.items()
    wide = [(kind, one) for kind, one in known if one.get("method") != "none-exact"]
    return [
        (LABELS.get(kind, kind), float(one["low"]), float(one["high"]), one.get("rigorous") is not False)
        for kind, one in wide
    ]


def _marks(result: Result, calibration: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    """Class, figure and label of the lines that cross a drawing."""
    found = [
        ("baseline", result.json.get("baseline"), "baseline"),
        ("limit", calibration.get("threshold"), f"threshold (level {calibration.get('alpha', 0):g})"),
        ("most", result.json.get("attainableMaximum"), "most possible"),
    ]
    return [(kind, float(value), label) for kind, value, label in found if value is not None]


def _shown(result: Result, found: Sequence[tuple[str, float, float, bool]]) -> list[float]:
    assert result.score is not None  # `draw` asked
    ends = [end for _, low, high, _ in found for end in (low, high)]
    whole = [] if result.json.get("baseline") is not None else [0.0, 1.0]
    return [result.score, *ends, *whole]


def _chance(axis: Axis, null: Sequence[float], calibration: Mapping[str, Any], top: float) -> Iterator[str]:
    """What permutations of rows give, and the statistic that is compared with them."""
    low, high = min(null), max(null)
    bins = min(NULL_BARS, max(8, round(math.sqrt(len(null)) * 2)))
    yield from bars.shapes_of(bars.count(null, bins, low, high), axis, top + 8, top + NULL - 8, "null")
    yield shapes.text((0, top + NULL - 12), "permutations", "faint")
    observed = calibration.get("observed")
    if observed is not None:
        x = axis.place(observed)
        yield shapes.line((x, top + 14), (x, top + NULL - 8), "scored")
        yield shapes.dot((x, top + 14), "score", 3.5)


def _rows(axis: Axis, score: float, found: Sequence[tuple[str, float, float, bool]], top: float) -> Iterator[str]:
    """A bar for each interval, dashed where it is not rigorous, and the score through all of them."""
    for place, (label, low, high, rigorous) in enumerate(found):
        y = top + ROW * (place + 0.5) + 3
        begin, end = axis.place(low), axis.place(high)
        width = max(2.0, end - begin)
        yield shapes.text((0, y + 4), label, "faint")
        tip = f"{label}: {low:.6g} to {high:.6g}"
        yield shapes.rectangle((begin, y - 5), width, 10, "band" if rigorous else "loose", tip=tip)
    x, end = axis.place(score), top + ROW * max(1, len(found)) + 3
    if not found:
        yield shapes.text((0, top + ROW * 0.5 + 7), "score", "faint")
    yield shapes.line((x, top + 3), (x, end), "scored")
    yield shapes.dot((x, top + 3 + ROW * 0.5), "score")


def _legend(marks: Sequence[tuple[str, float, str]], y: float) -> Iterator[str]:
    x = LEFT
    for kind, value, label in marks:
        words = f"{label} {numerals.number(value)}"
        yield shapes.line((x, y - 10), (x, y + 2), kind)
        yield shapes.text((x + 7, y), words, "faint")
        x += 26 + shapes.LETTER * len(words)
