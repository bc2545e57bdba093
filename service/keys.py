"""API keys as values: how they look, what they allow, and what is remembered of them."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN = re.compile(r"ordsim_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
"""The prefix lets programs that search for leaked secrets recognise one."""

ID_BYTES = 4
SECRET_BYTES = 32


class Scope(StrEnum):
    """What a key may do. Admin is everything, with the jobs of all keys."""

    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    METRICS = "metrics"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Limits:
    """The quotas of a key; None limits nothing.

    Attributes
    ----------
    queued : int or None
        Jobs that wait; a further submission is refused.
    running : int or None
        Jobs that run at once; further ones wait in the queue.
    comparisons : int or None
        Comparisons a day, from midnight to midnight UTC.
    """

    queued: int | None = None
    running: int | None = None
    comparisons: int | None = None


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Key:
    """What the store knows of a key, besides the hash of its secret; times are as they are shown."""

    id: str
    label: str
    scopes: frozenset[Scope]
    limits: Limits
    created: str
    expires: str | None
    revoked: str | None

    def state(self, now: str) -> str:
        """Whether it is "active", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"

    def sorted_scopes(self) -> Sequence[str]:
        """Its scopes in the order in which they are listed."""
        return [scope.value for scope in Scope if scope in self.scopes]


def generate() -> tuple[str, str]:
    """Make the id and the secret of a new key."""
    return secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)


def token(identifier: str, secret: str) -> str:
    """Put together what a client sends."""
    return f"ordsim_{identifier}_{secret}"


def split(text: str) -> tuple[str, str] | None:
    """Take a client's text apart into id and secret; None if it has not the form of a key."""
    match = TOKEN.fullmatch(text)
    return None if match is None else (match[1], match[2])


def digest(secret: str) -> str:
    """Hash a secret for the store. It has 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def matches(secret: str, stored: str) -> bool:
    """Whether a secret has this hash, in a time that tells nothing of it."""
    return hmac.compare_digest(digest(secret), stored)
