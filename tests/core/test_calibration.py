"""Conclusions from a null, against definitions written out in fractions."""

from __future__ import annotations

import json
import math
import random
import statistics
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from ordsim_core.calibration.conclusions import Conclusion, conclude, most_rejected
from ordsim_core.calibration.errors import NonFiniteStatisticError
from ordsim_core.calibration.stopping import stops_after
from ordsim_core.calibration.values import reaches

LEVELS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.2, 0.29, 0.41, 0.5, 0.57, 0.7, 0.99, 1 / 3, 2 / 3, 0.1 + 0.2])
MAXIMA = st.sampled_from([1.0, 0.5, None, 3.0, -2.0, 0.0])


@dataclass(frozen=True)
class Expected:
    """By the definitions, on exact values."""

    p_value: Fraction
    threshold: Fraction
    score: Fraction


def expected(observed: Fraction, null: list[Fraction], alpha: Fraction, smax: Fraction | None) -> Expected:
    pool = sorted([observed, *null])
    p_value = Fraction(1 + sum(value >= observed for value in null), len(pool))
    rank = math.ceil((1 - alpha) * len(pool))
    threshold = pool[rank - 1]
    if observed <= threshold:
        score = Fraction(0)
    elif smax is None:
        score = observed - threshold
    else:
        score = min(Fraction(1), (observed - threshold) / (smax - threshold)) if smax > threshold else Fraction(1)
    return Expected(p_value, threshold, score)


def agrees(found: Conclusion, truth: Expected) -> None:
    assert found.p_value == float(truth.p_value)
    assert found.threshold == float(truth.threshold)
    assert found.score == float(truth.score)
    assert (found.score > 0) == (found.p_value <= found.alpha)


def decimal(alpha: float) -> Fraction:
    # 1 / 3, 2 / 3 and 0.30000000000000004 are not what they are written as.
    return Fraction(alpha).limit_denominator(1000)


@settings(deadline=None, max_examples=300)
@given(st.data(), LEVELS, MAXIMA, st.sampled_from([1, 7, 2**70]))
def test_integers(data: st.DataObject, alpha: float, smax: float | None, denominator: int) -> None:
    span = data.draw(st.sampled_from([2, 10, 1000, 2**60, 2**66]))
    size = data.draw(st.sampled_from([1, 2, 3, 19, 20, 99]))
    values = data.draw(st.lists(st.integers(-span, span), min_size=size + 1, max_size=size + 1))
    found = conclude(values[0], values[1:], alpha=alpha, smax=smax, denominator=denominator)
    exact = [Fraction(value, denominator) for value in values]
    largest = None if smax is None else Fraction(smax)
    agrees(found, expected(exact[0], exact[1:], decimal(alpha), largest))
    assert (found.permutations, found.exceedances) == (size, sum(value >= values[0] for value in values[1:]))
    assert conclude(exact[0], exact[1:], alpha=alpha, smax=smax) == found  # as fractions
    if span < 2**60:
        assert conclude(np.int32(values[0]), np.array(values[1:], np.int16), alpha=alpha, smax=smax) == conclude(
            values[0], values[1:], alpha=alpha, smax=smax
        )


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=60
    ),
    LEVELS,
    MAXIMA,
)
def test_floats_without_tolerance(values: list[float], alpha: float, smax: float | None) -> None:
    assume(smax is not None or max(values) - min(values) < math.inf)
    found = conclude(values[0], values[1:], alpha=alpha, smax=smax, tolerance=0.0)
    exact = [Fraction(value) for value in values]
    truth = expected(exact[0], exact[1:], decimal(alpha), None if smax is None else Fraction(smax))
    assert found.p_value == float(truth.p_value)
    assert found.threshold == float(truth.threshold)
    assert found.score == (float(truth.score) or (5e-324 if truth.score > 0 else 0.0))
    assert (found.score > 0) == (found.p_value <= alpha)


