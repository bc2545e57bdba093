"""One request after another to a service: what came back, or an error that says what went wrong."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx2

from service.answers import ServiceError, ServiceUnreachable
from service.steps import NOT_MODIFIED

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ANSWER_LOST = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
"""The connection broke, perhaps because it had been idle for long; the service may have acted or not."""

FAULTS = (httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError)


class Connection:
    """HTTP to one address; every request may safely be made twice, submissions because they carry a key."""

    def __init__(self, url: str, key: str | None, timeout: float, transport: httpx2.BaseTransport | None) -> None:
        self.url = url.rstrip("/")
        try:
            self._http = httpx2.Client(transport=transport, **_settings(self.url, key, timeout))
        except (httpx2.InvalidURL, ValueError) as error:
            raise ServiceUnreachable(self.url, str(error)) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(self, method: str, target: str, **arguments: Any) -> httpx2.Response:
        """Ask, once more if the answer was lost, and return what is a success, or has not changed."""
        try:
            try:
                response = self._http.request(method, target, **arguments)
            except ANSWER_LOST:
                response = self._http.request(method, target, **arguments)
        except FAULTS as error:
            raise ServiceUnreachable(self.url, _reason(error)) from error
        return _good(response)


class AsyncConnection:
    """The same on an event loop."""

    def __init__(self, url: str, key: str | None, timeout: float, transport: httpx2.AsyncBaseTransport | None) -> None:
        self.url = url.rstrip("/")
        try:
            self._http = httpx2.AsyncClient(transport=transport, **_settings(self.url, key, timeout))
        except (httpx2.InvalidURL, ValueError) as error:
            raise ServiceUnreachable(self.url, str(error)) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(self, method: str, target: str, **arguments: Any) -> httpx2.Response:
        """As `Connection.request`."""
        try:
            try:
                response = await self._http.request(method, target, **arguments)
            except ANSWER_LOST:
                response = await self._http.request(method, target, **arguments)
        except FAULTS as error:
            raise ServiceUnreachable(self.url, _reason(error)) from error
        return _good(response)


def _settings(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": timeout,
        # A proxy cannot reach the loopback addresses of this machine.
        "trust_env": urlsplit(url).hostname not in LOOPBACK,
    }


def _good(response: httpx2.Response) -> httpx2.Response:
    if not response.is_success and response.status_code != NOT_MODIFIED:
        raise ServiceError.from_response(response)
    return response


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx2.ConnectError) and "refused" in str(error).lower():
        return "nothing listens there"
    return str(error).rstrip(".") or type(error).__name__
