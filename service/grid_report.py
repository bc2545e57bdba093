"""Results of layers and matrix jobs as a person reads them in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from service import calibrated
from service.facts import rows_of_each
from service.grid_answers import name
from service.report import WIDEST, indented, provenance, rule, shown_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from rich.console import RenderableType

    from service.grid_answers import GridResults

MOST_COLUMNS = 12
"""Of a table of scores that is printed; the JSON document has all."""
LIKELY = 0.05


def print_grid(results: GridResults, stream: IO[str] | None = None) -> None:
    """Print a report: on standard output, if nothing else is said."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.print(render(results), width=min(console.width, WIDEST))


def render(results: GridResults) -> RenderableType:
    """Lay out a report, as something rich can print."""
    inputs = results.json["inputs"]
    layers = results.process == "layers"
    rows = [name(one) for one in (inputs["x"]["layers"] if layers else inputs["arrays"])]
    columns = [name(one) for one in (inputs["y"]["layers"] if layers else inputs["arrays"])]
    spec = results.json["spec"]
    parts: list[RenderableType] = [
        rule(f"ordsim, job {results.job}", "bold"),
        indented(Text(f"{spec['measure'].upper()} {spec['method']} of {inputs['n']:,} rows")),
        indented(Text(rows_of_each(inputs))),
        Text(),
        indented(_legend(rows, columns if layers else [])),
        Text(),
    ]
    if not results.json.get("reason"):
        parts += [indented(_scores(results, len(rows), len(columns))), Text()]
    for title, table in _more_tables(results):
        parts += [indented(Text(title, style="dim")), indented(table), Text()]
    lines = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for label, text in facts(results):
        lines.add_row(Text(label, style="dim"), Text(text))
    parts += [indented(lines), Text()]
    if results.warnings:
        parts += [rule("Worth knowing", "bold yellow"), indented(shown_warnings(results.warnings)), Text()]
    return Group(*parts, indented(provenance(results.json.get("provenance") or {})))


def marked(results: GridResults) -> list[tuple[str, dict[str, Any]]]:
    """All arrays with the short marks that a report names them by: x0, x1, ..., y0, ... of layers, 0, 1, ..."""
    inputs = results.json["inputs"]
    if results.process == "matrix":
        return [(str(place), one) for place, one in enumerate(inputs["arrays"])]
    return [(f"{side}{place}", one) for side in ("x", "y") for place, one in enumerate(inputs[side]["layers"])]


def _legend(rows: list[str], columns: list[str]) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for side, names in (("x" if columns else "", rows), ("y", columns)):
        for place, shown in enumerate(names):
            table.add_row(Text(f"{side}{place}", style="bold"), shown)
    return table


def _scores(results: GridResults, rows: int, columns: int) -> RenderableType:
    """A table of scores; those that chance makes as large too often are dim."""
    x, y = ("x", "y") if results.process == "layers" else ("", "")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    shown = min(columns, MOST_COLUMNS)
    for column in range(shown):
        table.add_column(f"{y}{column}", justify="right")
    p_values = results.p_values
    for row in range(rows):
        cells = []
        for column in range(shown):
            likely = p_values is not None and p_values[row, column] > LIKELY
            cells.append(Text(f"{results.scores[row, column]:.4f}", style="dim" if likely else ""))
        table.add_row(Text(f"{x}{row}", style="bold"), *cells)
    if shown < columns:
        table.caption = f"{columns - shown} more columns are in the JSON document"
    return table


def _more_tables(results: GridResults) -> Iterator[tuple[str, RenderableType]]:
    """Calibrations of single pairs of layers; intervals and p-values of pairs of arrays."""
    found = results.json
    if pairs := found.get("perPair"):
        cells = [[f"{pair['score']:.4f} ({pair['pValue']:.3g})" for pair in row] for row in pairs]
        yield "calibrated score (p-value) of each pair, not corrected for there being many", _table(cells, "x", "y")
    if found.get("low"):
        rows = zip(found["low"], found["high"], strict=True)
        cells = [[f"{low:.4f} to {high:.4f}" for low, high in zip(*pair, strict=True)] for pair in rows]
        yield f"intervals, {found['spec'].get('confidence', 0):.10g} confidence", _table(cells, "", "")
    if adjusted := found.get("adjusted"):
        cells = [["" if value is None else f"{value:.4g}" for value in row] for row in adjusted]
        yield "p-values, adjusted for the number of pairs", _table(cells, "", "")


def _table(cells: list[list[str]], x: str, y: str) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for column in range(min(len(cells[0]), MOST_COLUMNS)):
        table.add_column(f"{y}{column}", justify="right")
    for row, texts in enumerate(cells):
        table.add_row(Text(f"{x}{row}", style="bold"), *texts[:MOST_COLUMNS])
    return table


def facts(results: GridResults) -> Iterator[tuple[str, str]]:
    """Label and text of every line below the tables."""
    found = results.json
    if reason := found.get("reason"):
        yield "no score", str(reason)
    if best := found.get("best"):
        yield "best", f"x{best['x']} with y{best['y']}: {best['score']:.6f}"
    if (aggregate := found.get("aggregate")) and aggregate["score"] is not None:
        yield "aggregate", f"{aggregate['kind']}: {aggregate['score']:.6f}"
    if order := found.get("order"):
        yield "order", " ".join(str(place) for place in order)
    for one in found.get("differences") or ():
        yield "difference", _difference(one)
    if calibration := found.get("calibration"):
        of = "of the largest score of all" if results.process == "matrix" else "of the aggregate"
        yield "calibration", of
        yield from calibrated.lines(calibration)
    if found.get("artifacts"):
        yield "artifacts", ", ".join(found["artifacts"])


def _difference(one: dict[str, Any]) -> str:
    bounds = one["sampling"]
    said = f"score({one['x']}, {one['array']}) - score({one['x']}, {one['reference']}) = "
    said += f"{one['difference']:+.6f}; {bounds['low']:+.6f} to {bounds['high']:+.6f} of these rows"
    if jackknife := one.get("jackknife"):
        said += f"; {jackknife['low']:+.6f} to {jackknife['high']:+.6f} of the population, not rigorous"
    if one.get("pValue") is not None:
        said += f"; p {one['pValue']:.3g} of no difference in the population, by the jackknife"
    return said
