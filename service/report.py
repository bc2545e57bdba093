"""Results as a person reads them in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from service import facts, numerals, sentences
from service.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from rich.console import RenderableType

    from service.answers import Result, Results

WIDEST = 100


def print_report(results: Results, names: Mapping[str, str] | None = None, stream: IO[str] | None = None) -> None:
    """Print a report: coloured on a terminal, plain elsewhere.

    Parameters
    ----------
    results : Results
    names : mapping or None
        What to call x and y, instead of root and path.
    stream : file or None
        Standard output if None.
    """
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.print(render(results, names), width=min(console.width, WIDEST))


def render(results: Results, names: Mapping[str, str] | None = None) -> RenderableType:
    """Lay out a report, as something rich can print."""
    parts: list[RenderableType] = [
        rule(f"ordsim, job {results.job}", "bold"),
        indented(_inputs(results.json["inputs"], names or {})),
        indented(Text(facts.rows(results.json["inputs"]))),
    ]
    for result in results:
        parts += [Text(), rule(sentences.title(result), "bold cyan"), *_measure(result)]
    if any(result.json.get("baseline") is not None and not result.json.get("calibration") for result in results):
        parts += [Text(), indented(Text(sentences.CHANCE, style="dim"))]
    if results.warnings:
        parts += [Text(), rule("Worth knowing", "bold yellow"), indented(shown_warnings(results.warnings))]
    parts += [Text(), indented(provenance(results.json.get("provenance") or {}))]
    return Group(*parts)


def rule(title: str, style: str) -> RenderableType:
    """Lay out a heading."""
    return Rule(Text(title, style=style), align="left", style="dim")


def indented(what: RenderableType) -> RenderableType:
    """Lay out what stands below a heading."""
    return Padding(what, (0, 0, 0, 2), expand=False)


def _grid(*columns: str) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for justify in columns:
        table.add_column(justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def _inputs(inputs: Mapping[str, Any], names: Mapping[str, str]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("array", overflow="fold")
    for heading in ("shape", "values", "distance", "sha256"):
        table.add_column(heading, overflow="fold")
    for name in ("x", "y"):
        array, *middle, digits = facts.array(inputs[name], names.get(name))
        table.add_row(Text(name, style="bold"), Text(array, style="bold"), *middle, Text(digits, style="dim"))
    return table


def _measure(result: Result) -> Iterator[RenderableType]:
    if result.score is None:
        yield indented(Text(f"no score: {result.reason or 'no reason was given'}", style="bold yellow"))
    else:
        yield indented(_headline(result))
        if sentence := sentences.meaning(result):
            yield indented(Text(sentence))
        baseline, maximum = result.json.get("baseline"), result.json.get("attainableMaximum")
        if baseline is not None and maximum is not None and maximum - baseline >= 1e-12:
            yield Text()
            yield indented(Scale(result.score, baseline, maximum, result.interval("sampling")))
    lines = _grid("left", "left")
    for label, fact in _facts(result):
        lines.add_row(Text(label, style="dim"), fact)
    if lines.row_count:
        yield Text()
        yield indented(lines)


def _headline(result: Result) -> Text:
    assert result.score is not None  # `_measure` asked
    line = Text()
    line.append(numerals.score(result.score, result.deficit), style="bold green")
    if result.deficit is not None:
        line.append("   deficit ", style="dim")
        line.append(numerals.deficit(result.deficit))
    return line


def _facts(result: Result) -> Iterator[tuple[str, RenderableType]]:
    """Label and value of each line below the sentence."""
    if options := sentences.options(result):
        yield "options", Text(options)
    if ends := facts.intervals(result):
        yield "interval" if len(ends) == 1 else "intervals", _table(ends, "left", "left")
    for label, text in facts.before_counts(result):
        yield label, Text(text)
    if counts := result.counts:
        yield "comparisons", Text(facts.comparisons(counts))
        if counts.get("comparisons"):
            yield "", _table(facts.kinds(counts), "left", "right", "right")
    for label, text in facts.after_counts(result):
        yield label, Text(text)


def _table(rows: Sequence[tuple[str, ...]], *columns: str) -> RenderableType:
    """Lay out rows; a third column is dim."""
    table = _grid(*columns)
    for row in rows:
        table.add_row(*(Text(cell, style="dim" if place == 2 else "") for place, cell in enumerate(row)))
    return table


def shown_warnings(warnings: list[dict[str, str]]) -> RenderableType:
    """Lay out what a reader should know."""
    table = _grid("left", "left")
    for warning in warnings:
        text = Text(str(warning.get("detail", "")))
        text.append(f"  ({warning.get('code')})", style="dim")
        table.add_row(Text("!", style="bold yellow"), text)
    return table


def provenance(found: Mapping[str, Any]) -> RenderableType:
    """One dim paragraph: what is needed to get the same again."""
    return Text(facts.provenance(found), style="dim")
