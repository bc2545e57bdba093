"""Linear CKA and Procrustes as measures: any order of shards gives the bits of the core, through bytes."""

from __future__ import annotations

import json
import random
from functools import reduce
from math import comb
from operator import add
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ordsim_core.cosine import canonical, minibatch, procrustes
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka
from ordsim_core.distances import Distance
from workers.cancellation import ShardCancelled
from workers.measures import linear_blocks
from workers.measures.cka_linear import CkaLinear, CkaLinearOptions
from workers.measures.given import Values
from workers.measures.procrustes import Procrustes, ProcrustesOptions
from workers.measures.protocol import Budget, Measure, Outcome, PairFacts, PairShape
from workers.partials import Partial

RNG = np.random.default_rng(2)
CKA, PROCRUSTES = CkaLinear(), Procrustes()
MEMORY = 2**31
SHAPES = [(2100, 5), (40, 70)]


def cka_options(**more: Any) -> CkaLinearOptions:
    return CkaLinearOptions(measure="cka", method="linear", **more)


PROCRUSTES_OPTIONS = ProcrustesOptions(measure="procrustes", method="exact")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few rows make several shards."""
    monkeypatch.setattr(canonical, "BLOCK_ROWS", 1024)


class Remembering:
    """A memo for one pair of arrays."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, name: str, compute: Any) -> Any:
        if name not in self.kept:
            self.kept[name] = compute()
        return self.kept[name]


def values(x: np.ndarray, y: np.ndarray) -> Values:
    return Values(x, y, Distance.EUCLIDEAN, Distance.EUCLIDEAN, None, Remembering())


def partials(
    measure: Measure, pair: Values, options: Any, *, seconds: float = 1.0, memory: int = MEMORY, seed: int = 0
) -> list[Partial]:
    """All shards, each computed as if by a process of its own, through bytes."""
    found = []
    for shard in measure.shards(pair.shape, options, Budget(seconds, memory)):
        alone = values(pair.x, pair.y)
        found.append(Partial.from_bytes(measure.partial(alone, shard, options, seed, lambda: None).to_bytes()))
    return found


def run(measure: Measure, pair: Values, options: Any, **more: Any) -> Outcome:
    total = reduce(add, partials(measure, pair, options, **more))
    return measure.finish(total, PairFacts(pair.shape), options, 0.99)