@settings(deadline=None, max_examples=300)
@given(
    st.floats(-2, 2).filter(lambda value: abs(value) > 1e-3),
    st.lists(st.integers(-3, 3), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.05, 0.2, 0.41, 0.57]),
)
def test_floats_that_differ_by_rounding_are_tied(observed: float, places: list[int], alpha: float) -> None:
    """Each value is a rounding error away from one of seven that are well apart."""
    truth = [Fraction(observed) + Fraction(place, 1000) for place in places]
    chance = random.Random(len(places))
    rounded = [float(value) * (1 + chance.randint(-40, 40) * 2.0**-52) for value in truth]
    found = conclude(observed, rounded, alpha=alpha, smax=None)
    ideal = expected(Fraction(observed), truth, Fraction(str(alpha)), None)
    assert found.p_value == float(ideal.p_value)
    assert found.score == pytest.approx(float(ideal.score), abs=1e-13)
    assert (found.score > 0) == (found.p_value <= alpha)
    assert reaches(observed, rounded).tolist() == [place >= 0 for place in places]


def test_the_tolerance_is_100_epsilons_of_the_type_or_what_is_given() -> None:
    just_below = [0.7 * (1 - 90 * 2.0**-52), 0.7 * (1 - 110 * 2.0**-52)]
    assert conclude(0.7, just_below).exceedances == 1
    single = np.array([0.7 * (1 - 90 * 2.0**-23), 0.7 * (1 - 110 * 2.0**-23)], np.float32)
    assert conclude(np.float32(0.7), single).exceedances == 1
    assert conclude(np.float32(0.7), list(single)).exceedances == 1
    assert conclude(0.7, single.astype(np.float64)).exceedances == 0
    assert conclude(0.7, [0.69, 0.5], tolerance=0.02).exceedances == 1
    assert conclude(-0.7, [-0.7 * (1 + 90 * 2.0**-52), -0.7 * (1 + 110 * 2.0**-52), -0.6]).exceedances == 2
    assert conclude(0.0, [-1e-300, 0.0, -0.0]).exceedances == 2
    cancelled = [-1e-15, -1e-12]  # of terms of size 1
    assert conclude(1e-16, cancelled).exceedances == 0
    assert conclude(1e-16, cancelled, size=1.0).exceedances == 1


def test_one_in_twenty_is_at_most_a_twentieth() -> None:
    found = conclude(0.9, [0.1] * 19, alpha=0.05)
    assert found.p_value == 0.05
    assert found.p_value <= 0.05
    assert found.score == pytest.approx(0.8 / 0.9, rel=1e-15)
    for draws in (19, 99, 199, 999, 9999):
        for alpha in (0.05, 0.1, 0.001):
            below = most_rejected(alpha, draws + 1)
            null = [2] * max(0, below - 1) + [0] * (draws + 1 - max(1, below))
            assert conclude(1, null, alpha=alpha).score == (below > 0)
            assert conclude(1, null, alpha=alpha).p_value == max(1, below) / (draws + 1)
            assert conclude(1, [2, *null[:-1]], alpha=alpha).score == 0 or below > len(null)


@settings(deadline=None, max_examples=500)
@given(st.integers(1, 9999), st.integers(1, 4), st.integers(1, 100_001))
def test_most_rejected(number: int, digits: int, size: int) -> None:
    number = number % 10**digits or 1
    exact = Fraction(number, 10**digits)
    alpha = float(f"0.{number:0{digits}d}")
    assert most_rejected(alpha, size) == math.floor(exact * size)


@settings(deadline=None, max_examples=500)
@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(1, 100_001))
def test_most_rejected_is_what_comparing_floats_gives(alpha: float, size: int) -> None:
    rejected = most_rejected(alpha, size)
    assert rejected == 0 or rejected / size <= alpha
    assert (rejected + 1) / size > alpha


