"""Differences of scores against leaving out rows one by one, in fractions, and against intervals on one score."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import Ranked, triplet_kind
from scipy import special
from simulated import agreement, by_role, most_misses

from ordsim_core import betting, coincidence, intervals, jackknife, population, triplets
from ordsim_core.counts import AgreementCounts, triplet_population
from ordsim_core.distances import Distance
from ordsim_core.nulls import differences, profiles
from ordsim_core.nulls.designs import Design, Stream, draw
from ordsim_core.nulls.differences import ExactScore
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.intervals import Interval

settings.register_profile("core", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("core")

DATA = Path(__file__).parent.parent / "data"
METHODS = (betting.interval, intervals.maurer_pontil)

Agree = dict[tuple[int, int, int], bool]
"""Whether (anchor, {j, k}) agree."""


def enumerated(x: np.ndarray, y: np.ndarray) -> Agree:
    sides = Ranked(x.tolist(), "euclidean"), Ranked(y.tolist(), "euclidean")
    rows = range(len(x))
    return {
        (i, j, k): triplet_kind(*sides, i, j, k) in (0, 4)
        for i in rows
        for j, k in combinations([row for row in rows if row != i], 2)
    }


def three(seed: int, rows: int, repeats: int = 1) -> tuple[Agree, Agree]:
    """Of X with A, and of X with B."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.integers(0, 4, (rows // repeats, 2)), repeats, axis=0)
    return enumerated(x, x + rng.integers(0, 2, x.shape)), enumerated(x, x + rng.integers(0, 5, x.shape))


def score(agree: Agree, rows: int) -> ExactScore:
    anchors, targets = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for (i, j, k), agrees in agree.items():
        anchors[i] += agrees
        targets[[j, k]] += agrees
    agreeing = sum(agree.values())
    return ExactScore(anchors, targets, AgreementCounts(concordant=agreeing, discordant=len(agree) - agreeing))


def share(one: Agree, other: Agree, chosen: Callable[[tuple[int, int, int]], bool]) -> Fraction:
    """The difference of the scores of some comparisons."""
    triples = [triple for triple in one if chosen(triple)]
    return Fraction(sum(one[triple] - other[triple] for triple in triples), len(triples))


def everything_agrees(rows: int) -> ExactScore:
    each = (rows - 1) * (rows - 2) // 2
    counts = AgreementCounts(concordant=rows * each)
    return ExactScore(np.full(rows, each), np.full(rows, 2 * each), counts)


# Units of both scores


@pytest.mark.parametrize("method", METHODS)
def test_shares_of_units_are_turned_into_differences(method: Any) -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 11, 200)
    other = np.clip(one - rng.integers(-1, 3, 200), 0, 10)
    found = differences.sampled(one, other, 10, 0.9, method)
    shares = method(10 + one - other, 20, 0.9)
    assert (found.low, found.high) == pytest.approx((2 * shares.low - 1, 2 * shares.high - 1), abs=1e-15)
    assert found.low <= Fraction(int((one - other).sum()), 2000) <= found.high
    assert (found.method, found.confidence, found.rigorous) == (shares.method, 0.9, True)
    # What both have in common cancels out.
    apart = [method(own, 10, 0.95) for own in (one, other)]
    assert found.high - found.low < 0.7 * sum(own.high - own.low for own in apart)
    turned = differences.sampled(other, one, 10, 0.9, method)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-12)


def test_the_same_scores_do_not_differ() -> None:
    own = np.random.default_rng(0).integers(0, 11, 5000)
    found = differences.sampled(own, own, 10, 0.9, intervals.maurer_pontil)
    # Without variance, only the term that falls with the number of units is left.
    assert found.low == pytest.approx(-found.high, abs=1e-12)
    assert found.high == pytest.approx(2 * 7 * math.log(40) / (3 * 4999), rel=1e-9)


def test_single_comparisons() -> None:
    one, other = np.array([1, 1, 0, 1, 0, 1] * 50), np.array([1, 0, 0, 0, 0, 1] * 50)
    found = differences.sampled(one, other, 1, 0.99)
    assert 0 < found.low <= 1 / 3 <= found.high < 1


def test_bounds_end_at_one() -> None:
    ones, zeros = np.ones(3, np.int64), np.zeros(3, np.int64)
    found = differences.sampled(ones, zeros, 1, 0.9)
    assert found.low < found.high == 1.0
    assert differences.sampled(zeros, ones, 1, 0.9).low == -1.0


