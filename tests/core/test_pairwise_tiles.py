"""The grid of tiles, and sums over several tiles against whole matrices."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from pair_cases import cka, kernel_plan, medians, pairing, rdm_plan, rsa
from scipy.spatial.distance import cdist

from ordsim_core import sampling
from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.errors import ZeroVectorError
from ordsim_core.pairwise import bandwidth, centred, kernel_matrices, rdm
from ordsim_core.pairwise.tiles import EDGE, LONG_EDGE, MANY_ROWS, TileGrid

ROWS = 2 * EDGE + 77
RNG = np.random.default_rng(8)
X = RNG.standard_normal((ROWS, 6))
Y = (X[:, :4] + 0.5 * RNG.standard_normal((ROWS, 4))).astype("f4")
COUNTS = np.rint(3 * X).astype("i1")


@pytest.mark.parametrize("rows", [0, 1, 2, EDGE - 1, EDGE, EDGE + 1, ROWS, 5 * EDGE])
def test_every_pair_is_in_one_tile(rows: int) -> None:
    grid = TileGrid(rows)
    seen = np.zeros((rows, rows), int)
    for index, tile in enumerate(grid.tiles(0, len(grid))):
        assert tile.index == index
        assert tile.pairs == grid.pairs(index, index + 1)
        seen[tile.top : tile.bottom, tile.left : tile.right] += 1
        if tile.diagonal:
            assert (tile.top, tile.bottom) == (tile.left, tile.right)
    assert (seen[np.triu_indices(rows)] == 1).all()
    assert grid.pairs(0, len(grid)) == comb(rows, 2)
    half = len(grid) // 2
    assert grid.pairs(0, half) + grid.pairs(half, len(grid)) == comb(rows, 2)


def test_many_rows_have_longer_tiles() -> None:
    grid = TileGrid(MANY_ROWS + 1)
    assert grid.edge == LONG_EDGE
    assert grid.tile(len(grid) - 1).bottom == MANY_ROWS + 1
    assert TileGrid(MANY_ROWS).edge == EDGE
    with pytest.raises(ValueError, match="is not one of the"):
        grid.tile(len(grid))


def dense(values: np.ndarray, distance: str) -> np.ndarray:
    """All distances by other means."""
    values = values.astype("f8")
    if distance == "dot":
        return -values @ values.T
    if distance == "hamming":
        return (values[:, None] != values[None]).sum(axis=2).astype("f8")
    return cdist(values, values, {"manhattan": "cityblock"}.get(distance, distance))


def dense_rsa(tables: list[np.ndarray], centre: bool) -> float:
    one, other = (table[np.triu_indices(len(table), 1)] for table in tables)
    if centre:
        one, other = one - one.mean(), other - other.mean()
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def dense_cka(tables: list[np.ndarray], debiased: bool) -> float:
    one, other = (u_centred(table) if debiased else double_centred(table) for table in tables)
    return float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))


def double_centred(table: np.ndarray) -> np.ndarray:
    return table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()


def u_centred(table: np.ndarray) -> np.ndarray:
    table, n = table - np.diag(np.diag(table)), len(table)
    along = table.sum(axis=0)
    found = table - (along + along[:, None]) / (n - 2) + along.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(found, 0)
    return found


SIDES = [
    (X, Y, "euclidean", "euclidean"),
    (X, Y, "cosine", "correlation"),
    (X, Y, "dot", "manhattan"),
    (COUNTS, X, "hamming", "euclidean"),
    (COUNTS, COUNTS[::-1], "manhattan", "manhattan"),
    (dense(X, "manhattan"), Y, "precomputed", "cosine"),
]


@pytest.mark.parametrize(("x", "y", "x_distance", "y_distance"), SIDES)
def test_sums_over_tiles_are_those_of_whole_matrices(
    x: np.ndarray, y: np.ndarray, x_distance: str, y_distance: str
) -> None:
    tables = [
        values if distance == "precomputed" else dense(values, distance)
        for values, distance in ((x, x_distance), (y, y_distance))
    ]
    for choice in (True, False):
        assert rsa(x, y, x_distance, y_distance, centred=choice).score == pytest.approx(
            dense_rsa(tables, choice), rel=1e-12
        )
        assert cka(x, y, (x_distance, y_distance), debiased=choice).score == pytest.approx(
            dense_cka(tables, choice), rel=1e-11
        )


@pytest.mark.parametrize("y", [Y, X + 1e-3 * RNG.standard_normal(X.shape), X[::-1]])
@pytest.mark.parametrize("sigma", [None, 1.75])
def test_radial_kernels_are_those_of_whole_matrices(y: np.ndarray, sigma: float | None) -> None:
    tables = []
    for values in (X, y):
        table = dense(values, "euclidean")
        width = np.median(table[np.triu_indices(ROWS, 1)]) if sigma is None else sigma
        tables.append(np.exp(-(table**2) / (2 * width**2)))
    for debiased in (True, False):
        found = cka(X, y, "rbf", debiased=debiased, sigma=sigma)
        assert found.score == pytest.approx(dense_cka(tables, debiased), rel=1e-11)
        assert found.deficit == pytest.approx(1 - dense_cka(tables, debiased), abs=1e-13)


@pytest.mark.parametrize("rows", [ROWS, 700, 65, 8, 3, 2])
@pytest.mark.parametrize("values", [X, COUNTS], ids=["float", "ties"])
def test_bandwidth_is_the_median(values: np.ndarray, rows: int) -> None:
    values = values[:rows]
    table = dense(values, "euclidean")
    widths = medians(pairing(values, values[:, ::-1], ("euclidean", "euclidean"), centred=True))
    expected = np.median(table[np.triu_indices(rows, 1)])
    assert float(widths.x) == pytest.approx(expected, rel=1e-15)
    assert float(widths.y) == pytest.approx(expected, rel=1e-15)


def test_bandwidth_of_sampled_pairs_is_near_the_median() -> None:
    side = pairing(X, X, ("euclidean", "euclidean"), centred=True).x
    table = dense(X, "euclidean")
    place = bandwidth.sampled_middle(side, 5000).low
    share = (table[np.triu_indices(ROWS, 1)] < table[place]).mean()
    assert 0.47 < share < 0.53


def test_bandwidth_of_more_than_half_equal_rows_is_zero() -> None:
    values = np.zeros((90, 2))
    values[:20] = RNG.standard_normal((20, 2))
    assert medians(pairing(values, X[:90], ("euclidean", "euclidean"), centred=True)).x == 0


def test_batches_add_up_to_the_debiased_sums() -> None:
    plan = kernel_plan(X, Y, ("manhattan", "cosine"))
    tables = [dense(values, distance) for values, distance in ((X, "manhattan"), (Y, "cosine"))]
    sums, products = [], np.zeros(3)
    for index in range(5):
        batch = sampling.batch(3, index, 40, ROWS)
        sums.append(kernel_matrices.batch_sums(plan, batch))
        one, other = (u_centred(table[np.ix_(batch, batch)]) for table in tables)
        products += [(one * one).sum(), (one * other).sum(), (other * other).sum()]
    found = CosineSums.total(sums).cosine()
    assert found.score == pytest.approx(products[1] / np.sqrt(products[0] * products[2]), rel=1e-12)


def test_any_cut_gives_the_same_bits() -> None:
    for plan, sums_of in (
        (rdm_plan(X, Y, ("euclidean", "cosine"), centred=True), rdm.sums_of),
        (kernel_plan(X, Y, "rbf"), kernel_matrices.sums_of),
    ):
        grid: Any = TileGrid(ROWS)
        whole = sums_of(plan, grid.tiles(0, len(grid)))
        single = [sums_of(plan, grid.tiles(index, index + 1)) for index in range(len(grid))]
        assert np.array_equal(whole, np.concatenate(single))


def test_a_missing_tile_is_noticed() -> None:
    plan = kernel_plan(X[:20], Y[:20], "rbf")
    sums = kernel_matrices.sums_of(plan, TileGrid(20).tiles(0, 1))
    for parts in (sums[:-1], np.concatenate([sums, sums])):
        with pytest.raises(ValueError, match="sums instead of"):
            centred.total(20, parts)


@pytest.mark.parametrize("distance", ["cosine", "correlation"])
def test_a_row_without_direction_is_named(distance: str) -> None:
    values = X.copy()
    values[ROWS - 3] = 0 if distance == "cosine" else 0.7
    with pytest.raises(ZeroVectorError) as caught:
        rsa(values, Y, distance, centred=True)
    assert caught.value.row == ROWS - 3


CONSTANT = [np.full((12, 3), 0.1), np.eye(12)]


@pytest.mark.parametrize("values", CONSTANT, ids=["equal rows", "equal distances"])
def test_constant_distances_have_no_correlation(values: np.ndarray) -> None:
    for x, y, named in ((values, X[:12], "x"), (X[:12], values, "y")):
        found = rsa(x, y, "euclidean", centred=True)
        assert (found.score, found.deficit) == (None, None)
        assert str(found.reason).startswith(named)
        assert cka(x, y, "euclidean", debiased=True).score is None
        assert cka(x, y, "rbf", debiased=True, sigma=1.0).score is None
    assert str(rsa(values, values, "euclidean", centred=True).reason).startswith("both")
