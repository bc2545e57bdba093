"""The OpenAPI document: every operation says which problems it may answer with, and in which media type."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from starlette.routing import compile_path

from service import access, documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from service.keys import Scope

VERSION = version("ordsim")
PROBLEM = "application/problem+json"

DESCRIPTIONS = {
    400: "The body is not JSON",
    401: "An API key is needed",
    403: "The API key does not have the scope",
    404: "There is no such thing",
    409: "Not in this state of the job",
    410: "Gone",
    413: "The body is too large",
    422: "The request is not valid, or its data is not",
    429: "A quota is exceeded",
    500: "The service failed",
    503: "Not available now",
    507: "No space left",
}


SYSTEM = (500, 503, 507)
REFUSALS = (401, 403)

SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "ordsim_<id>_<secret>",
    "description": "An API key. Services that listen on a loopback address need not ask for one.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems of one route: those named, and those of the system, which every route may have."""
    return {
        status: {"model": documents.Problem, "description": DESCRIPTIONS[status]}
        for status in sorted({*statuses, *SYSTEM})
    }


def install(app: FastAPI, add_examples: Callable[[dict[str, Any]], None], keys_required: bool) -> None:
    """Give the application a document with media types of problems, examples of answers, and scopes of operations."""
    generate = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = generate()
            for path, operations in found["paths"].items():
                for method, operation in operations.items():
                    _secure(operation, access.needed(method.upper(), path), keys_required)
                    _mend(operation)
            found["components"]["securitySchemes"] = {"apiKey": SCHEME}
            # The framework's own form of a validation error, which is never sent.
            for name in ("HTTPValidationError", "ValidationError"):
                found["components"]["schemas"].pop(name, None)
            add_examples(found)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _secure(operation: dict[str, Any], scope: Scope | None, keys_required: bool) -> None:
    """Say which scope an operation needs. Where keys are not required, one that is sent changes nothing."""
    if scope is None:
        operation["security"] = []
        return
    operation["security"] = [{"apiKey": [scope.value]}, *([] if keys_required else [{}])]
    for status in REFUSALS:
        problem = {"schema": {"$ref": f"#/components/schemas/{documents.Problem.__name__}"}}
        response = {"description": DESCRIPTIONS[status], "content": {PROBLEM: problem}}
        operation["responses"].setdefault(str(status), response)


def _mend(operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        content = response.get("content", {})
        if status.isdecimal() and int(status) >= 400 and "application/json" in content:
            response["content"] = {PROBLEM: content["application/json"]}


def methods(app: FastAPI, path: str) -> list[str]:
    """List all methods that an address takes; the framework names those of the first route that it finds."""
    return sorted(
        {
            method.upper()
            for template, operations in app.openapi()["paths"].items()
            if compile_path(template)[0].match(path)
            for operation in operations
            for method in ((operation, "head") if operation == "get" else (operation,))
        }
    )
