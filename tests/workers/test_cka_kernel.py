"""CKA of RBF and distance kernels as a measure: the same bits however it is cut, and what it says of its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pair_measures import finish, partials, run, values
from pydantic import ValidationError
from scipy.spatial.distance import pdist, squareform

from ordsim_core import sampling
from ordsim_core.errors import ZeroVectorError
from workers.cancellation import ShardCancelled
from workers.measures import cka_kernel, pair_tiles
from workers.measures.cka_kernel import CKA_KERNELS, CkaDistanceOptions, CkaRbfOptions
from workers.measures.protocol import Budget, NoInterval, PairShape

RBF, DISTANCE = CKA_KERNELS
ROWS = 600
RNG = np.random.default_rng(15)
X = RNG.standard_normal((ROWS, 8)).astype("f4")
Y = (X[:, :5] + 0.6 * RNG.standard_normal((ROWS, 5))).astype("f4")
BATCHES = {"estimator": "minibatch", "batches": 7, "batch_size": 50}
ESTIMATORS: list[dict[str, Any]] = [{"estimator": "biased"}, {"estimator": "debiased"}, BATCHES]

estimators = pytest.mark.parametrize("form", ESTIMATORS, ids=lambda form: form["estimator"])


def rbf(**sent: Any) -> CkaRbfOptions:
    return CkaRbfOptions.model_validate({"measure": "cka", "method": "rbf", "kernel": "rbf", **sent})


def distance(**sent: Any) -> CkaDistanceOptions:
    return CkaDistanceOptions.model_validate({"measure": "cka", "method": "distance", "kernel": "distance", **sent})


def tables(kernel: str, sigma: float | None = None) -> list[np.ndarray]:
    """Both kernel matrices by other means."""
    found = []
    for side, metric in ((X, "euclidean"), (Y, "euclidean" if kernel == "rbf" else "cosine")):
        condensed = pdist(side.astype("f8"), metric)
        width = np.median(condensed) if sigma is None else sigma
        found.append(
            np.exp(-(squareform(condensed) ** 2) / (2 * width**2)) if kernel == "rbf" else -squareform(condensed)
        )
    return found


def expected(kernel: str, form: dict[str, Any], seed: int = 0, sigma: float | None = None) -> float:
    whole = tables(kernel, sigma)
    chosen = [np.arange(ROWS)]
    if form["estimator"] == "minibatch":
        chosen = [sampling.batch(seed, index, form["batch_size"], ROWS) for index in range(form["batches"])]
    sums = np.zeros(3)
    for rows in chosen:
        centre = double_centred if form["estimator"] == "biased" else u_centred
        one, other = (centre(table[np.ix_(rows, rows)]) for table in whole)
        sums += [(one * one).sum(), (one * other).sum(), (other * other).sum()]
    return float(sums[1] / np.sqrt(sums[0] * sums[2]))


def double_centred(table: np.ndarray) -> np.ndarray:
    return table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()


def u_centred(table: np.ndarray) -> np.ndarray:
    table, n = table - np.diag(np.diag(table)), len(table)
    along = table.sum(axis=0)
    found = table - (along + along[:, None]) / (n - 2) + along.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(found, 0)
    return found


@estimators
@pytest.mark.parametrize("kernel", ["rbf", "distance"])
def test_the_same_however_it_is_cut(kernel: str, form: dict[str, Any]) -> None:
    measure, options = (RBF, rbf(**form)) if kernel == "rbf" else (DISTANCE, distance(**form))
    found = run(measure, values(X, Y, "euclidean", "cosine"), options, seed=3)
    assert found.score == pytest.approx(expected(kernel, form, 3), rel=1e-11)
    assert found.deficit == pytest.approx(1 - expected(kernel, form, 3), rel=1e-10)
    assert found.naive_deficit == pytest.approx(found.deficit, abs=1e-15)
    pieces = run(measure, values(X, Y, "euclidean", "cosine"), options, seconds=1e-5, seed=3, order=2)
    assert (pieces.score, pieces.deficit, pieces.naive_deficit) == (found.score, found.deficit, found.naive_deficit)
    assert len(measure.shards(values(X, Y).shape, options, Budget(1e-5, 0))) > 1


@estimators
def test_a_bandwidth_that_is_sent(form: dict[str, Any]) -> None:
    found = run(RBF, values(X, Y), rbf(bandwidth=2, **form))
    assert found.score == pytest.approx(expected("rbf", form, sigma=2.0), rel=1e-11)
    assert [found.figures[name] for name in ("bandwidthX", "bandwidthY", "route")] == [2.0, 2.0, "separate"]


def test_figures() -> None:
    found = run(RBF, values(X, Y), rbf())
    assert found.figures["bandwidthX"] == pytest.approx(np.median(pdist(X.astype("f8"))), rel=1e-14)
    assert found.figures["bandwidthY"] == pytest.approx(np.median(pdist(Y.astype("f8"))), rel=1e-14)
    scaled = run(RBF, values(X, 4 * X + np.float32(1e-3) * X[::-1]), rbf())
    assert scaled.figures["route"] == "differences"
    assert scaled.figures["bandwidthX"] == pytest.approx(found.figures["bandwidthX"], rel=1e-14)
    tiny = run(RBF, values(np.ldexp(X.astype("f8"), -700), Y), rbf())
    assert tiny.figures["bandwidthX"] == pytest.approx(np.ldexp(found.figures["bandwidthX"], -700), rel=1e-14)
    assert tiny.score == pytest.approx(found.score, rel=1e-13)
    assert run(DISTANCE, values(X, Y), distance()).figures["route"] == "separate"
    assert found.intervals == {}


@estimators
def test_an_array_and_its_copy_agree(form: dict[str, Any]) -> None:
    for given in (values(X, np.asfortranarray(X)), values(X, X.astype("f8"), "cosine", "cosine")):
        for measure, options in ((RBF, rbf(**form)), (DISTANCE, distance(**form))):
            found = run(measure, given, options)
            assert (found.score, found.deficit) == (1.0, 0.0)


def test_batches_have_no_interval_and_say_why() -> None:
    found = run(DISTANCE, values(X, Y), distance(**BATCHES))
    assert isinstance(found.intervals["sampling"], NoInterval)
    assert found.intervals["sampling"].reason


def test_as_many_batches_as_the_rows_make() -> None:
    few, said = (
        distance(estimator="minibatch", batch_size=50),
        distance(estimator="minibatch", batch_size=50, batches=12),
    )
    assert DISTANCE.comparisons(values(X, Y).shape, few) == 12 * 50 * 49 // 2
    assert run(DISTANCE, values(X, Y), few).score == run(DISTANCE, values(X, Y), said).score


def test_a_row_without_direction_is_named_as_it_is_stored() -> None:
    x = X.copy()
    x[133] = 0  # none of those that are looked at first
    options = distance(estimator="minibatch", batch_size=300, batches=9)
    with pytest.raises(ZeroVectorError) as caught:
        run(DISTANCE, values(x, Y, "cosine", "cosine"), options)
    assert caught.value.row == 133


def test_batches_of_many_rows_take_the_median_of_sampled_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cka_kernel, "MEDIAN_ROWS", 300)
    monkeypatch.setattr(cka_kernel, "MEDIAN_PAIRS", 4000)
    found = run(RBF, values(X, Y), rbf(**BATCHES))
    assert found.figures["bandwidthPairs"] == 4000
    assert found.figures["bandwidthX"] == pytest.approx(np.median(pdist(X.astype("f8"))), rel=0.03)
    assert "bandwidthPairs" not in run(RBF, values(X, Y), rbf()).figures
    assert "bandwidthPairs" not in run(RBF, values(X, Y), rbf(bandwidth=1.5, **BATCHES)).figures


def test_without_a_bandwidth_there_is_no_score() -> None:
    x = np.zeros((40, 3))
    x[:10] = X[:10, :3]
    for given, named in (
        (values(x, Y[:40]), "x is 0"),
        (values(Y[:40], x), "y is 0"),
        (values(x, x), "x and in y is 0"),
    ):
        found = run(RBF, given, rbf())
        assert (found.score, found.deficit) == (None, None)
        assert named in str(found.reason)
    assert run(RBF, values(x, Y[:40]), rbf(bandwidth=1.0)).score is not None


@pytest.mark.parametrize("estimator", ["biased", "debiased"])
def test_constant_arrays_are_undefined(estimator: str) -> None:
    x = np.ones((30, 2))
    for measure, options in ((RBF, rbf(bandwidth=1.0, estimator=estimator)), (DISTANCE, distance(estimator=estimator))):
        found = run(measure, values(Y[:30], x), options)
        assert (found.score, found.deficit, found.naive_deficit) == (None, None, None)
        assert str(found.reason).startswith("y")


@pytest.mark.parametrize("measure", CKA_KERNELS)
def test_rows_needed(measure: Any) -> None:
    options = rbf if measure is RBF else distance
    assert measure.minimum_rows == measure.rows_needed(options()) == 2
    assert measure.rows_needed(options(estimator="debiased")) == 4
    assert measure.rows_needed(options(**BATCHES)) == 50
    assert run(measure, values(X[:2], Y[:2]), options()).score == pytest.approx(1, abs=1e-15)
    assert -1 <= run(measure, values(X[:4], Y[:4]), options(estimator="debiased")).score <= 1


def test_only_distances_need_symmetry_and_directions() -> None:
    assert (RBF.needs_symmetry, DISTANCE.needs_symmetry) == (False, True)
    x = X.copy()
    x[11] = 0
    with pytest.raises(ZeroVectorError):
        run(DISTANCE, values(x, Y, "cosine", "cosine"), distance())
    assert run(RBF, values(x, Y, "cosine", "cosine"), rbf()).score is not None


@estimators
def test_a_missing_shard_is_noticed(form: dict[str, Any]) -> None:
    given, options = values(X, Y), distance(**form)
    parts = partials(DISTANCE, given, options, seconds=1e-5)
    with pytest.raises((RuntimeError, ValueError), match="instead of"):
        finish(DISTANCE, given, options, parts[:-1])


def test_a_cancelled_shard_ends() -> None:
    given, options = values(X, Y), rbf()
    shard = RBF.shards(given.shape, options, Budget(60, 0))[0]

    def cancelled() -> None:
        raise ShardCancelled

    with pytest.raises(ShardCancelled):
        RBF.partial(given, shard, options, 0, cancelled)
    assert given.memo.kept == {}  # type: ignore[attr-defined]


def test_what_all_shards_need_is_found_once_and_holds_no_array() -> None:
    given = values(X, Y)
    for options in (rbf(), rbf(estimator="debiased"), rbf(bandwidth=1.5)):
        partials(RBF, given, options, seconds=1e-5)
    partials(DISTANCE, given, distance(), seconds=1e-5)
    kept = given.memo.kept  # type: ignore[attr-defined]
    assert sorted(kept) == ["cka-distance", "cka-rbf-1.5", "cka-rbf-median-None"]
    for found in kept.values():
        assert len(found.plan.pairing.x.values) == 0
        assert not np.shares_memory(found.plan.pairing.x.values, X)
        assert found.plan.pairing.x.values.base is None


def test_costs_grow_with_the_work() -> None:
    small, large = PairShape(1000, 64, 64), PairShape(4000, 64, 64)
    budget = Budget(5, 0)
    for measure, options in ((RBF, rbf()), (DISTANCE, distance()), (RBF, rbf(bandwidth=1.0))):
        assert measure.seconds(large, options) > 10 * measure.seconds(small, options)
        assert measure.memory(large, options, budget) >= measure.memory(small, options, budget) > 0
    assert RBF.seconds(small, rbf()) > RBF.seconds(small, rbf(bandwidth=1.0)) > DISTANCE.seconds(small, distance())
    many = PairShape(cka_kernel.ROWS_LIMIT + 1, 64, 64)
    assert RBF.memory(many, rbf(bandwidth=1.0), budget) == pair_tiles.UNAVAILABLE
    assert RBF.memory(many, rbf(**BATCHES), budget) < 2**30


@pytest.mark.parametrize(
    "sent",
    [
        {"bandwidth": 0},
        {"bandwidth": -1.0},
        {"bandwidth": float("inf")},
        {"bandwidth": "mean"},
        {"bandwidth": True},
        {"estimator": "minibatch"},
        {"estimator": "minibatch", "batches": 3},
        {"estimator": "debiased", "batch_size": 30},
        {"estimator": "minibatch", "batches": 3, "batch_size": 3},
        {"estimator": "biased", "batches": 3, "batch_size": 30},
        {"estimator": "unbiased"},
        {"kernel": "linear"},
        {"k": 3},
    ],
)
def test_options_that_are_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        rbf(**sent)
