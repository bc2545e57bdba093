"""A score drawn between what unrelated arrays would score and the most that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.text import Text

from service import numerals

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

NARROWEST = 24
WIDEST = 72
NEAR = 0.9995
"""Further digits of a maximum say nothing."""
LINES = {"done": "━", "rest": "─", "band": "╍", "score": "●", "start": "├", "end": "┤"}
ASCII = {"done": "=", "rest": "-", "band": "~", "score": "o", "start": "|", "end": "|"}
STYLES = {
    "done": "green",
    "rest": "dim",
    "band": "yellow",
    "score": "bold green",
    "start": "default",
    "end": "default",
}


@dataclass(frozen=True)
class Scale:
    """A line from `baseline` to `maximum` with the score on it, and its interval where that is wide enough.

    A score below the baseline makes the line begin there; the baseline keeps its mark.
    """

    score: float
    baseline: float
    maximum: float
    interval: tuple[float, float] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, WIDEST)
        if width < NARROWEST or self.maximum <= self.baseline:
            return
        characters = ASCII if options.ascii_only else LINES
        for kind in self.kinds(width):
            yield Segment(characters[kind], console.get_style(STYLES[kind]))
        yield Segment.line()
        yield from self._labels(width)

    def _column(self, value: float, width: int) -> int:
        begin, end = min(self.baseline, self.score), max(self.maximum, self.score)
        return max(0, min(width - 1, round((value - begin) / (end - begin) * (width - 1))))

    def kinds(self, width: int) -> list[str]:
        """Say what stands in each column."""
        baseline, score = self._column(self.baseline, width), self._column(self.score, width)
        kinds = ["rest"] * width
        for column in range(min(baseline, score), max(baseline, score)):
            kinds[column] = "done"
        if self.interval is not None:
            low, high = (self._column(end, width) for end in self.interval)
            if high - low >= 2:
                kinds[low : high + 1] = ["band"] * (high + 1 - low)
        kinds[baseline] = "start"
        kinds[self._column(self.maximum, width)] = "end"
        kinds[score] = "score"
        return kinds

    def _labels(self, width: int) -> RenderResult:
        """Two lines: numbers, and what the ends are."""
        numbers, names = [" "] * width, [" "] * width
        column = self._column(self.baseline, width)
        _write(numbers, numerals.number(self.baseline), column)
        _write(names, "baseline", column)
        end = self._column(self.maximum, width) + 1
        most = "> 0.9995" if NEAR < self.maximum < 1 else numerals.number(self.maximum)
        for line, text in ((numbers, most), (names, "most possible")):
            _write(line, text, end - len(text))
        shown = numerals.number(self.score)
        _write(numbers, shown, self._column(self.score, width) - len(shown) // 2)
        yield Text("".join(numbers).rstrip(), no_wrap=True)
        yield Text("".join(names).rstrip(), style="dim", no_wrap=True)


def _write(line: list[str], text: str, column: int) -> None:
    """Write into a line of characters, but never over or right beside what stands there."""
    column = max(0, min(column, len(line) - len(text)))
    around = line[max(0, column - 1) : column + len(text) + 1]
    if all(character == " " for character in around):
        line[column : column + len(text)] = text
