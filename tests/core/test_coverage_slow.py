"""How often intervals miss, over thousands of seeds on small arrays: no more often than they say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from simulated import Population, agreement, by_role, different, most_misses

from ordsim_core import betting, coincidence, intervals, jackknife, population
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.intervals import Interval

pytestmark = pytest.mark.slow

SEEDS = 2000


def misses(bounds: list[Interval], truth: float) -> int:
    return sum(not bound.low <= truth <= bound.high for bound in bounds)


def counts(agreeing: int, comparisons: int) -> AgreementCounts:
    return AgreementCounts(concordant=agreeing, discordant=comparisons - agreeing)


def sampled(found: AgreementCounts, rows: int, order: int, confidence: float) -> Interval:
    """The population's interval from independent comparisons, as sampled measures give it."""
    return population.around(intervals.clopper_pearson(found, (1 + confidence) / 2), rows, order, confidence)


# Units of rows that are all there is


def rows(kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """20 rows: of two clouds, of which the score of one is low; or nearly the same but for one row."""
    random = np.random.default_rng(1)
    x = random.normal(size=(20, 3))
    if kind == "clouds":
        x[:10] += 6
        return x, x + np.repeat([0.1, 3.0], 10)[:, None] * random.normal(size=(20, 3))
    return x, x + 0.02 * random.normal(size=(20, 3)) + 3 * (np.arange(20) == 4)[:, None]


def drawn_units(kind: str, units: int, targets: int) -> tuple[float, NDArray[np.int64], int]:
    """The exact score, and for every seed the agreeing comparisons of units of one anchor and distinct targets."""
    agree = agreement(*rows(kind))
    order = np.argsort(np.random.default_rng(2).random((SEEDS * units, 20)), axis=1)
    anchor, others = order[:, 0], order[:, 1 : 1 + targets]
    pairs = agree[anchor[:, None, None], others[:, :, None], others[:, None, :]]
    agreeing = pairs.sum(axis=(1, 2)) // 2
    return agree.sum() / (20 * 19 * 18), agreeing.reshape(SEEDS, units), targets * (targets - 1) // 2


def drawn_rare(units: int) -> tuple[float, NDArray[np.int64], int]:
    """Units of which few have a low share, and those very low."""
    random = np.random.default_rng(3)
    low = random.random((SEEDS, units)) < 0.08
    return 0.92 + 0.08 * 0.1, np.where(low, 1, 10), 10


def drawn_equal(units: int) -> tuple[float, NDArray[np.int64], int]:
    """Single comparisons: no values have a larger variance."""
    return 0.6, (np.random.default_rng(4).random((SEEDS, units)) < 0.6).astype(np.int64), 1


CASES: dict[str, Callable[[int], tuple[float, NDArray[np.int64], int]]] = {
    "clouds": lambda units: drawn_units("clouds", units, 4),
    "outlier": lambda units: drawn_units("outlier", units, 4),
    "rare": drawn_rare,
    "single": drawn_equal,
}


@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("size", [10, 60])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", [intervals.maurer_pontil, betting.interval, betting.sequential])
def test_intervals_on_units(method: Callable[..., Interval], case: str, size: int, confidence: float) -> None:
    truth, agreeing, each = CASES[case](size)
    bounds = [method(own, each, confidence) for own in agreeing]
    assert misses(bounds, truth) <= most_misses(SEEDS, 1 - confidence)


@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("drawn", [4, 10, 17])
@pytest.mark.parametrize("kind", ["clouds", "outlier", "half"])
def test_intervals_on_anchors_without_replacement(kind: str, drawn: int, confidence: float) -> None:
    if kind == "half":  # anchors all of whose comparisons agree, or none
        agreeing, each = np.repeat([0, 171], 10), 171
    else:
        agreeing, each = by_role(agreement(*rows(kind)))[0], 171
    random = np.random.default_rng(5)
    bounds = [
        betting.without_replacement(random.permutation(agreeing)[:drawn], each, 20, confidence) for _ in range(SEEDS)
    ]
    truth = int(agreeing.sum()) / (20 * each)
    missed = misses(bounds, truth)
    assert missed <= most_misses(SEEDS, 1 - confidence)
    if kind == "half" and drawn == 10 and confidence == 0.7:
        assert missed > 0  # not so wide as to say nothing


# However it was decided when to stop


@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("score", [0.5, 0.95])
def test_sequences_that_stop_as_soon_as_they_miss(score: float, confidence: float) -> None:
    longest = 400

    @cache
    def bounds(agreeing: int, comparisons: int) -> Interval:
        return intervals.sequential(counts(agreeing, comparisons), confidence)

    running = np.cumsum(np.random.default_rng(6).random((SEEDS, longest)) < score, axis=1)
    missed = sum(
        any(
            not bounds(agreeing, place).low <= score <= bounds(agreeing, place).high
            for place, agreeing in enumerate(own, 1)
        )
        for own in running.tolist()
    )
    assert 0 < missed <= most_misses(SEEDS, 1 - confidence)


@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("width", [0.3, 0.2])
def test_sequences_that_stop_when_narrow(width: float, confidence: float) -> None:
    score, longest, missed = 0.8, 2000, 0
    running = np.cumsum(np.random.default_rng(7).random((SEEDS, longest)) < score, axis=1)
    for own in running:
        for place in range(10, longest, 10):
            bound = intervals.sequential(counts(int(own[place - 1]), place), confidence)
            if bound.high - bound.low <= width:
                missed += not bound.low <= score <= bound.high
                break
        else:
            pytest.fail("never narrow enough")
    assert missed <= most_misses(SEEDS, 1 - confidence)


@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("case", CASES)
def test_sequences_of_units_that_stop_as_soon_as_they_miss(case: str, confidence: float) -> None:
    truth, agreeing, each = CASES[case](256)
    looks = [1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256]
    missed = sum(
        misses([betting.sequential(own[:look], each, confidence) for look in looks], truth) > 0 for own in agreeing
    )
    assert missed <= most_misses(SEEDS, 1 - confidence)


# Rows drawn from a population


@pytest.fixture(scope="module", params=[0.05, 1.0], ids=["alike", "unlike"])
def drawn_rows(request: pytest.FixtureRequest) -> tuple[float, list[tuple[int, int]]]:
    """The population's score, and of every seed the agreeing comparisons, of all, of 24 rows."""
    source = Population(3, request.param, 0.0, (1, 1))
    random = np.random.default_rng(8)
    found = [int(agreement(*source.draw(random, 24)[:2]).sum()) // 2 for _ in range(SEEDS)]
    return source.score, [(agreeing, 24 * 23 * 11) for agreeing in found]


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_population_bounds(drawn_rows: tuple[float, list[tuple[int, int]]], confidence: float) -> None:
    truth, found = drawn_rows
    for bound in (
        lambda exact: population.kl(exact.score, exact.deficit, 24, 3, confidence),
        lambda exact: population.hoeffding(exact.score, 24, 3, confidence),
    ):
        bounds = [bound(counts(*own)) for own in found]
        assert misses(bounds, truth) <= most_misses(SEEDS, 1 - confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_population_bounds_from_samples(drawn_rows: tuple[float, list[tuple[int, int]]], confidence: float) -> None:
    truth, found = drawn_rows
    random = np.random.default_rng(9)
    bounds = [
        sampled(counts(int(random.binomial(20, agreeing / total)), 20), 24, 3, confidence) for agreeing, total in found
    ]
    assert misses(bounds, truth) <= most_misses(SEEDS, 1 - confidence)


RUNS = 1000
LEAST = 0.92
"""Of a nominal 0.95."""


def jackknife_counts(agree: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], AgreementCounts]:
    agreeing, targets = by_role(agree)
    size = len(agree)
    return agreeing, targets, counts(int(agreeing.sum()), size * (size - 1) * (size - 2) // 2)


@pytest.mark.parametrize("text_noise", [0.1, 0.7])
@pytest.mark.parametrize("size", [25, 60])
def test_jackknife_of_rows(size: int, text_noise: float) -> None:
    source = Population(4, text_noise, 0.0, (1, 1))
    random = np.random.default_rng(10)
    bounds = [
        jackknife.interval(*jackknife_counts(agreement(*source.draw(random, size)[:2])), 0.95) for _ in range(RUNS)
    ]
    assert LEAST <= 1 - misses(bounds, source.score) / RUNS <= 0.995


@dataclass(frozen=True)
class Coverage:
    """Shares of runs whose interval holds the population's score."""

    row: float
    group: float
    group_sampled: float
    group_anything: float
    error: float
    """Standard error of the groups, over the standard deviation of the score between groups."""


def grouped_coverage(source: Population, texts: int) -> Coverage:
    random, truth = np.random.default_rng(11), source.score
    found: list[list[Interval]] = [[], [], [], []]
    between, errors = [], []
    for seed in range(RUNS):
        x, y, label = source.draw(random, texts)
        agree = agreement(x, y)
        apart = different(label)
        of_all = jackknife_counts(agree)
        agreeing = int((agree & apart).sum()) // 2
        within = counts(of_all[2].agreeing - agreeing, of_all[2].comparisons - int(apart.sum()) // 2)
        i, j, k = coincidence.triplets(label, seed, 10_000).T
        sampled = counts(int(agree[i, j, k].sum()), 10_000)
        found[0].append(jackknife.interval(*of_all, 0.95))
        for place, coincident in enumerate((within, sampled, None), 1):
            found[place].append(jackknife.interval(*of_all, 0.95, label, coincident))
        between.append(agreeing / (int(apart.sum()) // 2))
        errors.append(found[1][-1].standard_error)
    row, group, from_sample, anything = (1 - misses(bounds, truth) / RUNS for bounds in found)
    return Coverage(row, group, from_sample, anything, float(np.mean(errors) / np.std(between)))


@pytest.mark.parametrize(
    "source",
    [
        Population(5, 0.7, 0.5, (3, 3)),
        Population(5, 0.1, 0.05, (3, 3)),
        Population(5, 0.3, 0.2, (1, 5)),
    ],
    ids=["unlike", "alike", "unequal"],
)
def test_jackknife_of_groups_where_that_of_rows_fails(source: Population) -> None:
    found = grouped_coverage(source, 40)
    assert found.row < LEAST
    assert LEAST <= found.group <= 0.995
    assert LEAST <= found.group_sampled <= 0.995
    assert found.group_anything >= found.group
    assert 0.9 < found.error < 1.2
