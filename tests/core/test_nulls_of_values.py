"""Nulls of measures of values: what is computed once and then permuted is the measure of the permuted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from ordsim_core.distances import Distance
from ordsim_core.nulls import features, matrices
from ordsim_core.nulls.features import Kind, UndefinedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 24
GENERATOR = np.random.default_rng(5)
X = GENERATOR.standard_normal((ROWS, 4)) + 3
Y = X[:, :3] @ GENERATOR.standard_normal((3, 3)) + GENERATOR.standard_normal((ROWS, 3))
ORDERS = [np.arange(ROWS), GENERATOR.permutation(ROWS), GENERATOR.integers(0, ROWS, ROWS)]


def centring(rows: int) -> NDArray[np.float64]:
    return np.eye(rows) - 1 / rows


def centred(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    middle = centring(len(entries))
    return middle @ entries @ middle


def u_centred(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """As Szekely and Rizzo write it."""
    rows = len(entries)
    found = np.zeros_like(entries)
    for i in range(rows):
        for j in range(rows):
            if i != j:
                row, column = (sum(entries[k, at] for k in range(rows) if k != at) for at in (i, j))
                total = sum(entries[k, m] for k in range(rows) for m in range(rows) if k != m)
                found[i, j] = entries[i, j] - (row + column) / (rows - 2) + total / ((rows - 1) * (rows - 2))
    return found


def cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))


def by_hand(x: NDArray[np.float64], y: NDArray[np.float64], kind: Kind) -> float:
    grams = x @ x.T, y @ y.T
    if kind is Kind.CKA:
        return cosine(*(centred(gram) for gram in grams))
    if kind is Kind.CKA_DEBIASED:
        return cosine(*(u_centred(gram) for gram in grams))
    x, y = (values - values.mean(axis=0) for values in (x, y))
    if kind is Kind.PROCRUSTES:
        product = x.T @ y
        return float(np.linalg.norm(product, "nuc") / (np.linalg.norm(x) * np.linalg.norm(y)))
    bases = [np.linalg.qr(values)[0] for values in (x, y)]
    directions, correlations, _ = np.linalg.svd(bases[0].T @ bases[1])
    if kind is Kind.CCA:
        return float(correlations.mean())
    weights = [np.abs((bases[0] @ directions[:, place]) @ x).sum() for place in range(len(correlations))]
    return float(np.average(correlations, weights=weights))


@pytest.mark.parametrize("kind", list(Kind))
def test_feature_measures_are_those_of_permuted_rows(kind: Kind) -> None:
    x, y = (features.features(values, kind) for values in (X, Y))
    # Rows may also repeat, when groups of different sizes change places.
    found = features.scores([x, y], y, ORDERS)
    for row, order in zip(found, ORDERS, strict=True):
        expected = [by_hand(X, Y[order], kind), by_hand(Y, Y[order], kind)]
        np.testing.assert_allclose(row, expected, rtol=1e-11)


def test_svcca_keeps_few_directions() -> None:
    values = X * np.array([100, 1, 1, 1e-3])
    assert features.features(values, Kind.CCA, 0.99).columns.shape == (ROWS, 1)
    assert features.features(values, Kind.CCA, 1 - 1e-9).columns.shape == (ROWS, 3)
    assert features.features(values[:, [0, 0, 1]], Kind.CCA).columns.shape == (ROWS, 2)


@pytest.mark.parametrize("kind", list(Kind))
def test_arrays_of_equal_rows_have_no_measure(kind: Kind) -> None:
    with pytest.raises(UndefinedError, match="all rows are equal"):
        features.features(np.ones((5, 3)), kind)


@pytest.mark.parametrize("debiased", [False, True])
def test_kernels_are_permuted_by_rows_and_columns(debiased: bool) -> None:
    of_x, of_y = (matrices.radial(matrices.distances(values, Distance.EUCLIDEAN), None) for values in (X, Y))
    x, y = (matrices.centred(entries, debiased=debiased) for entries in (of_x, of_y))
    found = matrices.inner_products([x], y, ORDERS[:2])
    for (score,), order in zip(found, ORDERS, strict=False):
        sigma = np.median(pdist(Y))
        kernel = np.exp(-squareform(pdist(Y[order], "sqeuclidean")) / (2 * sigma**2))
        centre = u_centred if debiased else centred
        assert score == pytest.approx(cosine(centre(of_x), centre(kernel)), rel=1e-11)


@pytest.mark.parametrize("correlation", ["pearson", "spearman", "cosine"])
def test_dissimilarities_are_correlated_over_pairs(correlation: str) -> None:
    x, y = (
        matrices.dissimilarities(matrices.distances(values, Distance.MANHATTAN), correlation)  # type: ignore[arg-type]
        for values in (X, Y)
    )
    measures = {
        "pearson": lambda a, b: stats.pearsonr(a, b).statistic,
        "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
        "cosine": cosine,
    }
    for (score,), order in zip(matrices.inner_products([x], y, ORDERS[:2]), ORDERS, strict=False):
        expected = measures[correlation](pdist(X, "cityblock"), pdist(Y[order], "cityblock"))
        assert score == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("distance", [one for one in Distance if one is not Distance.PRECOMPUTED])
def test_distances_are_those_of_their_definitions(distance: Distance) -> None:
    values = np.round(X)
    definitions = {
        Distance.EUCLIDEAN: lambda a, b: np.sqrt(((a - b) ** 2).sum()),
        Distance.COSINE: lambda a, b: 1 - cosine(a, b),
        Distance.CORRELATION: lambda a, b: 1 - cosine(a - a.mean(), b - b.mean()),
        Distance.MANHATTAN: lambda a, b: np.abs(a - b).sum(),
        Distance.HAMMING: lambda a, b: (a != b).mean(),
        Distance.DOT: lambda a, b: -(a * b).sum(),
    }
    found = matrices.distances(values, distance)
    for i, j in ((0, 1), (3, 9), (20, 4)):
        assert found[i, j] == pytest.approx(definitions[distance](values[i], values[j]), abs=1e-12)


def test_what_does_not_vary_has_no_measure() -> None:
    equal = np.ones((6, 6)) - np.eye(6)
    for prepare in (
        lambda: matrices.dissimilarities(equal, "pearson"),
        lambda: matrices.dissimilarities(0 * equal, "cosine"),
        lambda: matrices.centred(np.ones((6, 6)), debiased=False),
        lambda: matrices.centred(equal, debiased=True),
        lambda: matrices.radial(0 * equal, None),
    ):
        with pytest.raises(UndefinedError):
            prepare()
