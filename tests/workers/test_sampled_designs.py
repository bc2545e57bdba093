"""Every way of estimating TSI and QSI: shards that add up, intervals that hold, and stopping when they are narrow."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from ordsim_core import betting, concordance, quadruplets, sampling, strips, triplets
from ordsim_core.counts import AgreementCounts
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare, select
from workers import costs, spilling
from workers.environment import from_environment
from workers.measures import cutting, looking, registry, tsi_exact, units
from workers.measures.given import Pair
from workers.measures.protocol import Budget, NoInterval, PairFacts, PairShape
from workers.measures.sizes import UNITS_LIMIT
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS, SEED, CONFIDENCE = 40, 3, 0.99
SHAPE = PairShape(5000, 64, 64)
GROUPS = np.arange(ROWS) // 4
LARGEST_CONFIDENCE = 1 - 2**-52
"""That a request may ask for."""


@pytest.fixture(scope="module")
def pair() -> Pair:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (ROWS, 3)).astype("f4")
    return Pair(
        prepare(x, Distance.EUCLIDEAN),
        prepare(x + rng.integers(-1, 2, (ROWS, 3)).astype("f4"), Distance.MANHATTAN),
        GROUPS,
    )


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a worker finds in its environment."""
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path / "staging"))
    from_environment.cache_clear()
    yield
    from_environment.cache_clear()


def options_of(**fields: Any) -> Any:
    return registry.find(fields["measure"], fields["method"]).options.model_validate(fields)


def run(pair: Pair, budget: Budget, groups: np.ndarray | None = None, **fields: Any) -> tuple[Partial, Any]:
    """Total and outcome of all shards, or of those that were enough."""
    options = options_of(**fields)
    measure = registry.find(options.measure, options.method)
    facts = PairFacts(pair.shape, groups=groups)
    shards = measure.shards(pair.shape, options, budget)
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert sum(shard.comparisons for shard in shards) == measure.comparisons(pair.shape, options)
    assert measure.seconds(pair.shape, options) > 0
    assert measure.memory(pair.shape, options, budget) > 0
    total = Partial()
    for shard in shards:
        partial = measure.partial(Pair(pair.x, pair.y, groups), shard, options, SEED, lambda: None)
        total = total + Partial.from_bytes(partial.to_bytes())
        if measure.sequential(options) and measure.enough(total, facts, options, CONFIDENCE):
            break
    return total, measure.finish(total, facts, options, CONFIDENCE)


LONG, SHORT = Budget(1e9, 2**40), Budget(1e-4, 2**40)

DESIGNS: list[dict[str, Any]] = [
    {"measure": "tsi", "method": "exact"},
    {"measure": "tsi", "method": "sampled", "samples": 3000},
    {"measure": "qsi", "method": "sampled", "samples": 3000},
    {"measure": "tsi", "method": "units", "units": 150, "targets": 8},
    {"measure": "qsi", "method": "units", "units": 150, "pairs": 8},
    {"measure": "tsi", "method": "anchors", "anchors": 25},
    {"measure": "tsi", "method": "batched", "batches": 12, "batch_size": 9},
    {"measure": "qsi", "method": "batched", "batches": 12, "batch_size": 9},
    {"measure": "qsi", "method": "exact"},
]


def named(design: dict[str, Any]) -> str:
    return f"{design['measure']} {design['method']}"


@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_shards_add_up_to_the_whole(pair: Pair, design: dict[str, Any]) -> None:
    whole, outcome = run(pair, LONG, **design)
    parts, again = run(pair, SHORT, **design)
    assert parts.counts == whole.counts
    assert again.score == outcome.score
    assert again.intervals == outcome.intervals
    assert 0 < outcome.score < 1
    assert outcome.counts.comparisons <= outcome.population or "batched" in design["method"]


