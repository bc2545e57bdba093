"""Listening to a job: the stream of its events, as far as there is one, tells when it is worth asking again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from service.answers import ServiceError, ServiceUnreachable
from service.connection import FAULTS
from service.talks import LISTENING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

    from service.connection import Connection

AGAIN_SECONDS = 10.0
"""How long to do without a stream that broke."""

NEWEST = "999999999999999"
"""Stands for the newest event: the status says what came before."""

TYPE = "text/event-stream"


class Listener:
    """Hears when something happens to one job. It never fails: without a stream it hears nothing, and waits."""

    def __init__(self, service: Connection) -> None:
        self._service = service
        self._response: httpx2.Response | None = None
        self._lines: Iterator[str] = iter(())
        self._not_before = time.monotonic()

    def attend(self, address: str | None) -> None:
        """Listen from now on to the job of this address, if that has not begun; to none with None."""
        if address is None:
            self.close()
        elif self._response is None and time.monotonic() >= self._not_before:
            self._open(f"{address}/events")

    def wait(self, seconds: float) -> None:
        """Wait for the next event, or a word that there is none; for so many seconds if nothing can be heard."""
        if not self._hear():
            time.sleep(seconds)

    def close(self) -> None:
        """Listen no more."""
        if self._response is not None:
            self._response.close()
        self._response = None

    def _open(self, target: str) -> None:
        headers = {"Last-Event-ID": NEWEST, "Accept": TYPE}
        try:
            response = self._service.stream(target, headers, LISTENING_SECONDS)
        except (ServiceError, ServiceUnreachable):
            self._give_up()
            return
        self._response, self._lines = response, response.iter_lines()
        if not response.headers.get("Content-Type", "").startswith(TYPE):
            self._give_up()

    def _hear(self) -> bool:
        if self._response is None:
            return False
        try:
            if any(line.startswith(("data:", ":")) for line in self._lines):
                return True
        except FAULTS:
            pass
        self._give_up()
        return False

    def _give_up(self) -> None:
        self.close()
        self._not_before = time.monotonic() + AGAIN_SECONDS
