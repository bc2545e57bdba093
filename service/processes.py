"""All processes: which request belongs to which, and how one is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from service.grids import LayersRequest, MatrixRequest
from service.schemas import JobRequest, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

AnyRequest = Annotated[JobRequest | LayersRequest | MatrixRequest, Field(discriminator="process")]
"""The body of a submission."""

_READER: TypeAdapter[Request] = TypeAdapter(AnyRequest)


def read_request(document: Mapping[str, Any]) -> Request:
    """Read a request that was accepted, as `Request.as_sent` wrote it."""
    return _READER.validate_python(document)
