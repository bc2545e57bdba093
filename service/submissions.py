"""What is written down when a job is submitted, and the steps of that inside a transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from service import transactions
from service.states import JobStatus, KeyReuseError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from service.database import Connection


@dataclass(frozen=True, slots=True)
class NewJob:
    """What is written down when a job is submitted.

    `owner` is the id of the API key that submits, or empty where there are none. `key` and `body` are the owner's
    idempotency key and the hash of the request that came with it.
    """

    id: str
    process: str
    request: Mapping[str, Any]
    arrays: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""
    owner: str = ""
    key: str | None = None
    body: str | None = None

    def with_arrays(self, arrays: Mapping[str, Any]) -> NewJob:
        """The same, with what was found out about its arrays."""
        return replace(self, arrays=arrays)


def known(connection: sqlite3.Connection, new: NewJob) -> str | None:
    """Return the job that this owner's idempotency key made, if any.

    Raises
    ------
    KeyReuseError
        If the key came with another request before.
    """
    if new.key is None:
        return None
    row = connection.execute(
        "SELECT body, job FROM idempotency WHERE owner = ? AND key = ?", (new.owner, new.key)
    ).fetchone()
    if row is None:
        return None
    if row["body"] != new.body:
        raise KeyReuseError(row["job"])
    return str(row["job"])


def insert(connection: Connection, new: NewJob, now: str) -> None:
    """Write an accepted job, its idempotency key if it has one, and its first event."""
    connection.execute(
        "INSERT INTO jobs (job, process, status, label, tags, request, arrays, request_id, owner, created, updated)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(new.id, new.process, JobStatus.ACCEPTED, new.label, json.dumps(dict(new.tags))),
            *(json.dumps(new.request), json.dumps(new.arrays), new.request_id, new.owner, now, now),
        ),
    )
    if new.key is not None:
        connection.execute(
            "INSERT INTO idempotency (owner, key, body, job, created) VALUES (?, ?, ?, ?, ?)",
            (new.owner, new.key, new.body, new.id, now),
        )
    transactions.append(connection, new.id, "accepted", {}, now)
