"""What is proven of the two scores (Soares et al. 2026, arXiv 2606.16379), on random cases and on published numbers.

Deficits, not scores, and counts, not shares: all of it holds, and is tested, in integers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import comb, perm
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rational
from against_oracle import exact_quadruplets, exact_triplets, five, spaces
from nasty_cases import fit, gaussian, heavy_ties, multiples, one_ulp_apart

from ordsim_core import quadruplets, triplets
from ordsim_core.counts import AgreementCounts, quadruplet_population, triplet_population
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.spaces import Space


def agreeing(counts: rational.Counts) -> int:
    return counts[0] + counts[4]


def tsi(x: np.ndarray, y: np.ndarray) -> int:
    return agreeing(exact_triplets(*spaces(x, y)).counts)


def qsi(x: np.ndarray, y: np.ndarray) -> int:
    return agreeing(exact_quadruplets(*spaces(x, y)))


EXACT = [(tsi, triplet_population, 3), (qsi, quadruplet_population, 4)]
MEASURES: dict[str, Callable[[Space, Space], rational.Counts]] = {
    "all triplets": lambda x, y: exact_triplets(x, y).counts,
    "all quadruplets": exact_quadruplets,
    # A metric whatever the set of comparisons is, as long as it is one set for all.
    "sampled triplets": lambda x, y: five(triplets.sampled_range(x, y, 3, 0, 500).counts),
    "sampled quadruplets": lambda x, y: five(quadruplets.sampled_range(x, y, 3, 0, 500).counts),
    "units of triplets": lambda x, y: five(triplets.units_range(x, y, 3, 0, 40, 3).counts),
    "units of quadruplets": lambda x, y: five(quadruplets.units_range(x, y, 3, 0, 40, 2).counts),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
@pytest.mark.parametrize("kind", [gaussian, heavy_ties, multiples, one_ulp_apart])
def test_one_minus_the_score_is_a_metric_between_orders(measure: Any, kind: Any) -> None:
    """Corollary 6: symmetric, 0 on itself, and no longer than any way round."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        rows = int(rng.integers(4, 25))
        sides = [
            prepare(fit(kind(rng, rows, int(rng.integers(2, 6))), distance), distance)
            for distance in rng.permutation([Distance.EUCLIDEAN, Distance.COSINE, Distance.MANHATTAN, Distance.HAMMING])
        ]
        counts = {pair: measure(sides[pair[0]], sides[pair[1]]) for pair in np.ndindex(4, 4)}
        deficit = {pair: sum(found[1:4]) for pair, found in counts.items()}
        for i, j in counts:
            assert deficit[i, j] == deficit[j, i] >= 0 == deficit[i, i]
            assert all(deficit[i, j] <= deficit[i, way] + deficit[way, j] for way in range(4))
            # Being at distance 0 is to order everything alike.
            alike = counts[i, j][1:4] == (0, 0, 0)
            assert (deficit[i, j] == 0) is alike


def test_published_metric_distances() -> None:
    rng = np.random.default_rng(31)
    sides = [rng.integers(0, 4, (20, 2)) for _ in range(3)]
    for (one, other), triples, quadruples in (((0, 1), 1243, 5713), ((1, 2), 1479, 6209), ((0, 2), 1284, 5620)):
        assert tsi(sides[one], sides[other]) == tsi(sides[other], sides[one]) == triples
        assert qsi(sides[one], sides[other]) == quadruples


def test_similarities_of_the_plane_change_nothing() -> None:
    """Corollary 5, and Corollary 11 on the same points: pairs of all distances are triplets and quadruplets."""
    rng = np.random.default_rng(41)
    x, y = rng.integers(0, 9, (25, 2)), rng.integers(0, 9, (25, 2))
    for moved in (x, 3 * x @ np.array([[0, -1], [1, 0]]) + (7, -4)):
        assert tsi(moved, y) == 3453
        assert qsi(moved, y) == 18449
    assert tsi(x, x * (2, 1)) == 6017
    assert qsi(x, x * (2, 1)) == 32645
    assert all_distances(x, y) == 21902 == 3453 + 18449


def all_distances(x: np.ndarray, y: np.ndarray) -> int:
    """Agreeing pairs among all distances, by exact integers."""
    upper = np.triu_indices(len(x), 1)
    orders = []
    for side in (x, y):
        distances = ((side[:, None] - side[None]) ** 2).sum(axis=2)[upper]
        orders.append(np.sign(distances[:, None] - distances[None]))
    return int((orders[0] == orders[1])[np.triu_indices(len(upper[0]), 1)].sum())


