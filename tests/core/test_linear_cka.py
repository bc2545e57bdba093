"""Linear CKA: every route against many digits, exact zeros, layouts and types, what is undefined."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import exact_cosines
import numpy as np
import pytest
from cosine_cases import CASES, arrays, off, perturbed, tabulated

from ordsim_core.cosine import canonical, linear
from ordsim_core.cosine.alignment import CHUNK_ROWS
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka
from ordsim_core.cosine.plan import Route, prepare

if TYPE_CHECKING:
    from decimal import Decimal

RNG = np.random.default_rng(11)
ESTIMATORS = (Statistic.BIASED, Statistic.DEBIASED)
ROUNDED = (Route.MOMENTS, Route.FACTORS, Route.TILES)


def check(found: linear.LinearResult, expected: tuple[Decimal, Decimal], deficit: float, score: float = 1e-12) -> None:
    similarity, exact = expected
    assert off(found.score, similarity) <= score
    assert off(found.deficit, exact) <= deficit
    assert off(found.deficit, exact) <= found.relative_error or found.deficit == 0


@pytest.mark.parametrize("statistic", ESTIMATORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_cases(case: dict[str, Any], statistic: Statistic) -> None:
    x, y = arrays(case)
    if len(x) < statistic.minimum_rows:
        with pytest.raises(ValueError, match="needs at least 4 rows"):
            linear_cka(x, y, statistic)
        return
    found, turned = linear_cka(x, y, statistic), linear_cka(y, x, statistic)
    assert (found.score, found.deficit) == (turned.score, turned.deficit)
    expected = tabulated(case, statistic)
    if expected is None:
        assert (found.score, found.deficit, found.naive_deficit) == (None, None, None)
        assert "x is the same in all rows" in str(found.reason)
        assert "y is the same in all rows" in str(turned.reason)
        return
    check(found, expected, 1e-13)


@pytest.mark.parametrize("route", ROUNDED)
@pytest.mark.parametrize("statistic", ESTIMATORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_route_on_tabulated_cases(case: dict[str, Any], statistic: Statistic, route: Route) -> None:
    """Also where the plan would take another: the estimated error then says so."""
    x, y = arrays(case)
    expected = tabulated(case, statistic)
    if expected is None:
        return
    found = linear_cka(x, y, statistic, route)
    error = off(found.deficit, expected[1])
    assert error <= max(found.relative_error, 1e-15) or found.relative_error > 1
    if found.relative_error < 1e-13:
        assert off(found.score, expected[0]) <= 1e-12


@pytest.mark.parametrize("statistic", ESTIMATORS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("exponent", [1, 3, 5, 7, 9, 11, 13, 15])
def test_perturbations_down_to_the_last_bit(exponent: int, dtype: str, statistic: Statistic) -> None:
    x, y = perturbed(10.0**-exponent, dtype)
    expected = exact_cosines.cosine(x, y, statistic)
    assert expected is not None
    for route in (None, *ROUNDED):
        check(linear_cka(x, y, statistic, route), expected, 1e-13)


@pytest.mark.parametrize("scale", [3.0, 1e-5, 0.1, 1e150])
@pytest.mark.parametrize("delta", [1e-2, 1e-7, 1e-12])
def test_multiples_with_a_small_difference(scale: float, delta: float) -> None:
    x, y = perturbed(delta, "f8")
    y = y * scale
    expected = exact_cosines.cosine(x, y, "biased")
    assert expected is not None
    for route in (None, *ROUNDED):
        check(linear_cka(x, y, route=route), expected, 1e-12)
        check(linear_cka(y, x, route=route), expected, 1e-12)


@pytest.mark.parametrize("shift", [3.0, 1e4, -1e9])
def test_offsets_that_dwarf_the_difference(shift: float) -> None:
    x, y = perturbed(1e-12 * max(1.0, abs(shift)), "f8")
    x, y = x + shift, y - 2 * shift
    expected = exact_cosines.cosine(x, y, "biased")
    assert expected is not None
    for statistic in ESTIMATORS:
        expected = exact_cosines.cosine(x, y, statistic)
        assert expected is not None
        check(linear_cka(x, y, statistic), expected, 1e-12)


def rotated(angle: float, delta: float, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((70, columns))
    turn = np.eye(columns)
    turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return x, x @ turn + delta * rng.standard_normal(x.shape)


@pytest.mark.parametrize(("angle", "delta"), [(1e-2, 1e-5), (1e-2, 1e-9), (1.0, 1e-6)])
def test_near_rotations_lose_what_was_estimated(angle: float, delta: float) -> None:
    x, y = rotated(angle, delta)
    expected = exact_cosines.cosine(x, y, "biased")
    assert expected is not None
    moments, factors = (linear_cka(x, y, route=route) for route in (Route.MOMENTS, Route.FACTORS))
    assert moments.kappa_rotation > 1e4
    assert off(factors.deficit, expected[1]) <= min(factors.relative_error, 1e-8)
    assert factors.relative_error < moments.relative_error
    check(linear_cka(x, y), expected, 1e-8)


def test_routes_follow_condition_and_shape() -> None:
    def route(x: np.ndarray, y: np.ndarray) -> str:
        return prepare(x, y, Statistic.BIASED).route

    x = RNG.standard_normal((2000, 12))
    noise = RNG.standard_normal(x.shape)
    turn = np.linalg.qr(RNG.standard_normal((12, 12)))[0]
    assert route(x, x + 1e-9 * noise) == Route.MOMENTS
    assert route(x, noise) == Route.MOMENTS
    assert route(x, x @ turn + 1e-9 * noise) == Route.FACTORS
    assert route(x[:40] @ noise[:12], noise[:40]) == Route.MOMENTS
    assert route(x.T, noise.T) == Route.TILES
    few = rotated(1.0, 1e-12)
    assert route(*few) == Route.EXACT
    assert linear_cka(x, x).route == linear.IDENTICAL


@pytest.mark.parametrize("shape", [(2, 3), (5, 4), (600, 7), (1100, 5), (70, 90)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "?"])
def test_equal_values_have_no_deficit(shape: tuple[int, int], dtype: str) -> None:
    x = (RNG.standard_normal(shape) * 3).astype(dtype) if dtype != "?" else RNG.random(shape) < 0.5
    x[0, 0], x[-1, -1] = 1, 0
    others = (x.copy(), np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=1)[:, ::2])
    for y in others:
        for route in (None, *ROUNDED):
            found = linear_cka(x, y, route=route)
            assert (found.score, found.deficit, found.route) == (1.0, 0.0, linear.IDENTICAL)
        if len(x) >= 4:
            assert linear_cka(x, y, Statistic.DEBIASED).deficit in (0.0, None)


@pytest.mark.parametrize("factor", [2.0**-40, 2.0, 3.0, 96.0, -1.0])
def test_exact_multiples_have_no_deficit(factor: float) -> None:
    x = RNG.integers(-1000, 1000, (500, 6)).astype("f8")
    for one, other in ((x, factor * x), (factor * x, x)):
        found = linear_cka(one, other)
        assert (found.score, found.deficit) == (1.0, 0.0) if factor > 0 else found.deficit < 1e-29


@pytest.mark.parametrize("shape", [(600, 9), (2100, 5), (520, 530)])
def test_layout_and_type_change_no_bit(shape: tuple[int, int]) -> None:
    x = RNG.integers(-50, 50, shape)
    y = x + RNG.integers(-2, 3, shape)
    for statistic in ESTIMATORS:
        expected = linear_cka(x, y, statistic)
        for dtype in ("i2", "f4", "f8", ">f8"):
            assert linear_cka(np.asfortranarray(x.astype(dtype)), y.astype(dtype), statistic) == expected
        assert linear_cka(x[:, ::-1][:, ::-1], y, statistic) == expected
        turned = linear_cka(y, x, statistic)
        assert (turned.score, turned.deficit) == (expected.score, expected.deficit)


@pytest.mark.parametrize("route", ROUNDED)
def test_blocks_in_any_order_change_no_bit(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "BLOCK_ROWS", 1024)
    x = RNG.standard_normal((3200, 6))
    y = x + 1e-3 * RNG.standard_normal(x.shape)
    plan = prepare(x, y, Statistic.DEBIASED, route=route)
    cut = canonical.blocks(len(x), 6)
    assert len(cut) == 3
    computed = {start: linear.block(x, y, plan, start, stop) for start, stop in reversed(cut)}
    sums = linear.total(route, Statistic.DEBIASED, len(x), 6, [computed[start] for start in sorted(computed)])
    found = linear.result(route, plan.survey.constant, plan.survey.equal, sums)
    assert found == linear_cka(x, y, Statistic.DEBIASED, route)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (256, 3), (257, 3), (10_000, 384), (1_280_000, 512), (50, 10_000)]
)
def test_blocks_follow_from_the_shape(rows: int, columns: int) -> None:
    cut = canonical.blocks(rows, columns)
    assert [start for start, _ in cut] == [0, *(stop for _, stop in cut[:-1])]
    assert cut[-1][1] == rows
    assert len(cut) <= canonical.BLOCKS_LIMIT
    assert all(start % CHUNK_ROWS == 0 for start, _ in cut)
    assert len({stop - start for start, stop in cut[:-1]}) <= 1
    assert len(cut) * 32 * columns**2 <= canonical.BYTES_LIMIT or len(cut) == 1


@pytest.mark.parametrize("power", [-900, -400, 400, 900])
def test_extreme_magnitudes(power: int) -> None:
    x, y = perturbed(1e-6, "f8")
    expected = exact_cosines.cosine(x, y, "biased")
    assert expected is not None
    check(linear_cka(np.ldexp(x, power), np.ldexp(y, power)), expected, 1e-13)
    check(linear_cka(np.ldexp(x, power), y), expected, 1e-13)


def test_unequal_columns() -> None:
    x, y = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 7))
    y[:, :3] += x
    for statistic in ESTIMATORS:
        expected = exact_cosines.cosine(x, y, statistic)
        assert expected is not None
        for route in (None, *ROUNDED):
            check(linear_cka(x, y, statistic, route), expected, 1e-13)
    wider = np.hstack((x, np.zeros((40, 2))))
    assert linear_cka(x, wider).deficit == 0


def test_constant_arrays_are_undefined_and_named() -> None:
    x = RNG.standard_normal((600, 3))
    constant = np.tile([0.1, 1e9, -3.3], (600, 1))
    for route in (None, *ROUNDED):
        for found, name in (
            (linear_cka(constant, x, route=route), "x is"),
            (linear_cka(x, constant, route=route), "y is"),
        ):
            assert found.score is None
            assert found.reason is not None
            assert found.reason.startswith(name)
        assert linear_cka(constant, 2 * constant, route=route).reason.startswith("both arrays are")  # type: ignore[union-attr]
    almost = constant.copy()
    almost[17, 0] = np.nextafter(0.1, 1)
    assert linear_cka(x, almost).score is not None


def test_one_row_that_differs() -> None:
    x = RNG.standard_normal((40, 3))
    y = x.copy()
    y[31, 1] = np.nextafter(y[31, 1], 9)
    expected = exact_cosines.cosine(x, y, "biased")
    assert expected is not None
    check(linear_cka(x, y), expected, 1e-12)


def test_hand_values() -> None:
    """Orthogonal columns have nothing in common, and one of two shared columns of equal length a half."""
    a, b = np.array([1, -1, 1, -1.0]), np.array([1, 1, -1, -1.0])
    assert linear_cka(a[:, None], b[:, None]).score == 0
    found = linear_cka(np.stack((a, b), 1), a[:, None])
    assert found.score == pytest.approx(math.sqrt(0.5), rel=1e-15)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros(3), np.zeros((3, 1)), "two dimensions"),
        (np.zeros((3, 0)), np.zeros((3, 1)), "at least one column"),
        (np.zeros((3, 1)), np.zeros((4, 1)), "3 rows and y has 4"),
        (np.zeros((1, 1)), np.zeros((1, 1)), "at least 2 rows"),
    ],
)
def test_what_is_refused(x: np.ndarray, y: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        linear_cka(x, y)


CONTROLS = Path(__file__).parent.parent / "data"


@pytest.mark.parametrize("name", ["ctl_L6_batch1_f32", "ctl_L6_f16", "ctl_L6_int8", "ctl_L6_int8onnx_f16"])
def test_real_embeddings_against_extended_precision(name: str) -> None:
    """Some rows of an array and of the same stored or computed otherwise: the direct form with 64-bit mantissas."""
    rows = slice(0, 1000, 5)
    x = np.load(CONTROLS / "sample" / "text_L6_f32.npy")[rows]
    y = np.load(CONTROLS / "controls" / f"{name}.npy")[rows]
    unit = []
    for values in (x, y):
        centred = values.astype(np.longdouble) - values.mean(axis=0, dtype=np.longdouble)
        gram = centred @ centred.T
        unit.append(gram / np.sqrt(np.square(gram).sum()))
    expected = float(np.square(unit[1] - unit[0]).sum() / 2)
    assert np.finfo(np.longdouble).nmant >= 63
    for route in (None, *ROUNDED):
        found = linear_cka(x, y, route=route)
        assert found.deficit == pytest.approx(expected, rel=1e-11)
        assert found.relative_error < 1e-12
    assert 0 < expected < 1e-2
