"""The kinds of problems: one table of names, as the contract has them."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workers.errors import Origin


@dataclass(frozen=True, slots=True)
class Kind:
    """What is the same for every occurrence of a problem: HTTP status, title, who must act."""

    status: int
    title: str
    origin: Origin


KINDS: Mapping[str, Kind] = {
    "malformed-json": Kind(400, "The body is not JSON", "request"),
    "unauthenticated": Kind(401, "An API key is needed", "request"),
    "forbidden": Kind(403, "This is not allowed", "request"),
    "not-found": Kind(404, "There is nothing at this address", "request"),
    "unknown-job": Kind(404, "There is no such job", "request"),
    "method-not-allowed": Kind(405, "This address does not take this method", "request"),
    "result-not-ready": Kind(409, "The job has not finished yet", "request"),
    "job-final": Kind(409, "The job has finished already", "request"),
    "gone": Kind(410, "The results are gone", "request"),
    "payload-too-large": Kind(413, "The body is too large", "request"),
    "invalid-request": Kind(422, "The request is not valid", "request"),
    "unknown-root": Kind(422, "There is no such data root", "request"),
    "unknown-array": Kind(422, "There is no such array", "request"),
    "path-outside-root": Kind(422, "The path does not lie inside its root", "request"),
    "row-count-mismatch": Kind(422, "The arrays do not have the same number of rows", "request"),
    "too-few-rows": Kind(422, "A measure needs more rows", "request"),
    "unsupported-dtype": Kind(422, "The array's data type is not supported", "data"),
    "unsupported-codec": Kind(422, "The array's codec is not supported", "data"),
    "not-a-matrix": Kind(422, "The array is not a matrix", "request"),
    "over-limit": Kind(422, "A limit is exceeded", "request"),
    "over-memory-budget": Kind(422, "The job needs more memory than there is", "request"),
    "idempotency-key-reuse": Kind(422, "The idempotency key was used for another request", "request"),
    "non-finite-input": Kind(422, "An array holds a value that is not finite", "data"),
    "missing-chunks": Kind(422, "Chunks of an array are missing", "data"),
    "zero-vector": Kind(422, "A row has no direction: it is zero, or constant", "data"),
    "misaligned-ids": Kind(422, "The row identifiers do not match", "data"),
    "duplicate-ids": Kind(422, "Row identifiers repeat", "data"),
    "asymmetric-distance": Kind(422, "A distance matrix is not symmetric", "data"),
    "corrupt-data": Kind(422, "An array is damaged or changed", "data"),
    "undefined-permutation": Kind(422, "The permutation scheme is not defined for this data", "data"),
    "quota-exceeded": Kind(429, "A quota is exceeded", "request"),
    "internal": Kind(500, "Something went wrong inside the service", "system"),
    "worker-lost": Kind(500, "Workers were lost", "system"),
    "cluster-unavailable": Kind(503, "The cluster is not available", "system"),
    "storage-unavailable": Kind(503, "Storage is not available", "system"),
    "out-of-space": Kind(507, "There is no space left", "system"),
}

BY_STATUS = {
    400: "malformed-json",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "payload-too-large",
    422: "invalid-request",
    429: "quota-exceeded",
    503: "cluster-unavailable",
}
"""What the framework's own errors are called."""


def describe(slug: str) -> dict[str, Any] | None:
    """What `/problems/{slug}` answers; None if the contract has no such problem."""
    kind = KINDS.get(slug)
    if kind is None:
        return None
    return {
        "type": f"/problems/{slug}",
        "title": kind.title,
        "status": kind.status,
        "statusPhrase": HTTPStatus(kind.status).phrase,
        "origin": kind.origin,
    }