def test_bounds_for_the_population_are_wider() -> None:
    counts = [AgreementCounts(concordant=agreeing, discordant=1000 - agreeing) for agreeing in (800, 640)]
    exact = differences.exact(*counts, 0.95)
    assert (exact.low, exact.high, exact.method, exact.rigorous) == (0.16, 0.16, "none-exact", True)
    wide = differences.around(exact, 3000, 3, 0.95)
    shares = population.kl(0.58, 0.42, 3000, 3, 0.95)
    assert (wide.low, wide.high) == pytest.approx((2 * shares.low - 1, 2 * shares.high - 1), abs=1e-9)
    rng = np.random.default_rng(0)
    sampled = differences.sampled(rng.integers(5, 11, 900), rng.integers(2, 9, 900), 10, 0.99)
    wider = differences.around(sampled, 3000, 3, 0.95)
    assert wider.low < sampled.low < sampled.high < wider.high
    assert (wider.method, wider.confidence, wider.rigorous) == (population.METHOD, 0.95, True)


def test_wrong_units_are_named() -> None:
    one = np.array([1, 2, 3])
    with pytest.raises(ValueError, match="same units"):
        differences.sampled(one, one[:2], 3, 0.9)
    # Each may be wrong though their difference is none.
    with pytest.raises(ValueError, match="between 0 and 2"):
        differences.sampled(one, one, 2, 0.9)
    with pytest.raises(ValueError, match="at least one unit"):
        differences.sampled(one[:0], one[:0], 3, 0.9)
    with pytest.raises(ValueError, match="confidence"):
        differences.sampled(one, one, 3, 1.0)
    some = AgreementCounts(concordant=1)
    for other in (AgreementCounts(concordant=2), AgreementCounts()):
        with pytest.raises(ValueError, match="cannot be the same ones"):
            differences.exact(some, other, 0.9)


# Exact scores of rows that were drawn


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_left_out_one_by_one(seed: int, confidence: float) -> None:
    one, other = three(seed, 6)
    without = [share(one, other, lambda triple, row=row: row not in triple) for row in range(6)]
    mean = sum(without, Fraction(0)) / 6
    error = math.sqrt(Fraction(5, 6) * sum((left - mean) ** 2 for left in without))
    difference = float(share(one, other, lambda _: True))
    found = differences.jackknifed(score(one, 6), score(other, 6), confidence)
    assert found.standard_error == pytest.approx(error, rel=1e-13)
    radius = special.stdtrit(5, (1 + confidence) / 2) * error
    assert found.low == pytest.approx(max(-1.0, difference - radius), rel=1e-9)
    assert found.high == pytest.approx(min(1.0, difference + radius), rel=1e-9)
    assert found.p_value == pytest.approx(2 * special.stdtr(5, -abs(difference) / error), rel=1e-9)
    assert (found.method, found.confidence, found.rigorous, found.unit) == ("jackknife", confidence, False, "row")


GROUPINGS = [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1, 2, 3, 4] * 2, [0, 0, 0, 0, 1, 2, 2, 3, 4, 4]]


@pytest.mark.parametrize("groups", GROUPINGS)
@pytest.mark.parametrize("seed", range(4))
def test_projections_are_added_up_by_group(seed: int, groups: list[int]) -> None:
    one, other = three(seed, 10, 2)
    difference = share(one, other, lambda _: True)
    sums = dict.fromkeys(groups, Fraction(0))
    for row, group in enumerate(groups):
        own = sum(one[triple] - other[triple] for triple in one if row in triple)
        sums[group] += Fraction(own, 3 * 36) - difference
    variance = Fraction(9 * 5 * 4, 2**2 * 10**2) * sum(value**2 for value in sums.values())

    def apart(triple: tuple[int, int, int]) -> bool:
        return len({groups[row] for row in triple}) == 3

    between = share(one, other, apart)
    others = Fraction(sum(map(apart, one)), len(one))
    error = math.sqrt(variance) / others
    radius = special.stdtrit(4, 0.75) * error
    labels = np.array([f"group {group}" for group in groups])
    coincident = tuple(
        AgreementCounts(concordant=sum(chosen), discordant=len(chosen) - sum(chosen))
        for agree in (one, other)
        for chosen in [[agrees for triple, agrees in agree.items() if not apart(triple)]]
    )
    sides = score(one, 10), score(other, 10)
    found = differences.jackknifed(*sides, 0.5, labels, coincident)
    assert found.standard_error == pytest.approx(error, rel=1e-13)
    assert found.low == pytest.approx(max(-1.0, between - radius), rel=1e-9)
    assert found.high == pytest.approx(min(1.0, between + radius), rel=1e-9)
    assert found.p_value == pytest.approx(2 * special.stdtr(4, -abs(float(between)) / error), rel=1e-9)
    assert (found.method, found.unit) == ("jackknife", "group")

    # Without them, whatever they may be.
    anything = differences.jackknifed(*sides, 0.5, labels)
    within = 1 - others
    assert anything.low == pytest.approx(max(-1.0, max(-1, (difference - within) / others) - radius), rel=1e-9)
    assert anything.high == pytest.approx(min(1.0, min(1, (difference + within) / others) + radius), rel=1e-9)
    assert anything.p_value >= found.p_value


