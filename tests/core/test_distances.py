"""Spaces: what is accepted, what is refused, what counts as exact, and keys that depend on their pair alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ordsim_core import facts, lattice, triplets
from ordsim_core.comparisons import keys_of, pair_key
from ordsim_core.distances import Distance, Exactness, block_keys, exactness_of, prepare
from ordsim_core.errors import DataError, NonFiniteError, NotRepresentableError, RangeTooWideError, ZeroVectorError

SHAPES = [(7, 1), (5, 2), (9, 3), (6, 4), (131, 5), (40, 64), (300, 67)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("distance", list(Distance))
def test_keys_depend_on_their_pair_alone(shape: tuple[int, int], distance: Distance) -> None:
    values = np.random.default_rng(1).standard_normal(shape)
    values[-1] = values[2]
    space = prepare(values, distance)
    keys = block_keys(space, 0, space.rows)
    assert (keys == keys.T).all()
    assert (keys[-1] == keys[2]).all()
    for start, stop in ((0, 1), (2, 5), (space.rows - 1, space.rows), (3, 3)):
        assert (block_keys(space, start, stop) == keys[start:stop]).all()
    rng = np.random.default_rng(2)
    for i, j in rng.integers(0, space.rows, (200, 2)).tolist():
        assert pair_key(*keys_of(space), i, j) == keys[i, j]
    assert (np.diag(keys) == (0.0 if distance is Distance.EUCLIDEAN else -1.0)).all()


@pytest.mark.parametrize("distance", list(Distance))
def test_keys_are_sums_in_column_order(distance: Distance) -> None:
    values = np.random.default_rng(3).standard_normal((20, 37))
    space = prepare(values, distance)
    keys = block_keys(space, 0, 20)
    for i in range(20):
        for j in range(20):
            one, other = space.values[i].tolist(), space.values[j].tolist()
            if distance is Distance.EUCLIDEAN:
                expected = 0.0
                for a, b in zip(one, other, strict=True):
                    expected += (a - b) * (a - b)
            else:
                product = norm = other_norm = 0.0
                for a, b in zip(one, other, strict=True):
                    product += a * b
                    norm += a * a
                    other_norm += b * b
                expected = -product * abs(product) / (norm * other_norm)
            assert keys[i, j] == expected


@pytest.mark.parametrize("distance", list(Distance))
def test_spaces_are_read_only_and_apart_from_their_source(distance: Distance) -> None:
    for shape in ((4, 3), (4, 1), (1, 4)):
        source = np.ones(shape)
        space = prepare(source, distance)
        for array in (space.values, space.transposed, space.squared_norms):
            assert not array.flags.writeable
            assert array.flags.c_contiguous
            assert not np.shares_memory(array, source)
        assert source.flags.writeable
        assert (space.rows, space.columns) == shape


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
    assert prepare(values, Distance.EUCLIDEAN).exact_order


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
    keys = block_keys(prepare(values, Distance.EUCLIDEAN), 0, 3)
    assert keys[0, 1] == float(value) ** 2
    assert keys[0, 2] == 0


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
        plain, scaled = prepare(values, distance), prepare(values * scale, distance)
        assert scaled.exact_order == plain.exact_order is True
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
    keys = block_keys(prepare(values, Distance.EUCLIDEAN), 0, 4)
    assert np.isfinite(keys).all()
    assert (keys[~np.eye(4, dtype=bool)] > 0).all()


RNG = np.random.default_rng(5)


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
    assert space.exact_order is (expected is Exactness.INTEGER)


def test_exact_order_under_cosine_needs_short_rows() -> None:
    short = np.array([[98, 11], [11, 98], [70, 69]])  # at most 9741 in squared length
    assert int((short**2).sum(axis=1).max()) <= 9741
    assert prepare(short, Distance.COSINE).exact_order
    assert prepare(short * 2.0 ** np.array([[-9], [0], [40]]), Distance.COSINE).exact_order
    long = np.array([[99, 11], [11, 98], [70, 69]])
    assert not prepare(long, Distance.COSINE).exact_order
    assert prepare(long, Distance.COSINE).exactness is Exactness.INTEGER


def test_exact_order_under_cosine_keeps_all_fractions_apart() -> None:
    # All rows with entries up to 6: many equal and many close cosines, compared by cross-multiplication.
    grid = np.array([(a, b, c) for a in range(7) for b in range(7) for c in range(0, 7, 3) if a + b + c])
    space = prepare(grid, Distance.COSINE)
    assert space.exact_order
    keys = block_keys(space, 0, space.rows)
    products = (grid @ grid.T).astype(object)
    norms = (grid**2).sum(axis=1).astype(object)
    numerators = (products * abs(products)).ravel()
    denominators = np.outer(norms, norms).ravel()
    order = np.argsort(-keys.ravel(), kind="stable")
    for one, other in itertools.pairwise(order):
        left, right = numerators[one] * denominators[other], numerators[other] * denominators[one]
        in_keys = -keys.ravel()[one] < -keys.ravel()[other]
        assert (left < right) == in_keys
        assert (left == right) == (keys.ravel()[one] == keys.ravel()[other])


class GaveUpError(Exception):
    pass


@pytest.mark.parametrize("scale", [1.0, 1e300], ids=["as it is", "scaled"])
@pytest.mark.parametrize("distance", list(Distance))
def test_every_step_over_a_large_array_can_be_given_up(
    distance: Distance, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(3).standard_normal((40, 5)) * scale
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
        function(*arguments, counting)
        return passed / 10  # blocks

    assert passes(exactness_of, values) == 1
    assert passes(facts.constant_columns, np.zeros((40, 5))) == 1
    assert passes(facts.distinct_rows, values) == 1
    # Looking, converting, scaling where it is needed, and transposing.
    scaled = distance is Distance.COSINE or scale > 1
    assert passes(prepare, values, distance) == (4 if scaled else 3)
    calls = passed
    for last in range(calls):
        left = last

        def giving_up() -> None:
            nonlocal left
            if left == 0:
                raise GaveUpError
            left -= 1

        with pytest.raises(GaveUpError):
            prepare(values, distance, giving_up)
    in_blocks = prepare(values, distance)
    for field in ("values", "transposed", "squared_norms"):
        assert getattr(in_blocks, field).tobytes() == getattr(whole, field).tobytes()
        assert not getattr(in_blocks, field).flags.writeable
    assert in_blocks.exact_order is whole.exact_order
