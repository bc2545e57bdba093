"""Results as rows: flat dictionaries with equal keys, as tables of any kind are made of."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Record = dict[str, Any]

INTERVALS = ("sampling", "hoeffding", "population", "jackknife", "arithmetic")
COUNTS = {
    "comparisons": "comparisons",
    "population": "population",
    "agreeing": "agreeing",
    "concordant": "concordant",
    "discordant": "discordant",
    "tiedX": "tied_x",
    "tiedY": "tied_y",
    "tiedBoth": "tied_both",
}
CALIBRATION = {
    "pValue": "p_value",
    "threshold": "threshold",
    "score": "calibrated_score",
    "alpha": "alpha",
    "permutations": "permutations",
    "scheme": "scheme",
    "nullMean": "null_mean",
    "nullStd": "null_std",
}
RESOLUTION = {"verdict": "verdict", "floorArithmetic": "floor_arithmetic", "floorStorage": "floor_storage"}
TOLD = frozenset({"measure", "method", "confidence"})
"""Options that have columns of their own."""


def comparison(document: Mapping[str, Any]) -> list[Record]:
    """A row for each measure of a compare job."""
    inputs = document.get("inputs") or {}
    head = {
        "job": document.get("jobID"),
        "x": _name(inputs.get("x")),
        "y": _name(inputs.get("y")),
        "rows": inputs.get("n"),
        "seed": (document.get("provenance") or {}).get("seed"),
    }
    return _even([head | dict(_measure(result)) for result in document["results"]])


def layers(document: Mapping[str, Any]) -> list[Record]:
    """A row for each pair of layers, x outside, y inside."""
    inputs, best = document["inputs"], document.get("best") or {}
    pairs = document.get("perPair")
    found = []
    for i, x in enumerate(inputs["x"]["layers"]):
        for j, y in enumerate(inputs["y"]["layers"]):
            pair = pairs[i][j] if pairs else {}
            cells = {
                "x_position": i,
                "y_position": j,
                "score": document["matrix"][i][j] if document["matrix"] else None,
                "p_value": pair.get("pValue"),
                "calibrated_score": pair.get("score"),
                "best": best.get("x") == i and best.get("y") == j,
            }
            found.append(_head(document, x, y) | cells)
    return found


def matrix(document: Mapping[str, Any]) -> list[Record]:
    """A row for each pair of different arrays, once."""
    arrays = document["inputs"]["arrays"]
    tables = {
        "score": "scores",
        "low": "low",
        "high": "high",
        "p_value": "pValues",
        "adjusted_p_value": "adjusted",
        "holm_p_value": "holm",
    }
    found = []
    for i, x in enumerate(arrays):
        for j in range(i + 1, len(arrays)):
            cells = {name: document[key][i][j] if document.get(key) else None for name, key in tables.items()}
            found.append(_head(document, x, arrays[j]) | {"x_position": i, "y_position": j} | cells)
    return found


def to_csv(records: Sequence[Record]) -> str:
    """Write rows as CSV (RFC 4180); nothing for what is unknown."""
    written = io.StringIO()
    writer = csv.DictWriter(written, records[0] if records else ())
    writer.writeheader()
    writer.writerows(records)
    return written.getvalue()


def to_markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _head(document: Mapping[str, Any], x: Mapping[str, Any], y: Mapping[str, Any]) -> Record:
    spec = document.get("spec") or {}
    return {
        "job": document.get("jobID"),
        "x": _name(x),
        "y": _name(y),
        "rows": document["inputs"].get("n"),
        "measure": spec.get("measure"),
        "method": spec.get("method"),
    }


def _name(array: Mapping[str, Any] | None) -> str | None:
    return None if array is None else f"{array.get('root')}:{array.get('path')}"


def _measure(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("measure", "method", "score", "deficit", "reason", "baseline"):
        yield name, result.get(name)
    yield "attainable_maximum", result.get("attainableMaximum")
    spec, intervals = result.get("spec") or {}, result.get("intervals") or {}
    yield "confidence", spec.get("confidence")
    for kind in INTERVALS:
        found = intervals.get(kind) or {}
        yield from ((f"{kind}_{end}", found.get(end)) for end in ("low", "high"))
    yield "standard_error", (intervals.get("jackknife") or {}).get("standardError")
    counts = result.get("counts") or {}
    yield from ((column, int(counts[name]) if name in counts else None) for name, column in COUNTS.items())
    for part, columns in (("calibration", CALIBRATION), ("resolution", RESOLUTION)):
        found = result.get(part) or {}
        yield from ((column, found.get(name)) for name, column in columns.items())
    yield "precision", (result.get("precision") or {}).get("used")
    yield from ((f"option_{name}", value) for name, value in spec.items() if name not in TOLD)


def _even(records: list[Record]) -> list[Record]:
    """Give all the same keys, in the order in which they come up."""
    keys = dict.fromkeys(key for record in records for key in record)
    return [{key: record.get(key) for key in keys} for record in records]
