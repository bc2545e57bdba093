"""The measures against a brute-force count, over every way of cutting them up."""

from __future__ import annotations

import random
import re
from functools import reduce
from itertools import combinations
from math import comb
from operator import add
from unittest.mock import Mock

import numpy as np
import pytest
from pydantic import ValidationError

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core.counts import AgreementCounts, quadruplet_population, triplet_population
from ordsim_core.distances import Distance
from ordsim_core.spaces import Space, prepare
from workers.cancellation import ShardCancelled
from workers.measures import cutting, protocol, registry
from workers.measures.given import Pair
from workers.measures.protocol import Budget, Measure, PairFacts, PairShape
from workers.measures.sampled import QsiSampledOptions, TsiSampledOptions
from workers.measures.sizes import DRAWS_LIMIT
from workers.measures.tsi_exact import TsiExactOptions
from workers.partials import Partial

ROWS = 18
X = np.random.default_rng(1).integers(-3, 4, (ROWS, 3)).astype(np.int8)
Y = np.random.default_rng(2).integers(-3, 4, (ROWS, 5)).astype(np.int8)
SHAPE = PairShape(ROWS, 3, 5)
FACTS = PairFacts(SHAPE)
MEMORY = 2**30
PAIR = Pair(prepare(X, Distance.EUCLIDEAN), prepare(Y, Distance.EUCLIDEAN))

EXACT = TsiExactOptions(measure="tsi", method="exact")
PER_ANCHOR = TsiExactOptions(measure="tsi", method="exact", per_anchor=True)
TSI = TsiSampledOptions(measure="tsi", method="sampled", samples=300)
QSI = QsiSampledOptions(measure="qsi", method="sampled", samples=300)


