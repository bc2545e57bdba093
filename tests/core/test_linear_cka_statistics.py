"""What is made of the same sums: minibatch CKA, and representational similarity of distances that factor."""

from __future__ import annotations

from typing import Any

import exact_cosines
import numpy as np
import pytest
from cosine_cases import CASES, arrays, off, perturbed, tabulated
from scipy.spatial.distance import pdist

from ordsim_core.cosine import minibatch, rsa_moments
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import IDENTICAL, linear_cka
from ordsim_core.cosine.plan import Route
from ordsim_core.errors import ZeroVectorError

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_squared_distances(case: dict[str, Any], centred: bool) -> None:
    x, y = arrays(case)
    if centred and len(x) < 3:
        with pytest.raises(ValueError, match="at least 3 rows"):
            rsa_moments.squared_euclidean_rsa(x, y)
        return
    found = rsa_moments.squared_euclidean_rsa(x, y, centred)
    expected = tabulated(case, "centred-distances" if centred else "distances")
    if expected is None:
        assert found.score is None
        assert found.reason
        return
    assert off(found.score, expected[0]) <= 1e-12
    assert off(found.deficit, expected[1]) <= 1e-13
    turned = rsa_moments.squared_euclidean_rsa(y, x, centred)
    assert (turned.score, turned.deficit) == (found.score, found.deficit)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_correlation_distances(case: dict[str, Any], centred: bool) -> None:
    x, y = arrays(case)
    if centred and len(x) < 3:
        return
    constant = any((values == values[:, :1]).all(axis=1).any() for values in (x, y))
    if constant:
        with pytest.raises(ZeroVectorError, match="is constant"):
            rsa_moments.correlation_rsa(x, y, centred)
        return
    found = rsa_moments.correlation_rsa(x, y, centred)
    expected = tabulated(case, "centred-correlation-distances" if centred else "correlation-distances")
    if expected is None:
        assert found.score is None
        assert found.reason
        return
    assert off(found.score, expected[0]) <= 1e-12
    assert off(found.deficit, expected[1]) <= 1e-13


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("exponent", [2, 6, 10, 15])
def test_perturbed_distances(exponent: int, dtype: str) -> None:
    x, y = perturbed(10.0**-exponent, dtype)
    for statistic in (Statistic.DISTANCES, Statistic.CENTRED_DISTANCES):
        expected = exact_cosines.cosine(x, y, statistic)
        assert expected is not None
        for route in (None, Route.MOMENTS, Route.FACTORS, Route.TILES):
            found = linear_cka(x, y, statistic, route)
            assert off(found.deficit, expected[1]) <= 1e-13


@pytest.mark.parametrize("columns", [(5, 5), (5, 9)])
def test_distances_of_more_rows_than_a_chunk(columns: tuple[int, int]) -> None:
    x, y = RNG.standard_normal((700, columns[0])), RNG.standard_normal((700, columns[1]))
    y[:, :5] += x
    measures: list[tuple[Any, str]] = [
        (rsa_moments.squared_euclidean_rsa, "sqeuclidean"),
        (rsa_moments.correlation_rsa, "correlation"),
    ]
    for measure, metric in measures:
        of_x, of_y = pdist(x, metric), pdist(y, metric)
        assert measure(x, y).score == pytest.approx(np.corrcoef(of_x, of_y)[0, 1], rel=1e-12)
        cosine = of_x @ of_y / np.sqrt((of_x @ of_x) * (of_y @ of_y))
        assert measure(x, y, centred=False).score == pytest.approx(cosine, rel=1e-12)
        equal = measure(x, np.asfortranarray(x))
        assert (equal.score, equal.deficit, equal.route) == (1.0, 0.0, IDENTICAL)


def test_sums_are_those_of_all_distances() -> None:
    x, y = RNG.integers(-9, 9, (40, 3)).astype("f4"), RNG.integers(-9, 9, (40, 3)).astype("f4")
    of_x, of_y = pdist(x, "sqeuclidean"), pdist(y, "sqeuclidean")
    sums = rsa_moments.squared_euclidean_rsa_sums(x, y, centred=False).sums
    norm_x, norm_y = sums.m2 + sums.q / 4 - sums.t, sums.m2 + sums.q / 4 + sums.t
    assert float(norm_y / norm_x) == pytest.approx((of_y @ of_y) / (of_x @ of_x), rel=1e-13)
    directions = rsa_moments.correlation_rsa_sums(x + 0.1 * RNG.random((40, 3)), y + 0.1 * RNG.random((40, 3))).sums
    assert directions.m2 > 0


