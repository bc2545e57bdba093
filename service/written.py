"""Reports as files: HTML that needs nothing else, Markdown, CSV, JSON."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from service import flattened
from service.drawings import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.pages import Page, Part

ARRAYS = ("", "array", "shape", "values", "distance", "sha256")


def as_html(page: Page) -> str:
    """Write a page that asks nothing of any other host; light, dark, and fit for paper."""
    environment = Environment(
        loader=PackageLoader("service"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_shown
    )
    template = environment.get_template("report.html")
    drawn = {name: Markup(getattr(style, name.upper())) for name in ("light", "dark", "font", "shapes")}
    return template.render(page=page, headings=ARRAYS, embedded=_embedded(page.document), **drawn)


def as_json(document: Any) -> str:
    """Write the service's document as it is."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_markdown(page: Page) -> str:
    """Write a report without drawings; what looks like HTML, a link or a picture in names and labels is text."""
    return html.escape("\n".join(_markdown(page)), quote=False).replace("](", "]\\(")


def _shown(value: Any) -> Any:
    """Drawings are shapes already; everything else is escaped."""
    return Markup(value.inline()) if hasattr(value, "inline") else value


def _embedded(document: Any) -> Markup:
    """JSON that no text in it can end."""
    return Markup(json.dumps(document, ensure_ascii=False).replace("<", "\\u003c"))


def _markdown(page: Page) -> Iterator[str]:
    yield f"# {page.title}\n\n{page.subtitle}\n"
    for part in page.parts:
        yield from _part(part)
    if page.warnings:
        yield "## Worth knowing\n"
        yield "".join(f"* {warning['detail']} ({warning['code']})\n" for warning in page.warnings)
    yield f"## Arrays\n\n{page.rows}\n"
    yield flattened.to_markdown(ARRAYS, page.arrays)
    yield page.provenance


def _part(part: Part) -> Iterator[str]:
    yield f"## {part.title}\n"
    if part.score:
        yield f"**{part.score}**{f', deficit {part.deficit}' if part.deficit else ''}\n"
    if part.sentence:
        yield f"{part.sentence}\n"
    yield flattened.to_markdown(("", ""), part.facts)
    for table in part.tables:
        yield f"### {table.title}\n"
        yield flattened.to_markdown(table.headings, table.rows)
