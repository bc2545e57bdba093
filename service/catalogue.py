"""Measures as a catalogue shows them: for programs with JSON schemas, for people with their options in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workers.measures import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workers.measures.protocol import Measure, MeasureOptions

ATTRIBUTE = re.compile(r"^(\w[\w, ]*) : .+\n((?:[ \t]+\S.*\n?|\n)+)", re.MULTILINE)
"""An entry of a numpydoc section: names, and the indented text below."""
LIMITS = (
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
)


def entries() -> list[dict[str, Any]]:
    """All measures, in order."""
    return [_entry(measure) for measure in registry.all_measures()]


def option_names(measure: str, method: str) -> list[str]:
    """Options that a measure takes, beside those that name it."""
    return [option["name"] for option in _options(registry.find(measure, method))]


def _entry(measure: Measure) -> dict[str, Any]:
    return {
        "measure": measure.measure,
        "method": measure.method,
        "title": measure.title,
        "minimumRows": measure.minimum_rows,
        "maximumRows": measure.maximum_rows,
        "default": measure.default,
        "options": measure.options.model_json_schema(),
        "optionsInWords": _options(measure),
    }


def _options(measure: Measure) -> list[dict[str, Any]]:
    schema = measure.options.model_json_schema()
    said = dict(_attributes(measure.options))
    return [
        {
            "name": name,
            "required": name in schema.get("required", ()),
            "default": field.get("default"),
            "values": _values(field),
            "meaning": said.get(name) or field.get("description", ""),
        }
        for name, field in schema["properties"].items()
        if name != "measure" and "const" not in field
    ]


def _attributes(options: type[MeasureOptions]) -> Iterator[tuple[str, str]]:
    """Yield name and meaning of each attribute that a class or one of its bases documents; the class itself last."""
    for one in reversed(options.__mro__):
        _, found, section = (one.__dict__.get("__doc__") or "").expandtabs().partition("----------\n")
        if not found:
            continue
        for names, text in ATTRIBUTE.findall(_dedented(section) + "\n"):
            for name in names.split(","):
                yield name.strip(), " ".join(text.replace("`", "").split())


def _dedented(section: str) -> str:
    lines = section.splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[margin:] for line in lines)


def _values(field: Mapping[str, Any]) -> str:
    """Say which values an option takes."""
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    if "anyOf" in field:
        return " or ".join(said for part in field["anyOf"] if (said := _values(part)) and said != "null")
    if "const" in field:
        return str(field["const"])
    kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
    limits = [f"{words} {field[name]:,}" for name, words in LIMITS if name in field]
    return ", ".join((kinds.get(field.get("type", ""), str(field.get("type", ""))), *limits))
