"""Options that say which rows belong together and which are left out, and how they get into a request."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

IDS = {"x-ids": "x", "y-ids": "y"}
"""What arrays of identifiers are called beside x and y, and whose rows they identify."""

Ids = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--ids",
        metavar="X_IDS Y_IDS",
        help="Arrays of row identifiers, integers or strings, one for each stored row of X and of Y, named like "
        "--groups.",
    ),
]
Align = Annotated[
    str | None,
    typer.Option(
        "--align",
        metavar="HOW",
        help="With --ids: check that they are equal, in order, or join rows by them, in the order of X. "
        "[default: check]",
    ),
]
OnNonFinite = Annotated[
    str | None,
    typer.Option(
        "--on-non-finite",
        metavar="POLICY",
        help="What to do about NaN and infinity: error, drop such rows from both arrays, or drop-columns. "
        "[default: error]",
    ),
]
Anew = Annotated[
    bool,
    typer.Option("--anew", help="Compute, even if a finished job asked the same of the same data."),
]


def placed(found: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Put references where they belong in a request: those named x-ids and y-ids are its ids."""
    fields: dict[str, Any] = {name: array for name, array in found.items() if name not in IDS}
    ids = {IDS[name]: array for name, array in found.items() if name in IDS}
    return fields | ({"ids": ids} if ids else {})


def named_labels(groups: str | None, ids: tuple[str, str] | None) -> dict[str, str]:
    """Arrays of labels by the names that `placed` knows."""
    found = {} if groups is None else {"groups": groups}
    return found | ({} if ids is None else dict(zip(IDS, ids, strict=True)))