@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_estimates_are_near_the_exact_score_and_their_intervals_hold_it(pair: Pair, design: dict[str, Any]) -> None:
    _, exact = run(pair, LONG, measure=design["measure"], method="exact")
    _, outcome = run(pair, LONG, **design)
    assert abs(outcome.score - exact.score) < 0.05
    sampling_interval = outcome.intervals["sampling"]
    if design["method"] == "batched":
        assert isinstance(sampling_interval, NoInterval)
        assert "population" not in outcome.intervals
        return
    population = outcome.intervals["population"]
    assert sampling_interval.low <= exact.score <= sampling_interval.high
    assert population.low <= sampling_interval.low
    assert sampling_interval.high <= population.high
    assert sampling_interval.rigorous
    assert population.rigorous
    assert "arithmetic" not in outcome.intervals


@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_rows_of_one_group_say_nothing_rigorous_of_the_population(pair: Pair, design: dict[str, Any]) -> None:
    _, alone = run(pair, LONG, groups=np.arange(ROWS), **design)
    _, ungrouped = run(pair, LONG, **design)
    assert alone.intervals.get("population") == ungrouped.intervals.get("population")
    if design["method"] == "batched":
        return
    assert not isinstance(alone.intervals["population"], NoInterval)
    for groups in (GROUPS, np.minimum(np.arange(ROWS), ROWS - 2)):
        _, grouped = run(pair, LONG, groups=groups, **design)
        population = grouped.intervals["population"]
        assert isinstance(population, NoInterval)
        assert "only exact TSI has an interval: its jackknife" in population.reason
        named_measure = (design["measure"], design["method"])
        assert ("jackknife" in grouped.intervals) == (named_measure == ("tsi", "exact")), "what the reason says"
        assert grouped.intervals["sampling"] == ungrouped.intervals["sampling"]


@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_rows_that_repeat_say_nothing_of_the_population_unless_groups_do(pair: Pair, design: dict[str, Any]) -> None:
    if design["method"] == "batched":
        return
    total, plain = run(pair, LONG, **design)
    measure, options = registry.find(design["measure"], design["method"]), options_of(**design)
    facts = PairFacts(pair.shape, repeated=True)
    found = measure.finish(total, facts, options, 0.99).intervals
    for kind in {"population", "jackknife"} & plain.intervals.keys():
        absent = found[kind]
        assert isinstance(absent, NoInterval), kind
        assert "Send groups" in absent.reason
    each_its_own = replace(facts, groups=np.arange(ROWS))
    assert not isinstance(measure.finish(total, each_its_own, options, 0.99).intervals["population"], NoInterval)


FAR_FROM_CERTAIN = {
    "many columns": np.random.default_rng(6).standard_normal((64, 20_000)).astype("f4"),
    "nearly equidistant": (np.eye(64) + 1e-7 * np.random.default_rng(7).standard_normal((64, 64))).astype("f4"),
}


@cache
def float32_pair(name: str) -> Pair:
    values = FAR_FROM_CERTAIN[name]
    return Pair(*(prepare(side, Distance.EUCLIDEAN, Precision.FLOAT32) for side in (values, values[:, ::-1].copy())))


@pytest.mark.parametrize("named", FAR_FROM_CERTAIN)
@pytest.mark.parametrize("design", DESIGNS, ids=named)
def test_float32_scores_come_with_what_is_in_doubt_however_much_it_is(design: dict[str, Any], named: str) -> None:
    pair = float32_pair(named)
    options = options_of(**design)
    measure = registry.find(options.measure, options.method)
    shards = measure.shards(pair.shape, options, LONG)
    total = Partial.total(measure.partial(pair, shard, options, SEED, lambda: None) for shard in shards)
    outcome = measure.finish(total, PairFacts(pair.shape, "float32"), options, CONFIDENCE)
    interval = outcome.intervals["arithmetic"]
    assert interval.low <= 1.0 <= interval.high
    assert total.uncertified > 0
    assert 0 < outcome.uncertified <= outcome.counts.comparisons


