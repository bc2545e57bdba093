"""The jackknife against leaving out rows and groups one by one, in fractions, by enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import Ranked, triplet_kind

from ordsim_core import coincidence, jackknife, population
from ordsim_core.counts import AgreementCounts, triplet_population


@dataclass(frozen=True)
class Enumerated:
    """All comparisons of some rows: whether (anchor, {j, k}) agree."""

    rows: int
    agree: dict[tuple[int, int, int], bool]

    def share(self, among: set[int] | None = None, groups: list[int] | None = None) -> Fraction:
        """Agreeing share of the comparisons among some rows, of rows of three different groups."""
        chosen = [
            agreeing
            for triple, agreeing in self.agree.items()
            if (among is None or among.issuperset(triple))
            and (groups is None or len({groups[row] for row in triple}) == 3)
        ]
        return Fraction(sum(chosen), len(chosen))

    def coincident(self, groups: list[int]) -> AgreementCounts:
        chosen = [agree for triple, agree in self.agree.items() if len({groups[row] for row in triple}) < 3]
        return AgreementCounts(concordant=sum(chosen), discordant=len(chosen) - sum(chosen))

    @property
    def counts(self) -> AgreementCounts:
        agreeing = sum(self.agree.values())
        return AgreementCounts(concordant=agreeing, discordant=len(self.agree) - agreeing)

    @property
    def by_role(self) -> tuple[np.ndarray, np.ndarray]:
        agreeing, targets = np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)
        for (i, j, k), agree in self.agree.items():
            agreeing[i] += agree
            targets[[j, k]] += agree
        return agreeing, targets


def enumerated(seed: int, rows: int, repeats: int = 1) -> Enumerated:
    random = np.random.default_rng(seed)
    x = np.repeat(random.integers(0, 4, (rows // repeats, 2)), repeats, axis=0)
    y = x + random.integers(0, 3, (rows, 2))
    ranked_x, ranked_y = Ranked(x.tolist(), "euclidean"), Ranked(y.tolist(), "euclidean")
    agree = {}
    for i in range(rows):
        for j, k in combinations([row for row in range(rows) if row != i], 2):
            agree[i, j, k] = triplet_kind(ranked_x, ranked_y, i, j, k) in (0, 4)
    return Enumerated(rows, agree)


def quantile(freedom: int, confidence: float) -> float:
    """Student's, in closed form for 1, 2 and 4 degrees of freedom."""
    tail = (1 + confidence) / 2
    spread = 4 * tail * (1 - tail)
    if freedom == 1:
        return math.tan(math.pi * (tail - 0.5))
    if freedom == 2:
        return 2 * (tail - 0.5) * math.sqrt(2 / spread)
    assert freedom == 4
    return 2 * math.sqrt(math.cos(math.acos(math.sqrt(spread)) / 3) / math.sqrt(spread) - 1)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_left_out_one_by_one(seed: int, confidence: float) -> None:
    found = enumerated(seed, 5)
    everything = set(range(5))
    without = [found.share(everything - {row}) for row in range(5)]
    mean = sum(without, Fraction(0)) / 5
    variance = Fraction(4, 5) * sum(((share - mean) ** 2 for share in without), Fraction(0))
    interval = jackknife.interval(*found.by_role, found.counts, confidence)
    assert interval.standard_error == pytest.approx(math.sqrt(variance), rel=1e-14)
    radius = quantile(4, confidence) * math.sqrt(variance)
    score = float(found.share())
    assert interval.low == pytest.approx(max(0.0, score - radius), rel=1e-9)
    assert interval.high == pytest.approx(min(1.0, score + radius), rel=1e-9)
    assert (interval.method, interval.confidence, interval.rigorous, interval.unit) == (
        "jackknife",
        confidence,
        False,
        "row",
    )


GROUPINGS = [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1, 2, 3, 4] * 2, [0, 0, 0, 0, 1, 2, 2, 3, 4, 4]]


