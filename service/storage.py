"""What befell the files of the service itself, in the names of the contract."""

from __future__ import annotations

import errno
import sqlite3

from workers.errors import ProblemError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the operating system when there is no room to write."""

STORE_FAULTS = frozenset(
    {
        *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM),
        *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB),
    }
)
"""SQLite's codes for what befell the file; all others speak of the statement, and are our mistake."""


def is_full(error: Exception) -> bool:
    """Whether there was no room for what the service had to write."""
    problem = problem_of(error)
    return problem is not None and problem.slug == "out-of-space"


def problem_of(error: Exception) -> ProblemError | None:
    """Name what befell the service's own storage; None if the error says something else.

    The operating system's errors have a number. Errors of the network are not about storage, and those that
    libraries raise without a number may be about anything.
    """
    if isinstance(error, sqlite3.Error):
        # The high bits of the code only tell variants apart.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code not in STORE_FAULTS:
            return None
        full, reason = code == sqlite3.SQLITE_FULL, f"the job store answers {error.sqlite_errorname}"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            reason = f"the job store is damaged ({error.sqlite_errorname}), and a backup should take its place"
    elif isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError):
        if error.errno is None:
            return None
        full, reason = error.errno in FULL, error.strerror or type(error).__name__
    else:
        return None
    if full:
        return ProblemError(
            "out-of-space",
            "The disk that holds the service's state directory is full. Free space there, then submit again.",
            "system",
        )
    return ProblemError(
        "storage-unavailable",
        f"The service cannot use its state directory: {reason}. Mend that, then submit again.",
        "system",
    )