def test_scores_near_one_are_told_apart() -> None:
    found = conclude(1 - 1e-9, [1 - 2e-9] * 19)
    assert found.p_value == 0.05
    assert found.score == pytest.approx(0.5, rel=1e-6)
    counted = conclude(10**18 - 1, [10**18 - 2] * 19, denominator=10**18)
    assert counted.p_value == 0.05
    assert counted.score == 0.5
    # As deficits, of which the smaller is the more similar.
    assert conclude(-1e-18, [-2e-18] * 19, smax=0.0).score == 0.5


def test_never_zero_over_zero() -> None:
    for values in ([1.0] * 20, [0.3] * 20, [0.0] * 20):
        found = conclude(values[0], values[1:], smax=values[0])
        assert (found.score, found.p_value, found.threshold) == (0.0, 1.0, values[0])
    above = conclude(1.2, [1.0] * 19, smax=1.0)
    assert (above.score, above.above_maximum) == (1.0, True)
    assert conclude(1.2, [1.1] * 19, smax=1.0).score == 1.0
    assert conclude(1.0, [0.5] * 19, smax=1.0).above_maximum is False
    assert conclude(3, [1] * 19, denominator=10, smax=0.3).above_maximum is False


def test_too_few_permutations_for_the_level_have_the_largest_value_as_threshold() -> None:
    found = conclude(0.9, [0.1, 0.2], alpha=0.05)
    assert (found.p_value, found.threshold, found.score) == (1 / 3, 0.9, 0.0)


# What does not go on


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_values_that_are_not_finite_are_named(wrong: float) -> None:
    with pytest.raises(NonFiniteStatisticError, match="the observed statistic is") as caught:
        conclude(wrong, [0.1, 0.2])
    assert caught.value.draw == 0
    with pytest.raises(NonFiniteStatisticError, match="the statistic of permutation 2 is") as caught:
        conclude(0.5, [0.1, wrong, 0.2, wrong])
    assert caught.value.draw == 2
    with pytest.raises(NonFiniteStatisticError, match="permutation 3 is"):
        conclude(1, [1, 2, wrong])


def test_wrong_arguments_are_named() -> None:
    for alpha in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
            conclude(1, [0], alpha=alpha)
    for smax in (math.nan, math.inf):
        with pytest.raises(ValueError, match="smax must be finite"):
            conclude(1, [0], smax=smax)
    with pytest.raises(ValueError, match="confidence"):
        conclude(1, [0], confidence=1.0)
    with pytest.raises(ValueError, match="at least one value"):
        conclude(1, [])
    with pytest.raises(ValueError, match=r"at least one value, not an array of shape \(2, 2\)"):
        conclude(1.0, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="denominator must be at least 1"):
        conclude(1, [0], denominator=0)
    with pytest.raises(ValueError, match="divide floats by it before"):
        conclude(0.5, [0.1], denominator=2)
    for tolerance in (-1.0, math.nan):
        with pytest.raises(ValueError, match="tolerance must be at least 0"):
            conclude(0.5, [0.1], tolerance=tolerance)
    with pytest.raises(ValueError, match="early stopping needs random draws"):
        conclude(1, [0], enumerated=True, early_stop=3)
    with pytest.raises(ValueError, match="at least 1 exceedance, not 0"):
        conclude(1, [0], early_stop=0)
    for wrong in ("0.5", 1j, None):
        with pytest.raises(TypeError):
            conclude(0.5, [wrong])
        with pytest.raises(TypeError):
            conclude(wrong, [0.5])


# Integers of any size


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), -(2**63) - 1, 2**90]),
    st.lists(st.integers(-2, 2), min_size=1, max_size=20),
    st.sampled_from(["list", "object", "uint64"]),
)
def test_integers_at_the_limits_of_64_bits(observed: int, offsets: list[int], kind: str) -> None:
    values: Any = [observed + offset for offset in offsets]
    if kind == "object":
        values = np.array(values, object)
    elif kind == "uint64":
        assume(all(0 <= value < 2**64 for value in values))
        values = np.array(values, np.uint64)
    found = conclude(observed, values, denominator=2**91, smax=1.0)
    assert found.exceedances == sum(offset >= 0 for offset in offsets)
    assert found.observed == observed / 2**91
    assert found.null_quantiles["0.5"] == float(Fraction(sorted(values)[math.ceil(len(offsets) / 2) - 1], 2**91))


