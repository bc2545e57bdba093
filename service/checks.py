"""What is checked before a job is accepted: everything that needs no more than the arrays' metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from workers import references
from workers.errors import ProblemError
from workers.references import Reference

if TYPE_CHECKING:
    from service.schemas import JobRequest
    from workers.references import ArrayDescription, Roots

Name = Literal["x", "y"]


def check(request: JobRequest, roots: Roots) -> dict[str, Any]:
    """Describe both arrays, or say why they cannot be compared.

    Returns
    -------
    dict
        For x and y, the shape and dtype as stored.

    Raises
    ------
    ProblemError
        With a pointer into the request.
    """
    x = _describe(request, roots, "x")
    y = _describe(request, roots, "y")
    if request.rows is not None:
        _require_equal(x.shape[0], y.shape[0], "The arrays have")
        if request.rows.stop > x.shape[0]:
            raise ProblemError(
                "invalid-request",
                f"rows.stop is {request.rows.stop}, but the arrays have {x.shape[0]} rows.",
                "request",
                "/rows/stop",
            )
    rows = selected(request, "x", x.shape[0])
    _require_equal(rows, selected(request, "y", y.shape[0]), "After the selection of rows, the arrays have")
    _require_enough(request, rows)
    if request.ids is not None:
        for name, named in (("x", request.ids.x), ("y", request.ids.y)):
            # Where they are is checked now; reading them belongs to the job.
            reference = Reference(named.root, named.path)
            references.read_metadata(roots, reference, f"/ids/{name}", f"ids of {name}")
    return {name: {"shape": list(array.shape), "dtype": array.dtype} for name, array in (("x", x), ("y", y))}


def selected(request: JobRequest, name: Name, stored: int) -> int:
    """How many of an array's rows are compared."""
    rows = (request.x if name == "x" else request.y).rows or request.rows
    return stored if rows is None else rows.stop - rows.start


def _describe(request: JobRequest, roots: Roots, name: Name) -> ArrayDescription:
    array = request.x if name == "x" else request.y
    rows = array.rows.range() if array.rows else None
    return references.describe_matrix(roots, Reference(array.root, array.path, rows), name)


def _require_equal(x: int, y: int, subject: str) -> None:
    if x != y:
        raise ProblemError(
            "row-count-mismatch",
            f"{subject} different row counts: x has {x}, y has {y}. Row i of both must be the same input; select "
            "rows with x.rows and y.rows, or transpose an array that has its features first.",
            "request",
            "/y",
        )


def _require_enough(request: JobRequest, rows: int) -> None:
    for position, (measure, _) in enumerate(request.options()):
        if rows < measure.minimum_rows:
            raise ProblemError(
                "too-few-rows",
                f"{measure.measure} ({measure.method}) needs at least {measure.minimum_rows} rows, and there are "
                f"{rows}.",
                "request",
                f"/measures/{position}",
            )
