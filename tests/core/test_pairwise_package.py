"""Kernels are compiled beforehand."""

from __future__ import annotations

import subprocess
import sys

WARM = """
import sys
import numpy as np
from numba.core.event import install_recorder
from ordsim_core import warmup
from ordsim_core.pairwise import warmup as of_pairs
sys.path[:0] = {path!r}
from pair_cases import cka, ranked, rsa
warmup.warm()
of_pairs.warm()
rng = np.random.default_rng(0)
with install_recorder("numba:compile") as recorder:
    for dtype in ("f4", "f8", ">f8", "i1", "u8", "?"):
        values = (rng.random((70, 7)) * 5).astype(dtype)
        values[:, 0] = 1
        values[:, 1] = 0  # no row is constant
        values.flags.writeable = dtype in ("f4", "i1")
        rotated = 2 * values.astype("f8")[:, ::-1]
        near = values + 1e-6 * rng.random(values.shape)
        for distance in ("euclidean", "cosine", "correlation", "dot", "manhattan", "hamming"):
            for other in (values, values[::-1], near, rotated):
                rsa(values, other, distance, centred=True)
                cka(values, other, distance)
            ranked(values, other, distance, distance)
        for other in (values, values[::-1], near, rotated):
            cka(values, other, "rbf", sigma=2.0)
    many = rng.random((1100, 3)).astype("f4")
    ranked(many, many.astype("f8"))
    cka(many, many[::-1], "rbf")
    table = many @ many.T
    rsa(table, 2 * table, "precomputed", centred=False)
print([str(event[1].data["dispatcher"]) for event in recorder.buffer])
"""


def test_nothing_is_left_to_compile_once_warm() -> None:
    program = WARM.format(path=[path for path in sys.path if path.endswith(("core", "oracle"))])
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
