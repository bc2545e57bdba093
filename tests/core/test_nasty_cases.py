"""Small cases that rounded distances get wrong, at every precision and with keys too coarse to tell much apart."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from against_oracle import Answers, Observed, expected, observed, spaces
from nasty_cases import KINDS, PAIRINGS, Case, cases, fit

from ordsim_core import intervals
from ordsim_core.counts import AgreementCounts, Paths
from ordsim_core.distances import Distance, Precision
from ordsim_core.errors import RangeTooWideError

CASES = cases()
NUMBERS = range(len(CASES))
ALWAYS_EXACT = {"euclidean", "cosine", "dot", "hamming", "precomputed"}
WIDEST = 240
"""Binades from the largest magnitude to the last set bit of any value, within which no array may be refused."""
COARSE = [20, 14, 6]
SETTINGS = [(Precision.EXACT, None), *((Precision.EXACT, bits) for bits in COARSE)]


@cache
def truth(number: int) -> Answers:
    case = CASES[number]
    return expected(case.x, case.y, case.x_distance, case.y_distance)


def answer(number: int, precision: Precision = Precision.EXACT, key_bits: int | None = None) -> Observed | None:
    return _answer(number, precision, key_bits)


@cache
def _answer(number: int, precision: Precision, key_bits: int | None) -> Observed | None:
    """The core's answers; None if it refuses the range of values, or says that it is not exact."""
    case = CASES[number]
    try:
        x, y = spaces(case.x, case.y, case.x_distance, case.y_distance, precision, key_bits)
    except RangeTooWideError:
        assert max(binades(case.x), binades(case.y)) > WIDEST
        return None
    if precision is Precision.EXACT:
        for space in (x, y):
            assert space.precision is precision or space.distance not in ALWAYS_EXACT
        if not x.precision is y.precision is precision:
            return None
    if precision is Precision.FLOAT32 and Precision.FLOAT64 in (x.precision, y.precision):
        return None  # correlation between floats is not offered in float32
    return observed(x, y)


def binades(values: np.ndarray) -> int:
    mantissas, exponents = np.frexp(values[values != 0].astype("f8"))
    if not len(mantissas):
        return 0
    integers = np.ldexp(mantissas, 53).astype("i8")
    lowest = np.frexp((integers & -integers).astype("f8"))[1] - 54
    return int(exponents.max() - (exponents + lowest).min())


def wrong(precision: Precision, key_bits: int | None = None) -> list[Case]:
    found = {number: answer(number, precision, key_bits) for number in NUMBERS}
    return [CASES[number] for number, one in found.items() if one and one.answers != truth(number)]


@pytest.mark.parametrize(("precision", "key_bits"), SETTINGS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_counts_are_those_of_fractions(kind: object, precision: Precision, key_bits: int | None) -> None:
    for number in NUMBERS:
        if CASES[number].kind == kind.__name__ and (found := answer(number, precision, key_bits)):
            assert found.answers == truth(number), CASES[number]
            assert not any(found.uncertified)


def test_the_cases_are_answered_and_cover_what_they_should() -> None:
    answered = [case for number, case in enumerate(CASES) if answer(number)]
    assert len(answered) > 0.9 * len(CASES) > 600
    assert {case.kind for case in answered} == {kind.__name__ for kind in KINDS}
    assert {(case.x_distance, case.y_distance) for case in answered} == {("euclidean", "euclidean"), *PAIRINGS}
    assert {len(case.x) for case in answered} == {*range(3, 25)}
    assert {case.x.dtype.kind for case in answered} == set("biuf")


def test_chains_occur_and_take_every_way_of_being_put_in_order() -> None:
    by_bits = {
        key_bits: sum((found.paths for number in NUMBERS if (found := answer(number, key_bits=key_bits))), Paths())
        for key_bits in (None, *COARSE)
    }
    for paths in by_bits.values():
        assert min(paths.chains, paths.direct, paths.exact) > 0
    chains = [paths.chains for paths in by_bits.values()]
    assert chains == sorted(chains)
    assert chains[-1] > 2 * chains[0]


def test_rounded_distances_alone_get_many_of_these_wrong() -> None:
    """A negative control: a set of cases that needs no certification would prove nothing."""
    of_kinds = {case.kind for case in wrong(Precision.FLOAT64)}
    assert len(wrong(Precision.FLOAT64)) > 50
    assert len(of_kinds) > 8
    assert len(wrong(Precision.FLOAT64, 14)) > 150


def test_float32_knows_how_far_it_may_be_off() -> None:
    missed, certain, beyond = 0, 0, 0
    for number, case in enumerate(CASES):
        found = answer(number, Precision.FLOAT32)
        if found is None:
            continue
        for counts, exact, uncertified in zip(
            found.answers.counts, truth(number).counts, found.uncertified, strict=True
        ):
            apart = abs(counts[0] + counts[4] - exact[0] - exact[4])
            assert apart <= uncertified, case
            interval = intervals.arithmetic(AgreementCounts(*counts), uncertified)
            assert interval.low <= (exact[0] + exact[4]) / sum(exact) <= interval.high, case
            missed += apart > 0
            certain += uncertified == 0
            beyond += uncertified > sum(counts)
    assert missed > 50
    assert certain > 50
    assert beyond > 5  # doubts of both sides


LAYOUTS = {
    "row order": lambda x: x.copy(),
    "column order": np.asfortranarray,
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("distance", Distance)
def test_equal_values_agree_in_full_whatever_their_layout(distance: Distance, precision: Precision) -> None:
    rng = np.random.default_rng(1)
    for kind in KINDS:
        x = fit(kind(rng, int(rng.integers(4, 25)), int(rng.integers(2, 13))), distance)
        for layout in LAYOUTS.values():
            try:
                sides = spaces(x, layout(x), distance, distance, precision)
            except RangeTooWideError:
                assert binades(x) > WIDEST
                continue
            for counts in observed(*sides).answers.counts:
                assert counts[1:4] == (0, 0, 0), (kind.__name__, counts)


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("distance", Distance)
def test_larger_equal_arrays_agree_in_full(distance: Distance, precision: Precision) -> None:
    """Of sizes at which blocks, tiles and vector lengths have remainders."""
    rng = np.random.default_rng(2)
    for shape in ((150, 33), (301, 67)):
        x = rng.standard_normal(shape).astype("f4")
        x[7] = x[-1]
        x = fit(x, distance)
        for counts in observed(*spaces(x, np.asfortranarray(x), distance, distance, precision)).answers.counts:
            assert counts[1:4] == (0, 0, 0)
