"""A service under load: many small jobs at once, and how soon a status is answered while a heavy job computes.

Two workers on two cores compute the heavy job all the while; one client asks for its status over one connection, as a
page or a script does. The 99th of a hundred answers is what a person notices.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_most

from service.private import PrivateService
from workers.importing import import_file
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from figures import Options

    from service.client import Client

ROOT = "bench"
ROWS, COLUMNS = 2000, 64
SMALL_ROWS = {"start": 0, "stop": 50}
CLIENTS = 20
JOBS, QUICK_JOBS = 200, 10
CALLS, QUICK_CALLS = 1000, 100
READY_SECONDS = 300.0
JOB_SECONDS = 1200.0
SMALL = [{"measure": "tsi", "method": "exact"}]
HEAVY = [{"measure": "qsi", "method": "sampled", "samples": 10**10}]
TARGET = at_most(100.0)


def measure(options: Options) -> Iterator[Figure]:
    """Submit many jobs at once; then ask for a status, again and again, beside a heavy job."""
    arrays = data.gaussian(ROWS, COLUMNS)
    with tempfile.TemporaryDirectory(prefix="ordsim-bench-", ignore_cleanup_errors=True) as directory:
        roots = {ROOT: Path(directory) / "arrays"}
        roots[ROOT].mkdir()
        for name, values in (("x", arrays.x), ("y", arrays.y)):
            source = Path(directory) / f"{name}.npy"
            np.save(source, values)
            import_file(source, {ROOT: Root(ROOT, str(roots[ROOT]))}, ROOT, name)
        with (
            PrivateService(Path(directory) / "state", roots, workers=2) as service,
            service.connect(READY_SECONDS) as client,
        ):
            yield _many(client, QUICK_JOBS if options.quick else JOBS)
            yield _status(client, QUICK_CALLS if options.quick else CALLS)


def _many(client: Client, number: int) -> Figure:
    begin = time.perf_counter()

    def send(seed: int) -> str:
        sent = client.submit(f"{ROOT}:x", f"{ROOT}:y", SMALL, rows=SMALL_ROWS, seed=seed)
        return str(sent["jobID"])

    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = list(pool.map(send, range(number)))
    accepted = time.perf_counter() - begin
    ended = [client.wait(job, timeout=JOB_SECONDS)["status"] for job in jobs]
    if ended != ["successful"] * number:
        raise RuntimeError(f"of {number} jobs {ended.count('successful')} succeeded")
    seconds = time.perf_counter() - begin
    return Figure(f"{number} jobs, N = 50", "all end", seconds, "s", None, {"all accepted": accepted}, "s")


def _status(client: Client, calls: int) -> Figure:
    job = client.submit(f"{ROOT}:x", f"{ROOT}:y", HEAVY)["jobID"]
    while client.status(job)["ordsim"]["shardsDone"] < 2:
        time.sleep(0.1)
    taken = np.empty(calls)
    for call in range(calls):
        begin = time.perf_counter()
        client.status(job)
        taken[call] = 1000 * (time.perf_counter() - begin)
    client.cancel(job)
    half, most = (float(np.quantile(taken, share)) for share in (0.5, 1.0))
    return Figure(
        f"{calls} calls, heavy job",
        "p99 of a status call",
        float(np.quantile(taken, 0.99)),
        "ms",
        TARGET,
        {"median": half, "longest": most},
        "ms",
    )