@pytest.mark.parametrize("seed", range(10))
def test_kendall_identity(seed: int) -> None:
    """Corollary 11: Kendall's agreement over all pairs of distances is 4/(N+1) TSI + (N-3)/(N+1) QSI."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 24))
    x, y = (rng.integers(-3, 4, (rows, int(rng.integers(1, 5)))) for _ in range(2))
    sides = [rational.Ranked(side.tolist(), "euclidean") for side in (x, y)]
    quadruples = rational.quadruplets(*sides)
    kendall = Fraction(all_distances(x, y), comb(rows * (rows - 1) // 2, 2))
    shares = Fraction(tsi(x, y), triplet_population(rows)), Fraction(agreeing(quadruples), quadruplet_population(rows))
    assert kendall == Fraction(4, rows + 1) * shares[0] + Fraction(rows - 3, rows + 1) * shares[1]
    assert qsi(x, y) == agreeing(quadruples)


def shared_neighbours(x: np.ndarray, y: np.ndarray) -> list[int]:
    """For k = 1 .. N - 2, how many of their k nearest rows all rows together have in common; there must be no ties."""
    nearest = []
    for side in (x, y):
        ranks = rational.Ranked(side.tolist(), "euclidean").rank
        nearest.append([sorted(range(len(side)), key=row.__getitem__)[1:] for row in ranks])  # its own rank is -1
    return [
        sum(len(set(one[:k]) & set(other[:k])) for one, other in zip(*nearest, strict=True))
        for k in range(1, len(x) - 1)
    ]


def tie_free(counts: rational.Counts) -> bool:
    return counts[2:] == (0, 0, 0)


def test_a_full_score_means_all_neighbourhoods_are_shared_and_the_reverse() -> None:
    """Corollary 1: without ties TSI is 1 exactly when the k nearest neighbours agree for every k."""
    rng = np.random.default_rng(1)
    outcomes = []
    for _ in range(150):
        rows = int(rng.integers(3, 14))
        x = rng.standard_normal((rows, int(rng.integers(1, 5))))
        y = x * (1 + rng.standard_normal(x.shape) * 10.0 ** rng.integers(-5, 0))
        if rng.random() < 0.3:
            y = y[:, ::-1] * 0.75
        counts = exact_triplets(*spaces(x, y)).counts
        assert tie_free(counts)
        full = [rows * k for k in range(1, rows - 1)]
        outcomes.append(counts[1] == 0)
        assert (shared_neighbours(x, y) == full) is outcomes[-1]
    assert 30 < sum(outcomes) < 120


def neighbour_bound_holds(x: np.ndarray, y: np.ndarray) -> bool:
    """TSI <= sum over k of k MutualNN_k / C(N - 1, 2), both sides times N C(N - 1, 2)."""
    return tsi(x, y) <= sum(shared_neighbours(x, y))


@pytest.mark.parametrize(
    ("seed", "rows", "columns", "share", "triples", "shared"),
    [
        (13, 60, 16, 0.9, 97837, {0: 98837, 1: 43, 2: 101, 5: 255, 10: 545}),
        (11, 12, 3, 0, 335, {0: 426, 1: 4, 10: 109}),
    ],
)
def test_published_neighbour_bounds(
    seed: int, rows: int, columns: int, share: float, triples: int, shared: dict[int, int]
) -> None:
    """Corollary 9: TSI is at most the weighted mean of the mutual nearest neighbours."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((rows, columns)), rng.standard_normal((rows, columns))
    y = share * x + (1 - share) * z
    found = shared_neighbours(x, y)
    assert {k: found[k - 1] if k else sum(found) for k in shared} == shared
    assert tsi(x, y) == triples
    assert neighbour_bound_holds(x, y)


@pytest.mark.parametrize("seed", range(20))
def test_neighbour_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(3, 25))
    x = rng.standard_normal((rows, int(rng.integers(1, 6)))).astype("f4")
    for share in (0.0, 0.5, 0.99):
        assert neighbour_bound_holds(x, share * x + (1 - share) * rng.standard_normal(x.shape))


LAWS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "coin": lambda rng: (rng.random((30, 1)) < 0.25).astype("u1"),
    "digit": lambda rng: rng.integers(0, 10, (30, 1)),
    "point": lambda _: np.zeros((30, 1)),
    "grid": lambda rng: rng.integers(0, 3, (30, 2)),
    "bits": lambda rng: rng.integers(0, 2, (30, 4)),
}


@pytest.mark.parametrize(
    ("x_law", "y_law", "seed", "first", "triples", "quadruples"),
    [
        ("coin", "digit", 9000, [2554, 2511, 2643], (1210905, "199/800", 0.0063), (8942789, "4339/16000", 0.0049)),
        (
            "digit",
            "digit",
            12000,
            [4501, 4966, 4762],
            (1894883, "1947/5000", 0.004),
            (13107803, "49883/125000", 0.0037),
        ),
        ("point", "grid", 11000, [2784, 2678, 2588], (1136322, "169/729", 0.0031), (6663142, "443/2187", 0.0031)),
        ("bits", "grid", 7000, [4165, 4174, 4059], (1669145, "31955/93312", 0.0033), (11356620, "96601/279936", 0.003)),
    ],
)
def test_expected_scores_of_unrelated_arrays_with_ties(
    x_law: str, y_law: str, seed: int, first: list[int], triples: Any, quadruples: Any
) -> None:
    """Lemma 1: p q + (1 - p)(1 - q)/2, where p and q are the probabilities of a tie; sums over 400 runs."""
    pairs = []
    for run in range(400):
        rng = np.random.default_rng(seed + run)
        pairs.append((LAWS[x_law](rng), LAWS[y_law](rng)))
    assert [tsi(*pair) for pair in pairs[:3]] == first
    for (measure, population, _), (total, expected, error) in zip(EXACT, (triples, quadruples), strict=True):
        assert sum(measure(*pair) for pair in pairs) == total
        assert abs(total / (400 * population(30)) - float(Fraction(expected))) < error