@pytest.mark.parametrize("groups", GROUPINGS)
@pytest.mark.parametrize("seed", range(4))
def test_projections_are_added_up_by_group(seed: int, groups: list[int]) -> None:
    found = enumerated(seed, 10, 2)
    agreeing, targets = found.by_role
    score = found.share()
    sums = dict.fromkeys(groups, Fraction(0))
    for row, group in enumerate(groups):
        sums[group] += Fraction(int(agreeing[row] + targets[row]), 3 * 36) - score
    variance = Fraction(9 * 5 * 4, 2**2 * 10**2) * sum((value**2 for value in sums.values()), Fraction(0))
    coincident = found.coincident(groups)
    between = found.share(groups=groups)
    others = 1 - Fraction(coincident.comparisons, triplet_population(10))
    error = math.sqrt(variance) / others
    radius = quantile(4, 0.5) * error
    labels = np.array([f"group {group}" for group in groups])

    interval = jackknife.interval(agreeing, targets, found.counts, 0.5, labels, coincident)
    assert interval.standard_error == pytest.approx(error, rel=1e-13)
    assert interval.low == pytest.approx(max(0, float(between) - radius), rel=1e-9)
    assert interval.high == pytest.approx(min(1, float(between) + radius), rel=1e-9)
    assert (interval.method, interval.rigorous, interval.unit) == ("jackknife", False, "group")

    # Twice the comparisons with the same share, as a sample might have it.
    sample = AgreementCounts(concordant=2 * coincident.concordant, discordant=2 * coincident.discordant)
    assert jackknife.interval(agreeing, targets, found.counts, 0.5, labels, sample) == interval

    # Without them, whatever they may be.
    anything = jackknife.interval(agreeing, targets, found.counts, 0.5, labels)
    assert anything.standard_error == interval.standard_error
    least = max(Fraction(0), (score - 1 + others) / others)
    most = min(Fraction(1), score / others)
    assert least <= between <= most
    assert anything.low == pytest.approx(max(0, float(least) - radius), rel=1e-9)
    assert anything.high == pytest.approx(min(1, float(most) + radius), rel=1e-9)


@pytest.mark.parametrize("rows", [3, 4, 9])
def test_groups_of_one_row_are_rows(rows: int) -> None:
    found = enumerated(3, rows)
    by_row = jackknife.interval(*found.by_role, found.counts, 0.9)
    for coincident in (None, AgreementCounts()):
        by_group = jackknife.interval(*found.by_role, found.counts, 0.9, np.arange(rows), coincident)
        assert by_group.standard_error == pytest.approx(by_row.standard_error, rel=1e-13)
        assert (by_group.low, by_group.high) == pytest.approx((by_row.low, by_row.high), abs=1e-13)
        assert by_group.method == by_row.method


def test_three_groups_have_no_variance() -> None:
    found = enumerated(2, 6, 2)
    labels = np.array([0, 0, 1, 1, 2, 2])
    interval = jackknife.interval(*found.by_role, found.counts, 0.95, labels, found.coincident(labels.tolist()))
    between = found.share(groups=labels.tolist())
    bound = population.kl(float(between), float(1 - between), 3, 3, 0.95)
    assert (interval.low, interval.high, interval.standard_error) == (bound.low, bound.high, 0.0)
    assert (interval.method, interval.unit) == ("kl-u-statistic", "group")