# Description of the null


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=50), st.integers(0, 20), st.booleans())
def test_the_null_is_described(null: list[int], observed: int, enumerated: bool) -> None:
    found = conclude(observed, null, denominator=20, enumerated=enumerated)
    listed = sorted([*null, observed] if enumerated else null)
    assert found.null_mean == float(Fraction(sum(listed), 20 * len(listed)))
    assert found.null_std == pytest.approx(statistics.pstdev(listed) / 20, rel=1e-14)
    for name, value in found.null_quantiles.items():
        share = Fraction(name)
        assert Fraction(sum(other / 20 <= value for other in listed), len(listed)) >= share
        assert Fraction(sum(other / 20 < value for other in listed), len(listed)) < share
    as_floats = conclude(observed / 20, [value / 20 for value in null], enumerated=enumerated)
    assert as_floats.null_mean == pytest.approx(found.null_mean, rel=1e-14)
    assert as_floats.null_std == pytest.approx(found.null_std, rel=1e-12, abs=1e-16)
    assert as_floats.null_quantiles == found.null_quantiles
    json.dumps(found.null_quantiles)


def test_a_null_that_does_not_vary_has_no_deviation() -> None:
    assert conclude(0.1, [0.3] * 7).null_std == 0.0
    assert conclude(0.1, [0.3] * 7).null_mean == 0.3


# Enumeration


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), LEVELS)
def test_enumerated_permutations_are_counted_with_the_identity(values: list[int], alpha: float) -> None:
    found = conclude(values[0], values[1:], alpha=alpha, enumerated=True, denominator=5)
    reached = sum(value >= values[0] for value in values)
    assert (found.permutations, found.exceedances, found.enumerated) == (len(values), reached, True)
    exact = [Fraction(value, 5) for value in values]
    agrees(found, expected(exact[0], exact[1:], decimal(alpha), Fraction(1)))
    interval = found.p_value_interval
    assert (interval.low, interval.high, interval.method) == (found.p_value, found.p_value, "none-exact")


# Early stopping


@settings(deadline=None, max_examples=200)
@given(st.lists(st.booleans(), max_size=40), st.integers(1, 8), st.integers(0, 40))
def test_the_sequence_stops_at_the_given_exceedance(reached: list[bool], exceedances: int, cut: int) -> None:
    truth = next((draw for draw in range(1, len(reached) + 1) if sum(reached[:draw]) == exceedances), None)
    assert stops_after(np.array(reached, bool), exceedances) == truth
    # In two pieces.
    first, second = np.array(reached[:cut], bool), np.array(reached[cut:], bool)
    stop = stops_after(first, exceedances)
    if stop is None:
        stop = stops_after(second, exceedances, draws_before=len(first), exceedances_before=int(first.sum()))
    assert stop == truth


def test_sequences_that_have_stopped_go_no_further() -> None:
    for draws, exceedances in ((10, 3), (10, 4), (1, 2), (3, -1)):
        with pytest.raises(ValueError, match="cannot come before"):
            stops_after(np.zeros(2, bool), 3, draws_before=draws, exceedances_before=exceedances)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(0, 9), st.integers(1, 6), LEVELS)
