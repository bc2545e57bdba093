"""Compile the kernels of this folder before the first real call."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.pairwise import (
    bandwidth,
    kernel_matrices,
    pair_ranking,
    rdm,
    relation,
    sampled_pairs,
    spearman,
)
from ordsim_core.pairwise.bandwidth import Bandwidths
from ordsim_core.pairwise.pairing import Pairing
from ordsim_core.pairwise.tiles import TileGrid
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 6


def warm() -> None:
    """Run every kernel once on tiny arrays: of each distance, for sides that are separate, close, and rotated."""
    values = np.arange(ROWS * ROWS * 1.0).reshape(ROWS, ROWS) % 5 + np.eye(ROWS)
    turned = 2 * values[:, ::-1]
    others = values[::-1], values + 1e-6 * values * values, turned
    for distance, other in product(Distance, others):
        symmetric = (values + values.T, other + other.T) if distance is Distance.PRECOMPUTED else (values, other)
        _correlate(_pairing(*symmetric, distance))
    for other in others:
        _align(_pairing(values, other, Distance.EUCLIDEAN))
    for space in (prepare((values / 7).astype(dtype), Distance.EUCLIDEAN) for dtype in (np.float32, np.float64)):
        ranks = pair_ranking.doubled_ranks(space)
        for kind in (np.int32, np.int64):
            spearman.sums(ranks.astype(kind), ranks.astype(kind))
    # Ranks of so many pairs that they take 64 bits.
    nobody, ranks = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    pair_ranking.write_ranks(nobody, np.zeros(0, np.int32), np.zeros(0, np.int64), 0, ranks)


def _pairing(x: NDArray[np.float64], y: NDArray[np.float64], distance: Distance) -> Pairing:
    sides = relation.sides(x, y, distance, distance)
    return Pairing(*sides, relation.find(*sides, centred=True, scalable=True))


def _correlate(pairing: Pairing) -> None:
    tiles = TileGrid(ROWS).tiles(0, 1)
    plan = rdm.plan(pairing, centred=True)
    rdm.sums_of(plan, tiles)
    sampled_pairs.moments(plan, 0, 0, 3)


def _align(pairing: Pairing) -> None:
    middles = [bandwidth.middle(side, relation.stored_centre(side)) for side in (pairing.x, pairing.y)]
    for widths in (bandwidth.of(pairing.x, pairing.y, middles[0], middles[1]), Bandwidths(Fraction(1), Fraction(2))):
        plan = kernel_matrices.plan(pairing, widths)
        kernel_matrices.sums_of(plan, TileGrid(ROWS).tiles(0, 1))
