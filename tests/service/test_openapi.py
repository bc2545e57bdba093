"""The OpenAPI document, and whether the service does what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, settings

from service import examples, kinds
from service.app import create_app
from service.settings import Settings
from tests.service.fuzzing import schema

if TYPE_CHECKING:
    import httpx2
    import schemathesis

METHODS = ("get", "post", "delete")
KEPT = Path(__file__).parents[2] / "deploy" / "docs" / "openapi.json"


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
        "follow_job",
        "get_artifact_csv",
        "get_artifact_npy",
        "get_job",
        "get_metrics",
        "get_report_csv",
        "get_report_html",
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
                (content,) = response["content"].items()
                assert content[0] == "application/problem+json", operation["operationId"]
                assert content[1]["schema"] == {"$ref": "#/components/schemas/Problem"}
                assert content[1]["example"]["status"] == int(status)
                assert content[1]["example"]["type"].rpartition("/")[2] in kinds.KINDS
    assert not {"HTTPValidationError", "ValidationError"} & set(document["components"]["schemas"])


def test_the_kept_document_is_the_services() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    # As JSON: a dump that parses to something else would compare unequal for ever.
    now = json.loads(json.dumps(create_app(Settings()).openapi()))
    assert kept == now, "run `make openapi` (or `python deploy/openapi.py`) and commit deploy/docs/openapi.json"


def test_every_answer_and_request_has_an_example_that_is_right(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    named = {"JobRequest", "LayersRequest", "MatrixRequest", *examples.ANSWERS}
    answers = {
        part["$ref"].rpartition("/")[2]
        for operation in operations(document)
        for response in operation["responses"].values()
        for content in response.get("content", {}).values()
        for part in content.get("schema", {}).get("anyOf", [content.get("schema", {})])
        if "$ref" in part
    }
    assert answers - named - {"Problem", "Process"} == set()
    for name in named:
        (example,) = schemas[name]["examples"]
        whole = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        jsonschema_rs.validate(whole, example)
        if name in examples.ANSWERS:
            # With everything that an answer always has, and nothing that it has no more.
            assert set(schemas[name]["required"]) <= set(example) <= set(schemas[name]["properties"]), name


@schema.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_the_service_does_what_its_document_says(case: schemathesis.Case, client: httpx2.Client) -> None:
    case.call_and_validate(base_url=str(client.base_url))
