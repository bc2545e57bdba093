"""One request after another to a service: what came back, or an error that says what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from service.answers import ServiceError, ServiceUnreachable
from service.steps import NOT_MODIFIED

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_VARIABLE = "ORDSIM_API_KEY"
"""Where commands find their key: their arguments are there for every user of the machine to read."""

KEY = re.compile(r"[\x21-\x7e]+")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ANSWER_LOST = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
"""The connection broke, perhaps because it had been idle for long; the service may have acted or not."""

FAULTS = (httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError)


class Connection:
    """HTTP to one address; every request may safely be made twice, submissions because they carry a key."""

    def __init__(self, url: str, key: str | None, timeout: float, transport: httpx2.BaseTransport | None) -> None:
        self.url = require_plain(url).rstrip("/")
        self._timeout = timeout
        headers = authorization(key)
        try:
            self._http = httpx2.Client(transport=transport, **_settings(self.url, headers, timeout))
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

    def stream(self, target: str, headers: Mapping[str, str], silence: float) -> httpx2.Response:
        """Open a stream that may be silent for so many seconds; reading it raises one of `FAULTS`. Close it."""
        timeout = httpx2.Timeout(self._timeout, read=silence)
        request = self._http.build_request("GET", target, headers=dict(headers), timeout=timeout)
        try:
            response = self._http.send(request, stream=True)
            if not response.is_success:
                response.read()
        except FAULTS as error:
            raise ServiceUnreachable(self.url, _reason(error)) from error
        return _good(response)


class AsyncConnection:
    """The same on an event loop."""

    def __init__(self, url: str, key: str | None, timeout: float, transport: httpx2.AsyncBaseTransport | None) -> None:
        self.url = require_plain(url).rstrip("/")
        headers = authorization(key)
        try:
            self._http = httpx2.AsyncClient(transport=transport, **_settings(self.url, headers, timeout))
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


def _settings(url: str, headers: dict[str, str], timeout: float) -> dict[str, Any]:
    return {
        "base_url": url,
        "headers": headers,
        "timeout": timeout,
        # A proxy cannot reach the loopback addresses of this machine.
        "trust_env": urlsplit(url).hostname not in LOOPBACK,
    }


def _good(response: httpx2.Response) -> httpx2.Response:
    if not response.is_success and response.status_code != NOT_MODIFIED:
        raise ServiceError.from_response(response)
    return response


def require_plain(url: str) -> str:
    """Return an address; ValueError if it has a user's name or password, which errors and lists would show."""
    if "@" in url.partition("//")[2].partition("/")[0]:
        raise ValueError(f"the address of a service has no names or passwords in it: set {KEY_VARIABLE} instead")
    return url


def authorization(key: str | None) -> dict[str, str]:
    """Return the header that carries an API key, if there is one.

    Raises
    ------
    ValueError
        If it is not one word of ASCII; the HTTP library would say so too, and show the key.
    """
    key = (key or "").strip()
    if not key:
        return {}
    if not KEY.fullmatch(key):
        raise ValueError("the API key is not one word of letters, digits and marks; copy it again")
    return {"Authorization": f"Bearer {key}"}


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx2.ConnectError) and "refused" in str(error).lower():
        return "nothing listens there"
    return str(error).rstrip(".") or type(error).__name__