@pytest.mark.parametrize("groups", [None, *GROUPINGS])
def test_the_difference_from_a_perfect_score_is_that_of_the_score(groups: list[int] | None) -> None:
    agree = three(1, 10)[0]
    own, perfect = score(agree, 10), everything_agrees(10)
    labels = None if groups is None else np.array(groups)
    alone = jackknife.interval(own.agreeing, own.targets, own.counts, 0.8, labels)
    found = differences.jackknifed(own, perfect, 0.8, labels)
    assert found.standard_error == pytest.approx(alone.standard_error, rel=1e-13)
    if groups is None:
        assert (found.low, min(found.high, 0.0)) == pytest.approx((alone.low - 1, alone.high - 1), abs=1e-13)
        return
    close = [agrees for triple, agrees in agree.items() if len({groups[row] for row in triple}) < 3]
    assert len(close) == coincidence.population(np.bincount(groups))
    both = AgreementCounts(concordant=sum(close), discordant=len(close) - sum(close)), AgreementCounts(len(close))
    alone = jackknife.interval(own.agreeing, own.targets, own.counts, 0.8, labels, both[0])
    found = differences.jackknifed(own, perfect, 0.8, labels, both)
    # No score is above 1.
    assert (found.low, min(found.high, 0.0)) == pytest.approx((alone.low - 1, alone.high - 1), abs=1e-12)


@pytest.mark.parametrize("rows", [3, 4, 9])
def test_groups_of_one_row_are_rows(rows: int) -> None:
    sides = [score(agree, rows) for agree in three(3, rows)]
    by_row = differences.jackknifed(*sides, 0.9)
    by_group = differences.jackknifed(*sides, 0.9, np.arange(rows))
    assert by_group.standard_error == pytest.approx(by_row.standard_error, rel=1e-13)
    assert (by_group.low, by_group.high) == pytest.approx((by_row.low, by_row.high), abs=1e-13)
    assert by_group.p_value == pytest.approx(by_row.p_value)


@pytest.mark.parametrize("rows", [3, 12, 300])
def test_without_variance_the_bound_is_that_of_the_population(rows: int) -> None:
    own = everything_agrees(rows)
    found = differences.jackknifed(own, own, 0.95)
    shares = population.kl(0.5, 0.5, rows, 3, 0.95)
    assert (found.low, found.high) == pytest.approx((2 * shares.low - 1, 2 * shares.high - 1), abs=1e-12)
    assert (found.standard_error, found.p_value, found.method) == (0.0, None, population.METHOD)


@given(st.integers(0, 2**32), st.integers(4, 9), st.floats(0.01, 0.99), st.booleans())
def test_turned_around_nothing_changes_but_the_sign(seed: int, rows: int, confidence: float, grouped: bool) -> None:
    one, other = (score(agree, rows) for agree in three(seed, rows))
    groups = np.arange(rows) % (rows - 1) if grouped else None
    found = differences.jackknifed(one, other, confidence, groups)
    turned = differences.jackknifed(other, one, confidence, groups)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    assert (turned.standard_error, turned.p_value) == (found.standard_error, found.p_value)
    assert -1 <= found.low <= found.high <= 1
    if found.p_value is not None and abs(found.p_value - (1 - confidence)) > 1e-9:
        assert (found.p_value < 1 - confidence) == (not found.low <= 0 <= found.high)


def test_sums_beyond_64_bits() -> None:
    # Three groups of few rows and one of nearly all of two million, with all of which one score agrees.
    rows = 2_000_000
    perfect = everything_agrees(rows)
    nothing = np.zeros(rows, np.int64)
    poor = ExactScore(nothing, nothing, AgreementCounts(discordant=triplet_population(rows)))
    groups = np.minimum(np.arange(rows), 3)
    found = differences.jackknifed(perfect, poor, 0.9, groups)
    assert (found.method, found.high) == (population.METHOD, 1.0)


