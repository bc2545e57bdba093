"""Talks with a service about what it offers: see `service.talks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from service.answers import ServiceError, ServiceUnreachable
from service.steps import Ask, ask_list, ask_object

if TYPE_CHECKING:
    import httpx2

    from service.steps import Talk


def roots() -> Talk[list[dict[str, Any]]]:
    """Return the service's data roots."""
    return (yield from ask_list("/v1/roots", "roots"))


def arrays(root: str, prefix: str | None = None) -> Talk[list[dict[str, Any]]]:
    """Return the arrays below a root, or below a prefix of its paths."""
    parameters = {} if prefix is None else {"prefix": prefix}
    return (yield from ask_list(f"/v1/roots/{quote(root, safe='')}/arrays", "arrays", params=parameters))


def processes() -> Talk[list[dict[str, Any]]]:
    """Return the catalogue of processes."""
    return (yield from ask_list("/v1/processes", "processes"))


def process(name: str) -> Talk[dict[str, Any]]:
    """Return one process: its measures, their options, limits and the schema of its inputs."""
    return (yield from ask_object("GET", f"/v1/processes/{quote(name, safe='')}"))


def ready() -> Talk[bool]:
    """Whether the service answers and says that it is ready to compute."""
    try:
        yield Ask("GET", "/readyz")
    except (ServiceError, ServiceUnreachable):
        return False
    return True


def probe(target: str) -> Talk[httpx2.Response]:
    """Return the answer to a plain question, e.g. ``"/livez"``, whatever it holds."""
    response: httpx2.Response = yield Ask("GET", target)
    return response
