"""What a service would refuse at once, found before one is started."""

from collections.abc import Mapping
from typing import Any

from service.answers import ServiceError
from service.commands.outcome import CommandError
from service.local import Glance, Source, glance

WANTED = {"x": (2, "rows by features"), "y": (2, "rows by features"), "groups": (1, "a label for each row")}
"""Dimensions of what a comparison takes."""


def require_valid(request: dict[str, Any]) -> None:
    """Refuse a comparison whose fields are wrong, in the service's own words.

    Raises
    ------
    ServiceError
        With the problem that the service would answer.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - all these bring libraries that other commands spare

    from service import errors, explaining  # noqa: PLC0415
    from service.schemas import JobRequest  # noqa: PLC0415

    try:
        JobRequest.model_validate({"process": "compare", **request})
    except ValidationError as error:
        found = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
        slug = "invalid-request"
        faults = explaining.explain(found)
        detail = faults[0]["detail"] if len(faults) == 1 else f"{len(faults)} things are wrong with the request."
        document = errors.document(slug, detail, instance="/v1/jobs", request_id="", errors=faults)
        del document["requestID"]  # nothing was asked, so no log knows it
        raise ServiceError(document, document["status"]) from None


def require_comparable(request: Mapping[str, Any], sources: Mapping[str, Source]) -> None:
    """Refuse local arrays of which a glance shows that they cannot be compared.

    Raises
    ------
    CommandError
        Naming the array, its shape or its type.
    ProblemError
        If the metadata of a zarr array cannot be read.
    """
    seen = {name: found for name, source in sources.items() if (found := glance(source)) is not None}
    for name, (dimensions, meaning) in WANTED.items():
        if name in seen and len(seen[name].shape) != dimensions:
            raise CommandError(
                f"{seen[name].name}: {name} must be {dimensions}-D, {meaning}, but its shape is {seen[name].shape}"
            )
    for name in {"x", "y"} & seen.keys():
        if seen[name].dtype.startswith("complex"):
            raise CommandError(f"{seen[name].name}: {name} must hold real numbers, not {seen[name].dtype}")
    if {"x", "y"} <= seen.keys() and request.get("align") != "join":
        _require_as_many(request, seen["x"], seen["y"])


def _require_as_many(request: Mapping[str, Any], x: Glance, y: Glance) -> None:
    if x.shape[0] != y.shape[0] and not any(request[name].get("rows") for name in "xy"):
        raise CommandError(
            f"{x.name} has {x.shape[0]} rows and {y.name} has {y.shape[0]}: row i of x and row i of y must be the same "
            "input; --x-rows and --y-rows select rows of one"
        )
