"""What a service would refuse at once, found before one is started."""

from typing import Any

from service.answers import ServiceError


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
