"""RSA as a measure: the same bits however it is cut, and what it says of its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pair_measures import finish, partials, run, values
from pydantic import ValidationError
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr

from ordsim_core.errors import ZeroVectorError
from ordsim_core.intervals import Interval
from workers.cancellation import ShardCancelled
from workers.measures import pair_tiles
from workers.measures.protocol import Budget, NoInterval, PairShape
from workers.measures.rsa import RANKED_SAMPLES, RSA, RsaExactOptions, RsaSampledOptions

EXACT, SAMPLED = RSA
ROWS = 600
RNG = np.random.default_rng(14)
X = RNG.standard_normal((ROWS, 8)).astype("f4")
Y = (X[:, :5] + 0.6 * RNG.standard_normal((ROWS, 5))).astype("f4")
CORRELATIONS = ("pearson", "spearman", "cosine")


def exact(correlation: Any = "pearson") -> RsaExactOptions:
    return RsaExactOptions(measure="rsa", method="exact", correlation=correlation)


def sampled(correlation: Any = "pearson", samples: int = 9000) -> RsaSampledOptions:
    return RsaSampledOptions(measure="rsa", method="sampled", correlation=correlation, samples=samples)


def expected(correlation: str) -> float:
    one, other = pdist(X.astype("f8")), pdist(Y.astype("f8"), "cosine")
    if correlation == "cosine":
        return float(one @ other / np.sqrt((one @ one) * (other @ other)))
    return float((pearsonr if correlation == "pearson" else spearmanr)(one, other).statistic)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_exact_is_the_same_however_it_is_cut(correlation: str) -> None:
    found = run(EXACT, values(X, Y, "euclidean", "cosine"), exact(correlation))
    assert found.score == pytest.approx(expected(correlation), rel=1e-12)
    assert found.deficit == pytest.approx(1 - expected(correlation), rel=1e-10)
    assert found.naive_deficit == pytest.approx(found.deficit, abs=1e-15)
    assert found.reason is None
    pieces = run(EXACT, values(X, Y, "euclidean", "cosine"), exact(correlation), seconds=1e-5, order=3)
    assert (pieces.score, pieces.deficit, pieces.naive_deficit) == (found.score, found.deficit, found.naive_deficit)


def test_exact_is_cut_by_time() -> None:
    shape = values(X, Y).shape
    assert len(EXACT.shards(shape, exact(), Budget(1e-5, 0))) == 3
    assert len(EXACT.shards(shape, exact(), Budget(60, 0))) == 1
    assert len(EXACT.shards(shape, exact("spearman"), Budget(1e-5, 0))) == 1


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_sampled_is_the_same_however_it_is_cut(correlation: str) -> None:
    given = values(X, Y, "euclidean", "cosine")
    found = run(SAMPLED, given, sampled(correlation), seed=5)
    pieces = run(SAMPLED, given, sampled(correlation), seconds=1e-4, seed=5, order=1)
    assert (pieces.score, pieces.deficit, pieces.intervals) == (found.score, found.deficit, found.intervals)
    interval = found.intervals["sampling"]
    assert isinstance(interval, Interval)
    assert interval.low < expected(correlation) < interval.high
    assert interval.low < found.score < interval.high
    assert interval.high - interval.low < 0.1
    assert not interval.rigorous
    assert run(SAMPLED, given, sampled(correlation), seed=6).score != found.score


def test_more_samples_come_closer() -> None:
    given = values(X, Y, "euclidean", "cosine")
    few, many = (run(SAMPLED, given, sampled(samples=samples)) for samples in (500, 50_000))
    widths = [outcome.intervals["sampling"].high - outcome.intervals["sampling"].low for outcome in (few, many)]
    assert widths[0] > 5 * widths[1]
    assert abs(many.score - expected("pearson")) < 0.02


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("distance", ["euclidean", "cosine", "correlation", "dot", "manhattan", "hamming"])
def test_an_array_and_its_copy_agree(correlation: str, distance: str) -> None:
    values_x = np.rint(2 * X[:90]) if distance == "hamming" else X[:90] + 1
    given = values(values_x, np.asfortranarray(values_x), distance, distance)
    found = run(EXACT, given, exact(correlation))
    assert (found.score, found.deficit) == (1.0, 0.0)
    few = run(SAMPLED, given, sampled(correlation, 700))
    assert (few.score, few.deficit) == (1.0, 0.0)
    assert isinstance(few.intervals["sampling"], NoInterval)


def test_what_is_said_beside_the_score() -> None:
    assert run(EXACT, values(X, Y), exact()).figures["route"] == "separate"
    assert run(EXACT, values(X, X + np.float32(1e-3) * X[::-1]), exact()).figures["route"] == "differences"
    ranked = run(EXACT, values(X, Y), exact("spearman"))
    assert (ranked.precision, ranked.counts, ranked.intervals) == ("exact", None, {})
    assert run(EXACT, values(X, Y, "correlation", "euclidean"), exact("spearman")).precision in ("exact", "float64")


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_constant_distances_are_undefined(correlation: str) -> None:
    for measure, options in ((EXACT, exact(correlation)), (SAMPLED, sampled(correlation, 100))):
        found = run(measure, values(np.ones((30, 2)), Y[:30]), options)
        assert (found.score, found.deficit, found.naive_deficit) == (None, None, None)
        assert str(found.reason).startswith("x")


def test_three_rows_are_enough() -> None:
    assert EXACT.minimum_rows == SAMPLED.minimum_rows == 3
    for correlation in CORRELATIONS:
        assert -1 <= run(EXACT, values(X[:3], Y[:3]), exact(correlation)).score <= 1
        assert -1 <= run(SAMPLED, values(X[:3], Y[:3]), sampled(correlation, 50)).score <= 1


def test_a_row_without_direction_is_named() -> None:
    x = X.copy()
    x[17] = 0
    for measure, options in ((EXACT, exact()), (EXACT, exact("spearman")), (SAMPLED, sampled())):
        with pytest.raises(ZeroVectorError) as caught:
            run(measure, values(x, Y, "cosine", "euclidean"), options)
        assert caught.value.row == 17


@pytest.mark.parametrize(
    ("measure", "options"), [(EXACT, exact()), (SAMPLED, sampled()), (SAMPLED, sampled("spearman"))]
)
def test_a_missing_shard_is_noticed(measure: Any, options: Any) -> None:
    given = values(X, Y)
    parts = partials(measure, given, options, seconds=1e-5)
    assert len(parts) > 1
    with pytest.raises(RuntimeError, match="instead of"):
        finish(measure, given, options, parts[:-1])


def test_shards_of_other_arrays_are_noticed() -> None:
    given = values(X, Y)
    parts = partials(EXACT, given, exact(), seconds=1e-5)
    others = partials(EXACT, values(2 * X, Y), exact(), seconds=1e-5)
    with pytest.raises(RuntimeError, match="different ways"):
        finish(EXACT, given, exact(), [*parts[:-1], others[-1]])


@pytest.mark.parametrize("options", [exact(), exact("spearman")])
def test_a_cancelled_shard_ends(options: RsaExactOptions) -> None:
    given = values(X, Y)
    shard = EXACT.shards(given.shape, options, Budget(60, 0))[0]

    def cancelled() -> None:
        raise ShardCancelled

    with pytest.raises(ShardCancelled):
        EXACT.partial(given, shard, options, 0, cancelled)


def test_what_all_shards_need_is_found_once_and_holds_no_array() -> None:
    given = values(X, Y)
    partials(EXACT, given, exact(), seconds=1e-5)
    partials(EXACT, given, exact("cosine"), seconds=1e-5)
    kept = given.memo.kept  # type: ignore[attr-defined]
    assert sorted(kept) == ["rsa-cosine", "rsa-pearson"]
    assert all(len(plan.pairing.x.values) == 0 == len(plan.pairing.y.values) for plan in kept.values())


def test_costs_grow_with_the_work() -> None:
    small, large = PairShape(1000, 64, 64), PairShape(4000, 64, 64)
    for options in map(exact, CORRELATIONS):
        assert EXACT.seconds(large, options) > 10 * EXACT.seconds(small, options)
        assert EXACT.memory(large, options, Budget(5, 0)) >= EXACT.memory(small, options, Budget(5, 0)) > 0
    assert EXACT.memory(PairShape(70_000, 64, 64), exact("spearman"), Budget(5, 0)) == pair_tiles.UNAVAILABLE
    assert EXACT.memory(PairShape(70_000, 64, 64), exact(), Budget(5, 0)) < 2**30
    assert SAMPLED.seconds(large, sampled(samples=2000)) > SAMPLED.seconds(large, sampled(samples=1000)) > 0
    assert SAMPLED.memory(large, sampled("spearman"), Budget(5, 0)) > SAMPLED.memory(large, sampled(), Budget(5, 0))


@pytest.mark.parametrize(
    "sent",
    [
        {"method": "sampled"},
        {"method": "sampled", "samples": 1},
        {"method": "sampled", "samples": True},
        {"method": "sampled", "samples": RANKED_SAMPLES + 1, "correlation": "spearman"},
        {"method": "sampled", "samples": 5, "correlation": "kendall"},
        {"method": "exact", "samples": 5},
    ],
)
def test_options_that_are_refused(sent: dict[str, Any]) -> None:
    options = RsaExactOptions if sent["method"] == "exact" else RsaSampledOptions
    with pytest.raises(ValidationError):
        options.model_validate({"measure": "rsa", **sent})
