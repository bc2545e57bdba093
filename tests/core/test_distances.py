"""Spaces: what is accepted, what is refused, and what counts as exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ordsim_core import distinct, facts, lattice, quadruplets, triplets
from ordsim_core.distances import Distance, Exactness, Precision
from ordsim_core.errors import (
    AsymmetricDistanceError,
    DataError,
    NonFiniteError,
    NotRepresentableError,
    RangeTooWideError,
    ZeroVectorError,
)
from ordsim_core.spaces import Space, exactness_of, prepare, select

RNG = np.random.default_rng(5)
SAMPLES = {
    "float32": RNG.standard_normal((9, 4)).astype("f4"),
    "float64": RNG.standard_normal((9, 4)),
    "whole": RNG.integers(-5, 6, (9, 4)),
    "repeated": np.repeat(RNG.standard_normal((3, 4)), 3, axis=0),
}


def prepared(values: np.ndarray, distance: Distance, **options: Any) -> Space:
    """Any distance of any values: precomputed ones are made of their products."""
    if distance is Distance.PRECOMPUTED:
        values = values @ values.T.astype(values.dtype)
    return prepare(values, distance, **options)


def same(one: Space, other: Space) -> None:
    """Two spaces must order all distances alike."""
    everything = triplets.exact_block(one, other, 0, one.rows).counts
    assert everything.agreeing == everything.comparisons


@pytest.mark.parametrize("distance", list(Distance))
@pytest.mark.parametrize("name", SAMPLES)
def test_spaces_keep_what_they_are_made_of(name: str, distance: Distance) -> None:
    source = SAMPLES[name].copy()
    space = prepared(source, distance)
    assert (source == SAMPLES[name]).all()
    assert source.flags.writeable
    assert not space.pairs.values.flags.writeable
    assert space.rows == 9
    assert space.distance is distance
    assert space.distinct == (3 if name == "repeated" and distance is not Distance.PRECOMPUTED else 9)
    kept = sum(part.nbytes for part in (*space.pairs, *space.packing) if isinstance(part, np.ndarray))
    assert space.nbytes >= kept
    same(space, space)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_that_need_no_change_are_not_copied(dtype: str) -> None:
    values = np.random.default_rng(1).standard_normal((50, 8)).astype(dtype)
    assert np.shares_memory(prepare(values, Distance.EUCLIDEAN).pairs.values, values)
    assert not np.shares_memory(prepare(values[:, ::2], Distance.EUCLIDEAN).pairs.values, values)


def test_what_precision_can_be_had() -> None:
    whole = SAMPLES["whole"]
    for distance in Distance:
        expected = Precision.FLOAT64 if distance is Distance.CORRELATION else Precision.EXACT
        assert prepared(SAMPLES["float64"], distance).precision is expected
        assert prepared(whole, distance).precision is Precision.EXACT
    for distance in (Distance.EUCLIDEAN, Distance.COSINE, Distance.DOT, Distance.MANHATTAN):
        assert prepare(SAMPLES["float64"], distance, Precision.FLOAT32).precision is Precision.FLOAT32
    for distance in (Distance.EUCLIDEAN, Distance.DOT, Distance.MANHATTAN, Distance.HAMMING):
        # Whole numbers cost nothing to be exact about.
        assert prepare(whole, distance, Precision.FLOAT32).precision is Precision.EXACT


def test_precomputed_distances_are_square() -> None:
    with pytest.raises(ValueError, match=r"square array, this one has shape \(9, 4\)"):
        prepare(SAMPLES["whole"], Distance.PRECOMPUTED)


def test_quadruplets_need_symmetric_distances() -> None:
    square = np.random.default_rng(2).random((9, 9))
    space, other = prepare(square, Distance.PRECOMPUTED), prepare(square + square.T, Distance.PRECOMPUTED)
    triplets.sampled_range(space, other, 0, 0, 10)
    for count in (quadruplets.sampled_range, quadruplets.units_range):
        with pytest.raises(
            AsymmetricDistanceError, match="distances of y are not symmetric: row 1, column 0"
        ) as caught:
            count(other, space, 0, 0, 10, *([2] if count is quadruplets.units_range else []))
        assert (caught.value.name, caught.value.row, caught.value.column) == ("y", 1, 0)


def test_a_constant_row_has_no_correlation() -> None:
    for constant in (0.1, 3.0, 0.0):
        values = SAMPLES["float64"].copy()
        values[6] = constant
        with pytest.raises(ZeroVectorError, match="row 6 is constant, so its correlation distance") as caught:
            prepare(values, Distance.CORRELATION)
        assert caught.value.row == 6


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
def test_values_that_are_not_finite(bad: float, dtype: str) -> None:
    values = np.ones((8, 4), dtype)
    values[6, 1] = bad
    values[7, 0] = bad
    for action in (exactness_of, lambda array: prepare(array, Distance.COSINE)):
        with pytest.raises(NonFiniteError, match=r"row 6, column 1 ") as caught:
            action(values)
        assert (caught.value.row, caught.value.column) == (6, 1)


def test_a_value_that_is_not_finite_in_a_later_block() -> None:
    values = np.ones((700, 3000), "f4")
    values[650, 2999] = np.nan
    with pytest.raises(NonFiniteError, match=r"row 650, column 2999 "):
        prepare(values, Distance.EUCLIDEAN)


def test_a_zero_row_has_no_angle() -> None:
    values = np.ones((8, 4), "f4")
    values[4] = [0.0, -0.0, 0.0, 0.0]
    with pytest.raises(ZeroVectorError, match="row 4 ") as caught:
        prepare(values, Distance.COSINE)
    assert caught.value.row == 4
    assert prepare(values, Distance.EUCLIDEAN).rows == 8


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**53 + 1, "i8"), (-(2**53) - 1, "i8"), (2**63 - 1, "i8"), (2**64 - 1, "u8"), (2**53 + 1, ">u8")],
)
def test_integers_that_float64_cannot_hold(value: int, dtype: str) -> None:
    values = np.full((5, 3), 2**60, dtype)
    values[3, 2] = value
    with pytest.raises(NotRepresentableError, match=r"row 3, column 2 ") as caught:
        prepare(values, Distance.EUCLIDEAN)
    assert (caught.value.row, caught.value.column) == (3, 2)


@pytest.mark.parametrize(("value", "dtype"), [(2**60, "i8"), (-(2**63), "i8"), (2**63, "u8"), (2**53 - 1, "i8")])
def test_large_integers_that_float64_can_hold(value: int, dtype: str) -> None:
    values = np.zeros((3, 1), dtype)
    values[1, 0] = value
    # Row 1 is far from both others, which are equal.
    line = prepare(np.array([[0.0], [5.0], [0.0]]), Distance.EUCLIDEAN)
    same(prepare(values, Distance.EUCLIDEAN), line)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), "1 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((4, 0)), "no columns"),
        (np.zeros((4, 2), "c8"), "complex64"),
        (np.zeros((4, 2), "U3"), "<U3"),
        (np.zeros((4, 2), "M8[s]"), "datetime64"),
    ],
)
def test_what_is_no_matrix_of_real_numbers(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        prepare(values, Distance.EUCLIDEAN)
    assert not isinstance(caught.value, DataError)


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000, 2.0**-1070, 2.0**600])
def test_huge_and_tiny_values_are_brought_into_range(scale: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(-8, 9, (12, 3)).astype(np.float64)
    values[values == 0] = 1
    y = prepare(rng.standard_normal((12, 3)), Distance.EUCLIDEAN)
    for distance in Distance:
        if distance is Distance.PRECOMPUTED:
            continue
        plain, scaled = prepare(values, distance), prepare(values * scale, distance)
        assert scaled.precision is plain.precision is Precision.EXACT
        assert triplets.exact_block(scaled, y, 0, 12).counts == triplets.exact_block(plain, y, 0, 12).counts


def test_a_range_too_wide_is_refused_not_answered() -> None:
    values = np.ones((4, 2))
    values[2] = [1e-200, 1e200]
    with pytest.raises(RangeTooWideError, match="the array") as caught:
        prepare(values * 1e-100, Distance.EUCLIDEAN)
    assert caught.value.row is None
    with pytest.raises(RangeTooWideError, match="row 2") as caught:
        prepare(values, Distance.COSINE)
    assert caught.value.row == 2
    assert caught.value.binades > caught.value.limit


def test_all_of_float32_fits_the_euclidean_range() -> None:
    limits = np.finfo("f4")
    values = np.array([[limits.max, limits.smallest_subnormal], [-limits.max, 0], [0, limits.tiny], [0, 0]], "f4")
    small = np.array([[9, 0], [-9, 0], [0, 1], [0, 0]])
    y = prepare(small, Distance.EUCLIDEAN)
    counts = triplets.exact_block(prepare(values, Distance.EUCLIDEAN), y, 0, 4).counts
    # Only from rows 2 and 3 are rows 0 and 1 equally far in the small copy; in float32 extremes, row 0 alone has a
    # last bit that tells.
    assert counts.discordant == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (RNG.integers(-128, 128, (20, 384)).astype("i1"), Exactness.INTEGER),
        (RNG.integers(0, 2, (20, 384)).astype(bool), Exactness.INTEGER),
        (RNG.integers(-9, 9, (20, 8)).astype("f4") / 1024, Exactness.INTEGER),
        (4096 + RNG.integers(0, 1024, (20, 3)) / 1024, Exactness.INTEGER),
        (np.zeros((4, 2)), Exactness.INTEGER),
        (np.full((4, 2), 0.1), Exactness.INTEGER),  # all distances are 0
        (RNG.standard_normal((20, 8)), Exactness.FLOAT),
        (RNG.standard_normal((20, 8)).astype("f4"), Exactness.FLOAT),
        (np.array([[0.0], [2.0**26], [1.0]]), Exactness.INTEGER),
        (np.array([[0.0], [2.0**27], [1.0]]), Exactness.FLOAT),  # a square of 54 bits
    ],
)
def test_exactness(values: np.ndarray, expected: Exactness) -> None:
    assert exactness_of(values) is expected
    space = prepare(values, Distance.EUCLIDEAN)
    assert space.exactness is expected


def test_stored_distances_are_looked_through_once_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.abs(RNG.standard_normal((200, 200)))
    table += table.T
    looked = []
    look = quadruplets._first_difference
    monkeypatch.setattr(quadruplets, "_first_difference", lambda values: looked.append(1) or look(values))
    x, y = (prepare(values, Distance.PRECOMPUTED) for values in (table, table.copy()))
    for start in range(5):
        quadruplets.sampled_range(x, y, 0, start, start + 1)
        quadruplets.units_range(x, x, 0, start, start + 1, 3)
    assert len(looked) == 2
    for row, column in ((150, 20), (150, 149), (70, 64), (199, 0)):
        differs = table.copy()
        differs[column, row] += 1
        # A later one, and one above the diagonal of the same block, are not the first.
        differs[199, 198] += 1
        for _ in range(2):
            with pytest.raises(AsymmetricDistanceError, match=f"{row}.*{column}|{column}.*{row}"):
                quadruplets.sampled_range(x, prepare(differs, Distance.PRECOMPUTED), 0, 0, 1)


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("distance", list(Distance))
def test_all_rows_selected_are_ordered_as_before(distance: Distance, precision: Precision) -> None:
    # One row and its multiples, an offset, and last bits: of the order of these, plain float64 gets some wrong.
    values = np.repeat(RNG.standard_normal((8, 12)), 5, axis=0) * np.array([1, 3, 5, 0.3, 7])[np.arange(40) % 5, None]
    if distance is Distance.PRECOMPUTED:
        values = np.abs(values @ values.T)
    y = prepare(RNG.integers(-2, 3, (40, 3)), Distance.EUCLIDEAN)
    space = prepare(values, distance, precision)
    chosen = select(space, np.arange(40))
    assert (chosen.distance, chosen.precision, chosen.packing.mode) == (
        space.distance,
        space.precision,
        space.packing.mode,
    )
    for given in (y, space):
        one, other = (triplets.exact_block(side, given, 0, 40) for side in (space, chosen))
        assert (one.counts, one.uncertified) == (other.counts, other.uncertified)
    assert triplets.sampled_range(space, y, 1, 0, 500).counts == triplets.sampled_range(chosen, y, 1, 0, 500).counts


def exact_ranks(values: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances by their place among all of them, from fractions."""
    rows = [[Fraction(value) for value in row] for row in values.tolist()]
    distances = [[sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
    place = {value: place for place, value in enumerate(sorted({value for row in distances for value in row}))}
    return np.array([[place[value] for value in row] for row in distances], "f8")


@pytest.mark.parametrize(("low", "far", "copies"), [(-500, 100, 1), (-500, 400, 2), (-300, 400, 1), (-400, 0, 2)])
def test_a_row_so_far_away_that_its_square_overflows(low: int, far: int, copies: int) -> None:
    values = np.ldexp(RNG.integers(-9, 10, (130, 3)).astype("f8"), low)
    values[7 : 7 + copies] = np.ldexp([1.0, -3.0, 2.0], far)
    truth = prepare(exact_ranks(values), Distance.PRECOMPUTED)
    space = prepare(values, Distance.EUCLIDEAN)
    for found in (
        triplets.exact_block(space, truth, 0, 130),
        triplets.units_range(space, truth, 1, 0, 30, 20),
        quadruplets.exact_counts(space, truth),
        quadruplets.sampled_range(space, truth, 1, 0, 500),
    ):
        assert found.counts.deficit == 0.0
    rounded = prepare(values, Distance.EUCLIDEAN, Precision.FLOAT32)
    for found in (triplets.exact_block(rounded, truth, 0, 130), quadruplets.exact_counts(rounded, truth)):
        assert found.counts.comparisons - found.counts.agreeing <= found.uncertified


def test_distinct_rows_are_numbered_by_where_they_first_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [3.0, 1.0], [2.0, 0.0], [1.0, 0.0]])
    for tried in ("by hashes", "although all hashes are equal"):
        found = distinct.find(values)
        assert found.number.tolist() == [0, 1, 0, 2, 1, 0], tried
        assert found.first.tolist() == [0, 1, 3]
        assert found.copies.tolist() == [3, 2, 1]
        assert found.repeated
        monkeypatch.setattr(distinct, "_hash", lambda _, hashes: hashes.fill(7))
    assert not distinct.find(values[[0, 1, 3]]).repeated


