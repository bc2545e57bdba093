"""Reports of one job as files, from its results, its status and its artifacts, wherever these were fetched from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import grid_answers, pages, written
from service.answers import Results
from service.drawings import shapes, style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Load = Callable[[str], Sequence[Any]]
    """The values of an artifact, by its name."""


def as_csv(document: dict[str, Any]) -> str:
    """Write a line for each measure, or for each pair of arrays."""
    return _read(document).to_csv()


def as_html(document: dict[str, Any], status: Mapping[str, Any], load: Load) -> str:
    """Write one page that needs nothing else."""
    return written.as_html(_page(document, status, load))


def as_markdown(document: dict[str, Any], status: Mapping[str, Any], load: Load) -> str:
    """Write the same without drawings."""
    return written.as_markdown(_page(document, status, load))


def as_svg(document: dict[str, Any], load: Load) -> str:
    """Draw all measures of a comparison, or the heat map of a grid."""
    results = _read(document)
    if isinstance(results, Results):
        artifacts = _drawn(results, load)
        drawn = [drawing for result in results for drawing in pages.measure_drawings(result, artifacts)]
    else:
        drawn = [pages.heat_map(results)]
    return shapes.stack(drawn, f"Scores of job {document['jobID']}").file(style.ALONE)


def _read(document: dict[str, Any]) -> Results | grid_answers.LayersResults | grid_answers.MatrixResults:
    return Results(document) if document["process"] == "compare" else grid_answers.read(document)


def _page(document: dict[str, Any], status: Mapping[str, Any], load: Load) -> pages.Page:
    results = _read(document)
    if isinstance(results, Results):
        return pages.comparison(results, status, _drawn(results, load))
    return pages.grid(results, status)


def _drawn(results: Results, load: Load) -> dict[str, Sequence[Any]]:
    """The artifacts that drawings and tables are made of."""
    names = [name for result in results for name in result.json.get("artifacts") or ()]
    return {name: load(name) for name in names if name.partition("-")[2] in pages.DRAWN}
