"""What is checked before a job is accepted: everything that needs no more than the arrays' metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ordsim_core.distances import Distance
from service import planning
from workers import groups, identifiers, references
from workers.errors import ProblemError
from workers.references import Reference
from workers.tasks import require_square

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.planning import Workplace
    from service.schemas import JobRequest
    from workers.measures.protocol import PairShape
    from workers.references import ArrayDescription, Roots

Name = Literal["x", "y"]
SIDES: tuple[Name, ...] = ("x", "y")


@dataclass(frozen=True)
class Checked:
    """What metadata says of a request that may be tried.

    Attributes
    ----------
    arrays : mapping
        For x and y, the shape and dtype as stored.
    shape : PairShape
        What is compared, for costs.
    """

    arrays: Mapping[str, Any]
    shape: PairShape


def check(request: JobRequest, roots: Roots, place: Workplace) -> Checked:
    """Describe both arrays, or say why they cannot be compared here.

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
    _require_possible(request, rows)
    # What the metadata of labels says is checked now; reading them belongs to the job.
    for name in SIDES:
        if (reference := request.identifiers_of(name)) is not None:
            identifiers.check_metadata(roots, reference, name, rows)
    if (reference := request.groups_of_rows()) is not None:
        groups.check_metadata(roots, reference, rows)
    arrays = {name: {"shape": list(array.shape), "dtype": array.dtype} for name, array in (("x", x), ("y", y))}
    shape = planning.shape_as_stored(request, rows, arrays)
    planning.check_memory(shape, request.options(), place)
    return Checked(arrays, shape)


def selected(request: JobRequest, name: Name, stored: int) -> int:
    """How many of an array's rows are compared."""
    rows = request.rows_of(name)
    return stored if rows is None else rows.stop - rows.start


def _describe(request: JobRequest, roots: Roots, name: Name) -> ArrayDescription:
    array = request.x if name == "x" else request.y
    rows = array.rows.range() if array.rows else None
    reference = Reference(array.root, array.path, rows)
    found = references.describe_matrix(roots, reference, name)
    if array.distance is Distance.PRECOMPUTED:
        require_square(reference, name, *found.shape)
    return found


def _require_equal(x: int, y: int, subject: str) -> None:
    if x != y:
        raise ProblemError(
            "row-count-mismatch",
            f"{subject} different row counts: x has {x}, y has {y}. Row i of both must be the same input; select "
            "rows with x.rows and y.rows, or transpose an array that has its features first.",
            "request",
            "/y",
        )


def _require_possible(request: JobRequest, rows: int) -> None:
    """Refuse measures that need more rows, or cannot take so many."""
    for position, (measure, options) in enumerate(request.options()):
        needed = max(measure.minimum_rows, measure.rows_needed(options))
        if rows < needed:
            raise ProblemError(
                "too-few-rows",
                f"{measure.measure} ({measure.method}) needs at least {needed} rows, and there are {rows}.",
                "request",
                f"/measures/{position}",
            )
        if measure.maximum_rows is not None and rows > measure.maximum_rows:
            raise ProblemError(
                "over-limit",
                f"{measure.measure} ({measure.method}) takes at most {measure.maximum_rows} rows, and there are "
                f"{rows}: select rows, or choose another method.",
                "request",
                f"/measures/{position}",
            )
