"""A job through a real service with one worker: the share of its time in which no shard computes.

Exact TSI of Gaussian rows, so many that counting takes about as long as was asked for. The time of the job runs from
its submission to the answer that it is done, and holds staging, planning, the ledger, Dask and the final sum. What its
shards took, preparing the arrays included, comes from the provenance of the results. Kernels are compiled before, and
importing the arrays is no part of the job.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_most

from service.private import PrivateService
from workers import costs
from workers.importing import import_file
from workers.measures.protocol import PairShape
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from figures import Options

    from service.client import Client

COLUMNS = 512
ROOT = "bench"
READY_SECONDS = 300.0
JOB_SECONDS = 1200.0
TARGET = at_most(0.1)
MEASURES = [{"measure": "tsi", "method": "exact"}]


def measure(options: Options) -> Iterator[Figure]:
    """Run the job."""
    rows = _rows(options.job_seconds)
    arrays = data.gaussian(rows, COLUMNS)
    with tempfile.TemporaryDirectory(prefix="ordsim-bench-", ignore_cleanup_errors=True) as directory:
        roots = {ROOT: Path(directory) / "arrays"}
        roots[ROOT].mkdir()
        for name, values in (("x", arrays.x), ("y", arrays.y)):
            source = Path(directory) / f"{name}.npy"
            np.save(source, values)
            import_file(source, {ROOT: Root(ROOT, str(roots[ROOT]))}, ROOT, name)
        with (
            PrivateService(Path(directory) / "state", roots, workers=1) as service,
            service.connect(READY_SECONDS) as client,
        ):
            yield _run(client, arrays.case)


def _run(client: Client, case: str) -> Figure:
    begin = time.perf_counter()
    job = client.submit(x=f"{ROOT}:x", y=f"{ROOT}:y", measures=MEASURES, reuse=False)["jobID"]
    status = client.wait(job, timeout=JOB_SECONDS)
    seconds = time.perf_counter() - begin
    if status["status"] != "successful":
        raise RuntimeError(f"the job ended as {status['status']}: {status['exception']}")
    provenance = client.results(job).json["provenance"]
    shards = provenance["plan"][0]["shards"]
    working = sum(entry["workerSeconds"] for entry in provenance["plan"]) / provenance["workers"]
    measured = {"job": seconds, "shards": working, **provenance["timings"], "number of shards": float(shards)}
    return Figure(case, "share without shards", (seconds - working) / seconds, "", TARGET, measured, "s")


def _rows(seconds: float) -> int:
    """Give the rows whose counting takes so long, by the model that plans jobs."""
    each = costs.anchor_seconds(PairShape(1, COLUMNS, COLUMNS))
    return max(1000, round(math.sqrt(seconds / each) / 100) * 100)
