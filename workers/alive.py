"""Whether a scheduler answers, in its own protocol, and a worker of this host is registered there: for health checks.

``python -m workers.alive ADDRESS [--worker]`` ends with 0 if so. Certificates are those of Dask's configuration.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from typing import Any

from distributed import Security
from distributed.core import rpc

ANSWER_SECONDS = 8.0


async def workers_of(address: str) -> list[dict[str, Any]]:
    """Ask a scheduler for what it knows of its workers; OSError if it does not answer."""
    connection = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with asyncio.timeout(ANSWER_SECONDS):
        async with rpc(address, connection_args=connection) as scheduler:  # type: ignore[no-untyped-call]
            identity = await scheduler.identity(n_workers=-1)
    return list(identity["workers"].values())


def main() -> int:
    """Look, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m workers.alive", description="Whether a scheduler answers.")
    parser.add_argument("address", help="tls://HOST:PORT or tcp://HOST:PORT")
    parser.add_argument("--worker", action="store_true", help="and has a worker on this host")
    arguments = parser.parse_args()
    try:
        workers = asyncio.run(workers_of(arguments.address))
    except OSError as error:  # a TimeoutError is one too
        print(f"{arguments.address} does not answer: {error or type(error).__name__}", file=sys.stderr)
        return 1
    if arguments.worker:
        own = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None)}
        if not any(worker["host"] in own for worker in workers):
            print(f"{arguments.address} knows no worker at {', '.join(map(str, sorted(own)))}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
