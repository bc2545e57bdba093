"""CKNNA against 80-digit values, fractions, published examples, and what must leave it as it is."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from against_oracle import lattice, spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbourhoods import Weights, overlap, weights
from rational import Ranked

from ordsim_core import quadruplets, triplets
from ordsim_core.distances import Distance
from ordsim_core.neighbours import hsic, kernels
from ordsim_core.neighbours.cknna import Cknna, cknna
from ordsim_core.neighbours.hsic import Estimator, Sparse, criterion
from ordsim_core.neighbours.lists import Ties, nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.spaces import prepare

ORACLE = Path(__file__).parent.parent / "data" / "oracle"
CASES = {case["name"]: case for case in json.loads((ORACLE / "cases.json").read_text())["cases"]}
BASELINES = json.loads((ORACLE / "baselines.json").read_text())["cases"]
SCORED = [
    (name, measure, *value)
    for name, values in BASELINES.items()
    for measure, value in values.items()
    if measure.startswith("cknna")
]
RNG = np.random.default_rng(3)

CLUSTERS = [[0, 0], [1, 0], [0, 2], [3, 1], [10000, 0], [10001, 0], [10000, 2], [10003, 1]]
FAILURES = {
    "5.1: near neighbours swap": (
        [[0, 0], [1, 0], [3, 0], [7, 0], [15, 0], [1000, 0], [1001, 0], [1003, 0], [1007, 0], [1015, 0]],
        [[0, 0], [3, 0], [1, 0], [15, 0], [7, 0], [1000, 0], [1001, 0], [1003, 0], [1007, 0], [1015, 0]],
        4,
        (Fraction(14, 15), Fraction(89, 105)),
    ),
    "5.2: clusters change places": (
        [*CLUSTERS, [0, 100], [1, 100], [0, 102], [3, 101]],
        [*CLUSTERS, [10000, 100], [10001, 100], [10000, 102], [10003, 101]],
        3,
        (Fraction(39, 55), Fraction(1007, 1485)),
    ),
}
"""Of Soares et al. 2026, with numbers of our own: x, y, k, and TSI and QSI, which fall."""


@cache
def arrays(name: str) -> tuple[np.ndarray, np.ndarray]:
    return tuple(
        np.array([[float.fromhex(value) for value in row] for row in CASES[name][side]]).astype(CASES[name]["dtype"])
        for side in ("x", "y")
    )


def score(
    x: np.ndarray,
    y: np.ndarray,
    count: int,
    estimator: str = "unbiased",
    distance: str = "euclidean",
    kernel: str = "linear",
    ties: Ties = Ties.FRACTIONAL,
) -> Cknna:
    rows, sides = np.arange(len(x)), []
    for values in (np.asarray(x), np.asarray(y)):
        space = prepare(values, Distance(distance))
        near = nearest(space, rows, count, ties)
        if kernel == "linear":
            sides += [near, kernels.linear_entries(values, kernels.exponent_of(values), rows, near)]
        else:
            sides += [near, kernels.distance_entries(space, rows, near)]
    return cknna(*sides, Estimator(estimator))


@pytest.mark.parametrize(("name", "measure", "expected", "tied"), SCORED, ids=[f"{one[0]} {one[1]}" for one in SCORED])
def test_small_cases(name: str, measure: str, expected: str, tied: bool) -> None:
    """Deficits to 1e-10, as far as 32 digits of the score say what they are."""
    _, places, distance, estimator = measure.split("_")
    distance = {"negdot": "dot"}.get(distance, distance)
    for ties in [Ties.INDEX] if tied else Ties:
        found = score(*arrays(name), int(places[1:]), estimator, distance, ties=ties)
        with localcontext(prec=60):
            right = Decimal(expected)
            assert abs(Decimal(found.score) - right) <= Decimal("1e-15") * abs(right)
            deficit = 1 - right
            assert abs(Decimal(found.deficit) - deficit) <= Decimal("1e-13") * abs(deficit) + Decimal("2e-31")


def in_fractions(
    x: list[list[int]], y: list[list[int]], masks: list[list[Weights]], estimator: str
) -> tuple[Fraction, Fraction, Fraction]:
    """xy, xx and yy of the definition, from dense matrices of fractions."""
    size = len(x)
    grams = [[[Fraction(sum(a * b for a, b in zip(p, q, strict=True))) for q in side] for p in side] for side in (x, y)]

    def masked(gram: Any, one: list[Weights], other: list[Weights]) -> list[list[Fraction]]:
        return [
            [min(one[i].get(j, Fraction(0)), other[i].get(j, Fraction(0))) * gram[i][j] for j in range(size)]
            for i in range(size)
        ]

    def product(p: Any, q: Any) -> list[list[Fraction]]:
        return [[sum(p[i][k] * q[k][j] for k in range(size)) for j in range(size)] for i in range(size)]

    def trace(p: Any) -> Fraction:
        return sum((p[i][i] for i in range(size)), Fraction(0))

    def between(p: Any, q: Any) -> Fraction:
        if estimator == "biased":
            centre = [[Fraction(int(i == j)) - Fraction(1, size) for j in range(size)] for i in range(size)]
            return trace(product(product(p, centre), product(q, centre)))
        sums = [sum(map(sum, matrix)) for matrix in (p, q, product(p, q))]
        return trace(product(p, q)) + sums[0] * sums[1] / ((size - 1) * (size - 2)) - 2 * sums[2] / Fraction(size - 2)

    shared = [masked(gram, *masks) for gram in grams]
    own = [masked(gram, mask, mask) for gram, mask in zip(grams, masks, strict=True)]
    return between(*shared), between(own[0], own[0]), between(own[1], own[1])


@given(st.integers(0, 2**32), st.integers(4, 7), st.sampled_from(["unbiased", "biased"]), st.sampled_from(list(Ties)))
@settings(max_examples=60, deadline=None)
def test_ties_and_equal_rows_against_fractions(seed: int, rows: int, estimator: str, ties: Ties) -> None:
    rng = np.random.default_rng(seed)
    x, y = lattice(rng, rows, 2, 2), lattice(rng, rows, 2, 1)
    count = int(rng.integers(1, rows))
    integers = [side.astype(int).tolist() for side in (x, y)]
    ranked = [Ranked(side, "euclidean") for side in integers]
    masks = [[weights(side, row, count, ties) for row in range(rows)] for side in ranked]
    xy, xx, yy = in_fractions(*integers, masks, estimator)
    found = score(x, y, count, estimator, ties=ties)
    assert found.shared == sum(len(set(one) & set(other)) for one, other in zip(*masks, strict=True))
    if xx <= 0 or yy <= 0:
        assert (found.score, found.deficit) == (None, None)
        assert "divides by its root" in found.reason
        return
    with localcontext(prec=50):
        right = Decimal(xy.numerator) / xy.denominator / (Decimal((xx * yy).numerator) / (xx * yy).denominator).sqrt()
        assert abs(Decimal(found.score) - right) <= Decimal("1e-15") * max(1, abs(right))
        assert abs(Decimal(found.deficit) - (1 - right)) <= Decimal("2e-16") * abs(1 - right) + Decimal("1e-27")


@pytest.mark.parametrize("kernel", ["linear", "distance"])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot", "manhattan", "hamming", "correlation"])
def test_equal_arrays_score_one_exactly(kernel: str, estimator: str, distance: str) -> None:
    x = RNG.integers(-4, 5, (24, 7)).astype("f4") + 0.125 * np.arange(7, dtype="f4")
    x[9] = x[3]
    for other in (x.copy(order="F"), x.astype("f8"), 4 * x):
        found = score(x, other, 5, estimator, distance, kernel)
        assert (found.score, found.deficit) == (1.0, 0.0)


@pytest.mark.parametrize(("x", "y", "count", "falls"), FAILURES.values(), ids=FAILURES.keys())
def test_where_triplets_fall_and_neighbours_do_not(
    x: Any, y: Any, count: int, falls: tuple[Fraction, Fraction]
) -> None:
    arrays_of = [np.array(side, float) for side in (x, y)]
    sides = spaces(*arrays_of)
    counts = triplets.exact_block(*sides, 0, len(x)).counts, quadruplets.exact_counts(*sides).counts
    assert tuple(Fraction(one.agreeing, one.comparisons) for one in counts) == falls
    near = [nearest(side, np.arange(len(x)), count) for side in sides]
    found = overlaps(*near)
    assert (found.score, found.deficit) == (1.0, 0.0)
    if count == 3:
        assert [score(*arrays_of, 3, kernel=kernel).score for kernel in ("distance", "linear")] == pytest.approx(
            [1.0, 0.7792302709798353], rel=1e-12
        )
        assert score(*arrays_of, 3, kernel="distance").deficit == 0.0


@pytest.mark.parametrize("exponent", [-600, -16, 3, 450])
def test_scale_leaves_the_score_as_it_is(exponent: int) -> None:
    """There is no epsilon in the denominator, and no overflow."""
    x, y = RNG.standard_normal((20, 4)), RNG.standard_normal((20, 3))
    for kernel in ("linear", "distance"):
        plain = score(x, y, 4, kernel=kernel)
        assert score(np.ldexp(x, exponent), y, 4, kernel=kernel) == plain
        assert score(x, np.ldexp(y, exponent), 4, kernel=kernel) == plain


def test_rows_in_another_order_score_the_same() -> None:
    x, y, order = lattice(RNG, 30, 3, 2), lattice(RNG, 30, 3, 2), RNG.permutation(30)
    one, other = score(x, y, 4), score(x[order], y[order], 4)
    assert one.shared == other.shared
    assert one.score == pytest.approx(other.score, rel=1e-14)


def test_integers_and_floats_of_the_same_values_score_the_same() -> None:
    x, y = RNG.integers(-9, 10, (20, 4)), RNG.integers(-9, 10, (20, 4))
    expected = score(x.astype("f4"), y.astype("f4"), 4)
    for dtype in ("i1", "i8", "f8", ">f8", "f2"):
        assert score(x.astype(dtype), y.astype("f8"), 4) == expected


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_a_constant_kernel_has_no_score(estimator: str) -> None:
    """All rows are each other's neighbours, and equally far: the criterion is rounding and nothing else."""
    found = score(np.eye(9) * 0.1, RNG.standard_normal((9, 2)), 8, "unbiased", kernel="distance")
    assert found.score is None
    assert "of x with itself" in found.reason
    x = np.ones((9, 2)) / 3
    assert score(x, x, 8, estimator).score is None or estimator == "biased"


