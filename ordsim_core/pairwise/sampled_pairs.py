"""RSA from pairs of rows that are drawn independently: moments, block by block of the stream of samples.

A sample is the first two rows of a triplet of `sampling.triplets`. Blocks are the same however the stream is cut into
shards, so that their sums are the same bits.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import sampling
from ordsim_core.pairwise import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairwise.entries import Entries
    from ordsim_core.pairwise.pairing import Pairing
    from ordsim_core.pairwise.rdm import RdmPlan

BLOCK = 2048
"""Samples in a block."""

DEGREE = 4
POWERS = tuple((a, b) for a, b in product(range(DEGREE + 1), repeat=2) if 0 < a + b <= DEGREE)
"""Powers of m and of d whose products are summed."""


def blocks(samples: int) -> int:
    """Count the blocks of so many samples."""
    return -(-samples // BLOCK)


def entries(pairing: Pairing, seed: int, block: int, samples: int) -> Entries:
    """Give the distances of the pairs of one block, the last of which is shorter."""
    return pairing.listed_distances(*drawn_pairs(seed, block, samples, len(pairing.x)))


def drawn_pairs(seed: int, block: int, samples: int, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the pairs of rows of one block."""
    drawn = sampling.triplets(seed, block * BLOCK, min(samples, (block + 1) * BLOCK), rows)
    return np.ascontiguousarray(drawn[:, 0]), np.ascontiguousarray(drawn[:, 1])


def distances(pairing: Pairing, seed: int, block: int, samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the distances of the pairs of one block in x and in y, each computed from its own side alone."""
    drawn = drawn_pairs(seed, block, samples, len(pairing.x))
    return listed.distances(pairing.x, *drawn), listed.distances(pairing.y, *drawn)


def moments(plan: RdmPlan, seed: int, block: int, samples: int) -> NDArray[np.float64]:
    """Sum m^a d^b over one block, for a and b as in `POWERS`: m and d as in `tile_sums.row_sums`."""
    found = entries(plan.pairing, seed, block, samples)
    m = (found.of_x - plan.pilot.mean) + 0.5 * found.changes
    d = found.changes - plan.pilot.change
    return np.array([float(np.sum(m**a * d**b)) for a, b in POWERS])


def add_up(parts: NDArray[np.float64]) -> dict[tuple[int, int], float]:
    """Add up the moments of all blocks, float64 of shape (blocks, 14), in any order."""
    return dict(zip(POWERS, (math.fsum(column) for column in parts.T.tolist()), strict=True))


def about_means(found: dict[tuple[int, int], float], samples: int) -> dict[tuple[int, int], float]:
    """Turn sums into those about the means of m and d."""
    mean, change = found[1, 0] / samples, found[0, 1] / samples
    raw = {(0, 0): float(samples), **found}
    return {
        (a, b): math.fsum(
            math.comb(a, i) * math.comb(b, j) * (-mean) ** (a - i) * (-change) ** (b - j) * raw[i, j]
            for i in range(a + 1)
            for j in range(b + 1)
        )
        for a, b in POWERS
    }


def first_moments(found: dict[tuple[int, int], float]) -> list[float]:
    """Pick those that `rdm.from_moments` takes."""
    return [found[key] for key in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))]
