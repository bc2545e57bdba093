"""Compile every kernel before the first real call."""

from __future__ import annotations

import numpy as np

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core.distances import Distance, prepare


def warm() -> None:
    """Run every kernel once on a tiny array, so that it is compiled, or loaded from numba's cache."""
    values = np.arange(24.0).reshape(6, 4) % 5
    values[0] = values[1]  # ties, so that the branches for them run too
    for distance in Distance:
        space = prepare(values, distance)
        triplets.exact_block(space, space, 0, 2)
        triplets.sampled_range(space, space, 0, 0, 2)
        quadruplets.sampled_range(space, space, 0, 0, 2)
    sampling.triplets(0, 0, 2, 6)
    sampling.quadruplets(0, 0, 2, 6)