def test_intervals_at_the_largest_confidence(pair: Pair) -> None:
    for design in DESIGNS:
        options = options_of(**design)
        measure = registry.find(options.measure, options.method)
        total, _ = run(pair, LONG, **design)
        outcome = measure.finish(total, PairFacts(pair.shape), options, LARGEST_CONFIDENCE)
        if design["method"] == "batched":
            continue
        sampling, population = outcome.intervals["sampling"], outcome.intervals["population"]
        assert population.confidence == LARGEST_CONFIDENCE
        assert 0 <= population.low <= sampling.low <= sampling.high <= population.high <= 1


def test_anchors_are_the_rows_they_say_and_all_of_them_leave_no_doubt(pair: Pair) -> None:
    _, exact = run(pair, LONG, measure="tsi", method="exact", per_anchor=True)
    design = {"measure": "tsi", "method": "anchors", "per_anchor": True}
    _, some = run(pair, SHORT, anchors=25, **design)
    chosen = some.artifacts["anchors"]
    assert chosen.tolist() == sampling.permutation(SEED, ROWS)[:25].tolist()
    assert (some.artifacts["per_anchor"] == exact.artifacts["per_anchor"][chosen]).all()
    _, every = run(pair, SHORT, anchors=ROWS, **design)
    assert every.counts == exact.counts
    assert every.intervals["sampling"].low <= every.score <= every.intervals["sampling"].high
    assert looking.width(every.intervals["sampling"]) < 1e-12


def test_units_are_the_stream_s_own(pair: Pair) -> None:
    total, _ = run(pair, SHORT, measure="tsi", method="units", units=150, targets=8)
    whole = triplets.units_range(pair.x, pair.y, SEED, 0, 150, 8)
    assert (total.vector("agreeing") == whole.agreeing).all()
    assert total.counts == whole.counts


@pytest.mark.parametrize("measure", ["tsi", "qsi"])
def test_batches_score_their_own_rows_exactly(pair: Pair, measure: str) -> None:
    total, _ = run(pair, LONG, measure=measure, method="batched", batches=3, batch_size=7)
    found = []
    for index in range(3):
        rows = sampling.batch(SEED, index, 7, ROWS)
        x, y = select(pair.x, rows), select(pair.y, rows)
        found.append(triplets.exact_block(x, y, 0, 7) if measure == "tsi" else quadruplets.exact_counts(x, y))
    assert total.counts.agreeing == sum(one.counts.agreeing for one in found)
    assert total.counts.comparisons == 3 * (7 * comb(6, 2) if measure == "tsi" else 3 * comb(7, 4))


@pytest.mark.parametrize("measure", ["tsi", "qsi"])
@pytest.mark.parametrize("method", ["sampled", "units"])
def test_a_width_is_reached_and_no_more_is_drawn(pair: Pair, measure: str, method: str) -> None:
    fields = {"measure": measure, "method": method, "width": 0.06}
    if method == "units":
        fields["targets" if measure == "tsi" else "pairs"] = 8
    total, outcome = run(pair, LONG, **fields)
    again, _ = run(pair, SHORT, **fields)
    assert again.counts == total.counts
    interval = outcome.intervals["sampling"]
    assert interval.method == "sequential"
    assert looking.width(interval) <= 0.06
    measures = registry.find(measure, method)
    shards = measures.shards(pair.shape, options_of(**fields), LONG)
    drawn = sum(shard.comparisons for shard in shards if shard.comparisons)
    assert outcome.counts.comparisons < drawn
    _, exact = run(pair, LONG, measure=measure, method="exact")
    assert interval.low <= exact.score <= interval.high


