"""When the service calls itself ready."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from service import errors
from service.middleware import RequestContext
from service.routes import health
from tests.service.conftest import check_problem

COLD = "1 of 1 workers are still compiling their kernels"
MISSING = "2 of 3 workers are not connected"


@pytest.mark.parametrize("expected", [[], [MISSING], [COLD, MISSING]])
def test_what_the_cluster_misses_is_named(expected: list[str]) -> None:
    async def readiness() -> list[str]:
        return expected

    app = FastAPI()
    app.include_router(health.router)
    errors.install(app)
    app.add_middleware(RequestContext)
    app.state.services = SimpleNamespace(
        store=SimpleNamespace(check=lambda: None),
        runner=SimpleNamespace(without_room=0),
        cluster=SimpleNamespace(readiness=readiness),
    )
    with TestClient(app) as client:
        response: Any = client.get("/readyz")
    if not expected:
        assert response.json() == {"status": "ready"}
        return
    problem = check_problem(response, 503, "cluster-unavailable")
    assert problem["reasons"] == expected
    assert all(reason in problem["detail"] for reason in expected)
