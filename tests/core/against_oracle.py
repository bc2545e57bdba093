"""Comparing the core with the oracle, in the oracle's own terms."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import rational

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core.distances import Distance, Space, block_keys, prepare

if TYPE_CHECKING:
    from ordsim_core.counts import AgreementCounts


def five(counts: AgreementCounts) -> rational.Counts:
    return counts.concordant, counts.discordant, counts.tied_x, counts.tied_y, counts.tied_both


def exact_triplets(x: Space, y: Space) -> tuple[rational.Counts, list[int]]:
    block = triplets.exact_block(x, y, 0, x.rows)
    return five(block.counts), block.agreeing.tolist()


def all_quadruplets(x: Space, y: Space) -> rational.Counts:
    """QSI by enumeration, but over the core's keys."""
    keys_x, keys_y = block_keys(x, 0, x.rows).tolist(), block_keys(y, 0, y.rows).tolist()
    counts = [0] * 5
    for (i, j), (k, m) in combinations(list(combinations(range(x.rows), 2)), 2):
        if len({i, j, k, m}) == 4:
            in_x = (keys_x[i][j] > keys_x[k][m]) - (keys_x[i][j] < keys_x[k][m])
            in_y = (keys_y[i][j] > keys_y[k][m]) - (keys_y[i][j] < keys_y[k][m])
            counts[rational.kind(in_x, in_y)] += 1
    return tuple(counts)


def check(x: Any, y: Any, x_distance: str = "euclidean", y_distance: str = "euclidean") -> None:
    """Exact TSI, its anchors, QSI and both samplers on arrays x and y must be what fractions say."""
    exact_x, exact_y = rational.Ranked(x.tolist(), x_distance), rational.Ranked(y.tolist(), y_distance)
    space_x, space_y = prepare(x, Distance(x_distance)), prepare(y, Distance(y_distance))
    assert exact_triplets(space_x, space_y) == rational.triplets(exact_x, exact_y)
    drawn = [0] * 5
    for i, j, k in sampling.triplets(5, 0, 60, len(x)).tolist():
        drawn[rational.triplet_kind(exact_x, exact_y, i, j, k)] += 1
    assert list(five(triplets.sampled_range(space_x, space_y, 5, 0, 60))) == drawn
    if len(x) < 4:
        return
    assert all_quadruplets(space_x, space_y) == rational.quadruplets(exact_x, exact_y)
    drawn = [0] * 5
    for i, j, k, m in sampling.quadruplets(5, 0, 60, len(x)).tolist():
        drawn[rational.quadruplet_kind(exact_x, exact_y, i, j, k, m)] += 1
    assert list(five(quadruplets.sampled_range(space_x, space_y, 5, 0, 60))) == drawn


def lattice(rng: np.random.Generator, rows: int, columns: int, spread: int = 3) -> np.ndarray:
    """Small integers as float64: heavy ties, and often equal rows."""
    return rng.integers(-spread, spread + 1, (rows, columns)).astype(np.float64)