def noisy(shape: tuple[int, int], delta: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    x = RNG.standard_normal(shape)
    return x, x + delta * RNG.standard_normal(shape)


@pytest.mark.parametrize("estimator", ["biased", "debiased"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shards_give_the_bits_of_the_core(shape: tuple[int, int], estimator: str) -> None:
    x, y = noisy(shape)
    options, expected = cka_options(estimator=estimator), linear_cka(x, y, Statistic(estimator))
    for seconds, memory in ((1e-9, 0), (1e9, MEMORY)):
        found = run(CKA, values(x, y), options, seconds=seconds, memory=memory)
        assert (found.score, found.deficit) == (expected.score, expected.deficit)
        assert found.naive_deficit == expected.naive_deficit
        assert found.figures["route"] == expected.route
        assert found.figures["kappaRotation"] == expected.kappa_rotation
        assert found.cautions == ()
    assert found.counts is None
    assert found.population is None


@pytest.mark.parametrize("layout", ["C", "F"])
def test_routes_that_a_plan_may_take(layout: Any) -> None:
    x = RNG.standard_normal((2100, 4))
    turn = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    few = x[:20, :2]
    pairs = {
        "identical": (x, np.array(x, order=layout)),
        "moments": (x, np.array(x + 1e-9, order=layout) * 1.5),
        "tsqr": (x, np.array(x @ turn + 1e-6 * RNG.standard_normal(x.shape), order=layout)),
        "tiles": (x[:30].reshape(6, 20), np.array(x[30:60].reshape(6, 20), order=layout)),
        "exact": (few, np.array(few[:, ::-1] + 1e-13 * few, order=layout)),
    }
    for route, (one, other) in pairs.items():
        if route == "moments":
            other = other + 1e-5 * RNG.standard_normal(x.shape)
        found, expected = run(CKA, values(one, other), cka_options()), linear_cka(one, other)
        assert found.figures["route"] == route
        assert (found.score, found.deficit) == (expected.score, expected.deficit)
        json.dumps(found.figures, allow_nan=False)


@pytest.mark.parametrize("seconds", [1e-9, 1e9])
def test_minibatch(seconds: float) -> None:
    x, y = noisy((150, 5), 0.3)
    options = cka_options(estimator="minibatch", batch_size=20)
    expected = minibatch.minibatch_cka(x, y, 7, 20, seed=9)
    found = run(CKA, values(x, y), options, seconds=seconds, seed=9)
    assert (found.score, found.deficit) == (expected.score, expected.deficit)
    assert "sampling" in found.intervals
    assert CKA.comparisons(PairShape(150, 5, 5), options) == 7 * comb(20, 2)
    more = cka_options(estimator="minibatch", batch_size=20, batches=11)
    assert run(CKA, values(x, y), more, seed=9).score == minibatch.minibatch_cka(x, y, 11, 20, seed=9).score


@pytest.mark.parametrize("shape", SHAPES)
def test_procrustes_shards(shape: tuple[int, int]) -> None:
    x, y = noisy(shape)
    expected = procrustes.procrustes(x, y)
    found = run(PROCRUSTES, values(x, y), PROCRUSTES_OPTIONS)
    assert (found.score, found.deficit) == (expected.score, expected.deficit)
    assert found.figures["disparity"] == expected.disparity
    assert found.figures["route"] == expected.route


def test_pieces_add_up_in_any_order() -> None:
    """Rounded moments are added in the order of shards; triangular factors and batches stand side by side."""
    x, y = noisy((2100, 4))
    turned = x @ np.linalg.qr(RNG.standard_normal((4, 4)))[0] + 1e-3 * (y - x)
    for measure, options in (
        (CKA, cka_options()),
        (CKA, cka_options(estimator="minibatch", batch_size=100)),
        (PROCRUSTES, PROCRUSTES_OPTIONS),
    ):
        found = partials(measure, values(x, turned), options, seconds=1e-4)
        assert len(found) > 1
        facts = PairFacts(PairShape(2100, 4, 4))
        expected = measure.finish(reduce(add, found), facts, options, 0.99)
        if measure is CKA and options.estimator == "biased":
            continue
        random.Random(1).shuffle(found)
        assert measure.finish(reduce(add, found), facts, options, 0.99) == expected


def test_an_undefined_score_has_a_reason() -> None:
    x, _ = noisy((50, 3))
    constant = np.ones((50, 2), "f4")
    debiased = cka_options(estimator="debiased")
    for measure, options in ((CKA, cka_options()), (CKA, debiased), (PROCRUSTES, PROCRUSTES_OPTIONS)):
        found = run(measure, values(x, constant), options)
        assert (found.score, found.deficit, found.naive_deficit) == (None, None, None)
        assert str(found.reason).startswith("y is the same in all rows")


def test_a_deficit_lost_to_rounding_is_warned_of() -> None:
    x = RNG.standard_normal((3000, 10))
    turn = np.linalg.qr(RNG.standard_normal((10, 10)))[0]
    for measure, options in ((CKA, cka_options()), (PROCRUSTES, PROCRUSTES_OPTIONS)):
        found = run(measure, values(x, x @ turn), options)
        assert [code for code, _ in found.cautions] == ["ill-conditioned"]
        assert found.deficit is not None
        assert found.deficit < 1e-28
        json.dumps(found.figures, allow_nan=False)


def test_a_missing_block_is_refused() -> None:
    x, y = noisy((2100, 4))
    for measure, options in ((CKA, cka_options()), (PROCRUSTES, PROCRUSTES_OPTIONS)):
        found = partials(measure, values(x, y), options)
        with pytest.raises(RuntimeError, match="1 blocks of rows instead of 2"):
            measure.finish(found[1], PairFacts(PairShape(2100, 4, 4)), options, 0.99)
    options = cka_options(estimator="minibatch", batch_size=100)
    found = partials(CKA, values(x, y), options, seconds=1e-4)
    with pytest.raises(RuntimeError, match="batches instead of 21"):
        CKA.finish(found[0], PairFacts(PairShape(2100, 4, 4)), options, 0.99)


@pytest.mark.parametrize("rows", [2, 3, 1000, 1_280_000])
@pytest.mark.parametrize("columns", [1, 512, 3000])
def test_shards_follow_from_the_shape(rows: int, columns: int) -> None:
    shape = PairShape(rows, columns, 3)
    for measure, options in ((CKA, cka_options()), (PROCRUSTES, PROCRUSTES_OPTIONS)):
        cut = measure.shards(shape, options, Budget(1e-9, 0))
        assert cut == measure.shards(shape, options, Budget(1e9, MEMORY))
        assert [shard.index for shard in cut] == list(range(len(cut)))
        assert [shard.start for shard in cut] == [0, *(shard.stop for shard in cut[:-1])]
        assert cut[-1].stop == rows
        assert sum(shard.comparisons for shard in cut) == measure.comparisons(shape, options) == comb(rows, 2)
        assert len(cut) <= 64
        assert measure.seconds(shape, options) > 0


def test_a_large_array_fits_into_a_small_worker() -> None:
    shape = PairShape(1_280_000, 512, 512)
    for measure, options in ((CKA, cka_options()), (PROCRUSTES, PROCRUSTES_OPTIONS)):
        assert measure.memory(shape, options, Budget(1, 0)) < 256 * 1024**2
    batches = cka_options(estimator="minibatch", batch_size=1024)
    assert CKA.memory(shape, batches, Budget(1, 0)) < 2**30


@pytest.mark.parametrize("measure", [CKA, PROCRUSTES])
def test_cancelling_ends_a_shard(measure: Measure) -> None:
    options: Any = cka_options() if measure is CKA else PROCRUSTES_OPTIONS
    x, y = noisy((600, 3))

    def stop() -> None:
        raise ShardCancelled

    pair = values(x, y)
    shard = measure.shards(pair.shape, options, Budget(1, MEMORY))[0]
    with pytest.raises(ShardCancelled):
        measure.partial(pair, shard, options, 0, stop)
    measure.partial(pair, shard, options, 0, lambda: None)
    with pytest.raises(ShardCancelled):
        measure.partial(pair, shard, options, 0, stop)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"estimator": "minibatch"}, "batch_size is missing"),
        ({"batch_size": 10}, "leave them out with biased"),
        ({"estimator": "debiased", "batches": 10}, "leave them out with debiased"),
        ({"estimator": "minibatch", "batch_size": 3}, "greater than or equal to 4"),
        ({"estimator": "unbiased"}, "'biased', 'debiased' or 'minibatch'"),
        ({"kernel": "rbf"}, "'linear'"),
    ],
)
def test_options_that_are_refused(sent: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        cka_options(**sent)


def test_rows_needed() -> None:
    assert CKA.rows_needed(cka_options()) == 2
    assert CKA.rows_needed(cka_options(estimator="debiased")) == 4
    assert CKA.rows_needed(cka_options(estimator="minibatch", batch_size=64)) == 64
    assert linear_blocks.finite(float("inf")) is None
