"""Request bodies that readers could understand differently, and answers without bodies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import APIRouter, Body, FastAPI
from fastapi.responses import StreamingResponse
from starlette.testclient import TestClient

from service import bodies, errors
from service.bodies import StrictRoute
from service.metrics import Metrics
from service.middleware import BodyLimit, HeadAsGet, RequestContext
from tests.service.conftest import check_problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def echoing() -> Iterator[TestClient]:
    """An application that answers with what it understood."""
    router = APIRouter(route_class=StrictRoute)

    @router.post("/echo")
    def echo(body: Any = Body()) -> Any:  # noqa: B008 - FastAPI's way
        return body

    @router.get("/endless")
    async def endless() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b"more"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    app = FastAPI()
    app.include_router(router)
    errors.install(app)
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(RequestContext, metrics=Metrics())
    with TestClient(app) as client:
        yield client


def test_json_is_read_as_it_stands(echoing: TestClient) -> None:
    body = {"a": [1, 2.5, None, True, {"a": "ä", "b": {}}], "b": {"a": 10**30}}
    assert echoing.post("/echo", content=json.dumps(body), headers=JSON).json() == body


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"seed": 1, "seed": 2}', "the member 'seed' occurs more than once"),
        ('[{"x": {"root": "a", "path": "b", "root": "c"}}]', "the member 'root' occurs more than once"),
        (r'{"a": 1, "\u0061": 1}', "the member 'a' occurs more than once"),
        ('{"a": NaN}', "NaN is not a number of JSON"),
        ('{"a": -Infinity}', "-Infinity is not a number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_readers_understand_differently_is_refused(echoing: TestClient, body: str, says: str) -> None:
    problem = check_problem(echoing.post("/echo", content=body, headers=JSON), 400, "malformed-json")
    assert says in problem["detail"]


def test_as_many_members_as_fit_into_a_body_are_read_in_one_pass() -> None:
    members = ",".join(f'"{number}":0' for number in range(80_000))
    with pytest.raises(json.JSONDecodeError, match="'79999' occurs more than once"):
        bodies.parse(f'{{{members},"79999":0}}'.encode())


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "identity, gzip"])
def test_encoded_bodies_are_refused_unread(echoing: TestClient, encoding: str) -> None:
    response = echoing.post("/echo", content=b"{}", headers={**JSON, "Content-Encoding": encoding})
    assert "Content-Encoding" in check_problem(response, 422, "invalid-request")["detail"]
    assert echoing.post("/echo", content=b"{}", headers={**JSON, "Content-Encoding": "Identity"}).json() == {}


def test_head_is_get_without_a_body(echoing: TestClient) -> None:
    asked, told = echoing.get("/openapi.json"), echoing.head("/openapi.json")
    assert (told.status_code, told.content) == (200, b"")
    assert told.headers["content-length"] == asked.headers["content-length"]
    assert told.headers["content-type"] == asked.headers["content-type"]
    assert echoing.head("/nothing").status_code == 404
    refused = echoing.head("/echo")
    assert (refused.status_code, refused.content) == (405, b"")
    assert check_problem(echoing.put("/endless"), 405, "method-not-allowed")["detail"]
    assert echoing.put("/endless").headers["allow"] == "GET, HEAD"


def test_head_of_an_endless_stream_ends(echoing: TestClient) -> None:
    response = echoing.head("/endless")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"].startswith("text/event-stream")
