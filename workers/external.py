"""A cluster that others started, and may restart: a scheduler at an address, and whatever workers it has."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from distributed import Client

from workers import preload
from workers.cluster import ANSWER_SECONDS, MEMORY_SHARE, Cluster, NotConnectedError, Resources, share_of_machine
from workers.surroundings import Surroundings, look_around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributed import Security

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
"""For one attempt to connect. A client that lost its scheduler gives up after as long, and is replaced."""
LOOK_SECONDS = 0.5
"""Between two looks at whether there is a client."""


class ExternalCluster(Cluster):
    """The cluster of the scheduler at `address`, which need not be there yet, and may go and come back.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.
    roots : sequence of str
        Names of the data roots that workers must be able to read.
    security : Security or None
        Certificates, for ``tls://``.
    worker_memory : int or None
        Private memory in bytes that each task may use; if None, workers are asked.
    """

    def __init__(
        self, address: str, roots: Sequence[str], security: Security | None = None, worker_memory: int | None = None
    ) -> None:
        super().__init__(worker_memory or share_of_machine(1))
        self._address = address
        self._roots = list(roots)
        self._security = security
        self._ask_memory = worker_memory is None
        self._told: Mapping[str, Surroundings] = {}
        self._failure = "not tried yet"
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect in the background, as often as it takes."""
        self._keeper = asyncio.create_task(self._keep_connected())

    async def close(self) -> None:
        """Leave the cluster, which goes on."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @property
    def client(self) -> Any:
        """The asynchronous client; NotConnectedError while there is none."""
        # Not one that reconnects, either: if it gives up, what was submitted meanwhile would be pending for ever.
        if self._client is None or self._client.status != "running":
            raise NotConnectedError(f"there is no connection to the scheduler: {self._failure}")
        return self._client

    async def resources(self) -> Resources:
        """Say what tasks may use now; of the memory, what workers were told, or their part of their machine's."""
        if self._ask_memory:
            with contextlib.suppress(OSError):  # a TimeoutError is one too
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._worker_memory = _least(await self._surroundings()) or self._worker_memory
        return await super().resources()

    async def _keep_connected(self) -> None:
        while True:
            if self._client is None or self._client.status == "closed":
                await self._connect()
            await asyncio.sleep(LOOK_SECONDS)

    async def _connect(self) -> None:
        client = Client(  # type: ignore[no-untyped-call]
            self._address, security=self._security, timeout=CONNECT_SECONDS, asynchronous=True, set_as_default=False
        )
        try:
            self._client = await client
            self._failure = "it was lost"
            log.info("connected to the scheduler at %s", self._address)
        except Exception as error:  # whatever it is: nobody else would try again
            failure = _innermost(error)
            if failure != self._failure:
                log.warning("no connection to the scheduler at %s, which is tried again: %s", self._address, failure)
            self._failure = failure
        finally:
            if self._client is not client:
                await client.close()  # type: ignore[no-untyped-call]

    def _unconnected(self) -> str | None:
        if self._client is None or self._client.status == "closed":
            return f"no connection to the scheduler at {self._address}: {self._failure}"
        return super()._unconnected()

    def _no_worker(self) -> str:
        return f"the scheduler at {self._address} has no worker: start some with --preload {preload.__name__}"

    async def _surroundings(self) -> Mapping[str, Surroundings]:
        """What each worker says of itself; asked again when workers have come or gone."""
        addresses = set(await self.worker_threads())
        if addresses != self._told.keys():
            found = await self.client.run(look_around, self._roots, on_error="ignore")
            self._told = {address: said for address, said in found.items() if isinstance(said, Surroundings)}
        return self._told

    async def differences(self) -> list[str]:
        """Say what workers lack, and what they and the scheduler have in other versions than this process."""
        if any(one.faults for one in self._told.values()):
            self._told = {}  # it may have been mended
        async with asyncio.timeout(ANSWER_SECONDS):
            told = await self._surroundings()
            silent = sorted(set(await self.worker_threads()) - told.keys())
        faults = [f"worker {address} {fault}" for address, one in told.items() for fault in one.faults]
        faults += [f"worker {address} does not say what it has: look into its log" for address in silent]
        return faults + await super().differences()


def _innermost(error: BaseException) -> str:
    """What went wrong in the end, without what Dask wraps around it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _least(told: Mapping[str, Surroundings]) -> int | None:
    """The memory that every worker has, in bytes; where none was told, its part of what its machine has."""
    here = Counter(urlsplit(address).hostname for address in told)
    return min(
        (
            one.memory or int(MEMORY_SHARE * one.machine) // here[urlsplit(address).hostname]
            for address, one in told.items()
        ),
        default=None,
    )
