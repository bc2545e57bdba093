"""Rates of the intervals over many seeds, on real data: how often they miss the exact score, and how far they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from simulated import most_misses

from ordsim_core import intervals, quadruplets, triplets
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.intervals import Interval

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data" / "controls"
PAIR = next(
    pair
    for pair in json.loads((DATA / "reference.json").read_text())["pairs"]
    if pair["pair"] == "emoji_rn50_f16 ~ emoji_name_L6_f16"
)
SAMPLERS = [(triplets.sampled_range, "tsi_counts_cdist64"), (quadruplets.sampled_range, "qsi_counts_cdist64")]
SEEDS = 2000
FALSE_ALARM = 1e-7


@pytest.fixture(scope="module", params=[50, 400])
def samples(request: pytest.FixtureRequest) -> int:
    """Comparisons that each seed draws."""
    return int(request.param)


@pytest.fixture(scope="module", params=SAMPLERS, ids=["tsi", "qsi"])
def runs(request: pytest.FixtureRequest, samples: int) -> tuple[float, list[AgreementCounts]]:
    """The exact score, and the counts of every seed."""
    sampler, reference = request.param
    x, y = (prepare(np.load(DATA / f"{name}.npy"), Distance.EUCLIDEAN) for name in PAIR["pair"].split(" ~ "))
    agreeing, comparisons = PAIR[reference]
    return agreeing / comparisons, [sampler(x, y, seed, 0, samples).counts for seed in range(SEEDS)]


@pytest.mark.parametrize("confidence", [0.9, 0.99])
@pytest.mark.parametrize("interval", [intervals.clopper_pearson, intervals.hoeffding])
def test_intervals_miss_no_more_often_than_they_say(
    runs: tuple[float, list[AgreementCounts]],
    interval: Callable[[AgreementCounts, float], Interval],
    confidence: float,
) -> None:
    exact, counted = runs
    bounds = [interval(counts, confidence) for counts in counted]
    misses = sum(not bound.low <= exact <= bound.high for bound in bounds)
    assert misses <= most_misses(SEEDS, 1 - confidence, FALSE_ALARM)
    if interval is intervals.clopper_pearson and confidence == 0.9:
        # Not so wide as to say nothing: one that never missed would be dishonest the other way.
        assert misses >= SEEDS * (1 - confidence) / 10
