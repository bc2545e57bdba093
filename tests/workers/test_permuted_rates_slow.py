"""How often calibrated measures reject where there is nothing to find: as often as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from tests.workers.test_permuted import Array, options_of
from workers.measures import registry
from workers.measures.calibration import Calibration
from workers.measures.given import Grid
from workers.measures.permuted import PERMUTED, PermutedOptions
from workers.measures.protocol import Budget, PairFacts, PairShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PAIRS, ROWS, COLUMNS, DRAWS = 2000, 60, 8, 19
ALPHA = 0.05
LIMITS = stats.binom.ppf([0.0005, 0.9995], PAIRS, ALPHA)
"""Rejections of a test of this size: beyond these with a probability of 0.1 %."""


def p_value(options: PermutedOptions, xs: Sequence[NDArray[Any]], ys: Sequence[NDArray[Any]], seed: int) -> float:
    shape = PairShape(ROWS, COLUMNS, COLUMNS)
    given = Grid(tuple(map(Array, xs)), tuple(map(Array, ys)), shape)
    (shard,) = PERMUTED.shards(shape, options, Budget(1e6, 2**30))
    total = PERMUTED.partial(given, shard, options, seed, lambda: None)
    found = PERMUTED.finish(total, PairFacts(shape), options, 0.99).calibration
    assert found is not None
    return float(found["pValue"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "method", "more"),
    [
        ("tsi", "exact", {}),
        ("tsi", "units", {"units": 64, "targets": 8}),
        ("cka", "linear", {}),
        ("mutual_knn", "exact", {"k": 5}),
    ],
)
def test_independent_arrays_are_rejected_as_often_as_the_level_says(
    measure: str, method: str, more: dict[str, Any]
) -> None:
    inner = options_of(registry.find(measure, method), **more)
    options = PermutedOptions(inner=inner, calibration=Calibration(permutations=DRAWS))
    rejected = 0
    for seed in range(PAIRS):
        generator = np.random.default_rng(seed)
        x, y = generator.standard_normal((2, ROWS, COLUMNS))
        rejected += p_value(options, [x], [y], seed) <= ALPHA
    assert LIMITS[0] <= rejected <= LIMITS[1], rejected


@pytest.mark.slow
def test_the_best_of_many_layers_is_rejected_as_often_as_the_level_says() -> None:
    inner = options_of(registry.find("tsi", "units"), units=64, targets=8)
    options = PermutedOptions(inner=inner, calibration=Calibration(permutations=DRAWS), layers=(2, 2))
    rejected = 0
    for seed in range(PAIRS):
        generator = np.random.default_rng(seed)
        layers = generator.standard_normal((4, ROWS, COLUMNS))
        rejected += p_value(options, layers[:2], layers[2:], seed) <= ALPHA
    assert LIMITS[0] <= rejected <= LIMITS[1], rejected
