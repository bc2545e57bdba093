"""Floors by formula against what rounding, drawn many times, leaves in fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ordsim_core.conformance.references import linear_cka_deficit as deficit
from ordsim_core.resolution import floors
from ordsim_core.resolution.precision import precision_of
from ordsim_core.resolution.scatter import scatter_of
from ordsim_core.resolution.sides import (
    CONSTANT,
    TWO_LEVELS,
    UNDEFINED,
    Side,
    linear_cka_side,
    measured_side,
    plain_side,
    procrustes_side,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def generator() -> np.random.Generator:
    """The same numbers in each test, whichever run before it."""
    return np.random.default_rng(20270102)


def correlated(rows: int, columns: int, offset: float = 0.0) -> np.ndarray:
    """Normal rows whose directions have very different sizes."""
    draw = generator()
    mixing = draw.standard_normal((columns, columns)) * np.linspace(2, 0.1, columns)[:, None]
    return draw.standard_normal((rows, columns)) @ mixing / np.sqrt(columns) + offset


def brute_force(x: np.ndarray, variances: np.ndarray) -> float:
    """The definition: the second derivative of the deficit along each entry, weighted with its variance."""
    total, step = 0.0, 1e-4
    for place in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * step
            total += variances[place] * deficit(x, moved) / (2 * step**2)
    return total


@pytest.mark.parametrize(("rows", "columns"), [(9, 4), (4, 9), (6, 6)])
def test_the_formula_is_the_trace_of_the_hessian(rows: int, columns: int) -> None:
    x, variances = correlated(rows, columns, offset=1.0), generator().random((rows, columns))
    found = floors.expected_deficit(x, lambda part: variances[part.rows, part.columns])
    assert found == pytest.approx(brute_force(x, variances), rel=1e-4)


@pytest.mark.parametrize("offset", [0.0, 50.0])
@pytest.mark.parametrize("shape", [(400, 30), (60, 300)])
@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_the_storage_floor_is_what_rounding_leaves(dtype: str, shape: tuple[int, int], offset: float) -> None:
    x = correlated(*shape, offset=offset)
    stored = x.astype(dtype)
    found = linear_cka_side(stored)
    assert found.storage_floor == pytest.approx(deficit(x, stored.astype("f8")), rel=0.1)


def test_an_offset_raises_the_floor() -> None:
    x = correlated(300, 20)
    near, far = (linear_cka_side((x + offset).astype("f4")).storage_floor for offset in (0.0, 50.0))
    assert near is not None
    assert far is not None
    assert far > 50 * near


def test_dithered_values_measure_the_same_floor() -> None:
    stored = correlated(400, 30).astype("f2").astype("f8")
    precision = precision_of(stored)
    measured = deficit(stored, floors.dithered(stored, precision, np.random.default_rng(1)))
    assert floors.storage_floor(stored, precision) == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("rows", [400, 1000, 3000])
def test_a_floor_can_be_measured_on_some_rows(rows: int) -> None:
    stored = correlated(rows, 20).astype("f2")
    sizes = []

    def noting(x: np.ndarray, y: np.ndarray) -> float:
        sizes.append(len(x))
        return deficit(x, y)

    side, formula = measured_side(stored, noting, 1000), linear_cka_side(stored)
    assert sizes == [min(rows, 1000)]
    assert side.floor_rows == sizes[0]
    assert side.storage_floor == pytest.approx(formula.storage_floor, rel=0.15)
    assert side == measured_side(stored, deficit, 1000)


def procrustes_deficit(x: np.ndarray, y: np.ndarray) -> float:
    one, other = ((side - side.mean(axis=0)) / np.linalg.norm(side - side.mean(axis=0)) for side in (x, y))
    left, _, right = np.linalg.svd(one.T @ other)
    return float(np.sum((one @ left @ right - other) ** 2) / 2)


@pytest.mark.parametrize("shape", [(400, 30), (40, 30), (60, 100)])
def test_the_floor_of_procrustes(shape: tuple[int, int]) -> None:
    x = generator().uniform(1, 2, shape)  # one binade, so that rotations mix entries with errors of one size
    stored = x.astype("f2")
    found = procrustes_side(stored)
    assert found.storage_floor == pytest.approx(procrustes_deficit(x, stored.astype("f8")), rel=0.12)


def test_differences_below_a_step_are_seen_larger_than_they_are() -> None:
    draw = generator()
    x = draw.standard_normal((1500, 64))
    moved = x + 2e-5 * draw.standard_normal(x.shape)
    one, other = (side.astype("f2").astype("f8") for side in (x, moved))
    steps = precision_of(one).steps(one)
    variances = floors.dead_zone_variances(steps, moved - x)
    model = floors.expected_deficit(one, lambda part: variances[part.rows, part.columns])
    observed, true = deficit(one, other), deficit(x, moved)
    assert model == pytest.approx(observed, rel=0.1)
    assert observed > 10 * true
    floor = linear_cka_side(one).storage_floor
    assert floor is not None
    assert observed < 2 * floor


def test_large_differences_are_seen_as_they_are() -> None:
    steps, differences = np.array([0.5, 0.5, 0.5]), np.array([100.0, -1.0, 0.125])
    assert floors.dead_zone_variances(steps, differences) == pytest.approx([1e4, 1.0, 0.25 * 0.25], rel=1e-3)


@pytest.mark.parametrize("shape", [(50, 7), (7, 50)])
def test_scatter(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    x = correlated(*shape, offset=1e3)
    whole = scatter_of(x)
    monkeypatch.setattr("ordsim_core.resolution.scatter._BLOCK_VALUES", 64)
    cut = scatter_of(x)
    centred = x - x.mean(axis=0)
    eigenvalues = np.linalg.svd(centred, compute_uv=False) ** 2
    for found in (whole, cut):
        assert found.lengths == pytest.approx((centred**2).sum(axis=1))
        assert found.trace == pytest.approx(eigenvalues.sum())
        assert found.norm_squared == pytest.approx((eigenvalues**2).sum())
        assert found.participation_ratio(len(x)) == pytest.approx(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())
    variances: Callable[..., np.ndarray] = lambda part: part.stored**2  # noqa: E731
    assert floors.expected_deficit(x, variances) == pytest.approx(floors.expected_deficit(x, variances, whole))


@pytest.mark.parametrize("examine", [linear_cka_side, procrustes_side])
def test_some_rows_tell_the_floor_of_all(examine: Callable[..., Side]) -> None:
    draw = generator()
    stored = draw.standard_normal((6000, 150)).astype("f2")  # as many dimensions as there can be: the hardest case
    whole, some = examine(stored, rows=None), examine(stored, rows=600)
    assert some.storage_floor == pytest.approx(whole.storage_floor, rel=0.02)
    if whole.participation is not None:
        assert some.participation == pytest.approx(whole.participation, rel=0.02)


def test_participation_turns_a_size_into_a_deficit() -> None:
    x = correlated(2000, 40)
    side = linear_cka_side(x)
    noise = generator().standard_normal(x.shape)
    eta = 1e-3
    centred = x - x.mean(axis=0)
    moved = x + eta * np.linalg.norm(centred) / np.linalg.norm(noise) * noise
    assert side.participation is not None
    # To leading order: the exact trace has a further term, of the order of the largest eigenvalue's share.
    assert deficit(x, moved) == pytest.approx(eta**2 * side.participation, rel=0.25)
    assert 0 < side.participation <= 1


def test_what_has_no_floor_says_why() -> None:
    flat, signs = np.ones((6, 3)), np.sign(generator().standard_normal((60, 4)))
    for examine in (linear_cka_side, procrustes_side):
        assert (examine(flat).storage_floor, examine(flat).reason) == (None, CONSTANT)
        assert (examine(signs).storage_floor, examine(signs).reason) == (None, TWO_LEVELS)
    assert linear_cka_side(flat).participation is None
    assert plain_side(generator().random((5, 2)), "it is given").reason == "it is given"
    assert measured_side(signs, deficit).reason == TWO_LEVELS
    assert measured_side(generator().random((5, 2)), lambda *_: None).reason == UNDEFINED


def test_blocks_can_be_given_up() -> None:
    class GivenUpError(Exception):
        pass

    def give_up() -> None:
        raise GivenUpError

    random = generator().random((5, 2))
    with pytest.raises(GivenUpError):
        measured_side(random, deficit, checkpoint=give_up)
    for examine in (linear_cka_side, procrustes_side):
        with pytest.raises(GivenUpError):
            examine(random, checkpoint=give_up)


@pytest.mark.parametrize(
    ("method", "floor"),
    [("identical", 0), ("moments", 0), ("tiles", 0), ("exact", 0), ("counts", 0), ("tsqr", 2**-104), ("naive", 2**-51)],
)
def test_arithmetic_floors(method: str, floor: float) -> None:
    assert floors.arithmetic_floor(method) == floor
    assert floors.arithmetic_floor(method, deficit=1e-3, relative_error=1e-2) == max(floor, 1e-5)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="the method 'guess' is not known"):
        floors.arithmetic_floor("guess")
