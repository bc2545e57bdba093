"""Examples in the OpenAPI document: what each answer looks like, and a problem of each status."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from service import errors, kinds, openapi

ANSWERS: dict[str, dict[str, Any]] = json.loads(resources.files("service").joinpath("examples.json").read_text("utf-8"))
"""Answers that a service gave, by their schema."""

REQUEST_ID = "8e7a0d3c5f7e4f0f9b1d2c3a4b5c6d7e"
PLACES = {"jobID": ANSWERS["Job"]["jobID"], "root": "lab", "process": "compare", "slug": "gone", "name": "0-per_anchor"}
"""What stands for each part of an address."""


def add(document: dict[str, Any]) -> None:
    """Add examples to all answers of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    for name, answer in ANSWERS.items():
        schemas[name]["examples"] = [answer]
    for address, path in document["paths"].items():
        for operation in path.values():
            for status, response in operation["responses"].items():
                for content in response.get("content", {}).values():
                    if content.get("schema") == {"$ref": "#/components/schemas/Problem"}:
                        content["example"] = _problem(address, operation["operationId"], int(status))


def _problem(address: str, operation: str, status: int) -> dict[str, Any]:
    slug = _slug(address, operation, status)
    instance = address.format_map(PLACES)
    detail = f"{openapi.DESCRIPTIONS[status]}."
    return errors.document(slug, detail, instance=instance, request_id=REQUEST_ID, status=status)


def _slug(address: str, operation: str, status: int) -> str:
    """Name the problem that stands for its status: the likeliest one here."""
    if status == 404 and "{jobID}" in address:
        return "unknown-job"
    if status == 404 and "{root}" in address:
        return "unknown-root"
    if operation == "cancel_job" and status == 409:
        return "job-final"
    if status == 503 and operation != "is_ready":
        return "storage-unavailable"
    likeliest = {409: "result-not-ready", 410: "gone", 500: "internal", 507: "out-of-space"}
    return {**kinds.BY_STATUS, **likeliest}[status]
