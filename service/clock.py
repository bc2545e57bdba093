"""What time it is, and how the store writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The clock of a service that is not being tested."""
    return datetime.now(UTC)


def written(moment: datetime) -> str:
    """Write a moment so that the order of texts is the order of moments, e.g. 2026-01-31T12:00:00.000Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
