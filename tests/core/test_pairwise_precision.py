"""Small deficits of measures of all pairs of rows: as in arithmetic of 60 digits, whatever x and y have in common."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import exact_pairs
import numpy as np
import pytest
from cosine_cases import off, perturbed
from pair_cases import FOLDER, cka, kernel_plan, pairing, rsa

from ordsim_core.pairwise import pilot, rdm
from ordsim_core.pairwise.related import CAREFUL, DIFFERENCES, IDENTICAL, SEPARATE, Relation
from ordsim_core.pairwise.tiles import TileGrid

DISTANCES = ("euclidean", "cosine", "correlation", "dot", "manhattan")
PERTURBATIONS = [(0.3, "f8"), (1e-2, "f8"), (1e-5, "f4"), (1e-7, "f8"), (1e-11, "f8"), (1e-15, "f8")]

perturbations = pytest.mark.parametrize(("delta", "dtype"), PERTURBATIONS)
distances = pytest.mark.parametrize("distance", DISTANCES)


@perturbations
@distances
@pytest.mark.parametrize("centred", [True, False])
def test_correlation_of_nearly_equal_arrays(delta: float, dtype: str, distance: str, centred: bool) -> None:
    x, y = perturbed(delta, dtype)
    expected = exact_pairs.rsa(x, y, distance, centred=centred)
    assert off(rsa(x, y, distance, centred=centred).deficit, expected[1]) < 1e-12


@perturbations
@pytest.mark.parametrize("kernel", ["rbf", *DISTANCES])
@pytest.mark.parametrize("debiased", [True, False])
def test_kernels_of_nearly_equal_arrays(delta: float, dtype: str, kernel: str, debiased: bool) -> None:
    x, y = perturbed(delta, dtype)
    expected = exact_pairs.cka(x, y, kernel, debiased=debiased)
    assert off(cka(x, y, kernel, debiased=debiased).deficit, expected[1]) < 1e-12


@pytest.mark.parametrize("delta", [1e-3, 1e-8, 1e-12])
def test_a_bandwidth_that_was_given(delta: float) -> None:
    x, y = perturbed(delta, "f8")
    expected = exact_pairs.cka(x, y, "rbf", debiased=False, bandwidth=Decimal("1.5"))
    assert off(cka(x, y, "rbf", sigma=1.5).deficit, expected[1]) < 1e-12


@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_another_scale_and_a_common_offset(delta: float) -> None:
    x, y = perturbed(delta, "f8")
    y = 3.7 * y + 11
    for distance in ("euclidean", "manhattan"):
        expected = exact_pairs.rsa(x, y, distance, centred=True)
        assert off(rsa(x, y, distance, centred=True).deficit, expected[1]) < 1e-10
    assert off(cka(x, y, "rbf").deficit, exact_pairs.cka(x, y, "rbf", debiased=False)[1]) < 1e-10


@pytest.mark.parametrize("distance", ["cosine", "correlation"])
def test_directions_far_from_the_origin(distance: str) -> None:
    x, y = (array + 1e4 for array in perturbed(1e-6, "f8"))
    assert off(rsa(x, y, distance, centred=True).deficit, exact_pairs.rsa(x, y, distance, centred=True)[1]) < 1e-11


@pytest.mark.parametrize("delta", [1e-2, 1e-7, 1e-12])
def test_rotated_arrays_take_twice_the_precision(delta: float) -> None:
    x, y = perturbed(delta, "f8")
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    y = 3.7 * y @ rotation + 11
    for centred in (True, False):
        expected = exact_pairs.rsa(x, y, "euclidean", centred=centred)
        assert off(rsa(x, y, "euclidean", centred=centred).deficit, expected[1]) < 1e-10
    for kernel in ("rbf", "euclidean"):
        expected = exact_pairs.cka(x, y, kernel, debiased=True)
        assert off(cka(x, y, kernel, debiased=True).deficit, expected[1]) < 1e-10


def test_a_bandwidth_that_was_given_and_a_rotation() -> None:
    x, y = perturbed(1e-8, "f8")
    y = y[:, ::-1] * [1, -1, 1, 1] + 2
    expected = exact_pairs.cka(x, y, "rbf", debiased=False, bandwidth=Decimal("1.5"))
    assert off(cka(x, y, "rbf", sigma=1.5).deficit, expected[1]) < 1e-11


def test_more_columns_of_zeros_take_twice_the_precision() -> None:
    x, y = perturbed(1e-9, "f8")
    y = np.concatenate([y, np.zeros((len(y), 2))], axis=1)
    expected = exact_pairs.rsa(x, y, "euclidean", centred=True)
    assert off(rsa(x, y, "euclidean", centred=True).deficit, expected[1]) < 1e-12


def test_one_row_far_away_takes_no_digits_from_the_others() -> None:
    x, y = perturbed(0.3, "f8")
    x, y = x.copy(), y.copy()
    x[3] += 1e6
    y[5] -= 1e7
    for debiased in (True, False):
        found, expected = (measure(x, y, "rbf", debiased=debiased) for measure in (cka, exact_pairs.cka))
        assert off(found.score, expected[0]) < 1e-12
    x[3] -= 1e6
    y = x + 1e-9 * (y - x)
    y[5] += 1
    assert off(cka(x, y, "rbf").deficit, exact_pairs.cka(x, y, "rbf", debiased=False)[1]) < 1e-10


def test_near_duplicates_keep_their_distance() -> None:
    x, y = perturbed(0.3, "f8")
    x, y = (np.concatenate([array, array + 1e-9 * array[::-1]]) for array in (x, y))
    for distance in DISTANCES:
        found, expected = (measure(x, y, distance, centred=True) for measure in (rsa, exact_pairs.rsa))
        assert off(found.score, expected[0]) < 1e-13


@distances
def test_a_copy_in_any_layout_has_no_deficit(distance: str) -> None:
    x = np.random.default_rng(3).standard_normal((530, 5)).astype("f4") + 2
    for y in (x.copy(order="F"), np.repeat(x, 2, axis=0)[::2], x.astype("f8"), x.astype(">f4")):
        for centred in (True, False):
            found = rsa(x, y, distance, centred=centred)
            assert (found.score, found.deficit) == (1.0, 0.0)
        for debiased in (True, False):
            assert cka(x, y, distance, debiased=debiased).deficit == 0.0
    assert cka(x, x.astype("f8"), "rbf").deficit == 0.0


@pytest.mark.parametrize("shift", [0.5, -3.0])
def test_an_offset_that_is_stored_exactly_leaves_no_deficit(shift: float) -> None:
    x = np.random.default_rng(4).integers(-8, 9, (40, 3)) / 4
    assert rsa(x, x + shift, "euclidean", centred=True).deficit == 0.0
    assert cka(x, x + shift, "rbf").deficit == 0.0


def test_distances_that_are_given_or_counted() -> None:
    rng = np.random.default_rng(5)
    table = exact_table(rng.standard_normal((12, 3)))
    changed = table + 1e-9 * exact_table(rng.standard_normal((12, 3)))
    for y in (changed, 3.7 * changed):
        expected = exact_pairs.rsa(table, y, "precomputed", centred=True)
        assert off(rsa(table, y, "precomputed", centred=True).deficit, expected[1]) < 1e-10
        expected = exact_pairs.cka(table, y, "precomputed", debiased=True)
        assert off(cka(table, y, "precomputed", debiased=True).deficit, expected[1]) < 1e-10
    x, y = rng.integers(0, 3, (2, 12, 6))
    assert off(rsa(x, y, "hamming", centred=True).deficit, exact_pairs.rsa(x, y, "hamming", centred=True)[1]) < 1e-14
    assert rsa(table, table.copy(), "precomputed", centred=False).deficit == 0.0
    assert cka(x, x.astype("f4"), "hamming").deficit == 0.0


def exact_table(rows: np.ndarray) -> np.ndarray:
    """Symmetric distances as float64."""
    return np.array([[np.abs(one - other).sum() for other in rows] for one in rows])


@pytest.mark.parametrize("power", [-900, -320, 320, 900])
def test_values_of_any_size(power: int) -> None:
    x, y = perturbed(0.3, "f8")
    for distance in DISTANCES:
        expected = rsa(x, y, distance, centred=True)
        assert rsa(np.ldexp(x, power), y, distance, centred=True).score == pytest.approx(expected.score, rel=1e-13)
    assert cka(x, np.ldexp(y, power), "rbf").score == pytest.approx(cka(x, y, "rbf").score, rel=1e-13)


def test_routes() -> None:
    x, y = perturbed(1e-6, "f8", rows=30)
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]

    def route(x: np.ndarray, y: np.ndarray, distance: str = "euclidean") -> str:
        return pairing(x, y, (distance, distance), centred=True).relation.route

    assert route(x, x.copy()) == IDENTICAL
    assert route(x, y) == DIFFERENCES
    assert route(x, 2.5 * y + 1, "cosine") == SEPARATE
    assert route(x, 2.5 * y, "cosine") == DIFFERENCES
    assert route(x, y[::-1]) == SEPARATE
    assert route(x, y @ rotation) == SEPARATE
    assert cka_route(x, y @ rotation) == CAREFUL
    assert cka_route(x, y[::-1]) == SEPARATE


def cka_route(x: np.ndarray, y: np.ndarray) -> str:
    return kernel_plan(x, y, "rbf").pairing.relation.route


@pytest.mark.parametrize("spread", [1e-3, 5.0])
def test_kernels_of_very_different_size(spread: float) -> None:
    x, y = perturbed(0.3, "f8")
    y = spread * y
    for debiased in (True, False):
        expected = exact_pairs.cka(x, y, "rbf", debiased=debiased, bandwidth=Decimal("1.5"))
        assert off(cka(x, y, "rbf", debiased=debiased, sigma=1.5).score, expected[0]) < 1e-9


def test_a_kernel_that_vanishes_between_different_rows() -> None:
    x, y = perturbed(0.3, "f8")
    expected = exact_pairs.cka(x, 1e4 * y, "rbf", debiased=False, bandwidth=Decimal("1.5"))
    assert off(cka(x, 1e4 * y, "rbf", sigma=1.5).score, expected[0]) < 1e-13
    found = cka(x, 1e4 * y, "rbf", sigma=1.5, debiased=True)
    assert (found.score, found.deficit) == (None, None)
    assert str(found.reason).startswith("y")


@pytest.mark.parametrize("name", ["ctl_L6_batch1_f32", "ctl_L6_f16", "ctl_L6_int8onnx_f16"])
def test_real_copies_by_two_routes(name: str) -> None:
    x, y = (np.load(next(FOLDER.glob(f"*/{one}.npy")))[:260] for one in ("text_L6_f32", name))
    grid = TileGrid(len(x))
    found = pairing(x, y, ("euclidean", "euclidean"), centred=False)
    assert found.relation.route == DIFFERENCES
    careful = replace(found, relation=Relation(CAREFUL, weight=(1.0, 0.0)))
    deficits = []
    for one in (found, careful):
        plan = rdm.RdmPlan(one, pilot.look(one.listed_distances(*pilot.pairs(len(x)))))
        sums = rdm.sums_of(plan, grid.tiles(0, len(grid)))
        deficits.append(rdm.combine(sums, len(x), plan.pilot, True, rdm.Sizes()).cosine().deficit)
    assert deficits[0] == pytest.approx(deficits[1], rel=1e-12)
    assert 0 < deficits[0] < 1e-3
