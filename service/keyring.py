"""The API keys of one job store."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from service import keys, lock
from service.clock import utc_now, written
from service.database import FILE, Database, outdated
from service.keys import Key, Limits, Scope
from service.states import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

NOBODY = keys.digest("")
"""What a key is compared with whose id is not known, so that it takes as long as one whose id is."""


@contextlib.contextmanager
def opened(directory: Path, new: bool = False) -> Iterator[Keyring]:
    """Open the keys of a state directory, also while a service works on it.

    Parameters
    ----------
    directory : Path
    new : bool
        Whether to make a job store where there is none.

    Raises
    ------
    FileNotFoundError
        If there is none.
    StateDirectoryInUseError
        If a service of an earlier version works there, whose job store must not change under it.
    RuntimeError
        If the job store is of a later version.
    """
    path = directory / FILE
    if new:
        lock.make_private(directory)
    elif not path.is_file():
        raise FileNotFoundError(f"there is no job store in {directory}; --state-dir names that of the service")
    if outdated(path):
        with lock.own(directory):
            pass
    with contextlib.closing(Database(path)) as database:
        yield Keyring(database, lambda: written(utc_now()))


class UnknownKeyError(StoreError):
    """There is no key of this id."""


class RefusedKeyError(Exception):
    """A key that opens nothing; the message says why, and nothing that its sender does not know."""


class Keyring:
    """Makes, lists, revokes and finds keys. Each method is one transaction and may be called from any thread."""

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        self._database = database
        self._now = now

    def create(
        self,
        label: str,
        scopes: Collection[Scope],
        limits: Limits = keys.UNLIMITED,
        expires: str | None = None,
    ) -> tuple[Key, str]:
        """Make a key, and return it with what its owner sends: that is not kept, and cannot be shown again."""
        with self._database.write() as connection:
            identifier, secret = keys.generate()
            connection.execute(
                "INSERT INTO keys"
                " (id, digest, label, scopes, created, expires, queued_limit, running_limit, comparisons_limit)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(identifier, keys.digest(secret), label, json.dumps(sorted(scopes)), self._now(), expires),
                    *(limits.queued, limits.running),
                    None if limits.comparisons is None else str(limits.comparisons),
                ),
            )
            made = _read(connection.execute("SELECT * FROM keys WHERE id = ?", (identifier,)).fetchone())
        return made, keys.token(identifier, secret)

    def all(self) -> Sequence[Key]:
        """Every key that was ever made, the oldest first."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT * FROM keys ORDER BY created, id").fetchall()
        return [_read(row) for row in rows]

    def active(self) -> int:
        """How many keys open something now."""
        now = self._now()
        return sum(key.state(now) == "active" for key in self.all())

    def is_active(self, identifier: str) -> bool:
        """Whether the key of this id opens something now."""
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM keys WHERE id = ?", (identifier,)).fetchone()
        return row is not None and _read(row).state(self._now()) == "active"

    def revoke(self, identifier: str) -> Key:
        """Make a key open nothing from now on; nothing more happens to a revoked one.

        Raises
        ------
        UnknownKeyError
            If there is no key of this id.
        """
        with self._database.write() as connection:
            connection.execute(
                "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (self._now(), identifier)
            )
            row = connection.execute("SELECT * FROM keys WHERE id = ?", (identifier,)).fetchone()
        if row is None:
            raise UnknownKeyError(identifier)
        return _read(row)

    def find(self, token: str) -> Key:
        """Return the active key that a client sent.

        Raises
        ------
        RefusedKeyError
            If there is none.
        """
        parts = keys.split(token)
        if parts is None:
            raise RefusedKeyError("This is not an API key of ordsim, which begins with ordsim_.")
        identifier, secret = parts
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM keys WHERE id = ?", (identifier,)).fetchone()
        if not keys.matches(secret, NOBODY if row is None else row["digest"]) or row is None:
            raise RefusedKeyError("This API key is not known here.")
        found = _read(row)
        state = found.state(self._now())
        if state != "active":
            raise RefusedKeyError(f"This API key is {state}.")
        return found


def _read(row: sqlite3.Row) -> Key:
    comparisons = row["comparisons_limit"]
    return Key(
        id=row["id"],
        label=row["label"],
        scopes=frozenset(Scope(scope) for scope in json.loads(row["scopes"])),
        limits=Limits(row["queued_limit"], row["running_limit"], None if comparisons is None else int(comparisons)),
        created=row["created"],
        expires=row["expires"],
        revoked=row["revoked"],
    )