def roles_of(agreeing: list[int], rows: int) -> tuple[np.ndarray, np.ndarray, AgreementCounts]:
    """Counts by anchor, and targets that get what is due in turn."""
    total = sum(agreeing)
    targets = [2 * total // rows + (row < 2 * total % rows) for row in range(rows)]
    counts = AgreementCounts(concordant=total, discordant=triplet_population(rows) - total)
    return np.array(agreeing, np.int64), np.array(targets, np.int64), counts


@pytest.mark.parametrize("rows", [3, 4, 300])
def test_where_everything_agrees_the_bound_is_that_of_the_population(rows: int) -> None:
    each = (rows - 1) * (rows - 2) // 2
    agreeing, targets, counts = roles_of([each] * rows, rows)
    interval = jackknife.interval(agreeing, targets, counts, 0.95)
    bound = population.kl(1.0, 0.0, rows, 3, 0.95)
    assert (interval.low, interval.high, interval.standard_error) == (bound.low, 1.0, 0.0)
    assert (interval.method, interval.rigorous, interval.unit) == ("kl-u-statistic", False, "row")
    if rows == 300:
        bound = population.kl(1.0, 0.0, 100, 3, 0.95)
        for coincident in (None, AgreementCounts(concordant=10)):
            interval = jackknife.interval(agreeing, targets, counts, 0.95, np.arange(300) // 3, coincident)
            assert (interval.low, interval.high, interval.standard_error) == (bound.low, 1.0, 0.0)
            assert (interval.method, interval.rigorous, interval.unit) == ("kl-u-statistic", False, "group")


def test_three_rows_have_no_variance() -> None:
    found = enumerated(1, 3)
    interval = jackknife.interval(*found.by_role, found.counts, 0.95)
    assert interval.method == "kl-u-statistic"
    assert interval.low <= float(found.share()) <= interval.high


def test_a_deficit_near_nothing_keeps_its_variance() -> None:
    # One comparison of 10^18 disagrees, of which float64 cannot tell the projections apart.
    rows = 1_280_000
    each = (rows - 1) * (rows - 2) // 2
    agreeing, targets = np.full(rows, each), np.full(rows, 2 * each)
    agreeing[7] -= 1
    targets[[8, 9]] -= 1
    counts = AgreementCounts(concordant=rows * each - 1, discordant=1)
    interval = jackknife.interval(agreeing, targets, counts, 0.95)
    squares = 3 * (1 - Fraction(3, rows)) ** 2 + (rows - 3) * Fraction(3, rows) ** 2
    variance = Fraction(9 * (rows - 1), rows * (rows - 3) ** 2) * squares / (9 * each**2)
    assert interval.standard_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    labels = np.arange(rows) // 10
    interval = jackknife.interval(agreeing, targets, counts, 0.95, labels)
    groups = rows // 10
    squares = (3 - Fraction(30, rows)) ** 2 + (groups - 1) * Fraction(30, rows) ** 2
    others = 1 - Fraction(coincidence.population(np.full(groups, 10)), triplet_population(rows))
    variance = Fraction(9 * groups * (groups - 1), (groups - 3) ** 2 * rows**2) * squares / (9 * each**2) / others**2
    assert interval.standard_error == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_quantiles_of_many_rows_are_normal() -> None:
    rows = 100_001
    each = (rows - 1) * (rows - 2) // 2
    random = np.random.default_rng(0)
    agreeing, targets, counts = roles_of((each // 2 + random.integers(-(each // 9), each // 9, rows)).tolist(), rows)
    for confidence in (0.5, 0.95, 0.999999):
        interval = jackknife.interval(agreeing, targets, counts, confidence)
        radius = NormalDist().inv_cdf((1 + confidence) / 2) * interval.standard_error
        assert interval.high - counts.score == pytest.approx(radius, rel=1e-3)
        assert counts.score - interval.low == pytest.approx(radius, rel=1e-3)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 36), min_size=10, max_size=10),
    st.lists(st.sampled_from("abcdef"), min_size=10, max_size=10),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_intervals_are_within_bounds_symmetric_and_wider_with_confidence(
    agreeing: list[int], labels: list[str], one: float, other: float
) -> None:
    rows, each = 10, 36
    anchors, targets, counts = roles_of(agreeing, rows)
    opposite = AgreementCounts(concordant=counts.discordant, discordant=counts.concordant)
    less, more = sorted((one, other))
    for groups in (None, np.array(labels)):
        if groups is not None and len(set(labels)) < 3:
            with pytest.raises(ValueError, match="at least 3"):
                jackknife.interval(anchors, targets, counts, less, groups)
            continue
        narrow = jackknife.interval(anchors, targets, counts, less, groups)
        wide = jackknife.interval(anchors, targets, counts, more, groups)
        assert 0 <= wide.low <= narrow.low <= counts.score <= narrow.high <= wide.high <= 1
        mirror = jackknife.interval(each - anchors, 2 * each - targets, opposite, less, groups)
        assert mirror.standard_error == pytest.approx(narrow.standard_error, rel=1e-12, abs=0)
        assert (mirror.low, mirror.high) == pytest.approx((1 - narrow.high, 1 - narrow.low), abs=1e-12)


def test_wrong_arguments_are_named() -> None:
    found = enumerated(0, 6)
    agreeing, targets = found.by_role
    counts = found.counts
    labels = np.array([0, 0, 1, 1, 2, 2])
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence"):
            jackknife.interval(agreeing, targets, counts, confidence)
    with pytest.raises(ValueError, match="all those of 5 rows"):
        jackknife.interval(agreeing[:5], targets[:5], counts, 0.9)
    with pytest.raises(ValueError, match="equally long"):
        jackknife.interval(agreeing, targets[:5], counts, 0.9)
    with pytest.raises(ValueError, match="by anchor and by target"):
        jackknife.interval(agreeing, agreeing, counts, 0.9)
    with pytest.raises(ValueError, match="as many group labels"):
        jackknife.interval(agreeing, targets, counts, 0.9, labels[:5])
    for few in ([0] * 6, [0, 1] * 3):
        with pytest.raises(ValueError, match="at least 3"):
            jackknife.interval(agreeing, targets, counts, 0.9, np.array(few))
    with pytest.raises(ValueError, match="without groups"):
        jackknife.interval(agreeing, targets, counts, 0.9, None, counts)
    with pytest.raises(ValueError, match="no coincident"):
        jackknife.interval(agreeing, targets, counts, 0.9, labels, AgreementCounts())
