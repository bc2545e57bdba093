"""How often unrelated arrays are found to be related: as often as the level says, where the scheme fits the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom
from statistic_samples import linear_cka

from ordsim_core.calibration.callables import calibrate, calibrate_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

PAIRS, ROWS, COLUMNS = 2000, 60, 8
LEVEL = 0.05
LOWEST, HIGHEST = (int(binom.isf(tail, PAIRS, LEVEL)) for tail in (0.9995, 0.0005))
"""Rejections that a test of exactly this level keeps within, but for one time in a thousand."""


def independent(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(seed)
    for _ in range(PAIRS):
        yield random.normal(size=(ROWS, COLUMNS)), random.normal(size=(ROWS, COLUMNS))


def rejections(p_values: list[float]) -> int:
    return sum(p_value <= LEVEL for p_value in p_values)


@pytest.mark.parametrize("draws", [19, 99])
def test_rows(draws: int) -> None:
    found = [
        calibrate(linear_cka, x, y, permutations=draws, seed=seed) for seed, (x, y) in enumerate(independent(draws))
    ]
    assert LOWEST <= rejections([one.p_value for one in found]) <= HIGHEST
    assert sum(one.score > 0 for one in found) == rejections([one.p_value for one in found])


@pytest.mark.parametrize(("exceedances", "draws"), [(1, 39), (5, 199), (10, 399)])
def test_early_stopping(exceedances: int, draws: int) -> None:
    found = [
        calibrate(linear_cka, x, y, permutations=draws, seed=seed, early_stop=exceedances)
        for seed, (x, y) in enumerate(independent(exceedances))
    ]
    assert LOWEST <= rejections([one.p_value for one in found]) <= HIGHEST
    # What a mean of h (1 + ln(K / h)) draws says: most end long before the last.
    assert np.mean([one.permutations for one in found]) < 1.3 * exceedances * (1 + np.log(draws / exceedances))
    assert sum(one.score > 0 for one in found) == rejections([one.p_value for one in found])


def test_the_largest_of_independent_layers() -> None:
    random = np.random.default_rng(20)
    of_aggregate, of_best = [], []
    for seed in range(PAIRS):
        xs = [random.normal(size=(ROWS, COLUMNS)) for _ in range(2)]
        ys = [random.normal(size=(ROWS, COLUMNS)) for _ in range(3)]
        found = calibrate_layers(linear_cka, xs, ys, permutations=19, seed=seed)
        of_aggregate.append(found.p_value)
        assert found.pairs is not None
        of_best.append(float(found.pairs.p_values.min()))
    assert LOWEST <= rejections(of_aggregate) <= HIGHEST
    # The best of six tests by themselves: 1 - 0.95^6, a quarter.
    assert rejections(of_best) > 0.2 * PAIRS


def repeated(seed: int, sizes: np.ndarray, spread: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Images that resemble one another where they share a prompt, prompts unrelated to them, and which prompt it is."""
    random = np.random.default_rng(seed)
    for _ in range(PAIRS):
        groups = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
        images = random.normal(size=(len(sizes), COLUMNS))[groups] + spread * random.normal(size=(ROWS, COLUMNS))
        yield images, random.normal(size=(len(sizes), COLUMNS))[groups], groups


EQUAL = np.full(12, 5)
UNEQUAL = np.array([2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8])


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("side", ["x", "y"])
def test_repeated_rows_are_permuted_as_groups(sizes: np.ndarray, side: str) -> None:
    by_group = []
    for seed, (images, prompts, groups) in enumerate(repeated(30, sizes, 0.5)):
        arrays = (images, prompts) if side == "y" else (prompts, images)
        found = calibrate(linear_cka, *arrays, permutations=19, seed=seed, scheme="between-groups", groups=groups)
        assert found.permuted == (side if sizes is UNEQUAL else "y")
        by_group.append(found.p_value)
    assert LOWEST <= rejections(by_group) <= HIGHEST


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_repeated_rows_permuted_singly_are_found_related(sizes: np.ndarray) -> None:
    by_row = [
        calibrate(linear_cka, images, prompts, permutations=19, seed=seed).p_value
        for seed, (images, prompts, _) in enumerate(repeated(30, sizes, 0.5))
    ]
    assert rejections(by_row) > 0.5 * PAIRS


def batched(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Arrays that have nothing in common but an offset of each batch."""
    random = np.random.default_rng(seed)
    groups = np.arange(ROWS) % 3
    for _ in range(PAIRS):
        offset = random.normal(size=(3, COLUMNS))
        x, y = (offset[groups] + random.normal(size=(ROWS, COLUMNS)) for _ in range(2))
        yield x, y, groups


def test_rows_inside_groups() -> None:
    within, by_row = [], []
    for seed, (x, y, groups) in enumerate(batched(40)):
        found = calibrate(linear_cka, x, y, permutations=19, seed=seed, scheme="within-groups", groups=groups)
        within.append(found.p_value)
        by_row.append(calibrate(linear_cka, x, y, permutations=19, seed=seed).p_value)
    assert LOWEST <= rejections(within) <= HIGHEST
    assert rejections(by_row) > 0.5 * PAIRS
