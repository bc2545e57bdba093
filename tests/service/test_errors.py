"""Every error is a problem document, whatever raised it."""

from __future__ import annotations

import errno
import logging
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import Body, FastAPI, HTTPException
from starlette.testclient import TestClient

from service import errors, storage
from service.metrics import Metrics
from service.middleware import BODY_LIMIT, BodyLimit, RequestContext
from tests.service.conftest import check_problem
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "the password is swordfish"


@pytest.fixture
def failing() -> Iterator[TestClient]:
    """An application whose routes fail in every way."""
    app = FastAPI()

    @app.get("/data")
    def data() -> None:
        raise ProblemError("missing-chunks", "Chunk c/0/0 of x is missing.", "data", "/x/path")

    @app.get("/system")
    def system() -> None:
        raise ProblemError("over-limit", "Too much.", "system")

    @app.get("/unnamed")
    def unnamed() -> None:
        raise ProblemError("no-such-slug", SECRET)

    @app.get("/full")
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", SECRET)

    @app.get("/busy")
    def busy() -> None:
        with closing(sqlite3.connect("file:/nowhere/at/all?mode=ro", uri=True)):
            pass

    @app.get("/bug")
    def bug() -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f'SELECT 1 FROM "{SECRET}"')

    @app.get("/library")
    def library() -> None:
        raise OSError(SECRET)

    @app.get("/crash")
    def crash() -> None:
        raise RuntimeError(SECRET)

    @app.get("/teapot")
    def teapot() -> None:
        raise HTTPException(418, SECRET)

    @app.post("/echo")
    def echo(body: dict[str, Any] = Body()) -> int:  # noqa: B008 - FastAPI's way
        return len(body)

    errors.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(RequestContext, metrics=Metrics())
    with TestClient(app) as client:
        yield client


def test_the_table_has_every_problem_of_the_contract() -> None:
    assert {slug: kind.status for slug, kind in errors.KINDS.items() if kind.status != 422} == {
        "malformed-json": 400,
        "unauthenticated": 401,
        "forbidden": 403,
        "not-found": 404,
        "unknown-job": 404,
        "method-not-allowed": 405,
        "result-not-ready": 409,
        "job-final": 409,
        "gone": 410,
        "payload-too-large": 413,
        "quota-exceeded": 429,
        "internal": 500,
        "worker-lost": 500,
        "cluster-unavailable": 503,
        "storage-unavailable": 503,
        "out-of-space": 507,
    }
    assert {slug for slug, kind in errors.KINDS.items() if kind.status == 422} == {
        *("invalid-request", "unknown-root", "unknown-array", "path-outside-root", "row-count-mismatch"),
        *("too-few-rows", "unsupported-dtype", "unsupported-codec", "not-a-matrix", "over-limit"),
        *("over-memory-budget", "idempotency-key-reuse", "non-finite-input", "missing-chunks", "zero-vector"),
        *("misaligned-ids", "duplicate-ids", "asymmetric-distance", "corrupt-data", "undefined-permutation"),
    }


def test_a_problem_of_the_data_keeps_its_words(failing: TestClient) -> None:
    problem = check_problem(failing.get("/data"), 422, "missing-chunks")
    assert problem["detail"] == "Chunk c/0/0 of x is missing."
    assert problem["errors"] == [{"pointer": "/x/path", "detail": problem["detail"]}]
    assert (problem["origin"], problem["instance"]) == ("data", "/data")
    assert check_problem(failing.get("/system"), 422, "over-limit")["origin"] == "system"


@pytest.mark.parametrize(
    ("path", "status", "slug"), [("/full", 507, "out-of-space"), ("/busy", 503, "storage-unavailable")]
)
def test_storage_that_fails_is_named(
    failing: TestClient, path: str, status: int, slug: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        response = failing.get(path, headers={"X-Request-ID": "find-me"})
    problem = check_problem(response, status, slug)
    assert problem["origin"] == "system"
    assert SECRET not in response.text
    assert "nowhere" not in response.text
    assert "request find-me failed" in caplog.text


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "out-of-space"),
        (PermissionError(errno.EACCES, "Permission denied"), "storage-unavailable"),
        (OSError(errno.EIO, "Input/output error"), "storage-unavailable"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), None),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), None),
        (OSError("a library's own"), None),
        (sqlite3.ProgrammingError("the job store is closed"), None),
        (ValueError(), None),
    ],
)
def test_only_what_befalls_storage_is_called_so(error: Exception, slug: str | None) -> None:
    problem = storage.problem_of(error)
    assert (problem and problem.slug) == slug


@pytest.mark.parametrize("path", ["/crash", "/unnamed", "/bug", "/library"])
def test_what_nobody_foresaw_goes_to_the_log_only(
    failing: TestClient, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        response = failing.get(path, headers={"X-Request-ID": "find-me"})
    problem = check_problem(response, 500, "internal")
    assert problem["requestID"] == "find-me"
    assert SECRET not in response.text
    assert SECRET in caplog.text


def test_a_crash_is_logged_with_the_request(failing: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    failing.get("/crash", headers={"X-Request-ID": "find-me"})
    assert "request find-me failed" in caplog.text


def test_statuses_without_a_name_are_internal_and_silent(failing: TestClient) -> None:
    assert SECRET not in check_problem(failing.get("/teapot"), 500, "internal")["detail"]


def test_unknown_addresses_and_methods(failing: TestClient) -> None:
    check_problem(failing.get("/nowhere"), 404, "not-found")
    response = failing.delete("/echo")
    check_problem(response, 405, "method-not-allowed")
    assert response.headers["allow"] == "POST"
    assert check_problem(failing.get("/caf%C3%A9 %0a"), 404, "not-found")["instance"] == "/caf%C3%A9%20%0A"


@pytest.mark.parametrize(
    "body", [b"{", b"", b"\xff\xfe", b'{"a": 1', b"[" * 100_000, b'{"a": ' + b"9" * 10_000 + b"}", b"nonsense"]
)
def test_bodies_that_are_no_json(failing: TestClient, body: bytes) -> None:
    response = failing.post("/echo", content=body, headers={"Content-Type": "application/json"})
    if body:
        check_problem(response, 400, "malformed-json")
    else:
        check_problem(response, 422, "invalid-request")


def test_a_body_that_is_not_declared_as_json(failing: TestClient) -> None:
    problem = check_problem(failing.post("/echo", content=b"{}"), 422, "invalid-request")
    assert "Content-Type: application/json" in problem["detail"]


def test_long_bodies_are_refused_by_their_declared_and_by_their_real_length(failing: TestClient) -> None:
    fits = b'{"a": "' + b"x" * (BODY_LIMIT - 9) + b'"}'
    assert len(fits) == BODY_LIMIT
    headers = {"Content-Type": "application/json"}
    assert failing.post("/echo", content=fits, headers=headers).status_code == 200
    check_problem(failing.post("/echo", content=fits + b" ", headers=headers), 413, "payload-too-large")

    def pieces() -> Iterator[bytes]:
        yield fits
        yield b" "

    check_problem(failing.post("/echo", content=pieces(), headers=headers), 413, "payload-too-large")


@pytest.mark.parametrize(("sent", "taken"), [("a.B-9_", True), ("x" * 64, True), ("x" * 65, False), ("a b", False)])
def test_request_ids_are_taken_when_they_are_harmless(failing: TestClient, sent: str, taken: bool) -> None:
    response = failing.get("/data", headers={"X-Request-ID": sent})
    assert (response.headers["X-Request-ID"] == sent) is taken
    assert failing.get("/data").headers["X-Request-ID"] != failing.get("/data").headers["X-Request-ID"]
