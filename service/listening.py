"""Listening to a job: the stream of its events, as far as there is one, tells when it is worth asking again.

Where there is none, or where it breaks off, the status is asked for again and again, as the service suggests.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from service.answers import ServiceError, ServiceUnreachable
from service.connection import DEFAULT_PAUSE, FAULTS, NOT_MODIFIED, suggested_pause

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any, Self

    import httpx2

    from service.connection import Connection

SILENCE_SECONDS = 45.0
"""A stream that says nothing for so long is broken: the service tells every 15 seconds that it is there."""

AGAIN_SECONDS = 10.0
"""How long to do without a stream that broke."""

NEWEST = "999999999999999"
"""Stands for the newest event: the status says what came before."""

TYPE = "text/event-stream"


class Listener:
    """Hears when something happens to one job; a context manager. It never fails: without a stream it hears nothing."""

    def __init__(self, service: Connection, address: str) -> None:
        self._service = service
        self._address = f"{address}/events"
        self._response: httpx2.Response | None = None
        self._lines: Iterator[str] = iter(())
        self._not_before = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Begin to listen, if that has not begun; what happens from now on is heard."""
        if self._response is not None or time.monotonic() < self._not_before:
            return
        try:
            response = self._service.stream(self._address, {"Last-Event-ID": NEWEST, "Accept": TYPE}, SILENCE_SECONDS)
        except (ServiceError, ServiceUnreachable):
            self._give_up()
            return
        self._response, self._lines = response, response.iter_lines()
        if not response.headers.get("Content-Type", "").startswith(TYPE):
            self._give_up()

    def hear(self) -> bool:
        """Wait for the next event, or for a word that there is none; False if nothing can be heard now."""
        if self._response is None:
            return False
        try:
            if any(line.startswith(("data:", ":")) for line in self._lines):
                return True
        except FAULTS:
            pass
        self._give_up()
        return False

    def close(self) -> None:
        """Listen no more."""
        if self._response is not None:
            self._response.close()
        self._response = None

    def _give_up(self) -> None:
        self.close()
        self._not_before = time.monotonic() + AGAIN_SECONDS


def statuses(service: Connection, address: str, end: float, outage: float) -> Generator[dict[str, Any], None, None]:
    """Yield the status of a job, at once and whenever it has changed, until `end` on the monotonic clock.

    Raises
    ------
    ServiceUnreachable
        If the service was never there, or was away for longer than `outage` seconds.
    """
    answered = -math.inf
    known: dict[str, str] = {}
    with Listener(service, address) as listener:
        while True:
            if end - time.monotonic() > SILENCE_SECONDS:
                listener.open()  # before asking: what happens after the answer is heard
            else:
                listener.close()  # reading from it might take longer
            pause = DEFAULT_PAUSE
            try:
                response = service.request("GET", address, headers=known)
            except ServiceUnreachable:
                if time.monotonic() - answered > outage:
                    raise
            else:
                answered, pause = time.monotonic(), suggested_pause(response)
                if response.status_code != NOT_MODIFIED:
                    known = {"If-None-Match": response.headers["ETag"]} if "ETag" in response.headers else {}
                    yield service.parsed(response)
            left = end - time.monotonic()
            if left <= 0:
                return
            if not listener.hear():
                time.sleep(min(pause, left))