def test_neighbourhoods_that_share_nothing_score_zero() -> None:
    x = np.array([[0.0], [1], [10], [11], [30], [31]])
    found = score(x, x[[0, 2, 4, 1, 3, 5]], 1)
    assert found.shared == 0
    assert (found.score, found.deficit) == (0.0, 1.0)


def test_entries_in_twice_the_precision() -> None:
    x = (1e3 + RNG.standard_normal((12, 37))).astype("f4")
    for values in (x, x.astype("f8") * (1 + 2.0**-40)):
        space, rows = prepare(values, Distance.EUCLIDEAN), np.arange(12)
        near = nearest(space, rows, 11)
        exact = [[Fraction(float(value)) for value in row] for row in values]
        found = kernels.linear_entries(values, 0, rows, near)
        squares = kernels.distance_entries(space, rows, near)
        for anchor in range(12):
            for place in range(near.start[anchor], near.start[anchor + 1]):
                other = near.rows[place]
                right = sum(a * b for a, b in zip(exact[anchor], exact[other], strict=True))
                got = Fraction(found[place, 0]) + Fraction(found[place, 1])
                assert abs(got - right) <= right * Fraction(1, 2**98)
                right = sum((a - b) ** 2 for a, b in zip(exact[anchor], exact[other], strict=True))
                got = (Fraction(squares[place, 0]) + Fraction(squares[place, 1])) ** 2
                assert abs(got - right) <= right * Fraction(1, 2**98)


def test_what_does_not_fit_together_is_refused() -> None:
    near = nearest(prepare(np.eye(5), Distance.EUCLIDEAN), np.arange(5), 2)
    entries = np.ones((len(near.rows), 2))
    with pytest.raises(ValueError, match="need as many entries"):
        cknna(near, entries[1:], near, entries, Estimator.BIASED)
    part = nearest(prepare(np.eye(5), Distance.EUCLIDEAN), np.arange(4), 2)
    with pytest.raises(ValueError, match="same rows"):
        cknna(near, entries, part, np.ones((len(part.rows), 2)), Estimator.BIASED)
    empty = Sparse(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="at least 4"):
        criterion(empty, empty, Estimator.UNBIASED)
    assert criterion(empty, empty, Estimator.BIASED) == hsic.Criterion(0.0, 0.0)


def test_masks_meet_in_the_smaller_share() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert overlap({1: half, 2: half}, {1: third, 2: Fraction(1)}) == third + half
