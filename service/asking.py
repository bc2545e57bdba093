"""Requests, as a client puts them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Reference = str | Mapping[str, Any]
"""An array of the service: ``"root:path"``, or the mapping of the contract with rows and a distance."""

EXAMPLE = {"measure": "tsi", "method": "exact"}


def reference(value: Reference) -> dict[str, Any]:
    """Turn ``"root:path"`` into the form of the contract; a mapping is copied as it is.

    Raises
    ------
    ValueError
        If a string has no root or no path.
    TypeError
        If it is neither a string nor a mapping.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise TypeError(f"an array is named by a string, root:path, or by a mapping, not by {_shown(value)}")
    root, colon, path = value.partition(":")
    if not (root and colon and path):
        raise ValueError(f"{value!r} does not name an array: write root:path, e.g. lab:minilm/layer6")
    return {"root": root, "path": path}


def comparison(
    x: Reference, y: Reference, measures: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the body of a request of the process compare; errors as `reference`, TypeError for other measures."""
    listed = _listed(measures, "measures", EXAMPLE)
    entries = [_measure(entry, f"measures[{place}]") for place, entry in enumerate(listed)]
    return {"process": "compare", "x": reference(x), "y": reference(y), "measures": entries, **_fields(options)}


def layers(
    x: Sequence[Reference], y: Sequence[Reference], measure: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the body of a request of the process layers; errors as `comparison`."""
    sides = {name: {"layers": _references(side, name)} for name, side in (("x", x), ("y", y))}
    return {"process": "layers", **sides, "measure": _measure(measure, "measure"), **_fields(options)}


def matrix(arrays: Sequence[Reference], measure: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Build the body of a request of the process matrix; errors as `comparison`."""
    named = _references(arrays, "arrays")
    return {"process": "matrix", "arrays": named, "measure": _measure(measure, "measure"), **_fields(options)}


def _fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Further fields; groups and identifiers may be named as other arrays are."""
    fields = dict(options)
    if fields.get("groups") is not None:
        fields["groups"] = reference(fields["groups"])
    ids = fields.get("ids")
    if isinstance(ids, Mapping):
        fields["ids"] = {side: reference(array) for side, array in ids.items()}
    elif ids is not None:
        fields["ids"] = _references(ids, "ids")
    return fields


def _references(arrays: Sequence[Reference], name: str) -> list[dict[str, Any]]:
    return [reference(array) for array in _listed(arrays, name, "lab:minilm/layer6")]


def _listed(values: Any, name: str, example: Any) -> Iterable[Any]:
    """What must be several: one alone, a string or a mapping, would be taken for its letters or keys."""
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, e.g. {[example]}, not {_shown(values)}")
    return values


def _measure(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, e.g. {EXAMPLE}, not {_shown(value)}")
    return dict(value)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, Mapping)) else f"a value of type {type(value).__name__}"
