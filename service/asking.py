"""The request of a comparison, as a client puts it together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Reference = str | Mapping[str, Any]
"""An array of the service: ``"root:path"``, or the mapping of the contract with rows and a distance."""


def reference(value: Reference) -> dict[str, Any]:
    """Turn ``"root:path"`` into the form of the contract; a mapping is copied as it is.

    Raises
    ------
    ValueError
        If a string has no root or no path.
    """
    if isinstance(value, Mapping):
        return dict(value)
    root, colon, path = value.partition(":")
    if not (root and colon and path):
        raise ValueError(f"{value!r} does not name an array: write root:path, e.g. lab:minilm/layer6")
    return {"root": root, "path": path}


def comparison(
    x: Reference, y: Reference, measures: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the body of a request; ValueError as `reference`."""
    return {
        "process": "compare",
        "x": reference(x),
        "y": reference(y),
        "measures": [dict(measure) for measure in measures],
        **options,
    }
