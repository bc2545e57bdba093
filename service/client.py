"""The Python client: what an experiment's own code talks to, blocking or on an event loop.

Needs httpx2 and nothing of the service; numpy is imported when an artifact, layers or a matrix are asked for.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from service import carrying, offered, talks
from service.answers import Results, ServiceError, ServiceUnreachable
from service.asking import Reference, reference
from service.connection import AsyncConnection, Connection
from service.talks import FINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    import httpx2

    from service.steps import Talk

__all__ = ["FINAL", "AsyncClient", "Client", "Reference", "Results", "ServiceError", "ServiceUnreachable", "reference"]

DEFAULT_URL = "http://127.0.0.1:8000"

P = ParamSpec("P")
T = TypeVar("T")


def _with_self(talk: Callable[..., Any]) -> inspect.Signature:
    """The signature of a talk as that of a method."""
    signature = inspect.signature(talk)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return signature.replace(parameters=[own, *signature.parameters.values()])


def _blocking(talk: Callable[P, Talk[T]]) -> Callable[Concatenate[Client, P], T]:
    """Make a method of a talk."""

    @functools.wraps(talk)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return carrying.carry(self._service, talk(*args, **kwargs))

    method.__signature__ = _with_self(talk)  # type: ignore[attr-defined]
    return method


def _awaited(talk: Callable[P, Talk[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Make a method of a talk."""

    @functools.wraps(talk)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await carrying.carry_on_loop(self._service, talk(*args, **kwargs))

    method.__signature__ = _with_self(talk)  # type: ignore[attr-defined]
    return method


class Client:
    """A synchronous client of one ordsim service. Use as a context manager, or `close` it.

    Parameters
    ----------
    url : str
        Address of the service, e.g. ``"http://127.0.0.1:8000"``.
    key : str or None
        API key, sent as a bearer token. Not kept in any message.
    timeout : float
        Seconds that one request may take.
    transport : httpx2.BaseTransport or None
        For tests: what answers instead of the network.

    Raises
    ------
    ServiceError
        From any method: the service answered with a problem.
    ServiceUnreachable
        From any method: nothing answered, or something that is not ordsim.
    ValueError
        If the key cannot be one, or the URL has a user's name or password in it.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        timeout: float = 30.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._service = Connection(url, key, timeout, transport)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._service.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    compare = _blocking(talks.compare)
    layers = _blocking(talks.layers)
    matrix = _blocking(talks.matrix)
    submit = _blocking(talks.submit)
    submit_request = _blocking(talks.submit_request)
    plan = _blocking(talks.plan)
    plan_request = _blocking(talks.plan_request)
    status = _blocking(talks.status)
    wait = _blocking(talks.wait)
    document = _blocking(talks.document)
    results = _blocking(talks.results)
    jobs = _blocking(talks.jobs)
    jobs_document = _blocking(talks.jobs_document)
    cancel = _blocking(talks.cancel)
    artifact = _blocking(talks.artifact)
    artifact_file = _blocking(talks.artifact_file)
    roots = _blocking(offered.roots)
    arrays = _blocking(offered.arrays)
    processes = _blocking(offered.processes)
    process = _blocking(offered.process)
    ready = _blocking(offered.ready)
    probe = _blocking(offered.probe)


class AsyncClient:
    """An asynchronous client of one ordsim service: the methods of `Client`, to be awaited.

    Use as an asynchronous context manager, or `close` it. A ``progress`` may be a coroutine function, and several jobs
    may be waited for at once. Parameters and errors are those of `Client`; the transport for tests is asynchronous.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        timeout: float = 30.0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._service = AsyncConnection(url, key, timeout, transport)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._service.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._service.close()

    compare = _awaited(talks.compare)
    layers = _awaited(talks.layers)
    matrix = _awaited(talks.matrix)
    submit = _awaited(talks.submit)
    submit_request = _awaited(talks.submit_request)
    plan = _awaited(talks.plan)
    plan_request = _awaited(talks.plan_request)
    status = _awaited(talks.status)
    wait = _awaited(talks.wait)
    document = _awaited(talks.document)
    results = _awaited(talks.results)
    jobs = _awaited(talks.jobs)
    jobs_document = _awaited(talks.jobs_document)
    cancel = _awaited(talks.cancel)
    artifact = _awaited(talks.artifact)
    artifact_file = _awaited(talks.artifact_file)
    roots = _awaited(offered.roots)
    arrays = _awaited(offered.arrays)
    processes = _awaited(offered.processes)
    process = _awaited(offered.process)
    ready = _awaited(offered.ready)
    probe = _awaited(offered.probe)
