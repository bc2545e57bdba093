"""Requests, as a client puts them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Reference = str | Mapping[str, Any]
"""An array of the service: ``"root:path"``, or the mapping of the contract with rows and a distance."""

EXAMPLE = {"measure": "tsi", "method": "exact"}


def reference(value: Reference) -> dict[str, Any]:
    """Turn ``"root:path"`` into the form of the contract; a mapping is copied, with its rows as `with_rows` reads them.

    Raises
    ------
    ValueError
        If a string has no root or no path.
    TypeError
        If it is neither a string nor a mapping.
    """
    if isinstance(value, Mapping):
        return with_rows(value)
    if not isinstance(value, str):
        raise TypeError(f"an array is named by a string, root:path, or by a mapping, not by {_shown(value)}")
    root, colon, path = value.partition(":")
    if not (root and colon and path):
        hint = (
            "; a service is given files by `ordsim import FILE ROOT:PATH`" if value.endswith((".npy", ".zarr")) else ""
        )
        raise ValueError(f"{value!r} does not name an array: write root:path, e.g. lab:minilm/layer6{hint}")
    return {"root": root, "path": path}


def with_rows(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Copy fields, with ``rows`` given as (start, stop) or a slice in the form of the contract.

    Raises
    ------
    TypeError
        If rows are neither those nor a mapping, or a slice has a step or lacks its stop.
    """
    rows = fields.get("rows")
    if rows is None or isinstance(rows, Mapping):
        return dict(fields)
    if isinstance(rows, slice) and rows.step in (None, 1) and rows.stop is not None:
        ends: tuple[Any, ...] = (rows.start or 0, rows.stop)
    elif isinstance(rows, tuple) and len(rows) == 2:
        ends = tuple(rows)
    else:
        raise TypeError(
            f"rows are a range, such as (0, 1000), slice(0, 1000) or {{'start': 0, 'stop': 1000}}, not {_shown(rows)}"
        )
    return {**fields, "rows": {"start": plain(ends[0]), "stop": plain(ends[1])}}


def plain(value: Any) -> Any:
    """Give numbers of numpy, and whole floats such as 1e6, as JSON has them; also inside of mappings and lists."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return int(number) if number.is_integer() else number
    return value


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
    fields: dict[str, Any] = plain(with_rows(options))
    groups, ids = options.get("groups"), options.get("ids")
    if groups is not None:
        fields["groups"] = reference(groups)
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
    return dict(plain(value))


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, Mapping)) else f"a value of type {type(value).__name__}"
