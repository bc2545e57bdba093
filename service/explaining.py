"""From pydantic's list of errors to plain sentences, each with a JSON pointer into the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import catalogue
from workers.measures import registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TAG = "."
"""Stands in the tag of a measure's options, ``measure.method``, and in no field name."""

PROCESSES = ("compare", "layers", "matrix")
"""Tags of the union of requests."""


def explain(found: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Name what is wrong, and where.

    Errors in a query, a path or a header have an empty pointer and a ``parameter``.
    """
    return [_one(error) for error in found]


def _one(error: Mapping[str, Any]) -> dict[str, str]:
    source, *path = error["loc"] or ("body",)
    if source == "body" and path and path[0] in PROCESSES:
        path = path[1:]  # which of the requests it was read as
    field = str(path[-1]) if path else ""
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        missing, detail = _measure(error.get("input")) if path else _process(error.get("input"))
        path = [*path, *missing]
    else:
        detail = _sentence(error, field)
        if error["type"] == "extra_forbidden" and (place := _place_of_tag(path)) is not None:
            detail = _no_option(*path[place].split(TAG, 1))
    if source != "body":
        name = ".".join(str(part) for part in path)
        return {"pointer": "", "parameter": name, "detail": f"{source} parameter {name}: {detail}"}
    parts = [str(part) for part in _without_tags(path)]
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    return {"pointer": pointer, "detail": f"{'.'.join(parts)}: {detail}" if parts else detail}


def _without_tags(path: Sequence[Any]) -> list[Any]:
    """Drop the tags that the union of measures puts between an entry and its fields."""
    place = _place_of_tag(path)
    return list(path) if place is None else [*path[:place], *path[place + 1 :]]


def _place_of_tag(path: Sequence[Any]) -> int | None:
    """Find the tag of a measure's options; what clients name their fields, at other places, is none."""
    place = {"measures": 2, "measure": 1}.get(str(path[0])) if path else None
    tagged = place is not None and place < len(path) and isinstance(path[place], str) and TAG in path[place]
    return place if tagged else None


def _process(sent: Any) -> tuple[list[str], str]:
    """Say that the process is wrong or missing."""
    if not isinstance(sent, dict):
        return [], "the body must be a JSON object, sent with Content-Type: application/json"
    if "process" not in sent:
        return ["process"], f"is missing; supported: {', '.join(PROCESSES)}"
    return ["process"], f"{_shown(sent['process'])} is not supported; supported: {', '.join(PROCESSES)}"


def _measure(sent: Any) -> tuple[list[str], str]:
    """Say which of the two names of a measure is wrong or missing."""
    if not isinstance(sent, dict):
        return [], 'an object is needed, such as {"measure": "tsi", "method": "exact"}'
    known: dict[str, list[str]] = {}
    for candidate in registry.all_measures():
        known.setdefault(candidate.measure, []).append(candidate.method)
    measure = sent.get("measure")
    if "measure" not in sent:
        return ["measure"], f"is missing; supported: {', '.join(known)}"
    if not isinstance(measure, str) or measure not in known:
        return ["measure"], f"{_shown(measure)} is not supported; supported: {', '.join(known)}"
    methods, field = (
        ", ".join(known[measure]),
        next(candidate.chosen_by for candidate in registry.all_measures() if candidate.measure == measure),
    )
    if field not in sent:
        return [field], f"is missing; {measure} has: {methods}"
    return [field], f"{_shown(sent[field])} is not supported; {measure} has: {methods}"


def _no_option(measure: str, method: str) -> str:
    """Name the options that there are."""
    names = catalogue.option_names(measure, method)
    return f"there is no such option; {measure} {method} has: {', '.join(names) or 'none'}"


def _sentence(error: Mapping[str, Any], field: str) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    if field == "confidence" and kind in ("greater_than", "less_than_equal"):
        return f"{_shown(error.get('input'))} must lie between 0 and 1, at most 1 - 2^-52, e.g. 0.99"
    if kind == "missing":
        return "is missing" if field else "a JSON body is needed, with Content-Type: application/json"
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind in ("literal_error", "enum"):
        return f"{_shown(error.get('input'))} is not supported; supported: {context['expected']}"
    if kind in ("model_attributes_type", "model_type", "dict_type") and not field:
        return "the body must be a JSON object, sent with Content-Type: application/json"
    if kind == "value_error":
        return str(context.get("error", error["msg"]))
    message: str = error["msg"]
    return message[:1].lower() + message[1:]


def _shown(value: Any) -> str:
    """A value as it may stand in a sentence: short, and on one line."""
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