@pytest.mark.parametrize("wanted", [1.0, 0.1, 1e-3, 1e-5])
def test_looks_are_few_and_cover_the_stream(wanted: float) -> None:
    draws = looking.most_draws(wanted)
    shards = looking.shards(draws, 1)
    assert shards[0].start == 0
    assert shards[-1].stop == draws
    assert all(one.stop == other.start for one, other in pairwise(shards))
    assert len(shards) <= min(cutting.SHARDS_LIMIT, 70 + draws / looking.LONGEST_DRAWS)
    looks = looking.looks(draws)
    assert len(looks) < 100
    assert set(looks) <= {shard.stop for shard in shards}
    assert looks[-1] == draws
    assert all(other - one <= max(looking.FIRST_DRAWS, one / 4) for one, other in pairwise((0, *looks)))


def test_shards_between_looks_keep_to_the_ledger() -> None:
    each = cutting.LEDGER_LIMIT // 300
    assert len(looking.shards(10**12, 1, ledger_bytes=each)) <= 300
    assert len(looking.shards(10**12, 1, ledger_bytes=cutting.LEDGER_LIMIT)) == len(looking.looks(10**12))


@pytest.mark.parametrize("members", [2, 32, 1024])
def test_units_are_looked_at_seldom_and_keep_little(members: int) -> None:
    options = options_of(measure="tsi", method="units", width=1e-5, targets=members)
    measure = registry.find("tsi", "units")
    shards = measure.shards(SHAPE, options, LONG)
    assert shards[-1].stop == options.draws == UNITS_LIMIT
    assert len(shards) * 8 * (comb(members, 2) + 1) <= 1.01 * cutting.LEDGER_LIMIT
    # Nothing is to be seen where it is not time to look: the tally is not even there.
    looks = looking.looks(options.draws, units.FIRST_UNITS)
    assert len(looks) < 70
    later = [shard for shard in shards if shard.stop not in looks]
    assert later
    for shard in later[:: len(later) // 50 + 1]:
        seen = Partial(AgreementCounts(shard.stop * comb(members, 2)))
        assert not measure.enough(seen, PairFacts(SHAPE), options, CONFIDENCE)
    tally = np.zeros(comb(members, 2) + 1, np.int64)
    tally[-1] = looks[-1]
    assert measure.enough(
        Partial(AgreementCounts(looks[-1] * comb(members, 2)), sums={"tally": tally}), PairFacts(SHAPE), options, 0.9
    )


def test_units_that_stop_early_are_the_stream_s_own(pair: Pair) -> None:
    fields: dict[str, Any] = {"measure": "tsi", "method": "units", "width": 0.1, "targets": 8}
    total, outcome = run(pair, LONG, **fields)
    drawn = total.counts.comparisons // 28
    whole = triplets.units_range(pair.x, pair.y, SEED, 0, drawn, 8)
    assert not total.pieces
    assert total.counts == whole.counts
    assert outcome.intervals["sampling"] == betting.sequential(whole.agreeing, 28, CONFIDENCE)
    options = options_of(**fields)
    wrong = Partial(total.counts, sums={"tally": total.sums["tally"] + np.eye(1, 29, 3, dtype=np.int64)[0]})
    with pytest.raises(RuntimeError, match="comparisons instead of"):
        registry.find("tsi", "units").finish(wrong, PairFacts(pair.shape), options, CONFIDENCE)


def test_the_jackknife_knows_rows_and_groups(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    design = {"measure": "tsi", "method": "exact"}
    _, rows = run(pair, SHORT, **design)
    _, groups = run(pair, SHORT, groups=GROUPS, **design)
    assert rows.intervals["jackknife"].unit == "row"
    assert groups.intervals["jackknife"].unit == "group"
    assert not groups.intervals["jackknife"].rigorous
    assert groups.intervals["jackknife"].standard_error > 0
    assert rows.score == groups.score
    _, two = run(pair, SHORT, groups=GROUPS % 2, **design)
    assert isinstance(two.intervals["jackknife"], NoInterval)
    monkeypatch.setattr(tsi_exact, "JACKKNIFE_ROWS", ROWS - 1)
    _, many = run(pair, SHORT, **design)
    assert "39 rows" in many.intervals["jackknife"].reason


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"measure": "tsi", "method": "sampled"}, "send samples, or epsilon and delta, or width"),
        ({"measure": "tsi", "method": "sampled", "samples": 5, "width": 0.1}, "samples and width exclude each other"),
        ({"measure": "tsi", "method": "sampled", "samples": 5, "epsilon": 0.1}, "samples and epsilon exclude"),
        ({"measure": "tsi", "method": "sampled", "samples": 5, "delta": 0.1}, "samples and delta exclude"),
        ({"measure": "tsi", "method": "sampled", "delta": 0.1}, "epsilon is missing"),
        ({"measure": "tsi", "method": "sampled", "width": 1e-9}, "width"),
        ({"measure": "tsi", "method": "units"}, "send units, or width"),
        ({"measure": "tsi", "method": "units", "units": 5, "width": 0.1}, "units and width exclude"),
        ({"measure": "tsi", "method": "units", "units": 5, "pairs": 8}, "pairs"),
        ({"measure": "qsi", "method": "units", "units": 5, "targets": 8}, "targets"),
        ({"measure": "tsi", "method": "units", "units": 5, "targets": 1}, "targets"),
        ({"measure": "tsi", "method": "anchors"}, "anchors"),
        ({"measure": "tsi", "method": "anchors", "anchors": 0}, "anchors"),
        ({"measure": "tsi", "method": "batched", "batches": 2, "batch_size": 2}, "batch_size"),
        ({"measure": "qsi", "method": "batched", "batches": 2, "batch_size": 3}, "batch_size"),
        ({"measure": "tsi", "method": "batched", "batch_size": 9}, "batches"),
        ({"measure": "tsi", "method": "units", "units": 5, "per_anchor": 0}, "per_anchor"),
    ],
)
def test_options_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        options_of(**fields)