def test_early_stopping(null: list[int], observed: int, exceedances: int, alpha: float) -> None:
    found = conclude(observed, null, alpha=alpha, denominator=10, early_stop=exceedances)
    stop = next((d for d in range(1, len(null) + 1) if sum(v >= observed for v in null[:d]) == exceedances), None)
    if stop is None:
        whole = conclude(observed, null, alpha=alpha, denominator=10)
        assert found == whole
        assert not found.stopped_early
        return
    assert (found.permutations, found.exceedances, found.stopped_early) == (stop, exceedances, True)
    assert found.p_value == exceedances / stop
    # The threshold of the observed statistic and the draws before the last.
    before = [Fraction(value, 10) for value in null[: stop - 1]]
    agrees(found, expected(Fraction(observed, 10), before, decimal(alpha), Fraction(1)))
    # What was drawn beyond makes no difference.
    assert conclude(observed, null[:stop], alpha=alpha, denominator=10, early_stop=exceedances) == found


# Intervals on the p-value


@pytest.mark.parametrize(("exceedances", "draws"), [(0, 1), (1, 1), (0, 200), (3, 999), (300, 99_999), (200, 200)])
def test_clopper_pearson(exceedances: int, draws: int) -> None:
    interval = conclude(1, [2] * exceedances + [0] * (draws - exceedances), confidence=0.98).p_value_interval
    assert (interval.method, interval.confidence, interval.rigorous) == ("clopper-pearson", 0.98, True)
    if exceedances:
        assert binom.sf(exceedances - 1, draws, interval.low) == pytest.approx(0.01, rel=1e-6)
    else:
        assert interval.low == 0
    if exceedances < draws:
        assert binom.cdf(exceedances, draws, interval.high) == pytest.approx(0.01, rel=1e-6)
    else:
        assert interval.high == 1


@pytest.mark.parametrize(("exceedances", "stop"), [(1, 1), (3, 3), (1, 20), (10, 206)])
def test_clopper_pearson_of_where_draws_stop(exceedances: int, stop: int) -> None:
    null = [2] * (exceedances - 1) + [0] * (stop - exceedances) + [2]
    interval = conclude(1, null, early_stop=exceedances, confidence=0.98).p_value_interval
    assert interval.method == "clopper-pearson"
    # As many draws or more, and as many or fewer.
    if stop > exceedances:
        assert binom.cdf(exceedances - 1, stop - 1, interval.high) == pytest.approx(0.01, rel=1e-6)
    else:
        assert interval.high == 1
    assert binom.sf(exceedances - 1, stop, interval.low) == pytest.approx(0.01, rel=1e-6)


LONGEST, NEEDED = 60, 4


def missing(share: float, confidence: float) -> float:
    """The probability that the interval misses the share, from that of where draws stop, or of few exceedances."""
    missed = 0.0
    for stop in range(NEEDED, LONGEST + 1):
        null = [2] * (NEEDED - 1) + [0] * (stop - NEEDED) + [2]
        interval = conclude(1, null, early_stop=NEEDED, confidence=confidence).p_value_interval
        if not interval.low <= share <= interval.high:
            missed += float(binom.pmf(NEEDED - 1, stop - 1, share)) * share
    for few in range(NEEDED):
        null = [2] * few + [0] * (LONGEST - few)
        interval = conclude(1, null, early_stop=NEEDED, confidence=confidence).p_value_interval
        if not interval.low <= share <= interval.high:
            missed += float(binom.pmf(few, LONGEST, share))
    return missed


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_intervals_cover_the_share_also_where_draws_stop_early(confidence: float) -> None:
    missed = [missing(share, confidence) for share in (0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.5, 0.8, 0.97)]
    assert max(missed) <= 1 - confidence
    assert max(missed) > 0.7 * (1 - confidence)  # and are not wider than they must be


def test_a_hundred_thousand_permutations() -> None:
    values = np.random.default_rng(1).integers(0, 10**12, 100_001)
    found = conclude(int(values[0]), values[1:], alpha=0.41, denominator=10**12)
    exact = [Fraction(value, 10**12) for value in values.tolist()]
    agrees(found, expected(exact[0], exact[1:], Fraction(41, 100), Fraction(1)))
    early = conclude(int(values[0]), values[1:], denominator=10**12, early_stop=5)
    assert early.exceedances == 5
    assert early.p_value == 5 / early.permutations
