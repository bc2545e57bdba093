"""Every error a client sees: one table of names, one document form (RFC 9457)."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from service import explaining, openapi, storage
from service.states import IllegalTransitionError, KeyReuseError, UnknownJobError
from workers.errors import Origin, ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request
    from starlette.types import Scope

log = logging.getLogger(__name__)

UNKNOWN_REQUEST = "unknown"


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
    "zero-vector": Kind(422, "A row is zero, and its cosine undefined", "data"),
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


class HttpProblem(Exception):  # noqa: N818 - it is the problem, as in the media type's name
    """An error of one request, for what `ProblemError` cannot say: headers, several pointers, another status."""

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        status: int | None = None,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(slug, detail)
        self.slug = slug
        self.detail = detail
        self.status = status
        self.errors = errors
        self.headers = headers
        self.more = more or {}


def document(
    slug: str,
    detail: str,
    *,
    instance: str,
    request_id: str,
    status: int | None = None,
    origin: Origin | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Build a problem document with all the members of the contract."""
    if slug not in KINDS:
        # A name that is not in the contract would be a broken promise; what it meant is in the log.
        log.error("unknown problem %s: %s", slug, detail)
        slug, detail, status, origin = "internal", "The service failed; its log says why.", None, None
    kind = KINDS[slug]
    return {
        "type": f"/problems/{slug}",
        "title": kind.title,
        "status": status or kind.status,
        "detail": detail,
        "instance": instance,
        "requestID": request_id,
        "origin": origin or kind.origin,
        "errors": [dict(error) for error in errors],
    }


def of_error(error: ProblemError, *, instance: str, request_id: str) -> dict[str, Any]:
    """Build the document of an error that any of the three rooms raised."""
    errors = [] if error.pointer is None else [{"pointer": error.pointer, "detail": error.detail}]
    return document(
        error.slug,
        error.detail,
        instance=instance,
        request_id=request_id,
        origin=error.origin,
        errors=errors,
    )


def request_id(scope: Scope) -> str:
    """The identifier of a request, as the middleware set it."""
    return str(scope.get("state", {}).get("request_id", UNKNOWN_REQUEST))


def instance(scope: Scope) -> str:
    """The address that the request was for, as a URI reference."""
    return quote(scope.get("path", ""), safe="/~!$&'()*+,;=:@-._")


def respond(problem: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Answer with a problem document."""
    return JSONResponse(
        dict(problem),
        status_code=problem["status"],
        headers=dict(headers or {}),
        media_type=openapi.PROBLEM,
    )


def answer(
    scope: Scope,
    slug: str,
    detail: str,
    *,
    status: int | None = None,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """Answer this request with a problem."""
    problem = document(
        slug,
        detail,
        instance=instance(scope),
        request_id=request_id(scope),
        status=status,
        errors=errors,
    )
    return respond({**problem, **(more or {})}, headers)


def internal(scope: Scope) -> JSONResponse:
    """Answer a request that failed in a way nobody foresaw, without a word of why."""
    detail = f"The service failed. Its log has the reason under request {request_id(scope)}."
    return answer(scope, "internal", detail)


async def _http_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HttpProblem)
    return answer(
        request.scope,
        error.slug,
        error.detail,
        status=error.status,
        errors=error.errors,
        headers=error.headers,
        more=error.more,
    )


async def _problem_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ProblemError)
    return respond(of_error(error, instance=instance(request.scope), request_id=request_id(request.scope)))


async def _storage(request: Request, error: Exception) -> JSONResponse:
    identifier = request_id(request.scope)
    problem = storage.problem_of(error)
    log.error("request %s failed", identifier, exc_info=error)
    if problem is None:
        return internal(request.scope)
    return await _problem_error(request, problem)


async def _validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(entry["type"] == "json_invalid" for entry in found):
        reason = found[0].get("ctx", {}).get("error", "it cannot be read")
        return answer(request.scope, "malformed-json", f"The body is not JSON: {reason}.")
    errors = explaining.explain(found)
    detail = errors[0]["detail"]
    if len(errors) > 1:
        detail = f"{len(errors)} things are wrong with the request, the first: {detail}"
    return answer(request.scope, "invalid-request", detail, errors=errors)


async def _framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    slug = BY_STATUS.get(error.status_code)
    if slug is None:
        return internal(request.scope)
    details = {
        "not-found": f"There is nothing at {instance(request.scope)}.",
        "method-not-allowed": f"{request.method} is not possible here.",
        "malformed-json": "The body cannot be read as JSON.",
        "payload-too-large": error.detail,  # by the middleware of this package
    }
    headers = dict(error.headers or {})
    if slug == "method-not-allowed":
        # Pages are not in the document; they are there to be read.
        headers["Allow"] = ", ".join(openapi.methods(request.app, request.scope["path"]) or ("GET", "HEAD"))
    return answer(request.scope, slug, details.get(slug, f"{KINDS[slug].title}."), headers=headers)


async def _unknown_job(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, UnknownJobError)
    return answer(request.scope, "unknown-job", "There is no such job here. GET /v1/jobs lists them.")


async def _illegal_transition(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, IllegalTransitionError)
    detail = f"The job is {error.current} already; what has finished cannot be cancelled."
    return answer(request.scope, "job-final", detail)


async def _key_reuse(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, KeyReuseError)
    detail = (
        "This Idempotency-Key came with another request before. Send the same body to get that job, or a new key "
        "for a new one."
    )
    return answer(request.scope, "idempotency-key-reuse", detail)


def install(app: FastAPI) -> None:
    """Make every error of the application a problem document."""
    app.add_exception_handler(HttpProblem, _http_problem)
    app.add_exception_handler(ProblemError, _problem_error)
    app.add_exception_handler(OSError, _storage)
    app.add_exception_handler(sqlite3.Error, _storage)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(UnknownJobError, _unknown_job)
    app.add_exception_handler(IllegalTransitionError, _illegal_transition)
    app.add_exception_handler(KeyReuseError, _key_reuse)


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
