"""A process that counts and is watched by `memory`: `counting_process.py triplets|quadruplets DIRECTORY PRECISION`."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
from compiling import compile_kernels, compile_strips

from ordsim_core import quadruplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.lattice import no_checkpoint
from ordsim_core.spaces import prepare
from workers.measures.given import Pair
from workers.measures.protocol import Budget
from workers.measures.tsi_exact import TsiExact, TsiExactOptions

SHARDS = 2
SHARD_SECONDS = 0.5


def main() -> None:
    """Prepare as a worker does, and count."""
    what, directory, named = sys.argv[1:]
    precision = Precision(named)
    compile_kernels()
    if what == "quadruplets":
        compile_strips()
    x, y = (
        prepare(np.load(Path(directory) / f"{name}.npy", mmap_mode="r"), Distance.EUCLIDEAN, precision)
        for name in ("x", "y")
    )
    if what == "triplets":
        _count_shards(Pair(x, y))
    else:
        _wait()
        quadruplets.exact_counts(x, y)


def _count_shards(pair: Pair) -> None:
    options = TsiExactOptions(measure="tsi", method="exact")
    measure, budget = TsiExact(), Budget(SHARD_SECONDS, 0)
    for shard in measure.shards(pair.shape, options, budget)[:SHARDS]:
        measure.partial(pair, shard, options, 0, no_checkpoint).to_bytes()


def _wait() -> None:
    """Let go of memory that was freed, say so, and wait to be told to go on."""
    ctypes.CDLL(None).malloc_trim(0)
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
