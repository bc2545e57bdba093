"""Requests under a name that is not this machine's are refused, whoever resolved it to here."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from service.metrics import Metrics
from service.middleware import LoopbackHost, RequestContext

inside = Starlette(routes=[Route("/", lambda _: PlainTextResponse("inside"))])
application = RequestContext(LoopbackHost(inside), Metrics())


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8000", "localhost", "localhost:1", "[::1]:8000", "127.8.8.8", "LOCALHOST", "localhost."],
)
def test_loopback_names_are_answered(host: str) -> None:
    assert TestClient(application).get("/", headers={"Host": host}).text == "inside"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", "", "[fe80::1]"]
)
def test_other_names_are_refused(host: str) -> None:
    response = TestClient(application).get("/", headers={"Host": host})
    assert response.status_code == 403
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "/problems/forbidden"
    assert "inside" not in response.text