def brute_force(x: np.ndarray, y: np.ndarray) -> tuple[AgreementCounts, list[int]]:
    """Count all triplets with Python integers, and the agreeing ones of each anchor."""
    kinds = [0] * 5
    agreeing = []
    distance = {
        name: [[sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
        for name, rows in (("x", x.astype(int).tolist()), ("y", y.astype(int).tolist()))
    }
    for anchor in range(len(x)):
        agree = 0
        for j, k in combinations([row for row in range(len(x)) if row != anchor], 2):
            first, second = (
                (keys[anchor][j] > keys[anchor][k]) - (keys[anchor][j] < keys[anchor][k])
                for keys in (distance["x"], distance["y"])
            )
            if first and second:
                kind = 0 if first == second else 1
            else:
                kind = 4 if first == second else 2 if not first else 3
            kinds[kind] += 1
            agree += kind in (0, 4)
        agreeing.append(agree)
    return AgreementCounts(*kinds), agreeing


COUNTS, AGREEING = brute_force(X, Y)


def run(options, seconds: float, seed: int = 0, order: int | None = None) -> Partial:
    """Walk all shards, in their own or in a shuffled order, through bytes as the ledger does."""
    measure = registry.find(options.measure, options.method)
    shards = measure.shards(SHAPE, options, Budget(seconds, MEMORY))
    if order is not None:
        random.Random(order).shuffle(shards)
    blobs = [measure.partial(PAIR, shard, options, seed, lambda: None).to_bytes() for shard in shards]
    return reduce(add, map(Partial.from_bytes, blobs), Partial())


@pytest.mark.parametrize("seconds", [1e-9, 3e-6, 1.0])
def test_exact_tsi_equals_brute_force_however_it_is_cut(seconds: float) -> None:
    assert COUNTS.tied_x
    assert COUNTS.tied_y
    assert COUNTS.tied_both
    assert run(EXACT, seconds).counts == COUNTS
    assert run(EXACT, seconds, order=5).counts == COUNTS


def test_the_cuts_of_these_tests_differ() -> None:
    measure = registry.find("tsi", "exact")
    numbers = {len(measure.shards(SHAPE, EXACT, Budget(seconds, MEMORY))) for seconds in (1e-9, 3e-6, 1.0)}
    assert len(numbers) > 1
    assert {1, ROWS} <= numbers


@pytest.mark.parametrize("seconds", [1e-9, 1.0])
def test_tsi_per_anchor_is_each_anchors_share(seconds: float) -> None:
    measure = registry.find("tsi", "exact")
    total = run(PER_ANCHOR, seconds, order=3)
    artifact = measure.finish(total, FACTS, PER_ANCHOR, 0.99).artifacts["per_anchor"]
    assert total.vector("per_anchor").dtype == np.int64
    assert artifact.dtype == np.float64
    assert artifact.tolist() == [agree / comb(ROWS - 1, 2) for agree in AGREEING]


def test_the_outcome_of_exact_tsi() -> None:
    outcome = registry.find("tsi", "exact").finish(run(EXACT, 1.0), FACTS, EXACT, 0.95)
    assert outcome.score == COUNTS.agreeing / triplet_population(ROWS)
    assert outcome.deficit == COUNTS.deficit
    assert outcome.population == triplet_population(ROWS) == outcome.counts.comparisons
    assert outcome.precision == "exact"
    assert dict(outcome.artifacts) == {}
    interval = outcome.intervals["sampling"]
    assert set(outcome.intervals) == {"sampling", "population", "jackknife"}
    assert (interval.low, interval.high, interval.method) == (outcome.score, outcome.score, "none-exact")


@pytest.mark.parametrize("options", [TSI, QSI])
def test_samples_do_not_depend_on_the_cut(options) -> None:
    total = run(options, 1.0)
    assert total.counts.comparisons == 300
    assert run(options, 1e-9, order=4).counts == total.counts
    assert run(options, 1e-5, order=2).counts == total.counts
    assert run(options, 1.0, seed=1).counts != total.counts


@pytest.mark.parametrize(("options", "population"), [(TSI, triplet_population), (QSI, quadruplet_population)])
def test_the_outcome_of_a_sampled_measure(options, population) -> None:
    total = run(options, 1.0)
    outcome = registry.find(options.measure, "sampled").finish(total, PairFacts(SHAPE, "float64"), options, 0.99)
    assert outcome.score == total.counts.agreeing / 300
    assert outcome.population == population(ROWS)
    assert outcome.precision == "float64"
    methods = {kind: interval.method for kind, interval in outcome.intervals.items()}
    assert methods == {"sampling": "clopper-pearson", "hoeffding": "hoeffding", "population": "kl-u-statistic"}
    assert all(i.low <= outcome.score <= i.high and i.confidence == 0.99 for i in outcome.intervals.values())


@pytest.mark.parametrize("options", [EXACT, TSI, QSI])
def test_a_total_that_misses_comparisons_or_holds_some_twice_is_refused(options) -> None:
    measure = registry.find(options.measure, options.method)
    total = run(options, 1.0)
    more = Partial(total.counts + AgreementCounts(tied_x=1))
    less = Partial(total.counts + AgreementCounts(concordant=-1))
    for wrong in (more, less, Partial()):
        with pytest.raises(RuntimeError, match="comparisons instead of"):
            measure.finish(wrong, FACTS, options, 0.99)


def test_per_anchor_counts_that_do_not_add_up_are_refused() -> None:
    total = run(PER_ANCHOR, 1.0)
    vector = total.vector("per_anchor")
    measure = registry.find("tsi", "exact")
    for wrong in (vector[:-1], vector + np.eye(1, ROWS, dtype=np.int64)[0]):
        with pytest.raises(RuntimeError, match="do not add up"):
            measure.finish(Partial(total.counts, {"per_anchor": {0: wrong}}), FACTS, PER_ANCHOR, 0.99)


@pytest.mark.parametrize("options", [EXACT, PER_ANCHOR, TSI, QSI])
def test_shards_promise_the_comparisons_they_make(options) -> None:
    measure = registry.find(options.measure, options.method)
    for shard in measure.shards(SHAPE, options, Budget(2e-6, MEMORY)):
        partial = measure.partial(PAIR, shard, options, 0, lambda: None)
        assert partial.counts.comparisons == shard.comparisons


@pytest.mark.parametrize("options", [EXACT, TSI, QSI])
def test_a_shard_stops_at_the_next_tile_when_it_is_cancelled(options, monkeypatch) -> None:
    monkeypatch.setattr(cutting, "TILE_SECONDS", 1e-9)  # one position a tile
    measure = registry.find(options.measure, options.method)
    (shard,) = measure.shards(SHAPE, options, Budget(1.0, MEMORY))
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ShardCancelled

    with pytest.raises(ShardCancelled):
        measure.partial(PAIR, shard, options, 0, checkpoint)
    assert calls == 3


@pytest.mark.parametrize("measure", ["tsi", "qsi"])
def test_a_single_batch_is_left_at_the_next_tile_when_it_is_cancelled(measure: str, monkeypatch) -> None:
    monkeypatch.setattr(cutting, "TILE_SECONDS", 1e-9)
    monkeypatch.setattr(quadruplets, "ANCHORS", 1)
    batched = registry.find(measure, "batched")
    options = batched.options(measure=measure, method="batched", batches=1, batch_size=12)
    (shard,) = batched.shards(SHAPE, options, Budget(1.0, MEMORY))
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1
        if calls == last:
            raise ShardCancelled

    last = 0
    whole = batched.partial(PAIR, shard, options, 0, checkpoint)
    assert whole.counts.comparisons == shard.comparisons
    assert calls >= 12  # one an anchor
    for stop in (calls // 2, calls):
        calls, last = 0, stop
        with pytest.raises(ShardCancelled):
            batched.partial(PAIR, shard, options, 0, checkpoint)


def test_registry() -> None:
    every = {(measure.measure, measure.method): measure for measure in registry.all_measures()}
    assert len(every) == len(registry.all_measures())
    found = {names: measure for names, measure in every.items() if names[0] in ("tsi", "qsi")}
    methods = {"tsi": ("exact", "sampled", "units", "anchors", "batched")}
    methods["qsi"] = tuple(method for method in methods["tsi"] if method != "anchors")
    assert set(found) == {(measure, method) for measure, known in methods.items() for method in known}
    for (name, _), measure in found.items():
        assert measure.minimum_rows == {"tsi": 3, "qsi": 4}[name]
        assert measure.needs_symmetry == (name == "qsi")
    with pytest.raises(LookupError, match=r"'cka'.*tsi exact"):
        registry.find("cka", "quadratic")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "samples"),
        ({"epsilon": 0.1}, "delta"),
        ({"delta": 0.1}, "epsilon"),
        ({"samples": 10, "epsilon": 0.1}, "epsilon"),
        ({"samples": 10, "epsilon": 0.1, "delta": 0.1}, "epsilon"),
        ({"samples": 10, "delta": 0.1}, "delta"),
        ({"samples": True}, "samples"),
        ({"samples": "10"}, "samples"),
        ({"samples": 10.0}, "samples"),
        ({"samples": 0}, "samples"),
        ({"samples": DRAWS_LIMIT + 1}, "samples"),
        ({"epsilon": 0, "delta": 0.1}, "epsilon"),
        ({"epsilon": 1, "delta": 0.1}, "epsilon"),
        ({"epsilon": True, "delta": 0.1}, "epsilon"),
        ({"epsilon": 0.1, "delta": 0.0}, "delta"),
        ({"epsilon": 0.1, "delta": 1.0}, "delta"),
        ({"epsilon": float("nan"), "delta": 0.1}, "epsilon"),
        ({"epsilon": 1e-7, "delta": 0.1}, "epsilon"),
        ({"epsilon": 1e-200, "delta": 0.1}, "epsilon"),
        ({"samples": 10, "width": 0.1}, "width"),
        ({"samples": 10, "method": "exact"}, "method"),
        ({"samples": 10, "measure": "cka"}, "measure"),
    ],
)
@pytest.mark.parametrize("options", [TsiSampledOptions, QsiSampledOptions])
def test_sampled_options_that_are_refused_name_the_field(options, fields, named: str) -> None:
    measure = {TsiSampledOptions: "tsi", QsiSampledOptions: "qsi"}[options]
    with pytest.raises(ValidationError) as caught:
        options.model_validate({"measure": measure, "method": "sampled", **fields})
    (error,) = caught.value.errors()
    assert named in (*error["loc"], *error["msg"].split())


