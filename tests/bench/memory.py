"""Private memory of processes that count: anonymous pages, as the kernel tells them of the process (`RssAnon`).

`measure` compares the most that a process holds, from its start, which loads kernels, prepares both arrays and counts
shards of exact TSI as a worker does, with the bound that jobs are accepted or refused by (`workers.costs`). Arrays are
mapped from files, as staged copies are; mapped pages are not private.

A process is watched from outside, every millisecond, so that its own work does not stand in the way.
"""

from __future__ import annotations

import select
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_most

from ordsim_core.distances import Precision
from workers import costs
from workers.measures.protocol import Budget, PairShape
from workers.measures.tsi_exact import TsiExact, TsiExactOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data import Arrays
    from figures import Options

SIZES = ((10_000, 512), (50_000, 64), (50_000, 512))
QUICK_SIZES = ((2_000, 64),)

CHILD = Path(__file__).with_name("counting_process.py")
READY = "ready"
POLL_SECONDS = 0.001
KIBIBYTE, MEBIBYTE = 1024, 1024**2


@dataclass(frozen=True, slots=True)
class Peak:
    """Private bytes of a process: the most, and what it held when it was ready, 0 if it never said so."""

    most: int
    ready: int

    @property
    def above(self) -> int:
        """What counting took."""
        return self.most - self.ready


def measure(options: Options) -> Iterator[Figure]:
    """Measure processes that count shards of exact TSI."""
    for rows, columns in QUICK_SIZES if options.quick else SIZES:
        arrays = data.gaussian(rows, columns)
        for precision in (Precision.EXACT, Precision.FLOAT32):
            shape = PairShape(rows, columns, columns, precision=precision.value)
            options_of_measure = TsiExactOptions(measure="tsi", method="exact")
            shard = TsiExact().memory(shape, options_of_measure, Budget(0.5, 0))
            bound = costs.PROCESS_BYTES + costs.pair_bytes(shape) + max(shard, costs.preparing_bytes(shape))
            peak = _watch("triplets", arrays, precision)
            measured = {"peak": peak.most / MEBIBYTE, "bound": bound / MEBIBYTE}
            case = f"{arrays.case}, {precision.value}"
            yield Figure(case, "peak / bound", peak.most / bound, "", at_most(1), measured, "MiB")


def of_quadruplets(arrays: Arrays, precision: Precision) -> Peak:
    """Watch a process that counts all quadruplets, from when both arrays are prepared."""
    return _watch("quadruplets", arrays, precision)


def _watch(what: str, arrays: Arrays, precision: Precision) -> Peak:
    with tempfile.TemporaryDirectory(prefix="ordsim-bench-") as directory:
        for name, values in (("x", arrays.x), ("y", arrays.y)):
            np.save(Path(directory) / f"{name}.npy", values)
        command = [sys.executable, str(CHILD), what, directory, precision.value]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            peak = _follow(process)
        if process.returncode:
            raise RuntimeError(f"a process that counts {what} ended with code {process.returncode}")
    if not peak.most:
        raise RuntimeError("this system does not tell the private memory of a process in /proc")
    return peak


def _follow(process: subprocess.Popen[str]) -> Peak:
    assert process.stdin is not None
    assert process.stdout is not None
    most = ready = 0
    while True:
        said, _, _ = select.select([process.stdout], [], [], POLL_SECONDS)
        most = max(most, _private_bytes(process.pid))
        if not said:
            continue
        line = process.stdout.readline()
        if not line:
            return Peak(most, ready)
        if line.strip() == READY:
            # It waits, so that what it holds now is what it held before it counts.
            most = ready = _private_bytes(process.pid)
            process.stdin.write("go\n")
            process.stdin.flush()


def _private_bytes(process: int) -> int:
    """Read the anonymous pages of a process; 0 of one that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * KIBIBYTE for line in lines if line.startswith("RssAnon:")), 0)
