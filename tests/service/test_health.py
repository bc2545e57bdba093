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
NONE = "no worker is connected yet"
MISSING = "{} of 3 workers are not connected"


@pytest.mark.parametrize(
    ("connected", "reasons", "expected"),
    [
        (3, [], []),
        (1, [], [MISSING.format(2)]),
        (2, [COLD], [COLD, MISSING.format(1)]),
        (0, [NONE], [NONE]),
    ],
)
def test_workers_that_are_missing_are_named(connected: int, reasons: list[str], expected: list[str]) -> None:
    async def readiness() -> list[str]:
        return reasons

    app = FastAPI()
    app.include_router(health.router)
    errors.install(app)
    app.add_middleware(RequestContext)
    app.state.services = SimpleNamespace(
        settings=SimpleNamespace(workers=3),
        runner=SimpleNamespace(workers=connected),
        store=SimpleNamespace(check=lambda: None),
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
