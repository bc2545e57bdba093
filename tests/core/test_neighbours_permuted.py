"""Neighbour lists that are kept, for permutations of one array's rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from against_oracle import lattice

from ordsim_core.distances import Distance
from ordsim_core.neighbours import cknna, filling, hsic, kernels, permuted, selection, warmup
from ordsim_core.neighbours import overlaps as overlapping
from ordsim_core.neighbours.lists import Neighbours, Ties, nearest
from ordsim_core.neighbours.overlaps import Overlaps, overlaps
from ordsim_core.neighbours.permuted import is_permutation, permuted_overlaps
from ordsim_core.spaces import prepare

RNG = np.random.default_rng(11)
MODULES = (cknna, filling, hsic, kernels, overlapping, permuted, selection)
KERNELS = [one for module in MODULES for one in vars(module).values() if hasattr(one, "signatures")]


def lists_of(x: np.ndarray, count: int, ties: Ties = Ties.FRACTIONAL) -> Neighbours:
    return nearest(prepare(x, Distance.EUCLIDEAN), np.arange(len(x)), count, ties)


def fractions(found: Overlaps) -> list[Fraction]:
    return [Fraction(*one) for one in zip(found.above.tolist(), found.below.tolist(), strict=True)]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("count", [1, 4, 29])
def test_permuting_lists_is_permuting_rows(tied: bool, count: int) -> None:
    x, y = (lattice(RNG, 30, 2, 2) if tied else RNG.standard_normal((30, 4)) for _ in range(2))
    of_x, of_y = lists_of(x, count), lists_of(y, count)
    assert (of_x.ties > 0) == (tied and count < 29)
    orders = [np.arange(30), *(RNG.permutation(30) for _ in range(6))]
    for order, found in zip(orders, permuted_overlaps(of_x, of_y, orders), strict=True):
        assert fractions(found) == fractions(overlaps(of_x, lists_of(y[order], count)))


def test_the_mean_over_all_permutations_is_k_in_all_others() -> None:
    """k / (N - 1), without ties: Groeger et al. 2026."""
    x, y = (RNG.standard_normal((5, 2)) for _ in range(2))
    orders = np.array(np.meshgrid(*[np.arange(5)] * 5)).reshape(5, -1).T
    orders = orders[[len(set(order)) == 5 for order in orders.tolist()]]
    assert len(orders) == 120
    totals = [Fraction(*found.total()) for found in permuted_overlaps(lists_of(x, 2), lists_of(y, 2), orders)]
    assert sum(totals) / (120 * 5 * 2) == Fraction(2, 4)
    assert len(set(totals)) > 1


@pytest.mark.parametrize("order", [np.arange(7), np.array([0, 1, 2, 3, 4, 4]), np.array([0, 1, 2, 3, 4, 6])])
def test_what_is_no_permutation_is_refused(order: np.ndarray) -> None:
    near = lists_of(RNG.standard_normal((6, 2)), 2)
    assert not is_permutation(order, 6)
    with pytest.raises(ValueError, match="0 to 5 once"):
        list(permuted_overlaps(near, near, [order]))


def test_lists_of_different_rows_are_refused() -> None:
    near = lists_of(RNG.standard_normal((6, 2)), 2)
    for other in (lists_of(RNG.standard_normal((7, 2)), 2), lists_of(RNG.standard_normal((6, 2)), 3)):
        with pytest.raises(ValueError, match="must be of the same rows"):
            list(permuted_overlaps(near, other, [np.arange(6)]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "manhattan", "precomputed"])
def test_warming_leaves_nothing_to_compile(dtype: str, distance: str) -> None:
    values = (np.arange(36.0).reshape(6, 6) % 5 + 1).astype(dtype) / 7
    space = prepare(values, Distance(distance))
    warmup.warm(space)
    compiled = [len(kernel.signatures) for kernel in KERNELS]
    near = nearest(space, np.arange(6), 3)
    entries = kernels.distance_entries(space, np.arange(6), near)
    cknna.cknna(near, entries, near, kernels.linear_entries(values, 1, np.arange(6), near), hsic.Estimator.BIASED)
    list(permuted_overlaps(near, near, [np.arange(6)[::-1]]))
    overlaps(near, near)
    assert [len(kernel.signatures) for kernel in KERNELS] == compiled
