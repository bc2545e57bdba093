"""Results as a person reads them in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from service import calibrated, numerals, sentences
from service.scale import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

    from rich.console import RenderableType

    from service.answers import Result, Results

WIDEST = 100
FINGERPRINT_DIGITS = 12
KINDS = {
    "concordant": "same order",
    "discordant": "opposite order",
    "tiedBoth": "tied in both",
    "tiedX": "tied in x only",
    "tiedY": "tied in y only",
}
PACKAGES_FIRST = ("ordsim", "python")


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
        _indented(_inputs(results.json["inputs"], names or {})),
        _indented(Text(_rows(results.json["inputs"]))),
    ]
    for result in results:
        parts += [Text(), rule(sentences.title(result), "bold cyan"), *_measure(result)]
    if any(result.json.get("baseline") is not None and not result.json.get("calibration") for result in results):
        parts += [Text(), _indented(Text(sentences.CHANCE, style="dim"))]
    if results.warnings:
        parts += [Text(), rule("Worth knowing", "bold yellow"), _indented(shown_warnings(results.warnings))]
    parts += [Text(), _indented(provenance(results.json.get("provenance") or {}))]
    return Group(*parts)


def rule(title: str, style: str) -> RenderableType:
    """Lay out a heading."""
    return Rule(Text(title, style=style), align="left", style="dim")


def _indented(what: RenderableType) -> RenderableType:
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
        side = inputs[name]
        values = str(side.get("dtype", ""))
        if side.get("exactness") == "integer" and values.startswith("float"):
            values += ", whole"
        digits = str(side.get("fingerprint", "")).rpartition(":")[2]
        table.add_row(
            Text(name, style="bold"),
            Text(names.get(name, f"{side.get('root')}:{side.get('path')}"), style="bold"),
            " x ".join(numerals.grouped(length) for length in side.get("shape", ())),
            values,
            str(side.get("distance", "")),
            Text(digits[:FINGERPRINT_DIGITS], style="dim"),
        )
    return table


def _rows(inputs: Mapping[str, Any]) -> str:
    """Say which rows took part."""
    rows = inputs["n"]
    lengths = {inputs[name]["shape"][0] for name in ("x", "y") if inputs[name].get("shape")}
    if lengths <= {rows}:
        said = [f"All {numerals.grouped(rows)} rows were compared, row i of x with row i of y."]
    else:
        of = " and ".join(numerals.grouped(length) for length in sorted(lengths))
        chosen = [inputs[name].get("rows") or {} for name in ("x", "y")]
        ranges = [f"{part['start']}:{part['stop']}" for part in chosen if {"start", "stop"} <= part.keys()]
        which = f", {' with '.join(dict.fromkeys(ranges))}" if ranges else ""
        said = [f"{numerals.grouped(rows)} of {of} rows were compared{which}, in order."]
    prints = [inputs[name].get("fingerprint") for name in ("x", "y")]
    if prints[0] and prints[0] == prints[1]:
        said.append("x and y hold the same values, bit for bit.")
    if groups := inputs.get("groups"):
        said.append(f"They fall into {numerals.grouped(groups['count'])} groups.")
    return " ".join(said)


def _measure(result: Result) -> Iterator[RenderableType]:
    if result.score is None:
        yield _indented(Text(f"no score: {result.reason or 'no reason was given'}", style="bold yellow"))
    else:
        yield _indented(_headline(result))
        if sentence := sentences.meaning(result):
            yield _indented(Text(sentence))
        baseline, maximum = result.json.get("baseline"), result.json.get("attainableMaximum")
        if baseline is not None and maximum is not None and maximum - baseline >= 1e-12:
            yield Text()
            yield _indented(Scale(result.score, baseline, maximum, result.interval("sampling")))
    facts = _grid("left", "left")
    for label, fact in _facts(result):
        facts.add_row(Text(label, style="dim"), fact)
    if facts.row_count:
        yield Text()
        yield _indented(facts)


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
    intervals = result.intervals
    if intervals:
        yield "interval" if len(intervals) == 1 else "intervals", _intervals(intervals, _decimals(result))
    for place, (kind, reason) in enumerate((result.json.get("intervals") or {}).get("reasons", {}).items()):
        yield "" if intervals or place else "interval", Text(sentences.no_interval(kind, reason))
    wanted, bounds = (result.json.get("spec") or {}).get("width"), result.interval("sampling")
    if wanted is not None and bounds is not None:
        yield "width", Text(f"{bounds[1] - bounds[0]:.4g}; {wanted:g} was asked for")
    counts = result.counts
    if counts:
        yield "comparisons", Text(_made(counts))
        if counts.get("comparisons"):
            yield "", _counts(counts)
    precision = (result.json.get("precision") or {}).get("used")
    if precision:
        yield "precision", Text(sentences.PRECISIONS.get(precision, precision))
    if paths := sentences.paths(result):
        yield "", Text(paths)
    for label, text in sentences.figures(result):
        yield label, Text(text)
    for label, text in calibrated.lines(result.json.get("calibration") or {}) if "calibration" in result.json else ():
        yield label, Text(text)
    if result.json.get("artifacts"):
        yield "artifacts", Text(", ".join(result.json["artifacts"]))


def _made(counts: Mapping[str, int]) -> str:
    made, population = counts.get("comparisons", 0), counts.get("population")
    if population is None:
        return numerals.grouped(made)
    if made == population:
        return f"{numerals.grouped(made)}, all there are ({numerals.rounded(made)})"
    return f"{numerals.grouped(made)} drawn of {numerals.grouped(population)} ({numerals.rounded(population)})"


def _counts(counts: Mapping[str, int]) -> RenderableType:
    table = _grid("left", "right", "right")
    for kind, label in KINDS.items():
        count = counts.get(kind, 0)
        if count or not kind.startswith("tied"):
            share = numerals.percent(count / counts["comparisons"])
            table.add_row(label, numerals.grouped(count), Text(share, style="dim"))
    if not any(counts.get(kind) for kind in KINDS if kind.startswith("tied")):
        table.add_row("tied", "none", "")
    return table


def _decimals(result: Result) -> int:
    """As many digits as the score has."""
    return 0 if result.score is None else len(numerals.score(result.score, result.deficit).partition(".")[2])


def _intervals(intervals: Mapping[str, Mapping[str, Any]], decimals: int) -> RenderableType:
    table = _grid("left", "left")
    for kind, interval in intervals.items():
        low, high = interval["low"], interval["high"]
        if interval.get("method") == "none-exact":
            table.add_row(Text(f"{low:.{decimals}f}"), Text(f"{sentences.METHODS['none-exact']}; nothing was sampled"))
            continue
        table.add_row(Text(f"{low:.{decimals}f} to {high:.{decimals}f}"), Text(sentences.interval(kind, interval)))
    return table


def shown_warnings(warnings: list[dict[str, str]]) -> RenderableType:
    """Lay out what a reader should know."""
    table = _grid("left", "left")
    for warning in warnings:
        text = Text(str(warning.get("detail", "")))
        text.append(f"  ({warning.get('code')})", style="dim")
        table.add_row(Text("!", style="bold yellow"), text)
    return table


def provenance(provenance: Mapping[str, Any]) -> RenderableType:
    """One dim paragraph: what is needed to get the same again."""
    said = []
    if provenance.get("seed") is not None:
        said.append(f"seed {provenance['seed']}")
    workers = provenance.get("workers")
    if workers is not None:
        said.append("1 worker" if workers == 1 else f"{workers} workers")
    said += [
        f"{name} {numerals.duration(seconds)}"
        for name, seconds in (provenance.get("timings") or {}).items()
        if isinstance(seconds, int | float)
    ]
    versions = provenance.get("versions") or {}
    names = sorted(versions, key=lambda name: (name not in PACKAGES_FIRST, name))
    said += [f"{name} {versions[name]}" for name in names]
    return Text(", ".join(said), style="dim")