def test_mean_score_over_all_orders_of_rows() -> None:
    """Lemma 1 for given arrays: over all permutations of y's rows the mean is the baseline of their tie rates."""
    x = np.array([[1, 1], [2, 2], [0, 0], [2, 2], [0, 0], [2, 1]])
    y = np.array([[1], [3], [1], [1], [2], [2]])
    counts = [exact_triplets(*spaces(x, y[list(order)])).counts for order in permutations(range(6))]
    found = [agreeing(one) for one in counts]
    assert (sum(found), min(found), max(found)) == (14184, 8, 34)
    ties_x, ties_y = Fraction(14, 60), Fraction(22, 60)
    for one in counts:
        assert (one[2] + one[4], one[3] + one[4]) == (14, 22)
        assert AgreementCounts(*one).baseline == pytest.approx(sum(found) / (720 * 60), rel=1e-15)
    assert Fraction(sum(found), 720 * 60) == ties_x * ties_y + (1 - ties_x) * (1 - ties_y) / 2
    assert sum(qsi(x, y[list(order)]) for order in permutations(range(6))) == 10800


def check_partial_change(x: np.ndarray, changed: np.ndarray, y: np.ndarray, rows: np.ndarray) -> None:
    """Lemma 2: rows that change move only the comparisons that they are part of."""
    kept = np.setdiff1d(np.arange(len(x)), rows)
    for measure, population, order in EXACT:
        all_of_them, untouched = population(len(x)), population(len(kept))
        # The share of the comparisons that lie among the U rows kept is (U)_m / (N)_m, m rows to a comparison.
        assert untouched * perm(len(x), order) == all_of_them * perm(len(kept), order)
        among_kept = measure(x[kept], y[kept]) if untouched else 0
        for side in (x, changed):
            assert among_kept <= measure(side, y) <= among_kept + all_of_them - untouched
        assert abs(measure(x, y) - measure(changed, y)) <= all_of_them - untouched


@pytest.mark.parametrize(
    ("seed", "rows", "changes", "places", "counts", "quadruples"),
    [
        (21, 30, 3, [22, 26, 28], (9786, 8664, 7057), (66943, 57366, 42541)),
        (22, 50, 5, [10, 15, 19, 30, 31], (47581, 41238, 34580), (555011, 460304, 359185)),
    ],
)
def test_published_outlier_bounds(
    seed: int, rows: int, changes: int, places: list[int], counts: tuple[int, ...], quadruples: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (rows, 3))
    y = x + rng.integers(0, 2, (rows, 3))
    chosen = rng.choice(rows, changes, replace=False)
    changed = x.copy()
    changed[chosen] = rng.integers(-(10**6), 10**6, (changes, 3))
    assert sorted(chosen.tolist()) == places
    kept = np.setdiff1d(np.arange(rows), chosen)
    for one, other, triples, fours in zip((x, changed, x[kept]), (y, y, y[kept]), counts, quadruples, strict=True):
        assert tsi(one, other) == triples
        assert qsi(one, other) == fours
    check_partial_change(x, changed, y, chosen)


@pytest.mark.parametrize("seed", range(12))
def test_outlier_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, kind = int(rng.integers(5, 25)), [gaussian, heavy_ties, multiples, one_ulp_apart][seed % 4]
    x, y = (rng.standard_normal((rows, 3)) for _ in range(2))
    chosen = rng.choice(rows, int(rng.integers(1, 4)), replace=False)
    changed = x.copy()
    changed[chosen] = 10.0 ** rng.integers(-3, 30) * kind(rng, len(chosen) + 3, 3)[: len(chosen), :3].astype("f8")
    check_partial_change(x, changed, y, chosen)
    check_partial_change(x, changed, x, chosen)


def test_no_score_falls_below_what_ties_alone_leave() -> None:
    """Derived: a comparison tied on one side only disagrees, so the deficit is at least the difference of tie rates."""
    rng = np.random.default_rng(4)
    for one, other in combinations([kind(rng, 20, 4) for kind in (heavy_ties, gaussian, one_ulp_apart)], 2):
        counts = triplets.exact_block(*spaces(one, other), 0, 20).counts
        tied_x, tied_y = counts.tied_x + counts.tied_both, counts.tied_y + counts.tied_both
        assert counts.agreeing <= counts.comparisons - abs(tied_x - tied_y)
        assert counts.score <= counts.attainable_maximum + 1e-15
