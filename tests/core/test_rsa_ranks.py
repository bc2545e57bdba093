"""Spearman's correlation: ranks of all pairs against scipy, and sums of integers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_cases import ranked
from scipy.spatial.distance import pdist
from scipy.stats import rankdata, spearmanr

from ordsim_core.distances import Distance
from ordsim_core.errors import AsymmetricDistanceError
from ordsim_core.pairwise import pair_ranking, spearman
from ordsim_core.spaces import prepare

RNG = np.random.default_rng(12)
MANY = 1100
"""So many rows that their pairs are cut into strips."""


def doubled(values: np.ndarray) -> np.ndarray:
    return np.rint(2 * rankdata(values)).astype(int) - (len(values) + 1)


@pytest.mark.parametrize("rows", [2, 3, 40, MANY])
@pytest.mark.parametrize("spread", [1, 3])
def test_ranks_of_lattices_with_many_ties(rows: int, spread: int) -> None:
    values = RNG.integers(0, spread + 1, (rows, 4))
    for distance, name in (("euclidean", "sqeuclidean"), ("manhattan", "cityblock"), ("hamming", "hamming")):
        found = pair_ranking.doubled_ranks(prepare(values, Distance(distance)))
        assert np.array_equal(found, doubled(pdist(values.astype(float), name)))
        assert found.sum() == 0


def test_ranks_of_floats_with_equal_rows() -> None:
    values = RNG.standard_normal((MANY, 5))
    values[700:800] = values[:100]
    found = pair_ranking.doubled_ranks(prepare(values, Distance.EUCLIDEAN))
    assert np.array_equal(found, doubled(np.round(pdist(values), 12)))


def test_pairs_are_numbered_row_by_row() -> None:
    for rows in (2, 3, 9, 300):
        left, right = pair_ranking.pair_of(np.arange(rows * (rows - 1) // 2, dtype=np.uint64), rows)
        assert list(zip(left.tolist(), right.tolist(), strict=True)) == list(combinations(range(rows), 2))
    last = pair_ranking.ROWS_LIMIT
    left, right = pair_ranking.pair_of(np.array([last * (last - 1) // 2 - 1], np.uint64), last)
    assert (left[0], right[0]) == (last - 2, last - 1)


def test_correlation_is_that_of_scipy() -> None:
    x, y = RNG.integers(0, 4, (60, 3)), RNG.standard_normal((60, 4)).astype("f4")
    expected = spearmanr(pdist(x, "cityblock"), pdist(y.astype("f8"), "cosine")).statistic
    assert ranked(x, y, "manhattan", "cosine").score == pytest.approx(expected, rel=1e-13)


def test_equal_rankings_have_no_deficit() -> None:
    x = RNG.standard_normal((200, 3)).astype("f4")
    for y in (np.asfortranarray(x), x.astype("f8"), -2 * x):
        found = ranked(x, y)
        assert (found.score, found.deficit) == (1.0, 0.0)


def test_opposite_rankings() -> None:
    table = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0) ** 1.5))
    table = table + table.T
    found = ranked(table, -table, "precomputed", "precomputed")
    assert (found.score, found.deficit) == (-1.0, 2.0)


def test_all_distances_tied() -> None:
    found = ranked(np.eye(6), RNG.standard_normal((6, 2)))
    assert (found.score, found.deficit) == (None, None)
    assert found.reason


def test_directions_must_agree() -> None:
    table = RNG.random((5, 5))
    with pytest.raises(AsymmetricDistanceError):
        ranked(table, table, "precomputed", "precomputed")


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31)), min_size=1, max_size=30))
def test_sums_are_those_of_integers(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    found = spearman.sums(x, y)
    expected = [
        sum(a * b for a, b in pairs) for pairs in ([(a, a) for a, _ in pairs], pairs, [(b, b) for _, b in pairs])
    ]
    assert [found.xx, found.xy, found.yy] == expected
