"""The OpenAPI document: every operation says which problems it may answer with, and in which media type."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from starlette.routing import compile_path

from service import documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

VERSION = version("ordsim")
PROBLEM = "application/problem+json"

DESCRIPTIONS = {
    400: "The body is not JSON",
    404: "There is no such thing",
    409: "Not in this state of the job",
    410: "Gone",
    413: "The body is too large",
    422: "The request is not valid, or its data is not",
    429: "Too much at once",
    500: "The service failed",
    503: "Not available now",
    507: "No space left",
}


SYSTEM = (500, 503, 507)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems of one route: those named, and those of the system, which every route may have."""
    return {
        status: {"model": documents.Problem, "description": DESCRIPTIONS[status]}
        for status in sorted({*statuses, *SYSTEM})
    }


def install(app: FastAPI, add_examples: Callable[[dict[str, Any]], None]) -> None:
    """Give the application a document in which problems have their own media type, and answers their examples."""
    generate = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = generate()
            for path in found["paths"].values():
                for operation in path.values():
                    _mend(operation)
            # The framework's own form of a validation error, which is never sent.
            for name in ("HTTPValidationError", "ValidationError"):
                found["components"]["schemas"].pop(name, None)
            add_examples(found)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


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
            for method in operations
        }
    )
