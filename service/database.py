"""SQLite underneath the job store: connections, transactions, migrations."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

BUSY_SECONDS = 30.0
MIGRATION = re.compile(r"(\d{3})_[a-z_]+\.sql")


class DamagedStoreError(sqlite3.DatabaseError):
    """The file is no job store any more."""

    @classmethod
    def of(cls, path: Path, error: sqlite3.Error) -> DamagedStoreError | None:
        """Say what to do about a damaged file; None if the error says something else."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return None
        return cls(
            f"the job store {path} is damaged ({error}): put a backup in the state directory's place, or move the "
            "file away to begin without jobs"
        )


class Connection(sqlite3.Connection):
    """A connection that remembers to which jobs' histories its transaction added."""

    touched: set[str]


class Database:
    """A pool of connections to one file; usable from any thread.

    Writing transactions take the write lock when they begin: one that starts by reading and upgrades later
    fails with "database is locked" whatever the timeout.
    """

    def __init__(self, path: Path) -> None:
        self.tell: Callable[[Collection[str]], None] = _tell_nobody
        """Called with the touched jobs after each transaction that touched any, in the thread that made it."""
        self._path = path
        self._idle: list[Connection] = []
        self._closed = False
        self._pool = threading.Lock()
        # Writers of this process queue here, in turn, rather than poll for SQLite's lock.
        self._writing = threading.Lock()
        # SQLite gives its other files the permissions of this one: to the owner alone, whatever the umask.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        try:
            self._migrate()
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.Error) and (damaged := DamagedStoreError.of(path, error)):
                raise damaged from error
            raise

    def close(self) -> None:
        """Close every idle connection, and those that are lent when they come back; harmless when done twice."""
        with self._pool:
            self._closed = True
            connections, self._idle = self._idle, []
        for connection in connections:
            connection.close()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Lend a connection inside one read transaction: several statements see the same state."""
        with self._borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Lend a connection inside one write transaction, rolled back on an exception."""
        with self._writing, self._borrow() as connection:
            connection.touched = set()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            touched = connection.touched
        if touched:
            self.tell(touched)

    @contextlib.contextmanager
    def alone(self) -> Iterator[Connection]:
        """Lend a connection outside of any transaction, while no other of this process writes."""
        with self._writing, self._borrow() as connection:
            yield connection

    @contextlib.contextmanager
    def _borrow(self) -> Iterator[Connection]:
        connection = self._take()
        try:
            yield connection
        finally:
            with self._pool:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _take(self) -> Connection:
        with self._pool:
            if self._closed:
                raise sqlite3.ProgrammingError("the job store is closed")
            if self._idle:
                return self._idle.pop()
            return self._connect()

    def _connect(self) -> Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=Connection
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self) -> None:
        """Bring the file to the newest version, one numbered script and one transaction at a time."""
        scripts = migrations()
        with self._borrow() as connection:
            while True:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    (version,) = connection.execute("PRAGMA user_version").fetchone()
                    if version > len(scripts):
                        raise RuntimeError(
                            f"the job store {self._path.name} was written by a newer ordsim "
                            f"(version {version}, this one knows {len(scripts)}): use "
                            "that one, or another state directory"
                        )
                    if version == len(scripts):
                        return
                    for statement in statements(scripts[version]):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {version + 1}")
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")


def _tell_nobody(_: Collection[str]) -> None:
    """Nobody listens yet."""


def migrations() -> list[str]:
    """The scripts in order; their numbers run from 1 without a gap."""
    found: dict[int, str] = {}
    for file in resources.files("service").joinpath("migrations").iterdir():
        if match := MIGRATION.fullmatch(file.name):
            found[int(match[1])] = file.read_text("utf-8")
    if sorted(found) != list(range(1, len(found) + 1)):
        raise RuntimeError(f"the migrations are not numbered 1, 2, 3, ...: {sorted(found)}")
    return [found[number] for number in sorted(found)]


def statements(script: str) -> Iterator[str]:
    """Split a script into statements; ``executescript`` would commit the transaction that it runs in."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if any(line.strip() and not line.strip().startswith("--") for line in pending.splitlines()):
        raise RuntimeError(f"a migration ends in the middle of a statement: {pending.strip()[:80]!r}")
