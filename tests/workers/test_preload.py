"""What a worker process keeps out of its log, and what it does not."""

from __future__ import annotations

import logging

import pytest
from distributed.comm.core import CommClosedError

from workers import preload


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (CommClosedError("ConnectionPool closing."), False),
        (CommClosedError("in <TLS>: Stream is closed"), False),
        (ValueError("closing"), True),
        (None, True),
    ],
)
def test_requests_that_broke_off_with_their_connection_are_not_told(error: Exception | None, kept: bool) -> None:
    info = (type(error), error, None) if error else None
    record = logging.LogRecord("distributed.worker", logging.ERROR, "", 0, "Failed to communicate", (), info)
    assert preload._not_of_lost_connections(record) is kept
