"""Compilation before anything is timed: all that a kernel may come upon later, what is rare included."""

from __future__ import annotations

import numpy as np

from ordsim_core import quadruplets, triplets, warmup
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare

ROWS, COLUMNS = 40, 4
ROWS_OF_STRIPS = 2_100
"""So many that all pairs of them are counted in strips."""


def compile_kernels() -> None:
    """Call everything on arrays with repeated rows, exact ties, and ties that only exact arithmetic finds."""
    warmup.warm()
    whole = np.arange(float(ROWS * COLUMNS)).reshape(ROWS, COLUMNS) ** 2 % 5
    whole[1] = whole[0]
    for values in (whole, whole / 7):
        for dtype in (np.float32, np.float64):
            for precision in Precision:
                x, y = (
                    prepare(side.astype(dtype), Distance.EUCLIDEAN, precision)
                    for side in (values, values[:, ::-1] ** 2)
                )
                triplets.exact_block(x, y, 0, ROWS)
                quadruplets.exact_counts(x, y)
                for index in (triplets, quadruplets):
                    index.sampled_range(x, y, 0, 0, 1000)
                    index.units_range(x, y, 0, 0, 20, 8)


def compile_strips() -> None:
    """Count so many pairs that they are counted in strips."""
    values = np.random.default_rng(0).standard_normal((ROWS_OF_STRIPS, COLUMNS), np.float32)
    values[1] = values[0]
    for precision in (Precision.EXACT, Precision.FLOAT32):
        space = prepare(values, Distance.EUCLIDEAN, precision)
        quadruplets.exact_counts(space, space)
