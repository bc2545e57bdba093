"""Permutation schemes: what moves, how evenly, how many ways there are, and what is impossible."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from ordsim_core.calibration import schemes
from ordsim_core.calibration.errors import UndefinedPermutationError
from ordsim_core.calibration.ordering import ordering
from ordsim_core.errors import DataError

if TYPE_CHECKING:
    from ordsim_core.calibration.schemes import Kind, Side

FALSE_ALARM = 1e-6
IN_TURN = np.array(list("abcabcabc"))
UNEQUAL = np.array([2, 0, 0, 1, 2, 0, 2, 1, 0, 0])


def made(kind: Kind, groups: np.ndarray, constant: Side | None = None) -> schemes.Scheme:
    return schemes.scheme(kind, len(groups), groups, constant=constant)


CASES = {
    "rows": schemes.scheme("rows", 5),
    "within": made("within-groups", np.array(["u", "v", "u", "v", "v", "w"])),
    "between": made("between-groups", np.array([3, 1, 2, 1, 3, 2])),
    "between-unequal": made("between-groups", UNEQUAL, "y"),
}
NUMBERS = {"rows": 120, "within": 12, "between": 6, "between-unequal": 6}


def test_permutation_0_is_the_identity() -> None:
    for scheme in CASES.values():
        for seed in (0, 1, 2**64 - 1):
            assert scheme.drawn(seed, 0).tolist() == list(range(scheme.rows))
        assert scheme.listed(0).tolist() == list(range(scheme.rows))


@pytest.mark.parametrize("case", CASES)
def test_a_draw_depends_on_seed_and_number_alone(case: str) -> None:
    scheme = CASES[case]
    whole = scheme.drawn_range(7, 0, 40)
    assert whole.dtype == np.int64
    assert whole.shape == (40, scheme.rows)
    assert (np.concatenate((scheme.drawn_range(7, 0, 13), scheme.drawn_range(7, 13, 40))) == whole).all()
    assert (scheme.drawn(7, 31) == whole[31]).all()
    assert scheme.drawn_range(7, 5, 5).shape == (0, scheme.rows)
    assert (scheme.drawn_range(8, 1, 40) != whole[1:]).any()


def test_numbers_and_seeds_have_permutations_of_their_own() -> None:
    scheme = schemes.scheme("rows", 40)
    drawn = np.concatenate([scheme.drawn_range(seed, 1, 1001) for seed in (0, 1, 2)])
    assert len(np.unique(drawn, axis=0)) == 3000


@pytest.mark.parametrize("case", CASES)
def test_all_permutations_of_a_scheme_are_equally_likely(case: str) -> None:
    scheme, number, draws = CASES[case], NUMBERS[case], 12_000
    listed = {tuple(scheme.listed(place).tolist()): place for place in range(number)}
    drawn = [listed[tuple(index)] for index in scheme.drawn_range(3, 1, draws + 1).tolist()]
    assert len(listed) == number
    observed = np.bincount(drawn, minlength=number)
    statistic = ((observed - draws / number) ** 2 / (draws / number)).sum()
    assert chi2.ppf(FALSE_ALARM, number - 1) < statistic < chi2.isf(FALSE_ALARM, number - 1)


def test_neighbouring_draws_are_independent() -> None:
    drawn = schemes.scheme("rows", 8).drawn_range(0, 1, 20_002)
    table = np.bincount(8 * drawn[:-1, 0] + drawn[1:, 0], minlength=64)
    statistic = ((table - 20_000 / 64) ** 2 / (20_000 / 64)).sum()
    assert chi2.ppf(FALSE_ALARM, 63) < statistic < chi2.isf(FALSE_ALARM, 63)


def test_listed_permutations_are_all_there_are_in_order() -> None:
    assert [tuple(CASES["rows"].listed(place)) for place in range(120)] == list(permutations(range(5)))
    within = [CASES["within"].listed(place).tolist() for place in range(12)]
    expected = []
    for u, v in product(permutations((0, 2)), permutations((1, 3, 4))):
        index = [0, 1, 2, 3, 4, 5]
        index[0], index[2] = u
        index[1], index[3], index[4] = v
        expected.append(index)
    assert within == expected
    between = [CASES["between"].listed(place).tolist() for place in range(6)]
    members = [(1, 3), (2, 5), (0, 4)]
    for order, index in zip(permutations(range(3)), between, strict=True):
        for group, other in enumerate(order):
            assert [index[row] for row in members[group]] == list(members[other])


def test_listed_permutations_of_groups_of_unequal_size() -> None:
    for place, order in enumerate(permutations(range(3))):
        index = CASES["between-unequal"].listed(place)
        assert UNEQUAL[index].tolist() == [order[group] for group in UNEQUAL]
        kept = np.array(order)[UNEQUAL] == UNEQUAL
        assert (index[kept] == np.flatnonzero(kept)).all()  # rows of a group that stays


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 7), st.integers(0, 50))
def test_orders_by_number(settled: int, number: int) -> None:
    # 5! = 120 orders of the last 5 places.
    expected = list(range(settled)) + [settled + place for place in list(permutations(range(5)))[number]]
    assert ordering(settled + 5, number).tolist() == expected


@pytest.mark.parametrize("case", CASES)
def test_how_many_there_are(case: str) -> None:
    scheme, number = CASES[case], NUMBERS[case]
    assert scheme.number == number
    assert [scheme.has_at_most(limit) for limit in (0, 1, number - 1, number, number + 1)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    for wrong in (-1, number, number + 1):
        with pytest.raises(ValueError, match=f"no permutation {wrong}"):
            scheme.listed(wrong)


def test_large_schemes_are_counted_exactly_and_known_to_be_large_at_once() -> None:
    scheme = schemes.scheme("rows", 60)
    assert scheme.number == math.factorial(60)
    assert schemes.scheme("rows", 2**22).has_at_most(100_000) is False
    assert (
        sorted(scheme.listed(math.factorial(60) - 1).tolist(), reverse=True)
        == scheme.listed(scheme.number - 1).tolist()
    )
    groups = np.repeat(np.arange(300), 2)
    assert made("within-groups", groups).number == 2**300
    assert made("between-groups", groups).number == math.factorial(300)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=30), st.integers(0, 2**64 - 1), st.integers(1, 2**50))
def test_rows_stay_in_their_group(labels: list[str], seed: int, number: int) -> None:
    groups = np.array(labels)
    if len(set(labels)) == len(labels):
        with pytest.raises(UndefinedPermutationError):
            made("within-groups", groups)
        return
    index = made("within-groups", groups).drawn(seed, number)
    assert sorted(index.tolist()) == list(range(len(labels)))
    assert (groups[index] == groups).all()


@settings(deadline=None, max_examples=80)
@given(st.permutations(list("aaabbbcccddd")), st.integers(0, 2**64 - 1), st.integers(1, 2**50))
def test_groups_of_equal_size_move_as_wholes(labels: list[str], seed: int, number: int) -> None:
    groups = np.array(labels)
    index = made("between-groups", groups).drawn(seed, number)
    assert sorted(index.tolist()) == list(range(12))
    for label in "abcd":
        rows = index[groups == label]
        assert len(set(groups[rows])) == 1  # of one group
        assert (np.diff(rows) > 0).all()  # in row order


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.sampled_from("abcd"), min_size=3, max_size=30).filter(lambda labels: len(set(labels)) > 1),
    st.sampled_from(["x", "y"]),
    st.integers(1, 2**50),
)
def test_constant_groups_of_any_size_change_their_values(labels: list[str], side: Side, number: int) -> None:
    groups = np.array(labels)
    scheme = made("between-groups", groups, side)
    equal = len(set(np.unique(groups, return_counts=True)[1])) == 1
    assert scheme.side == ("y" if equal else side)
    values = np.array([ord(label) for label in labels])
    permuted = values[scheme.drawn(1, number)]
    images = {label: set(permuted[groups == label].tolist()) for label in set(labels)}
    assert all(len(image) == 1 for image in images.values())  # each group has one value
    assert set.union(*images.values()) == set(values.tolist())  # and each value one group


def test_without_groups_of_their_own_schemes_coincide() -> None:
    rows = schemes.scheme("rows", 9)
    one_group = made("within-groups", np.zeros(9))
    singles = made("between-groups", np.arange(9))
    for number in (1, 2, 3):
        assert (rows.drawn(5, number) == one_group.drawn(5, number)).all()
        assert (rows.drawn(5, number) == singles.drawn(5, number)).all()


def test_labels_of_any_kind_and_order_name_the_same_groups() -> None:
    as_text = made("between-groups", IN_TURN)
    as_numbers = made("between-groups", np.array([10, 20, 30] * 3, np.int8))
    assert (as_text.drawn_range(0, 0, 20) == as_numbers.drawn_range(0, 0, 20)).all()


def test_constant_arrays_are_recognised() -> None:
    groups = np.array([1, 0, 1, 2, 0])
    constant = np.array([[1.5, 0.0], [2, 3], [1.5, -0.0], [9, 9], [2, 3]])
    different = np.where(np.arange(5)[:, None] == 4, 7.0, constant)
    assert schemes.constant_within(constant, groups)
    assert schemes.constant_within(constant[:, 0], groups)
    assert schemes.constant_within(constant.astype(np.float16)[..., None], groups)
    assert not schemes.constant_within(different, groups)
    assert not schemes.constant_within(np.full((5, 2), np.nan), groups)
    assert schemes.constant_side(different, constant, groups) == "y"
    assert schemes.constant_side(constant, constant, groups) == "y"
    assert schemes.constant_side(constant, different, groups) == "x"
    assert schemes.constant_side(different, different, groups) is None


def test_a_single_row_that_differs_far_down_is_found() -> None:
    groups = np.repeat(np.arange(3), 1_000_000)
    values = groups.astype(np.float32)[:, None]
    assert schemes.constant_within(values, groups)
    values[-1] += 1
    assert not schemes.constant_within(values, groups)


@pytest.mark.parametrize(
    ("kind", "groups", "message"),
    [
        ("rows", np.zeros(1), "at least 2"),
        ("rows", np.zeros(0), "at least 2"),
        ("within-groups", np.arange(6), "use the scheme rows"),
        ("between-groups", np.zeros(6), "use the scheme within-groups"),
        ("between-groups", UNEQUAL, "groups have 2 to 5 rows.*constant within every group"),
    ],
)
def test_what_cannot_be_permuted_is_an_error(kind: Kind, groups: np.ndarray, message: str) -> None:
    with pytest.raises(UndefinedPermutationError, match=message) as caught:
        made(kind, groups)
    assert isinstance(caught.value, DataError)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"one of rows, within-groups, between-groups, not 'columns'"):
        schemes.scheme("columns", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="between-groups needs groups"):
        schemes.scheme("between-groups", 5)
    with pytest.raises(ValueError, match=r"5 rows need as many group labels, not an array of shape \(9,\)"):
        schemes.scheme("within-groups", 5, IN_TURN)
    with pytest.raises(ValueError, match="x, y or None, not 'z'"):
        schemes.scheme("between-groups", 9, IN_TURN, constant="z")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as many group labels"):
        schemes.constant_within(np.zeros((4, 2)), IN_TURN)
    for seed, number in ((-1, 1), (2**64, 1), (0, -1)):
        with pytest.raises(ValueError, match=r"seed|samples"):
            CASES["rows"].drawn(seed, number)
