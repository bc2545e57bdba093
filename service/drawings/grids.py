"""Heat maps: layers by layers with the best pair, or arrays by arrays in the order of their similarity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.drawings import shapes, style
from service.drawings.shapes import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDEST = 720.0
LARGEST_CELL, SMALLEST_CELL, NUMBERED_CELL = 62.0, 5.0, 40.0
NARROWEST_LABEL = 15.0
"""How far labels must be apart."""
SCALE = 20
"""Steps of the colour scale."""


@dataclass(frozen=True)
class Grid:
    """What a heat map shows: `scores[row][column]`, NaN where there is none, and more to be told of each cell."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    scores: Sequence[Sequence[float]]
    tips: Sequence[Sequence[str]]
    best: tuple[int, int] | None = None
    symmetric: bool = False
    """Whether rows and columns are the same arrays: each with itself says nothing, and does not set the colours."""


def ordered(grid: Grid, order: Sequence[int]) -> Grid:
    """The same with rows and columns in another order."""

    def both(table: Sequence[Sequence[float]]) -> list[list[float]]:
        return [[table[row][column] for column in order] for row in order]

    rows, columns = ([side[place] for place in order] for side in (grid.rows, grid.columns))
    tips = [[grid.tips[row][column] for column in order] for row in order]
    return Grid(grid.title, rows, columns, both(grid.scores), tips, symmetric=grid.symmetric)


def draw(grid: Grid) -> Drawing:
    """Draw a heat map: the more of its colour a cell has, the larger its score among those shown."""
    rows, columns = grid.rows, grid.columns
    left = 12 + shapes.LETTER * max(map(len, rows))
    rise = 0.64 * shapes.LETTER * max(map(len, columns))
    right = 0.77 * shapes.LETTER * len(columns[-1])
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, (WIDEST - left - right) / len(columns)))
    corner = (left, 40 + rise)
    low, high = _range(grid)
    parts = [
        shapes.text((0, 18), grid.title, "title"),
        *_labels(rows, columns, corner, cell),
        *_cells(grid, corner, cell, low, high),
    ]
    bottom = corner[1] + cell * len(rows)
    if grid.best is not None:
        row, column = grid.best
        parts.append(shapes.rectangle((left + cell * column, corner[1] + cell * row), cell - 1, cell - 1, "best"))
    parts += _scale(low, high, left, bottom + 16)
    width = max(left + cell * len(columns) + right, left + 12 * SCALE + 60)
    said = f"{grid.title}: {len(rows)} by {len(columns)} scores, {low:.4f} to {high:.4f}"
    return Drawing(max(width, 400.0), bottom + 44, said, tuple(parts))


def _range(grid: Grid) -> tuple[float, float]:
    cells = ((row, column, score) for row, line in enumerate(grid.scores) for column, score in enumerate(line))
    counting = [score for row, column, score in cells if not (grid.symmetric and row == column)]
    known = [score for score in counting if math.isfinite(score)] or [0.0, 1.0]
    low, high = min(known), max(known)
    return (low, high) if low < high else (low - 0.5, high)


def _labels(rows: Sequence[str], columns: Sequence[str], corner: tuple[float, float], cell: float) -> Iterator[str]:
    left, top = corner
    every = max(1, math.ceil(NARROWEST_LABEL / cell))  # where cells are narrower, some go without
    for place in range(0, len(rows), every):
        yield shapes.text((left - 8, top + cell * (place + 0.5) + 4), rows[place], "off", "end")
    for place in range(0, len(columns), every):
        yield shapes.turned((left + cell * (place + 0.5), top - 6), columns[place], "off")


def _cells(grid: Grid, corner: tuple[float, float], cell: float, low: float, high: float) -> Iterator[str]:
    left, top = corner
    gap = 1.0 if cell > 8 else 0.0
    for row, scores in enumerate(grid.scores):
        for column, score in enumerate(scores):
            place = (left + cell * column, top + cell * row)
            tip = f"{grid.rows[row]} with {grid.columns[column]}: {grid.tips[row][column]}"
            if not math.isfinite(score):
                yield shapes.rectangle(place, cell - gap, cell - gap, "undefined", tip=tip)
                continue
            strength = _strength(score, low, high)
            yield shapes.rectangle(place, cell - gap, cell - gap, "cell", strength=strength, tip=tip)
            if cell >= NUMBERED_CELL:
                middle = (place[0] + cell / 2, place[1] + cell / 2 + 4)
                yield shapes.text(middle, f"{score:.3f}", style.ink(strength), "middle")


def _strength(score: float, low: float, high: float) -> float:
    return 0.06 + 0.94 * min(1.0, max(0.0, (score - low) / (high - low)))


def _scale(low: float, high: float, left: float, top: float) -> Iterator[str]:
    """What the colours stand for."""
    for step in range(SCALE):
        value = low + (high - low) * (step + 0.5) / SCALE
        yield shapes.rectangle((left + 12 * step, top), 12, 10, "cell", strength=_strength(value, low, high))
    yield shapes.text((left, top + 24), f"{low:.4f}", "faint")
    yield shapes.text((left + 12 * SCALE, top + 24), f"{high:.4f}", "faint", "end")
