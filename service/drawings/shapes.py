"""Shapes of SVG, as text. What they look like, `style` says by their classes."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    Place = tuple[float, float]

NAMESPACE = "http://www.w3.org/2000/svg"
MARGIN = 18.0
LETTER = 6.3
"""About how wide a letter is, for what must not run into something else."""


@dataclass(frozen=True)
class Drawing:
    """Shapes in a frame; `title` says in a sentence what is seen, for who cannot see it."""

    width: float
    height: float
    title: str
    shapes: tuple[str, ...]

    def inline(self) -> str:
        """As part of a page, whose style it takes."""
        return self._svg("", 0)

    def file(self, style: str) -> str:
        """As a file of its own: with its style, and paper around and behind it."""
        width, height = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        paper = rectangle((-MARGIN, -MARGIN), width, height, "paper")
        return self._svg(f' xmlns="{NAMESPACE}"', MARGIN, f"<style>{style}</style>", paper) + "\n"

    def _svg(self, attributes: str, margin: float, *before: str) -> str:
        width, height = _number(self.width + 2 * margin), _number(self.height + 2 * margin)
        size = f'viewBox="{-margin:g} {-margin:g} {width} {height}" width="{width}"'
        inside = "".join((f"<title>{escape(self.title)}</title>", *before, *self.shapes))
        return f'<svg{attributes} class="drawing" role="img" {size}>{inside}</svg>'


def stack(drawings: Iterable[Drawing], title: str, gap: float = 12) -> Drawing:
    """Put drawings below one another."""
    shapes, height, width = list[str](), 0.0, 0.0
    for drawing in drawings:
        shapes.append(f'<g transform="translate(0 {_number(height)})">{"".join(drawing.shapes)}</g>')
        height += drawing.height + gap
        width = max(width, drawing.width)
    return Drawing(width, max(0, height - gap), title, tuple(shapes))


def line(begin: Place, end: Place, kind: str) -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = begin, end
    return f'<line x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}" class="{kind}"/>'


def rectangle(
    corner: Place, width: float, height: float, kind: str, *, strength: float | None = None, tip: str = ""
) -> str:
    """A rectangle, from its upper left corner; `strength` 0 to 1 is how much of its colour it has."""
    x, y = corner
    opacity = "" if strength is None else f' fill-opacity="{strength:.3f}"'
    size = f'width="{_number(width)}" height="{_number(height)}"'
    inside = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
    return f'<rect x="{_number(x)}" y="{_number(y)}" {size} class="{kind}"{opacity}{inside}'


def dot(centre: Place, kind: str, radius: float = 5) -> str:
    """A filled circle."""
    return f'<circle cx="{_number(centre[0])}" cy="{_number(centre[1])}" r="{_number(radius)}" class="{kind}"/>'


def text(place: Place, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text, from its base line; `anchor` is start, middle or end."""
    shape = f'x="{_number(place[0])}" y="{_number(place[1])}" text-anchor="{anchor}" class="{kind}"'
    return f"<text {shape}>{escape(words)}</text>"


def turned(place: Place, words: str, kind: str = "") -> str:
    """A line of text that rises to the right."""
    x, y = _number(place[0]), _number(place[1])
    return f'<text x="{x}" y="{y}" transform="rotate(-40 {x} {y})" class="{kind}">{escape(words)}</text>'


def shortened(words: str, letters: int) -> str:
    """Leave the end of what is too long: paths differ there."""
    return words if len(words) <= letters else f"…{words[len(words) - letters + 1 :]}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
