"""Reports as files, and results as rows."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from service import flattened, grid_answers, pages, written
from service.answers import Results
from tests.service.test_report import EXACT, SAMPLED, document

NULL = [0.49, 0.5, 0.51]
CALIBRATION = {
    "pValue": 0.25,
    "permutations": 3,
    "exceedances": 0,
    "threshold": 0.51,
    "score": 0.3,
    "alpha": 0.05,
    "scheme": "rows",
    "smax": 1.0,
    "nullMean": 0.5,
    "nullStd": 0.01,
    "observed": 0.66,
    "statistic": {"measure": "tsi", "method": "exact"},
}


def calibrated() -> dict[str, Any]:
    return {**copy.deepcopy(EXACT), "calibration": CALIBRATION, "artifacts": ["0-per_anchor", "0-null"]}


def array(path: str) -> dict[str, Any]:
    return {"root": "lab", "path": path, "shape": [60, 4], "dtype": "float32", "distance": "euclidean"}


LAYERS: dict[str, Any] = {
    "jobID": "j1",
    "process": "layers",
    "spec": {"measure": "tsi", "method": "units"},
    "inputs": {"n": 60, "x": {"layers": [array("a"), array("b")]}, "y": {"layers": [array("c")]}},
    "matrix": [[0.5], [0.75]],
    "best": {"x": 1, "y": 0, "score": 0.75},
    "aggregate": {"kind": "max", "score": 0.75},
    "perPair": [[{"score": 0.0, "pValue": 0.5}], [{"score": 0.4, "pValue": 0.01}]],
    "warnings": [],
}
MATRIX: dict[str, Any] = {
    "jobID": "j2",
    "process": "matrix",
    "spec": {"measure": "tsi", "method": "units"},
    "inputs": {"n": 60, "arrays": [array("a"), array("b"), array("c")]},
    "labels": ["lab:a", "lab:b", "lab:c"],
    "scores": [[1.0, 0.5, 0.6], [0.5, 1.0, 0.7], [0.6, 0.7, 1.0]],
    "low": [[1.0, 0.4, 0.5], [0.4, 1.0, 0.6], [0.5, 0.6, 1.0]],
    "high": [[1.0, 0.6, 0.7], [0.6, 1.0, 0.8], [0.7, 0.8, 1.0]],
    "order": [0, 2, 1],
    "adjusted": [[None, 0.2, 0.1], [0.2, None, 0.02], [0.1, 0.02, None]],
    "differences": [{"array": 2, "x": 0, "reference": 1, "difference": 0.1, "sampling": {"low": 0.05, "high": 0.15}}],
    "warnings": [{"code": "small-sample", "detail": "There are few <rows>."}],
}


class Closed(HTMLParser):
    """Sees that what is opened is closed, and what a page would ask for."""

    EMPTY = frozenset({"meta", "line", "rect", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wanted: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY or tag == "rect":
            self.open.append(tag)
        self.wanted += [(name, value) for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_page(text: str) -> None:
    """See that a page is whole and needs nothing but itself."""
    parser = Closed()
    parser.feed(text)
    assert (parser.open, parser.wanted) == ([], [])
    assert not re.search(r"url\(|@import|https?://|<link|<iframe", text.partition('<script type="application/json"')[0])
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_page_of_a_comparison_is_whole_and_asks_for_nothing() -> None:
    results = Results(document(calibrated(), SAMPLED))
    status = {"label": "two <b>layers</b>", "finished": "2026-03-04T05:06:07.8Z", "tags": {"experiment": "e12"}}
    artifacts = {"0-null": NULL, "0-per_anchor": [0.9, 0.1, 0.5]}
    text = written.as_html(pages.comparison(results, status, artifacts))
    check_page(text)
    assert "<h1>two &lt;b&gt;layers&lt;/b&gt;</h1>" in text
    assert "finished 2026-03-04 05:06:07 UTC, experiment: e12" in text
    assert text.count("<figure>") == 3
    rows = re.findall(r'<tr><td class="name">([^<]*)</td><td>([^<]*)</td></tr>', text)
    assert rows == [("1", "0.100000"), ("2", "0.500000"), ("0", "0.900000")]
    for words in ("0.658141", "deficit 0.341859", "3 permutations of all rows", "800 drawn of 1,994,005,498,500"):
        assert words in text
    embedded = text.partition('id="results">')[2].partition("</script>")[0]
    assert json.loads(embedded) == results.json


@pytest.mark.parametrize(
    ("stored", "names"),
    [
        ([7, 3, 1200], ["3", "1,200", "7"]),
        ([[7, 8], [3, 4], [5, 6]], ["3 of x, 4 of y", "5 of x, 6 of y", "7 of x, 8 of y"]),
    ],
)
def test_the_least_aligned_rows_are_named_as_they_are_stored(stored: list[Any], names: list[str]) -> None:
    result = {**calibrated(), "artifacts": ["0-per_anchor", "0-rows"]}
    artifacts = {"0-per_anchor": [0.9, 0.1, 0.5], "0-rows": stored}
    page = pages.comparison(Results(document(result)), {}, artifacts)
    (table,) = page.parts[0].tables
    assert [row[0] for row in table.rows] == names


def test_what_a_service_says_cannot_become_markup() -> None:
    bad = '</script><script>alert("1")</script>'
    found = document({**calibrated(), "reason": bad, "score": None}, warnings=[{"code": bad, "detail": bad}])
    found["inputs"]["x"]["path"] = bad
    text = written.as_html(pages.comparison(Results(found), {"label": bad}, {}))
    check_page(text)
    assert text.count("<script") == 1


@pytest.mark.parametrize(("found", "title"), [(LAYERS, "Layers compared by TSI"), (MATRIX, "Models compared by TSI")])
def test_a_page_of_a_grid(found: dict[str, Any], title: str) -> None:
    page = pages.grid(grid_answers.read(found), {})
    text = written.as_html(page)
    check_page(text)
    assert f"<h1>{title}</h1>" in text
    assert text.count("<figure>") == 1
    assert "few &lt;rows&gt;" in text or not found["warnings"]
    assert f"# {title}\n" in written.as_markdown(page)


def test_a_grid_without_scores_has_no_drawing() -> None:
    found = {**LAYERS, "matrix": None, "best": None, "aggregate": {"kind": "max", "score": None}, "reason": "constant"}
    text = written.as_html(pages.grid(grid_answers.read(found), {}))
    assert text.count("<figure>") == 0
    assert "constant" in text
    assert [record["score"] for record in grid_answers.read(found).records()] == [None, None]


def test_markdown_has_tables_that_no_text_breaks() -> None:
    found = document(calibrated())
    found["inputs"]["x"]["path"] = "a|b"
    found["inputs"]["y"]["path"] = "<script>alert(1)</script>![](http://elsewhere)"
    text = written.as_markdown(pages.comparison(Results(found), {}, {}))
    assert "**0.658141**, deficit 0.341859" in text
    assert "| x | demo:a\\|b |" in text
    assert "<script" not in text
    assert "](" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert written.as_json(found) == json.dumps(found, indent=2) + "\n"


def test_records_are_even_flat_and_keep_large_integers() -> None:
    results = Results(document(calibrated(), SAMPLED))
    first, second = results.records()
    assert list(first) == list(second)
    assert not any(isinstance(value, (dict, list)) for record in (first, second) for value in record.values())
    assert first["population"] == 3994002000
    assert (first["measure"], first["x"], first["score"]) == ("tsi", "demo:layer6", EXACT["score"])
    assert (first["p_value"], first["threshold"], first["calibrated_score"]) == (0.25, 0.51, 0.3)
    assert (second["p_value"], second["hoeffding_low"], second["option_samples"]) == (None, 0.655, 800)
    assert first["option_samples"] is None
    read = list(csv.DictReader(io.StringIO(results.to_csv())))
    assert [float(line["score"]) for line in read] == results.scores
    assert read[1]["p_value"] == ""


def test_typed_results() -> None:
    (result,) = Results(document(calibrated()))
    assert result.calibration is not None
    assert (result.calibration.p_value, result.calibration.threshold, result.calibration["score"]) == (0.25, 0.51, 0.3)
    assert Results(document(SAMPLED))[0].calibration is None
    layers = grid_answers.read(LAYERS)
    assert isinstance(layers, grid_answers.LayersResults)
    assert layers.best is not None
    assert (layers.best.x, layers.best.y, layers.best.score, layers.aggregate) == (1, 0, 0.75, 0.75)
    assert layers.labels == (["lab:a", "lab:b"], ["lab:c"])
    matrix = grid_answers.read(MATRIX)
    assert isinstance(matrix, grid_answers.MatrixResults)
    assert (matrix.order, matrix.low[0, 1], matrix.high[0, 1]) == ([0, 2, 1], 0.4, 0.6)
    (difference,) = matrix.differences
    assert (difference.array, difference.difference, difference.p_value) == (2, 0.1, None)
    assert (difference.interval(), difference.interval("jackknife")) == ((0.05, 0.15), None)


def test_records_of_grids() -> None:
    records = grid_answers.read(LAYERS).records()
    assert [(record["x"], record["y"], record["score"], record["best"]) for record in records] == [
        ("lab:a", "lab:c", 0.5, False),
        ("lab:b", "lab:c", 0.75, True),
    ]
    assert [record["p_value"] for record in records] == [0.5, 0.01]
    found = grid_answers.read(MATRIX)
    assert [(record["x"], record["y"], record["score"], record["low"]) for record in found.records()] == [
        ("lab:a", "lab:b", 0.5, 0.4),
        ("lab:a", "lab:c", 0.6, 0.5),
        ("lab:b", "lab:c", 0.7, 0.6),
    ]
    assert [record["adjusted_p_value"] for record in found.records()] == [0.2, 0.1, 0.02]
    assert found.to_csv().splitlines()[0].startswith("job,x,y,rows,measure,method,x_position,y_position,score")
    assert flattened.to_csv([]) == "\r\n"
