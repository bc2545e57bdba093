"""Compile the kernels of this folder before the first real call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna, ratio
from ordsim_core.neighbours.hsic import Estimator
from ordsim_core.neighbours.lists import nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.neighbours.permuted import permuted_overlaps

if TYPE_CHECKING:
    from ordsim_core.spaces import Space


def warm(space: Space) -> None:
    """Run every kernel once on a tiny space of at least 4 rows: of each distance, and of both kinds of floats."""
    rows = np.arange(space.rows)
    near = nearest(space, rows, 2)
    overlaps(near, near)
    for _ in permuted_overlaps(near, near, [rows]):
        pass
    entries = kernels.linear_entries(space.pairs.values, 0, rows, near)
    kernels.distance_entries(space, rows, near)
    for estimator in Estimator:
        cknna(near, entries, near, entries, estimator)
    ratio(1.0, 0.0, 1.0, 0.0, 2.0, 0.0)