class GaveUpError(Exception):
    pass


@pytest.mark.parametrize("distance", [distance for distance in Distance if distance is not Distance.PRECOMPUTED])
def test_every_step_over_a_large_array_can_be_given_up(distance: Distance, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).standard_normal((40, 5))
    whole = prepare(values, distance)
    monkeypatch.setattr(lattice, "_BLOCK_VALUES", 20)
    monkeypatch.setattr(facts, "_BLOCK_VALUES", 20)
    passed = 0

    def counting() -> None:
        nonlocal passed
        passed += 1

    def passes(function: Any, *arguments: Any) -> float:
        nonlocal passed
        passed = 0
        function(*arguments, checkpoint=counting)
        return passed / 10  # blocks

    assert passes(exactness_of, values) == 1
    assert passes(facts.constant_columns, np.zeros((40, 5))) == 1
    assert passes(facts.distinct_rows, values) == 1
    # Looking, telling rows apart, and for some distances centring, looking again, scaling, and lengths.
    expected = {Distance.COSINE: 4, Distance.CORRELATION: 7, Distance.DOT: 3}
    assert passes(prepare, values, distance) == expected.get(distance, 2)
    calls = passed
    for last in range(calls):
        left = last

        def giving_up() -> None:
            nonlocal left
            if left == 0:
                raise GaveUpError
            left -= 1

        with pytest.raises(GaveUpError):
            prepare(values, distance, checkpoint=giving_up)
    in_blocks = prepare(values, distance)
    for one, other in zip((*in_blocks.pairs, *in_blocks.packing), (*whole.pairs, *whole.packing), strict=True):
        assert np.array_equal(one, other)