@pytest.mark.parametrize("fields", [{"per_anchor": 1}, {"per_anchor": "yes"}, {"samples": 3}, {"method": None}])
def test_exact_options_that_are_refused(fields) -> None:
    (named,) = fields
    with pytest.raises(ValidationError) as caught:
        TsiExactOptions.model_validate({"measure": "tsi", "method": "exact", **fields})
    assert [error["loc"] for error in caught.value.errors()] == [(named,)]


def test_epsilon_and_delta_give_the_number_of_samples() -> None:
    # ceil(ln(2 / delta) / (2 epsilon^2)), by hand: ln 200 / 0.0002 = 26491.58...
    options = TsiSampledOptions(measure="tsi", method="sampled", epsilon=0.01, delta=0.01)
    assert options.draws == 26_492
    assert options.delta == 0.01
    shards = registry.find("tsi", "sampled").shards(SHAPE, options, Budget(1e-4, MEMORY))
    assert sum(shard.comparisons for shard in shards) == 26_492


def test_too_few_rows_leave_nothing_to_do() -> None:
    # Refused at submission; here only that cutting does not fail on the way there.
    for rows in (0, 1, 2):
        shards = registry.find("tsi", "exact").shards(PairShape(rows, 2, 2), EXACT, Budget(1.0, MEMORY))
        assert sum(shard.comparisons for shard in shards) == 0


@pytest.mark.parametrize("measure", registry.all_measures(), ids=lambda measure: f"{measure.measure}-{measure.method}")
def test_every_measure_says_how_many_rows_it_takes(measure: Measure) -> None:
    for attribute in Measure.__annotations__:
        assert hasattr(measure, attribute)
    documented = re.findall(r"`(\w+)`", Measure.__doc__ or "")
    assert {"minimum_rows", "maximum_rows"} <= set(documented)
    for name in documented:
        assert hasattr(measure, name) or hasattr(protocol, name)


def test_limits_on_rows_are_those_of_the_core() -> None:
    for measure in registry.all_measures():
        if measure.measure not in ("tsi", "qsi"):
            continue
        all_targets = (measure.measure, measure.method) in (("tsi", "exact"), ("tsi", "anchors"))
        if measure.method != "exact" or all_targets:
            assert measure.maximum_rows == (2**21 if all_targets else 2**31 - 1)
    sampling.check(0, 0, 1, 2**31 - 1, 4)
    with pytest.raises(ValueError, match="2\\^31"):
        sampling.check(0, 0, 1, 2**31, 4)
    many = Mock(spec=Space, rows=2**21 + 1)
    with pytest.raises(ValueError, match="at most 2097152 rows"):
        triplets.exact_block(many, many, 0, 1)
