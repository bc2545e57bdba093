"""Values that others published, or that follow from what they published, on data made from the same seeds.

Mutual kNN, CKNNA and mean CCA of Soares et al. 2026, in float32 and with 1e-6 in the denominator of CKNNA; nulls of
mutual kNN as in Groeger et al. 2026; neighbours shared for several k beside TSI.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ordsim_core.correlations import canonical, factors, pilots
from ordsim_core.distances import Distance
from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna
from ordsim_core.neighbours.hsic import Estimator
from ordsim_core.neighbours.lists import Neighbours, nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.neighbours.permuted import permuted_overlaps
from ordsim_core.spaces import prepare

SPREAD = 2.8733018282640277
"""Mean distance of the rows of the first uniform array."""


def independent(seed: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(one).random((rows, columns)) for one in (seed, seed + 1000))


def displaced(seed: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Twenty of a thousand rows, moved far away."""
    x, rng = np.random.default_rng(seed).random((1000, 50)), np.random.default_rng(seed + 10000)
    y = x.copy()
    for row in rng.choice(1000, size=20, replace=False):
        direction = rng.normal(0, 1, 50)
        y[row] += sigma * SPREAD * direction / (np.linalg.norm(direction) + 1e-12)
    return x, y


def lists(x: np.ndarray, y: np.ndarray, count: int, distance: str) -> list[Neighbours]:
    return [nearest(prepare(side, Distance(distance)), np.arange(len(side)), count) for side in (x, y)]


def aligned(x: np.ndarray, y: np.ndarray, near: list[Neighbours]) -> float | None:
    rows = np.arange(len(x))
    entries = [kernels.linear_entries(side, 0, rows, one) for side, one in zip((x, y), near, strict=True)]
    return cknna(near[0], entries[0], near[1], entries[1], Estimator.UNBIASED).score


@pytest.mark.parametrize(
    ("arrays", "distance", "mutual", "alignment", "tolerance"),
    [
        (independent(50, 50, 500), "dot", 0.29600000381469727, 0.13498525258590416, 1e-4),
        (independent(100, 100, 500), "dot", 0.10399999469518661, 0.020839013132931176, 1e-4),
        (independent(500000, 1000, 50), "dot", 0.007699999958276749, 1.555795328470992e-05, 1e-5),
        (displaced(10, 0), "dot", 1.0, 0.9999874109429908, 2e-5),
        (displaced(10, 0), "euclidean", 1.0, 0.9999990145970865, 1e-5),
        (displaced(2000, 2), "dot", 0.7272999882698059, 0.478942842851937, 1e-5),
        (displaced(2000, 2), "euclidean", 0.9592000246047974, 0.9692687930344398, 1e-5),
        (displaced(16000, 16), "dot", 0.21150001883506775, 0.0033236766987406324, 1e-5),
        (displaced(16000, 16), "euclidean", 0.9656999707221985, 0.975901135656317, 1e-5),
    ],
)
def test_mutual_knn_and_cknna_of_ten_neighbours(
    arrays: tuple[np.ndarray, np.ndarray], distance: str, mutual: float, alignment: float, tolerance: float
) -> None:
    near = lists(*arrays, 10, distance)
    assert overlaps(*near).score == pytest.approx(mutual, abs=1e-7)
    assert aligned(*arrays, near) == pytest.approx(alignment, abs=tolerance)


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (independent(500000, 1000, 50), 0.18250084169491718),
        (displaced(10, 0), 1.0),
        (displaced(2000, 2), 0.9433915721492707),
        (displaced(16000, 16), 0.7009731566000293),
    ],
)
def test_mean_canonical_correlation(arrays: tuple[np.ndarray, np.ndarray], expected: float) -> None:
    pilot = pilots.survey(*arrays)
    found = canonical.cca(factors.factor(*arrays, pilot), pilot.layout)
    assert found.score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("seed", "rows", "columns", "part", "at", "total"),
    [
        (11, 12, 3, 0.0, {1: 4, 2: 7, 5: 27, 10: 109}, 426),
        (13, 60, 16, 0.9, {1: 43, 2: 101, 5: 255, 10: 545}, 98837),
    ],
)
def test_shared_neighbours_for_every_k(
    seed: int, rows: int, columns: int, part: float, at: dict[int, int], total: int
) -> None:
    rng = np.random.default_rng(seed)
    x, noise = (rng.standard_normal((rows, columns)) for _ in range(2))
    y = part * x + (1 - part) * noise
    shared = {k: overlaps(*lists(x, y, k, "euclidean")).total() for k in range(1, rows)}
    assert all(denominator == 1 for _, denominator in shared.values())
    assert {k: shared[k][0] for k in at} == at
    assert sum(shared[k][0] for k in range(1, rows - 1)) == total


@pytest.mark.parametrize(
    ("seed", "rows", "columns", "coupling", "raw", "p_value", "null_mean"),
    [
        (2, 64, (256, 64), 0.0, 0.1765625, 0.22885572139303484, 0.16075781249999999),
        (3, 96, (48, 48), 0.0, 0.11666666666666667, 0.18407960199004975, 0.103671875),
        (6, 128, (32, 32), 0.2, 0.07421875, 0.6318407960199005, 0.07919921875),
        (8, 200, (8, 24), 0.0, 0.055, 0.1791044776119403, 0.05003),
    ],
)
def test_nulls_of_mutual_knn(
    seed: int, rows: int, columns: tuple[int, int], coupling: float, raw: float, p_value: float, null_mean: float
) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal((rows, width)) for width in columns)
    if coupling:
        y = y + coupling * x[:, : columns[1]]
    near = lists(x, y, 10, "euclidean")
    observed = overlaps(*near)
    null = [found.total()[0] for found in permuted_overlaps(*near, [rng.permutation(rows) for _ in range(200)])]
    assert observed.score == pytest.approx(raw, rel=1e-15)
    assert Fraction(sum(null), 200 * 10 * rows) == Fraction(null_mean).limit_denominator(10**7)
    assert (1 + sum(one >= observed.total()[0] for one in null)) / 201 == p_value
