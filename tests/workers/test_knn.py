"""Mutual kNN and CKNNA as measures: shards that add up, ties, intervals, permutations, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ordsim_core import sampling
from ordsim_core.distances import Distance, Precision
from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna
from ordsim_core.neighbours.hsic import Estimator
from ordsim_core.neighbours.lists import Ties, nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.spaces import Space, prepare
from workers.measures import cknna as measure_of_cknna
from workers.measures.cknna import CKNNA, CknnaOptions
from workers.measures.given import Grid, Pair
from workers.measures.mutual_knn import ANCHORS, EXACT, MutualKnnAnchorsOptions, MutualKnnExactOptions
from workers.measures.protocol import Budget, Measure, PairFacts, PairShape
from workers.partials import Partial

ROWS, SEED = 60, 4
RNG = np.random.default_rng(1)
X = RNG.integers(-4, 5, (ROWS, 3)).astype("f4")
Y = X + RNG.integers(-1, 2, (ROWS, 3)).astype("f4")
LONG, SHORT = Budget(1e9, 2**40), Budget(1e-9, 0)
ALL = np.arange(ROWS)


@dataclass(frozen=True)
class Held:
    """An array of a grid, held by the test."""

    array: np.ndarray
    distance: Distance = Distance.EUCLIDEAN
    fingerprint: str = ""
    precision: Precision = Precision.EXACT

    @property
    def columns(self) -> int:
        return self.array.shape[1]

    def space(self) -> Space:
        return prepare(self.array, self.distance, self.precision)

    def values(self) -> np.ndarray:
        return self.array


def run(measure: Measure, given: Any, shape: PairShape, options: Any, budget: Budget = LONG) -> Any:
    """The outcome of all shards, which went through bytes and came back in another order."""
    shards = measure.shards(shape, options, budget)
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert [(one.stop, other.start) for one, other in pairwise(shards)] == [(one.stop, one.stop) for one in shards[:-1]]
    assert sum(shard.comparisons for shard in shards) == measure.comparisons(shape, options)
    assert measure.seconds(shape, options) > 0
    assert measure.memory(shape, options, budget) > 0
    parts = [measure.partial(given, shard, options, SEED, lambda: None) for shard in reversed(shards)]
    total = Partial.total(Partial.from_bytes(part.to_bytes()) for part in parts)
    precision = given.x.precision.value if isinstance(given, Pair) else "exact"
    return measure.finish(total, PairFacts(shape, precision), options, 0.99), len(shards)


def spaces(x: np.ndarray = X, y: np.ndarray = Y, precision: Precision = Precision.EXACT) -> Pair:
    return Pair(*(prepare(side, Distance.EUCLIDEAN, precision) for side in (x, y)))


def mutual(pair: Pair, budget: Budget = LONG, **fields: Any) -> Any:
    measure = ANCHORS if "anchors" in fields else EXACT
    fields |= {"measure": "mutual_knn", "method": measure.method}
    return run(measure, pair, pair.shape, measure.options.model_validate(fields), budget)


def grid(x: np.ndarray = X, y: np.ndarray = Y, distance: Distance = Distance.EUCLIDEAN) -> Grid:
    shape = PairShape(len(x), x.shape[1], y.shape[1], distance, distance)
    return Grid([Held(x, distance)], [Held(y, distance)], shape)


def aligned(given: Grid, budget: Budget = LONG, **fields: Any) -> Any:
    return run(CKNNA, given, given.shape, CknnaOptions.model_validate({"measure": "cknna"} | fields), budget)


@pytest.mark.parametrize("ties", ["fractional", "index"])
@pytest.mark.parametrize("k", [1, 7, ROWS - 1])
def test_mutual_knn_is_the_cores_however_it_is_cut(ties: str, k: int) -> None:
    pair = spaces()
    (one, shards), (other, more) = (mutual(pair, budget, k=k, ties=ties) for budget in (LONG, SHORT))
    expected = overlaps(*(nearest(side, ALL, k, Ties(ties)) for side in (pair.x, pair.y)))
    assert (shards, more) == (1, ROWS)
    assert one == other
    assert (one.score, one.deficit) == (expected.score, expected.deficit)
    assert (one.counts, one.population, one.precision) == (None, None, "exact")
    assert one.score + one.deficit == pytest.approx(1)
    interval = one.intervals["sampling"]
    assert (interval.low, interval.high, interval.method) == (one.score, one.score, "none-exact")
    tied = one.figures["tiedBorders"]
    assert min(tied.values()) > 0 if ties == "fractional" and k < ROWS - 1 else tied == {"x": 0, "y": 0}


def test_an_array_and_itself() -> None:
    outcome, _ = mutual(spaces(X, X.astype("f8")), k=5)
    assert (outcome.score, outcome.deficit) == (1.0, 0.0)


def test_rows_that_repeat_are_not_their_own_neighbours() -> None:
    x = X.copy()
    x[5] = x[6] = x[1]
    for ties in ("fractional", "index"):
        assert mutual(spaces(x, x), k=2, ties=ties)[0].score == 1.0
    near = nearest(prepare(x, Distance.EUCLIDEAN), ALL, 2)
    assert all(row not in near.rows[near.start[row] : near.start[row + 1]] for row in range(ROWS))


@pytest.mark.parametrize("budget", [LONG, SHORT])
def test_anchors_are_scored_in_the_order_in_which_they_are_drawn(budget: Budget) -> None:
    pair = spaces()
    outcome, _ = mutual(pair, budget, k=4, anchors=23)
    chosen = sampling.permutation(SEED, ROWS)[:23]
    expected = overlaps(*(nearest(side, chosen, 4) for side in (pair.x, pair.y)))
    assert (outcome.score, outcome.deficit) == (expected.score, expected.deficit)
    interval = outcome.intervals["sampling"]
    assert 0 <= interval.low < outcome.score < interval.high <= 1
    assert interval.rigorous
    assert outcome.figures["anchors"] == 23


def test_all_anchors_leave_no_doubt() -> None:
    """Up to the fraction of a place to which shares of ties are rounded."""
    everyone, _ = mutual(spaces(), k=4, anchors=ROWS)
    exact, _ = mutual(spaces(), k=4)
    interval = everyone.intervals["sampling"]
    assert everyone.score == exact.score
    assert interval.low <= exact.score <= interval.high < interval.low + 1e-5


@pytest.mark.parametrize("ties", ["fractional", "index"])
def test_the_interval_of_anchors_covers_the_score_of_all_rows(ties: str) -> None:
    pair = spaces()
    options = MutualKnnAnchorsOptions(measure="mutual_knn", method="anchors", k=4, anchors=20, ties=ties)
    exact = mutual(pair, k=4, ties=ties)[0].score
    (shard,) = ANCHORS.shards(pair.shape, options, LONG)
    covered = 0
    for seed in range(60):
        total = ANCHORS.partial(pair, shard, options, seed, lambda: None)
        interval = ANCHORS.finish(total, PairFacts(pair.shape), options, 0.9).intervals["sampling"]
        covered += interval.low <= exact <= interval.high
    assert covered >= 54


def test_float32_brings_its_own_interval() -> None:
    crowded = (RNG.standard_normal((6, 8))[ALL % 6] + 1e-5 * RNG.standard_normal((ROWS, 8))).astype("f4")
    plain = RNG.standard_normal((ROWS, 8)).astype("f4")
    exact, _ = mutual(spaces(crowded, plain), k=4)
    fast, _ = mutual(spaces(crowded, plain, Precision.FLOAT32), k=4)
    interval = fast.intervals["arithmetic"]
    assert fast.uncertified > 0
    assert fast.precision == "float32"
    assert interval.low <= exact.score <= interval.high
    assert interval.low < fast.score
    assert "arithmetic" not in exact.intervals


def test_the_null_is_the_score_of_permuted_rows() -> None:
    options = MutualKnnExactOptions(measure="mutual_knn", k=4)
    statistic = EXACT.null(spaces().shape, options, SEED, own=True)
    orders = [ALL, *(RNG.permutation(ROWS) for _ in range(5))]
    fixed = statistic.fixed(Held(X), lambda: None)
    permutable = statistic.permutable(Held(Y), lambda: None)
    found = statistic.statistics([fixed, permutable], permutable, orders, lambda: None)
    assert found.shape == (6, 2)
    assert found[0].tolist() == [mutual(spaces(), k=4)[0].score, 1.0]
    assert found[:, 0].tolist() == [mutual(spaces(X, Y[order]), k=4)[0].score for order in orders]
    assert statistic.about == {"measure": "mutual_knn", "method": "exact", "k": 4, "ties": "fractional"}


def test_the_null_of_cknna_is_the_score_of_permuted_rows() -> None:
    for kernel in ("linear", "distance"):
        options = CknnaOptions(measure="cknna", k=6, kernel=kernel)
        statistic = CKNNA.null(grid().shape, options, SEED, own=True)
        order = RNG.permutation(ROWS)
        found = statistic.statistics(
            [statistic.fixed(Held(X), lambda: None)], statistic.permutable(Held(Y), lambda: None), [order], lambda: None
        )
        assert found[0, 0] == pytest.approx(aligned(grid(X, Y[order]), k=6, kernel=kernel)[0].score, rel=1e-13)
    far = PairShape(ROWS, ROWS, ROWS, Distance.PRECOMPUTED, Distance.PRECOMPUTED)
    assert CKNNA.null(far, CknnaOptions(measure="cknna"), SEED, own=True) is None


@pytest.mark.parametrize("kernel", ["linear", "distance"])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("ties", ["fractional", "index"])
def test_cknna_is_the_cores_however_it_is_cut(kernel: str, estimator: str, ties: str) -> None:
    given = grid()
    fields = {"k": 6, "kernel": kernel, "estimator": estimator, "ties": ties}
    (one, shards), (other, more) = (aligned(given, budget, **fields) for budget in (LONG, SHORT))
    assert (shards, more) == (1, ROWS)
    assert one == other
    sides: list[Any] = []
    for values in (X, Y):
        space = prepare(values, Distance.EUCLIDEAN)
        near = nearest(space, ALL, 6, Ties(ties))
        linear = kernels.linear_entries(values, 3, ALL, near)
        sides += [near, linear if kernel == "linear" else kernels.distance_entries(space, ALL, near)]
    expected = cknna(*sides, Estimator(estimator))
    assert (one.score, one.deficit) == (expected.score, expected.deficit)
    assert one.naive_deficit == 1 - one.score
    assert one.figures["sharedNeighbours"] == expected.shared
    assert "twice the precision" in one.figures["deficitForm"]
    assert one.precision == "exact"
    assert one.cautions == ([] if one.score <= 1 else [("score-above-one", one.cautions[0][1])])


def test_cknna_has_the_linear_kernel_of_stored_rows_under_any_distance() -> None:
    """Cosine spaces scale each row; the kernel does not know."""
    x = X + 20 * RNG.random((ROWS, 1)).astype("f4") + 5
    given = grid(x, x + RNG.random((ROWS, 3)).astype("f4"), Distance.COSINE)
    outcome, _ = aligned(given, k=5)
    sides: list[Any] = []
    for one in (*given.x, *given.y):
        near = nearest(one.space(), ALL, 5)
        sides += [near, kernels.linear_entries(one.values().astype("f8"), 0, ALL, near)]
    assert outcome.score == pytest.approx(cknna(*sides, Estimator.UNBIASED).score, rel=1e-14)


def test_cknna_in_float32_has_no_bound() -> None:
    shape = PairShape(ROWS, 3, 3)
    x = RNG.standard_normal((ROWS, 3)).astype("f4")
    given = Grid([Held(x, precision=Precision.FLOAT32)], [Held(Y)], shape)
    outcome, _ = aligned(given, k=5)
    assert outcome.precision == "float32"
    assert "no known bound" in outcome.intervals["arithmetic"].reason


def test_cknna_of_an_array_and_itself() -> None:
    outcome, _ = aligned(grid(X, X.astype("f8")), k=5)
    assert (outcome.score, outcome.deficit) == (1.0, 0.0)


def test_cknna_of_precomputed_distances_has_no_inner_products() -> None:
    far = np.abs(X[:, :1] - X[:, 0]).astype("f8")
    given = grid(far, far, Distance.PRECOMPUTED)
    outcome, _ = aligned(given, k=5)
    assert outcome.score is None
    assert "no inner products" in outcome.reason
    assert aligned(given, k=5, kernel="distance")[0].score == 1.0


def test_a_score_above_one_is_told() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = rng.standard_normal((8, 2))
        outcome, _ = aligned(grid(x, x + 0.05 * rng.standard_normal((8, 2))), k=2)
        if outcome.score is not None and outcome.score > 1:
            assert outcome.deficit < 0
            assert outcome.cautions[0][0] == "score-above-one"
            return
    raise AssertionError("no score exceeded 1")


def test_an_undefined_cknna_says_why() -> None:
    outcome, _ = aligned(grid(np.ones((ROWS, 2), "f4"), Y), k=ROWS - 1)
    assert (outcome.score, outcome.deficit) == (None, None)
    assert "of x with itself" in outcome.reason


def test_too_many_ties_to_write_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_of_cknna, "most_neighbours", lambda _: 20)
    x = np.concatenate([np.zeros((30, 3), "f4"), X[30:]])
    for budget in (LONG, SHORT):
        outcome, _ = aligned(grid(X, x), budget, k=5)
        assert outcome.score is None
        assert "More than 20 rows are among the 5 nearest neighbours of row 0" in outcome.reason
        assert aligned(grid(X, x), budget, k=5, ties="index")[0].score is not None
    shards = CKNNA.shards(PairShape(10**6, 8, 8), CknnaOptions(measure="cknna"), LONG)
    assert max(shard.stop - shard.start for shard in shards) * 20 <= 2**22


def test_rows_that_options_need() -> None:
    assert EXACT.rows_needed(MutualKnnExactOptions(measure="mutual_knn", k=9)) == 10
    anchors = MutualKnnAnchorsOptions(measure="mutual_knn", method="anchors", k=9, anchors=40)
    assert ANCHORS.rows_needed(anchors) == 40
    assert CKNNA.rows_needed(CknnaOptions(measure="cknna", k=1)) == 4
    assert CKNNA.rows_needed(CknnaOptions(measure="cknna", k=1, estimator="biased")) == 2


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (MutualKnnExactOptions, {"k": 0}),
        (MutualKnnExactOptions, {"k": True}),
        (MutualKnnExactOptions, {"k": 2.0}),
        (MutualKnnExactOptions, {"ties": "random"}),
        (MutualKnnExactOptions, {"kernel": "linear"}),
        (CknnaOptions, {"k": 0}),
        (CknnaOptions, {"kernel": "rbf"}),
        (CknnaOptions, {"estimator": "debiased"}),
    ],
)
def test_impossible_options_are_refused(options: Any, fields: dict[str, Any]) -> None:
    measure = "cknna" if options is CknnaOptions else "mutual_knn"
    options.model_validate({"measure": measure})
    with pytest.raises(ValidationError, match=next(iter(fields))):
        options.model_validate({"measure": measure, **fields})


def test_a_missing_shard_is_no_score() -> None:
    pair, options = spaces(), MutualKnnExactOptions(measure="mutual_knn", k=3)
    shards = EXACT.shards(pair.shape, options, SHORT)
    total = Partial.total(EXACT.partial(pair, shard, options, SEED, lambda: None) for shard in shards[1:])
    with pytest.raises(RuntimeError, match="59 anchors"):
        EXACT.finish(total, PairFacts(pair.shape), options, 0.99)


def test_sums_are_exact_fractions() -> None:
    """Three anchors with a third, a quarter and a fifth of a place in common, as no float64 sum would have it."""
    options = MutualKnnExactOptions(measure="mutual_knn", k=1)
    pieces = {"above": {0: np.array([1, 1, 1])}, "below": {0: np.array([3, 4, 5])}}
    outcome = EXACT.finish(Partial(pieces=pieces), PairFacts(PairShape(3, 1, 1)), options, 0.99)
    assert outcome.score == float(Fraction(47, 180))
    assert outcome.deficit == float(Fraction(133, 180))
