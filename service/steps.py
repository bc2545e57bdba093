"""What is said to a service in a talk, step by step: requests, pauses, and words to the caller.

A talk is a generator: it yields what is to be done, is sent what came of it, and returns what the caller wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from service.answers import ServiceUnreachable

if TYPE_CHECKING:
    import httpx2

LONGEST_PAUSE = 5.0
SHORTEST_PAUSE = 0.05
DEFAULT_PAUSE = 0.5
NOT_MODIFIED = 304

Progress = Callable[[dict[str, Any]], object]
"""Called with the status of a job; what it returns is awaited by an `AsyncClient` if it can be."""


@dataclass(frozen=True)
class Ask:
    """Make a request; what comes of it is the response."""

    method: str
    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tell:
    """Tell a caller about a status."""

    progress: Progress
    status: dict[str, Any]


@dataclass(frozen=True)
class Attend:
    """Listen to the events of a job from now on, if there are any; to none with None."""

    address: str | None


@dataclass(frozen=True)
class Await:
    """Wait for such an event, or so many seconds."""

    seconds: float


Step = Ask | Tell | Attend | Await
T = TypeVar("T")
Talk = Generator[Step, Any, T]


def suggested_pause(response: httpx2.Response) -> float:
    """Seconds until the next question: what the service asks for, fractions too, within reason."""
    try:
        seconds = float(response.headers.get("Retry-After", DEFAULT_PAUSE))
    except ValueError:  # a date, which ordsim does not send
        return DEFAULT_PAUSE
    return min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE) if math.isfinite(seconds) else DEFAULT_PAUSE


def tell(progress: Progress | None, status: dict[str, Any]) -> Talk[None]:
    """Tell a caller about a status, if it wants to know."""
    if progress is not None:
        yield Tell(progress, status)


def ask_object(method: str, target: str, **arguments: Any) -> Talk[dict[str, Any]]:
    """Ask for a JSON object."""
    return parsed((yield Ask(method, target, arguments)))


def ask_list(target: str, member: str, **arguments: Any) -> Talk[list[dict[str, Any]]]:
    """Ask for a JSON object and return its member `member`, a list."""
    response = yield Ask("GET", target, arguments)
    members = parsed(response).get(member)
    if not isinstance(members, list):
        raise _stranger(response, f"no {member!r}")
    return members


def parsed(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON object of a response.

    Raises
    ------
    ServiceUnreachable
        If it is none: what answers is not ordsim.
    """
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _stranger(response, "no JSON object")
    return found


def _stranger(response: httpx2.Response, why: str) -> ServiceUnreachable:
    url = response.request.url
    return ServiceUnreachable(str(url.copy_with(raw_path=b"/")).rstrip("/"), f"what answers there is not ordsim: {why}")
