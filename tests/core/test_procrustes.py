"""Orthogonal Procrustes: tabulated values, scipy, rotations, exact zeros, what is undefined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cosine_cases import CASES, arrays, off, perturbed, tabulated
from scipy.spatial import procrustes as scipys

from ordsim_core.cosine.linear import IDENTICAL
from ordsim_core.cosine.procrustes import procrustes

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_cases(case: dict[str, Any]) -> None:
    x, y = arrays(case)
    found, turned = procrustes(x, y), procrustes(y, x)
    expected = tabulated(case, "procrustes")
    if expected is None:
        assert (found.score, found.deficit, found.disparity) == (None, None, None)
        assert str(found.reason).startswith("x is")
        return
    error = off(found.deficit, expected[1])
    assert off(found.score, expected[0]) <= 1e-12
    assert error <= 1e-13
    assert error <= max(found.relative_error, 1e-15)
    assert turned.score == pytest.approx(found.score, rel=1e-14)
    assert found.deficit is not None
    assert found.disparity == found.deficit * (2 - found.deficit)


@pytest.mark.parametrize("shape", [(30, 4), (700, 6), (40, 50)])
@pytest.mark.parametrize("noise", [1e-3, 0.1, 3.0])
def test_as_scipy(shape: tuple[int, int], noise: float) -> None:
    x = RNG.standard_normal(shape) + 2
    turn = np.linalg.qr(RNG.standard_normal((shape[1], shape[1])))[0]
    for y in (x + noise * RNG.standard_normal(shape), 7 * x @ turn + noise * RNG.standard_normal(shape) - 5):
        found = procrustes(x, y)
        expected = scipys(x, y)[2]
        assert found.disparity == pytest.approx(expected, rel=1e-8)
        assert found.score == pytest.approx(np.sqrt(1 - expected), rel=1e-12)


@pytest.mark.parametrize("exponent", [2, 4, 6, 8, 10])
def test_digits_do_not_depend_on_the_size_of_the_difference(exponent: int) -> None:
    """Differences by powers of two are exact, so that deficits go with their squares but for the next order."""
    x = RNG.integers(-8, 9, (40, 3)).astype("f8")
    step = RNG.integers(-8, 9, (40, 3)).astype("f8")
    size = 2.0 ** -(4 * exponent)
    coarse, fine = (procrustes(x, x + scale * step) for scale in (size, size / 64))
    assert coarse.deficit is not None
    assert fine.deficit is not None
    assert coarse.deficit / fine.deficit == pytest.approx(64**2, rel=max(20 * size, 1e-13))
    assert fine.relative_error < 1e-13


def test_a_rotation_with_noise_is_found_to_the_estimated_error() -> None:
    x, _ = perturbed(0.0, "f8", rows=60)
    turn = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    step = RNG.standard_normal(x.shape)
    expected = procrustes(x, x + 1e-6 * step).deficit
    found = procrustes(x @ turn, x + 1e-6 * step)
    assert found.deficit == pytest.approx(expected, rel=found.relative_error)
    assert found.relative_error < 1e-7


def test_what_rounding_of_a_rotation_cannot_resolve_is_said() -> None:
    x = RNG.standard_normal((400, 40))
    found = procrustes(x, x @ np.linalg.qr(RNG.standard_normal((40, 40)))[0])
    assert found.deficit is not None
    assert found.deficit < 1e-28
    assert found.relative_error > 1e-2


@pytest.mark.parametrize("shape", [(2, 3), (9, 4), (1100, 5), (60, 80)])
def test_equal_values_have_no_deficit(shape: tuple[int, int]) -> None:
    x = RNG.standard_normal(shape).astype("f4")
    for y in (x.copy(), np.asfortranarray(x), 4 * x, x.astype("f8")):
        found = procrustes(x, y)
        assert (found.score, found.deficit, found.disparity, found.route) == (1.0, 0.0, 0.0, IDENTICAL)


def test_two_rows_are_always_alike() -> None:
    found = procrustes(RNG.standard_normal((2, 3)), RNG.standard_normal((2, 5)))
    assert (found.score, found.deficit) == (1.0, 0.0)


def test_unequal_columns_are_padded() -> None:
    x = RNG.standard_normal((50, 3))
    y = np.hstack((x + 1e-4 * RNG.standard_normal(x.shape), 1e-4 * RNG.standard_normal((50, 2))))
    found = procrustes(x, y)
    assert found.disparity == pytest.approx(scipys(np.hstack((x, np.zeros((50, 2)))), y)[2], rel=1e-7)


def test_columns_without_variance() -> None:
    x, y = perturbed(1e-7, "f8", rows=50)
    expected = procrustes(x, y).deficit
    wider = [np.hstack((values, np.ones((50, 3)))) for values in (x, y)]
    assert procrustes(*wider).deficit == pytest.approx(expected, rel=1e-12)
