"""One request after another to a service: what came back, or an error that says what went wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from service.answers import ServiceError, ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_PAUSE = 5.0
SHORTEST_PAUSE = 0.05
DEFAULT_PAUSE = 0.5
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ANSWER_LOST = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
"""The connection broke, perhaps because it had been idle for long; the service may have acted or not."""


FAULTS = (httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError)
NOT_MODIFIED = 304


class Connection:
    """HTTP to one address; every request may safely be made twice, submissions because they carry a key."""

    def __init__(self, url: str, key: str | None, timeout: float, transport: httpx2.BaseTransport | None) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        try:
            self._http = httpx2.Client(
                base_url=self.url,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=timeout,
                transport=transport,
                # A proxy cannot reach the loopback addresses of this machine.
                trust_env=urlsplit(self.url).hostname not in LOOPBACK,
            )
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
        if not response.is_success and response.status_code != NOT_MODIFIED:
            raise ServiceError.from_response(response)
        return response

    def stream(self, target: str, headers: Mapping[str, str], silence: float) -> httpx2.Response:
        """Open a stream that may be silent for so many seconds; reading it raises one of `FAULTS`. Close it."""
        timeout = httpx2.Timeout(self._timeout, read=silence)
        request = self._http.build_request("GET", target, headers=dict(headers), timeout=timeout)
        try:
            response = self._http.send(request, stream=True)
            if not response.is_success:
                response.read()
                raise ServiceError.from_response(response)
        except FAULTS as error:
            raise ServiceUnreachable(self.url, _reason(error)) from error
        return response

    def object(self, method: str, target: str, **arguments: Any) -> dict[str, Any]:
        """Ask for a JSON object."""
        return self.parsed(self.request(method, target, **arguments))

    def list(self, target: str, member: str, **arguments: Any) -> list[dict[str, Any]]:
        """Ask for a JSON object and return its member `member`, a list."""
        members = self.object("GET", target, **arguments).get(member)
        if not isinstance(members, list):
            raise ServiceUnreachable(self.url, f"what answers there is not ordsim: no {member!r}")
        return members

    def parsed(self, response: httpx2.Response) -> dict[str, Any]:
        """Return the JSON object of a response."""
        try:
            parsed = response.json()
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise ServiceUnreachable(self.url, "what answers there is not ordsim: no JSON object")
        return parsed


def suggested_pause(response: httpx2.Response) -> float:
    """Seconds until the next question: what the service asks for, fractions too, within reason."""
    try:
        seconds = float(response.headers.get("Retry-After", DEFAULT_PAUSE))
    except ValueError:  # a date, which ordsim does not send
        return DEFAULT_PAUSE
    return min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE) if math.isfinite(seconds) else DEFAULT_PAUSE


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx2.ConnectError) and "refused" in str(error).lower():
        return "nothing listens there"
    return str(error).rstrip(".") or type(error).__name__
