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
        (CommClosedError("in <TLS>: Stream is closed"), True),
        (ValueError("closing"), True),
        (None, True),
    ],
)
def test_only_the_heartbeat_of_a_closing_worker_is_left_out(error: Exception | None, kept: bool) -> None:
    info = (type(error), error, None) if error else None
    record = logging.LogRecord("distributed.worker", logging.ERROR, "", 0, "Failed to communicate", (), info)
    assert preload._of_connections(record) is kept
    # What is kept of a connection that broke off has no traceback.
    assert bool(record.exc_info and record.exc_info[0]) == (
        error is not None and not isinstance(error, CommClosedError)
    )
