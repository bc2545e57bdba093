"""What a report says on a page or in a document: the same parts for HTML and Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service import facts, grid_report, numerals, sentences
from service.drawings import bars, deficits, grids, scores, shapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.answers import Result, Results
    from service.drawings.shapes import Drawing
    from service.grid_answers import LayersResults, MatrixResults

    Artifacts = Mapping[str, Sequence[Any]]

LEAST_ALIGNED = 10
"""Rows that are named: those with the smallest scores."""

LONGEST_LABEL = 34
"""Letters of a path beside a heat map."""

NULL, PER_ANCHOR, ROWS, IDENTIFIERS = "null", "per_anchor", "rows", "ids"
DRAWN = (NULL, PER_ANCHOR, ROWS, IDENTIFIERS)
"""Artifacts that a page shows.

`ROWS` says which stored rows those with a score are, where that is not their place, `IDENTIFIERS` what they are called.
"""


@dataclass(frozen=True)
class Table:
    """A table below a part."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Part:
    """One measure, or one grid of scores."""

    title: str
    score: str = ""
    deficit: str = ""
    sentence: str = ""
    drawings: tuple[Drawing, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Page:
    """Everything on a page; `rows` says which rows took part."""

    title: str
    subtitle: str
    parts: tuple[Part, ...]
    arrays: tuple[tuple[str, ...], ...]
    rows: str
    warnings: Sequence[Mapping[str, str]]
    provenance: str
    document: Mapping[str, Any] = field(repr=False)


def comparison(results: Results, status: Mapping[str, Any], artifacts: Artifacts) -> Page:
    """Lay out a comparison; `status` is that of its job, `artifacts` are those of `DRAWN` by their names."""
    inputs = results.json["inputs"]
    x, y = (facts.array(inputs[name]) for name in ("x", "y"))
    parts = tuple(_measure(result, artifacts) for result in results)
    return Page(
        title=_label(status) or f"{x[0]} and {y[0]}",
        subtitle=_subtitle(results.json, status),
        parts=parts,
        arrays=(("x", *x), ("y", *y)),
        rows=facts.rows(inputs),
        warnings=results.warnings,
        provenance=facts.provenance(results.json.get("provenance") or {}),
        document=results.json,
    )


def grid(results: LayersResults | MatrixResults, status: Mapping[str, Any]) -> Page:
    """Lay out the results of a layers or matrix job."""
    spec = results.json["spec"]
    what = "Layers" if results.process == "layers" else "Models"
    part = Part(
        title=f"{spec['measure'].upper()}, {spec['method']}",
        drawings=() if results.json.get("reason") else (heat_map(results),),
        facts=tuple(grid_report.facts(results)),
    )
    return Page(
        title=_label(status) or f"{what} compared by {spec['measure'].upper()}",
        subtitle=_subtitle(results.json, status),
        parts=(part,),
        arrays=tuple((mark, *facts.array(one)) for mark, one in grid_report.marked(results)),
        rows=facts.rows_of_each(results.json["inputs"]),
        warnings=results.warnings,
        provenance=facts.provenance(results.json.get("provenance") or {}),
        document=results.json,
    )


def heat_map(results: LayersResults | MatrixResults) -> Drawing:
    """Draw all scores: layers with the best pair, models in the order of their similarity."""
    found, p_values = results.scores.tolist(), results.p_values
    tips = [
        [_tip(score, None if p_values is None else p_values[row, column]) for column, score in enumerate(line)]
        for row, line in enumerate(found)
    ]
    marked = grid_report.marked(results)
    named = [f"{mark}  {shapes.shortened(one['path'], LONGEST_LABEL)}" for mark, one in marked]
    if results.process == "matrix":
        marks = [mark for mark, _ in marked]
        whole = grids.Grid("Scores, similar arrays side by side", named, marks, found, tips, symmetric=True)
        return grids.draw(grids.ordered(whole, results.json["order"]))
    best, rows = results.json.get("best"), len(found)
    place = None if best is None else (best["x"], best["y"])
    return grids.draw(grids.Grid("Scores, the best pair framed", named[:rows], named[rows:], found, tips, place))


def measure_drawings(result: Result, artifacts: Artifacts, *, headed: bool = True) -> tuple[Drawing, ...]:
    """Draw the score, what its deficit is worth, and the scores of single rows, as far as they are known.

    `headed`: whether the name of the measure stands above its drawing.
    """
    null, anchors = (_artifact(result, what, artifacts) for what in (NULL, PER_ANCHOR))
    drawn: list[Drawing | None] = [scores.draw(result, null, headed=headed), deficits.draw(result)]
    if anchors:
        drawn.append(bars.per_anchor(anchors))
    return tuple(one for one in drawn if one is not None)


def _measure(result: Result, artifacts: Artifacts) -> Part:
    anchors = _artifact(result, PER_ANCHOR, artifacts)
    head = {} if result.score is None else {"score": numerals.score(result.score, result.deficit)}
    if result.score is not None and result.deficit is not None:
        head["deficit"] = numerals.deficit(result.deficit)
    return Part(
        title=sentences.title(result),
        sentence=sentences.meaning(result) if result.score is not None else f"No score: {result.reason}",
        drawings=() if result.score is None else measure_drawings(result, artifacts, headed=False),
        facts=tuple(facts.lines(result)),
        tables=(_least_aligned(result, anchors, artifacts),) if anchors else (),
        **head,
    )


def _artifact(result: Result, what: str, artifacts: Artifacts) -> Sequence[Any]:
    names = [name for name in result.json.get("artifacts") or () if name.partition("-")[2] == what]
    return next((artifacts[name] for name in names if name in artifacts), ())


def _least_aligned(result: Result, anchors: Sequence[float], artifacts: Artifacts) -> Table:
    """Name the rows with the smallest scores, by their numbers in the stored arrays and by their identifiers."""
    stored, identifiers = (_artifact(result, what, artifacts) for what in (ROWS, IDENTIFIERS))
    known = sorted((score, place) for place, score in enumerate(anchors) if math.isfinite(score))[:LEAST_ALIGNED]
    rows = [
        (*([str(identifiers[place])] if identifiers else []), _row(stored[place] if stored else place), f"{score:.6f}")
        for score, place in known
    ]
    heads = (*(["identifier"] if identifiers else []), "stored row, from 0", "score")
    return Table("The least aligned rows", heads, tuple(rows))


def _row(number: int | Sequence[int]) -> str:
    """One number, or one of x and one of y where these differ."""
    if isinstance(number, int):
        return numerals.grouped(number)
    return f"{numerals.grouped(number[0])} of x, {numerals.grouped(number[1])} of y"


def _tip(score: float, p_value: float | None) -> str:
    said = f"{score:.6f}" if math.isfinite(score) else "undefined"
    return said if p_value is None or not math.isfinite(p_value) else f"{said}, p {p_value:.3g}"


def _label(status: Mapping[str, Any]) -> str:
    return str(status.get("label") or "")


def _subtitle(document: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    finished = str(status.get("finished") or "").partition(".")[0].replace("T", " ")
    said = [f"ordsim {document.get('process')}, job {document.get('jobID')}"]
    said += [f"finished {finished} UTC"] if finished else []
    return ", ".join([*said, *(f"{key}: {value}" for key, value in (status.get("tags") or {}).items())])