def test_rows_that_a_design_needs() -> None:
    def needed(**fields: Any) -> int:
        options = options_of(**fields)
        return registry.find(options.measure, options.method).rows_needed(options)

    assert needed(measure="tsi", method="units", units=5, targets=8) == 9
    assert needed(measure="qsi", method="units", units=5, pairs=8) == 16
    assert needed(measure="tsi", method="anchors", anchors=25) == 25
    assert needed(measure="tsi", method="anchors", anchors=1) == 3
    assert needed(measure="qsi", method="batched", batches=1, batch_size=9) == 9
    assert needed(measure="qsi", method="sampled", samples=1) == 4


@pytest.mark.parametrize("precision", ["exact", "float32"])
def test_pairs_of_rows_are_kept_in_memory_or_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((90, 3)).astype("f4")
    y = x + rng.standard_normal((90, 3)).astype("f4")
    pair = Pair(*(prepare(side, Distance.EUCLIDEAN, Precision(precision)) for side in (x, y)))
    design = {"measure": "qsi", "method": "exact"}
    _, single = run(pair, LONG, **design)
    assert single.counts == quadruplets.exact_counts(pair.x, pair.y).counts
    # Many strips, and many shards of them.
    monkeypatch.setattr(strips, "STRIP_PAIRS", 300)
    monkeypatch.setattr(concordance, "ELEMENTS_LIMIT", 500)
    monkeypatch.setattr(costs, "PAIR", 1.0)
    plan = strips.plan(90)
    assert plan.x == 14
    in_memory, outcome = run(pair, SHORT, **design)
    assert outcome.counts == single.counts
    opened = []
    keep = spilling.disk_store
    monkeypatch.setattr(spilling, "disk_store", lambda directory: opened.append(directory) or keep(directory))
    monkeypatch.setenv("ORDSIM_WORKER_MEMORY", str(costs.PROCESS_BYTES))
    from_environment.cache_clear()
    in_files, outcome = run(pair, SHORT, **design)
    assert len(opened) > 4
    assert (in_files.counts, in_files.tally) == (in_memory.counts, in_memory.tally)
    assert outcome.counts == single.counts
    assert list((tmp_path / "staging").iterdir()) == []
