"""When the service calls itself ready."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from service import errors
from service.metrics import Metrics
from service.middleware import RequestContext
from service.routes import health
from tests.service.conftest import check_problem

COLD = "1 of 1 workers are still compiling their kernels"
MISSING = "2 of 3 workers are not connected"


def application(readiness: Any, check: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(health.router)
    errors.install(app)
    app.add_middleware(RequestContext, metrics=Metrics())
    app.state.services = SimpleNamespace(
        store=SimpleNamespace(check=check),
        runner=SimpleNamespace(without_room=0),
        cluster=SimpleNamespace(readiness=readiness),
    )
    return app


@pytest.mark.parametrize("expected", [[], [MISSING], [COLD, MISSING]])
def test_what_the_cluster_misses_is_named(expected: list[str]) -> None:
    async def readiness() -> list[str]:
        return expected

    with TestClient(application(readiness, lambda: None)) as client:
        response: Any = client.get("/readyz")
    if not expected:
        assert response.json() == {"status": "ready"}
        return
    problem = check_problem(response, 503, "cluster-unavailable")
    assert problem["reasons"] == expected
    assert all(reason in problem["detail"] for reason in expected)


def test_a_store_that_cannot_be_written_is_named_beside_the_rest() -> None:
    async def readiness() -> list[str]:
        return [MISSING]

    def check() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with TestClient(application(readiness, check)) as client:
        response: Any = client.get("/readyz")
    problem = check_problem(response, 503, "storage-unavailable")
    assert problem["reasons"] == ["the job store cannot be written", MISSING]
