"""Every error a client sees, in one document form (RFC 9457)."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from service import explaining, openapi, storage
from service.kinds import BY_STATUS, KINDS
from service.states import IllegalTransitionError, KeyReuseError, QuotaExceededError, UnknownJobError
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request
    from starlette.types import Scope

    from workers.errors import Origin

log = logging.getLogger(__name__)

UNKNOWN_REQUEST = "unknown"


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


def of_storage(scope: Scope, error: Exception) -> JSONResponse:
    """Answer a request that failed because of the service's own files."""
    identifier = request_id(scope)
    problem = storage.problem_of(error)
    log.error("request %s failed", identifier, exc_info=error, extra={"request_id": identifier})
    if problem is None:
        return internal(scope)
    return respond(of_error(problem, instance=instance(scope), request_id=identifier))


async def _storage(request: Request, error: Exception) -> JSONResponse:
    return of_storage(request.scope, error)


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


async def _quota_exceeded(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, QuotaExceededError)
    headers = {"Retry-After": str(error.retry_seconds)}
    return answer(request.scope, "quota-exceeded", error.detail, headers=headers)


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
    app.add_exception_handler(QuotaExceededError, _quota_exceeded)