@pytest.mark.parametrize("row", [0, 2, 597, 599])
def test_a_constant_row_has_no_correlation(row: int) -> None:
    x = RNG.standard_normal((600, 4))
    y = x.copy()
    y[row] = 0.1
    with pytest.raises(ZeroVectorError, match=f"row {row} is constant"):
        rsa_moments.correlation_rsa(x, y)


@pytest.mark.parametrize("power", [-900, 900])
def test_correlation_of_extreme_magnitudes(power: int) -> None:
    x, y = perturbed(1e-3, "f8")
    expected = rsa_moments.correlation_rsa(x, y)
    assert rsa_moments.correlation_rsa(np.ldexp(x, power), np.ldexp(y, power)) == expected
    assert rsa_moments.correlation_rsa(np.ldexp(x, power), y).deficit == pytest.approx(expected.deficit, rel=1e-9)


def hsic(k: np.ndarray, other: np.ndarray) -> float:
    """HSIC1 of two Gram matrices (Song et al. 2012), times n (n - 3)."""
    n = len(k)
    k, other = k - np.diag(np.diag(k)), other - np.diag(np.diag(other))
    whole = k.sum() * other.sum() / ((n - 1) * (n - 2))
    return float(np.trace(k @ other) + whole - 2 / (n - 2) * (k @ other).sum())


@pytest.mark.parametrize("batch_size", [4, 7, 30, 100])
def test_minibatch_is_the_ratio_of_sums_over_batches(batch_size: int) -> None:
    x = RNG.standard_normal((100, 5))
    y = np.hstack((x, x[:, :2])) + 0.5 * RNG.standard_normal((100, 7))
    sums = np.zeros(3)
    for rows in minibatch.batch_rows(3, 0, 9, batch_size, 100):
        k, other = x[rows] @ x[rows].T, y[rows] @ y[rows].T
        sums += hsic(k, other), hsic(k, k), hsic(other, other)
    found = minibatch.minibatch_cka(x, y, 9, batch_size, seed=3)
    assert found.score == pytest.approx(sums[0] / np.sqrt(sums[1] * sums[2]), rel=1e-11)
    if batch_size == 100:
        assert found.score == pytest.approx(linear_cka(x, y, Statistic.DEBIASED).score, rel=1e-12)
    equal = minibatch.minibatch_cka(x, x.astype("f8", order="F"), 9, batch_size)
    assert (equal.score, equal.deficit) == (1.0, 0.0)


def test_minibatch_deficits_keep_their_digits() -> None:
    x, y = perturbed(1e-9, "f8", rows=8)
    whole = minibatch.minibatch_cka(x, y, 1, 8)
    expected = exact_cosines.cosine(x, y, "debiased")
    assert expected is not None
    assert off(whole.deficit, expected[1]) <= 1e-13


def test_batches_are_slices_of_permutations() -> None:
    each = list(minibatch.batch_rows(7, 0, 8, 30, 100))
    for start in (0, 3):
        one_pass = np.concatenate(each[start : start + 3])
        assert len(np.unique(one_pass)) == 90
    assert not np.array_equal(each[0], each[3])
    assert all((np.diff(rows) > 0).all() for rows in each)
    later = list(minibatch.batch_rows(7, 5, 8, 30, 100))
    assert all(np.array_equal(one, other) for one, other in zip(each[5:], later, strict=True))
    for size in (3, 101):
        with pytest.raises(ValueError, match="between 4 and the 100 rows"):
            next(minibatch.batch_rows(7, 0, 1, size, 100))


def test_debiased_is_near_zero_for_unrelated_rows() -> None:
    scores = [
        linear_cka(*np.random.default_rng(seed).standard_normal((2, 32, 8)), Statistic.DEBIASED).score
        for seed in range(20)
    ]
    assert abs(np.mean([score for score in scores if score is not None])) < 0.03
