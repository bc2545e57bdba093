"""The OpenAPI document, and whether the service does what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from service.app import create_app
from service.settings import Settings

if TYPE_CHECKING:
    import httpx2

METHODS = ("get", "post", "delete")


@pytest.fixture(scope="session")
def document(client: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [path[method] for path in document["paths"].values() for method in METHODS if method in path]


def test_every_operation_is_named_and_explained(document: dict[str, Any]) -> None:
    found = operations(document)
    assert sorted(operation["operationId"] for operation in found) == [
        "cancel_job",
        "describe_problem",
        "describe_process",
        "get_artifact_csv",
        "get_artifact_npy",
        "get_job",
        "get_results",
        "is_alive",
        "is_ready",
        "list_arrays",
        "list_jobs",
        "list_processes",
        "list_roots",
        "plan_job",
        "submit_job",
    ]
    for operation in found:
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"]


def test_every_problem_has_its_media_type_and_schema(document: dict[str, Any]) -> None:
    for operation in operations(document):
        assert "500" in operation["responses"], operation["operationId"]
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert response["content"] == {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                }, operation["operationId"]
    assert not {"HTTPValidationError", "ValidationError"} & set(document["components"]["schemas"])


def test_the_request_has_an_example(document: dict[str, Any]) -> None:
    assert document["components"]["schemas"]["JobRequest"]["examples"][0]["process"] == "compare"


schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())


@schema.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_the_service_does_what_its_document_says(case: schemathesis.Case, client: httpx2.Client) -> None:
    # Valid requests are refused for what a schema cannot say, such as roots that do not exist.
    case.call_and_validate(base_url=str(client.base_url), excluded_checks=[positive_data_acceptance])
