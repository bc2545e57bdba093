"""A process of its own with an embedded cluster: ``run_cluster.py hold|stop DIRECTORY``.

Prints the addresses and process ids of its workers as one line of JSON, then waits to be killed, or stops.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from shard_functions import Probe, invocations, run_probe

from workers.embedded import EmbeddedCluster
from workers.references import Root


async def main(mode: str, directory: Path) -> None:
    """Start, show the workers, and hold or stop."""
    roots = {"here": Root("here", str(directory))}
    async with EmbeddedCluster(2, roots, directory / "staging", directory / "state") as cluster:
        await cluster.wait_for_workers()
        reasons = await cluster.readiness()
        pids = await cluster.client.run(os.getpid)
        future = cluster.client.submit(run_probe, Probe("job", 0, str(directory), ("hold",)), pure=False)
        while not invocations(directory, 0):
            await asyncio.sleep(0.01)
        print(json.dumps({"pids": pids, "reasons": reasons}), flush=True)
        if mode == "hold":
            await future
        (directory / "released").touch()
        await future


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
