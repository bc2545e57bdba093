"""Who asks, what they may do, and what each address asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.keys import UNLIMITED, Limits, Scope

if TYPE_CHECKING:
    from service.keys import Key

OPEN_PATHS = frozenset({"/", "/livez", "/readyz", "/openapi.json", "/docs", "/favicon.ico"})
OPEN_FOLDERS = ("/problems/", "/static/")
"""Addresses that hold nothing of anybody's: probes, the documents of the service, its web page."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request.

    Attributes
    ----------
    owner : str
        Id of the API key; empty where there are none. Jobs that are submitted become this owner's.
    """

    owner: str
    scopes: frozenset[Scope]
    limits: Limits

    @property
    def sees(self) -> str | None:
        """Whose jobs are there for this caller; None for everybody's."""
        return None if Scope.ADMIN in self.scopes else self.owner

    def may(self, scope: Scope) -> bool:
        """Whether the caller has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


ANYONE = Caller("", frozenset(Scope), UNLIMITED)
"""Whoever reaches a service that asks for no keys."""


def caller(key: Key) -> Caller:
    """Who sends this key."""
    return Caller(key.id, key.scopes, key.limits)


def needed(method: str, path: str) -> Scope | None:
    """Say which scope a request needs; None where anyone may ask.

    Addresses that are not thought of need a key too, whatever is put there one day.
    """
    if method in SAFE_METHODS and (path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)):
        return None
    if path == "/metrics":
        return Scope.METRICS
    if method in SAFE_METHODS or path == "/v1/plans":  # a plan is an answer; nothing is stored or computed
        return Scope.JOBS_READ
    return Scope.JOBS_WRITE
