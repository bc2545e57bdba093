"""What is checked before a job is accepted: everything that needs no more than the arrays' metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordsim_core.distances import Distance
from service import planning
from workers import groups, identifiers, references, row_numbers
from workers.errors import ProblemError
from workers.references import Reference
from workers.tasks import require_square

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.planning import Workplace
    from service.schemas import Request
    from workers.measures.protocol import PairShape
    from workers.references import ArrayDescription, Roots


STATISTICS_LIMIT = 1 << 26
"""Most statistics of permutations in one job: all of them are put together at the end."""


@dataclass(frozen=True)
class Checked:
    """What metadata says of a request that may be tried.

    Attributes
    ----------
    arrays : mapping
        For every array by its place in the request, the shape and dtype as stored.
    shape : PairShape
        What is compared, for costs.
    """

    arrays: Mapping[str, Any]
    shape: PairShape


def check(request: Request, roots: Roots, place: Workplace) -> Checked:
    """Describe all arrays, or say why they cannot be compared here.

    Raises
    ------
    ProblemError
        With a pointer into the request.
    """
    found = {name: _describe(request, roots, name) for name in request.arrays()}
    stored = {name: array.shape[0] for name, array in found.items()}
    named = {name: _named(request, roots, name, length) for name, length in stored.items()}
    rows = _rows(request, stored, named)
    require_possible(request, rows, at_most=request.joins)
    # What the metadata of labels says is checked now; reading them belongs to the job.
    for name in found:
        if (reference := request.identifiers_of(name)) is not None:
            # Rows that are named by their numbers are so among all that are stored.
            whole = stored[name] if request.index_of(name) else named[name]
            identifiers.check_metadata(roots, reference, name, whole)
    _check_groups(request, roots, stored, named)
    arrays = {name: {"shape": list(array.shape), "dtype": array.dtype} for name, array in found.items()}
    shape = planning.shape_as_stored(request, rows, arrays)
    _require_calibration(request)
    if not request.joins:  # of which there may be far fewer: then it is checked when they are known
        planning.check_memory(request, shape, place)
    return Checked(arrays, shape)


def _check_groups(request: Request, roots: Roots, stored: Mapping[str, int], named: Mapping[str, int]) -> None:
    """See that there is a label for each row that is stored of the first array, or for each that is named."""
    labels = request.labels()
    if labels is None:
        return
    first = request.names()[0][0]
    by_number = labels.of_stored and request.index_of(first) is not None
    groups.check_metadata(roots, labels.reference, stored[first] if by_number else named[first])


def _rows(request: Request, stored: Mapping[str, int], named: Mapping[str, int]) -> int:
    """How many rows are compared, or at most where they are joined, given how many each array has."""
    if request.rows is not None:
        _require_equal(request, stored, "The arrays have")
        most = next(iter(stored.values()))
        if request.rows.stop is not None and request.rows.stop > most:
            raise ProblemError(
                "invalid-request",
                f"rows.stop is {request.rows.stop}, but the arrays have {most} rows.",
                "request",
                "/rows/stop",
            )
    if not request.joins:
        _require_equal(request, named, "After the selection of rows, the arrays have")
    return min(named.values())


def _named(request: Request, roots: Roots, name: str, stored: int) -> int:
    """How many of an array's rows the request names."""
    if (index := request.index_of(name)) is not None:
        return row_numbers.count(roots, index, request.index_pointer(name))
    rows = request.window(name)
    return stored if rows is None else rows.stop - rows.start


def _describe(request: Request, roots: Roots, name: str) -> ArrayDescription:
    array = request.arrays()[name]
    rows = array.rows.range() if array.rows else None
    reference = Reference(array.root, array.path, rows)
    found = references.describe_matrix(roots, reference, name)
    if array.distance is Distance.PRECOMPUTED:
        require_square(reference, name, *found.shape)
    return found


def _require_equal(request: Request, rows: Mapping[str, int], subject: str) -> None:
    (first, number), *others = rows.items()
    identified = any(request.identifiers_of(name) for name in rows)
    join = 'match rows by their identifiers ("align": "join"), ' if identified else ""
    for name, other in others:
        if other != number:
            raise ProblemError(
                "row-count-mismatch",
                f"{subject} different row counts: {first} has {number}, {name} has {other}. Row i of all must be the "
                f"same input; {join}select rows with {first}.rows and {name}.rows, or transpose an array that has its "
                "features first.",
                "request",
                f"/{name}",
            )


def require_possible(request: Request, rows: int, *, at_most: bool = False) -> None:
    """Refuse measures that need more rows, or cannot take so many; there may be fewer if that is `at_most`.

    Raises
    ------
    ProblemError
        too-few-rows or over-limit, naming the measure.
    """
    for position, (measure, options) in enumerate(request.options()):
        needed = max(measure.minimum_rows, measure.rows_needed(options))
        if rows < needed:
            k = getattr(options.innermost, "k", None) if needed > measure.minimum_rows else None
            why, field = ("", "") if k is None else (f" for k = {k}", "/k")
            raise ProblemError(
                "too-few-rows",
                f"{measure.measure} ({measure.method}) needs at least {needed} rows{why}, and there are {rows}.",
                "request",
                f"{request.pointer(position)}{field}",
            )
        if not at_most and measure.maximum_rows is not None and rows > measure.maximum_rows:
            raise ProblemError(
                "over-limit",
                f"{measure.measure} ({measure.method}) takes at most {measure.maximum_rows} rows, and there are "
                f"{rows}: select rows, or choose another method.",
                "request",
                request.pointer(position),
            )


def _require_calibration(request: Request) -> None:
    """Refuse calibrations that need groups, or more rows than there are."""
    wanted = request.calibration
    if wanted is None:
        return
    x, y = request.names()
    if (wanted.permutations + 1) * len(x) * len(y) > STATISTICS_LIMIT:
        raise ProblemError(
            "over-limit",
            f"{wanted.permutations} permutations of {len(x)} by {len(y)} arrays are more than {STATISTICS_LIMIT} "
            "statistics: ask for fewer permutations, or compare fewer arrays at once.",
            "request",
            "/calibration/permutations",
        )
    if wanted.scheme != "rows" and request.groups is None:
        raise ProblemError(
            "invalid-request",
            f"The scheme {wanted.scheme} permutes by groups, and there are none: send groups, a label for each row.",
            "request",
            "/calibration/scheme",
        )
    if wanted.statistic_rows is not None:
        for measure, options in request.options():
            needed = max(measure.minimum_rows, measure.rows_needed(options))
            if wanted.statistic_rows < needed:
                raise ProblemError(
                    "too-few-rows",
                    f"{measure.measure} ({measure.method}) needs at least {needed} rows, and statistic_rows is "
                    f"{wanted.statistic_rows}.",
                    "request",
                    "/calibration/statistic_rows",
                )