def test_wrong_scores_are_named() -> None:
    one, other = (score(agree, 6) for agree in three(0, 6))
    fewer = score(three(0, 5)[0], 5)
    with pytest.raises(ValueError, match="6 and of 5 rows"):
        differences.jackknifed(one, fewer, 0.9)
    with pytest.raises(ValueError, match="without groups"):
        differences.jackknifed(one, other, 0.9, None, (one.counts, other.counts))
    with pytest.raises(ValueError, match="as many group labels"):
        differences.jackknifed(one, other, 0.9, np.arange(5))
    with pytest.raises(ValueError, match="at least 3"):
        differences.jackknifed(one, other, 0.9, np.arange(6) % 2)
    with pytest.raises(ValueError, match="confidence"):
        differences.jackknifed(one, other, 0.0)
    with pytest.raises(ValueError, match="equally long"):
        ExactScore(one.agreeing, one.targets[:5], one.counts)
    with pytest.raises(ValueError, match="all those of 5 rows"):
        ExactScore(one.agreeing[:5], one.targets[:5], one.counts)
    with pytest.raises(ValueError, match="by anchor and by target"):
        ExactScore(one.agreeing, one.agreeing, one.counts)


# Real embeddings


def test_two_models_and_two_layers_are_told_apart() -> None:
    names = ("sample/text_L6_f32", "controls/text_para_f16", "sample/text_L3_f16")
    x, para, layer = (prepare(np.load(DATA / f"{name}.npy"), Distance.EUCLIDEAN) for name in names)
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 2000, 32, 0, 2000))
    own, one, other = (profiles.of_space(space, drawn) for space in (x, para, layer))
    units = [profiles.agreeing_by_unit(own, profile) for profile in (one, other)]
    found = differences.sampled(*units, drawn.design.each, 0.999)
    # The scores of all rows are 0.738 and 0.658.
    assert 0.06 < found.low < 0.738 - 0.658 < found.high < 0.1
    x, para, layer = (prepare(np.load(DATA / f"{name}.npy")[:400], Distance.EUCLIDEAN) for name in names)
    blocks = [triplets.exact_block(x, y, 0, 400, per_target=True) for y in (para, layer)]
    scores = [ExactScore(block.agreeing, block.targets, block.counts) for block in blocks]
    exact = differences.jackknifed(*scores, 0.999)
    assert 0.03 < exact.low < exact.high < 0.13
    assert exact.p_value < 1e-6


# How often intervals miss

SEEDS = 2000
RUNS = 1000
LEAST = 0.92
"""Of a nominal 0.95."""


def noisy_copies(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Agreement of x with two independent noisy copies of the same thing."""
    x = rng.standard_normal((rows, 3))
    one, other = (x + 0.5 * rng.standard_normal(x.shape) for _ in range(2))
    return agreement(x, one), agreement(x, other)


def in_roles(agree: np.ndarray) -> ExactScore:
    agreeing, targets = by_role(agree)
    total, comparisons = int(agreeing.sum()), triplet_population(len(agree))
    return ExactScore(agreeing, targets, AgreementCounts(concordant=total, discordant=comparisons - total))


@pytest.mark.slow
def test_the_jackknife_of_noisy_copies_covers_zero() -> None:
    rng = np.random.default_rng(0)
    found = [
        differences.jackknifed(in_roles(one), in_roles(other), 0.95)
        for one, other in (noisy_copies(rng, 40) for _ in range(RUNS))
    ]
    covered = sum(own.low <= 0 <= own.high for own in found)
    assert LEAST * RUNS <= covered < RUNS
    assert sum(own.p_value < 0.05 for own in found) == RUNS - covered


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.7, 0.9])
@pytest.mark.parametrize("method", METHODS)
def test_units_of_noisy_copies_cover_the_difference(
    method: Callable[[np.ndarray, int, float], Interval], confidence: float
) -> None:
    rng = np.random.default_rng(1)
    one, other = noisy_copies(rng, 20)
    truth = (one.sum() - other.sum()) / (20 * 19 * 18)
    order = np.argsort(rng.random((SEEDS * 30, 20)), axis=1)
    anchor, targets = order[:, 0, None, None], order[:, 1:6]
    units = [
        (agree[anchor, targets[:, :, None], targets[:, None, :]].sum(axis=(1, 2)) // 2).reshape(SEEDS, 30)
        for agree in (one, other)
    ]
    found = [differences.sampled(*both, 10, confidence, method) for both in zip(*units, strict=True)]
    missed = sum(not own.low <= truth <= own.high for own in found)
    assert missed <= most_misses(SEEDS, 1 - confidence)


@pytest.mark.slow
def test_population_bounds_of_noisy_copies_cover_zero() -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(RUNS):
        one, other = (in_roles(agree).counts for agree in noisy_copies(rng, 24))
        found.append(differences.around(differences.exact(one, other, 0.5), 24, 3, 0.5))
    assert sum(not own.low <= 0 <= own.high for own in found) <= most_misses(RUNS, 0.5)
