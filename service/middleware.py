"""What happens around every request, as plain ASGI."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from service import errors
from service.settings import is_loopback
from workers import logs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from service.metrics import Metrics

log = logging.getLogger(__name__)

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
BODY_LIMIT = 1024 * 1024


class RequestContext:
    """Give each request an identifier, write it to the log, and answer for what nobody foresaw.

    The client's X-Request-ID is taken when it is harmless. It is the outermost middleware, so that an answer to
    an unforeseen exception has the identifier too.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get("x-request-id", "")
        identifier = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = identifier
        with logs.bound(request_id=identifier):
            await self._answer(identifier, scope, receive, send)

    async def _answer(self, identifier: str, scope: Scope, receive: Receive, send: Send) -> None:
        begin, seconds = time.perf_counter(), 0.0
        status = 0

        async def tagged(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - begin
                MutableHeaders(scope=message)["X-Request-ID"] = identifier
            await send(message)

        try:
            await self._app(scope, receive, tagged)
        except Exception:
            log.exception("request %s failed", identifier)
            if status:
                raise  # too late for an answer: the server must break the connection
            await errors.internal(scope)(scope, receive, tagged)
        finally:
            self._tell(scope, status, seconds, time.perf_counter() - begin)

    def _tell(self, scope: Scope, status: int, seconds: float, whole: float) -> None:
        """Count the request and write its line: by its template, because paths may be anything."""
        template = getattr(scope.get("route"), "path", None)
        self._metrics.request(scope["method"], template, status, seconds)
        about = {"method": scope["method"], "template": template, "status": status, "ms": round(1000 * whole, 1)}
        log.info("answered", extra=about)


class LoopbackHost:
    """Answer only requests that were addressed to this machine by a loopback name.

    For services without API keys: a page of another site can make its own name point here (DNS rebinding) and would
    otherwise read and cancel jobs from the browser of whoever runs the service.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "")
            name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
            if not is_loopback(name.lower().removesuffix(".")):
                detail = "This service answers only requests to a loopback address, such as 127.0.0.1 or localhost."
                await errors.answer(scope, "forbidden", detail)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class HeadAsGet:
    """Answer HEAD as GET is answered, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = asyncio.Event()

        async def without_body(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not answered.is_set():
                answered.set()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def gone() -> Message:
            await answered.wait()
            return {"type": "http.disconnect"}

        # A stream ends when its reader is gone; from this version on it would look for that only when it sends.
        asgi = {**scope.get("asgi", {}), "spec_version": "2.3"}
        as_get = {**scope, "method": "GET", "asgi": asgi}
        try:
            await self._app(as_get, gone, without_body)
        finally:
            scope["route"] = as_get.get("route")  # for whoever counts requests by it


class BodyLimit:
    """Refuse bodies that are too long, by their declared length and by what really arrives, and encoded ones."""

    def __init__(self, app: ASGIApp, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "").lstrip("0")
        if declared.isdecimal() and (len(declared) > 15 or int(declared) > self._limit):
            await errors.answer(scope, "payload-too-large", self._detail)(scope, receive, send)
            return
        encoding = Headers(scope=scope).get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):
            detail = f"The body comes with Content-Encoding {encoding[:64]!r}, which is not read: send it as it is."
            await errors.answer(scope, "invalid-request", detail)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                # The framework lets this kind of exception through to the handlers.
                raise HTTPException(413, self._detail)
            return message

        await self._app(scope, counted, send)

    @property
    def _detail(self) -> str:
        return f"The body is longer than {self._limit} bytes. Arrays are named, not sent: see GET /v1/roots."
