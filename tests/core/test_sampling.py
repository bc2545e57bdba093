"""Streams: samples depend on seed and number alone, are distinct, uniform, and estimate what they should."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from ordsim_core import drawing, intervals, quadruplets, sampling, triplets
from ordsim_core.counts import AgreementCounts
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.comparisons import Sampled

STREAMS: list[tuple[Callable[..., Any], int]] = [(sampling.triplets, 3), (sampling.quadruplets, 4)]
FALSE_ALARM = 1e-6


@pytest.mark.parametrize(("stream", "size"), STREAMS)
@pytest.mark.parametrize("extra", [0, 1, 2, 3, 1000, 2**31 - 5])
def test_rows_are_distinct_and_in_range(stream: Callable[..., Any], size: int, extra: int) -> None:
    drawn = stream(1, 0, 5000, size + extra)
    assert drawn.shape == (5000, size)
    assert drawn.min() >= 0
    assert drawn.max() < size + extra
    in_order = np.sort(drawn, axis=1)
    assert (in_order[:, 1:] > in_order[:, :-1]).all()


@pytest.mark.parametrize(("stream", "size"), STREAMS)
@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_all_ordered_tuples_are_equally_likely(stream: Callable[..., Any], size: int, extra: int, seed: int) -> None:
    rows, samples = size + extra, 200_000
    drawn = stream(seed, 0, samples, rows)
    codes = drawn @ rows ** np.arange(size)
    possible = [sum(row * rows**place for place, row in enumerate(order)) for order in permutations(range(rows), size)]
    observed = np.bincount(codes, minlength=rows**size)[possible]
    assert observed.sum() == samples
    expected = samples / len(possible)
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(FALSE_ALARM, len(possible) - 1)
    assert statistic > chi2.ppf(FALSE_ALARM, len(possible) - 1)  # nor evener than chance


@pytest.mark.parametrize(("stream", "size"), STREAMS)
def test_neighbouring_samples_and_seeds_are_independent(stream: Callable[..., Any], size: int) -> None:
    rows, samples = 16, 100_000
    drawn = stream(0, 0, samples + 1, rows)
    other = stream(1, 0, samples, rows)
    for one, two in ((drawn[:-1], drawn[1:]), (drawn[:-1], other)):
        for column in range(size):
            observed = np.bincount(one[:, column] * rows + two[:, (column + 1) % size], minlength=rows**2)
            expected = samples / rows**2
            assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, rows**2 - 1)


@pytest.mark.parametrize(("stream", "size"), STREAMS)
def test_any_part_can_be_made_on_its_own(stream: Callable[..., Any], size: int) -> None:
    whole = stream(9, 0, 1000, 50)
    for start, stop in ((0, 1), (0, 0), (333, 777), (999, 1000), (1000, 1000)):
        assert (stream(9, start, stop, 50) == whole[start:stop]).all()
    far = stream(9, 2**60 - 3, 2**60, 50)
    assert far.shape == (3, size)
    assert not (stream(10, 0, 1000, 50) == whole).all(axis=1).sum() > 10


STREAM_NAMES = [name for name in vars(sampling) if name.endswith("_STREAM")]


@pytest.mark.parametrize("seed", [0, 4, 2**63, 2**64 - 1])
def test_the_streams_of_one_seed_differ(seed: int) -> None:
    assert len(STREAM_NAMES) == 6
    keys = [int(sampling.stream_key(seed, getattr(sampling, name))) for name in STREAM_NAMES]
    for one, other in combinations(keys, 2):
        # Of keys that have nothing to do with each other, about half the bits differ.
        assert 12 <= (one ^ other).bit_count() <= 52
    drawn = [
        sampling.triplets(seed, 0, 1000, 1000),
        sampling.quadruplets(seed, 0, 1000, 1000),
        sampling.triplet_units(seed, 0, 1000, 1000, 4),
        sampling.quadruplet_units(seed, 0, 1000, 1000, 2),
        np.resize(sampling.permutation(seed, 3000), (1000, 3)),
        np.array([np.random.default_rng(0).permutation(sampling.batch(seed, at, 3, 1000)) for at in range(1000)]),
    ]
    for first, second in combinations(drawn, 2):
        assert (first[:, :3] == second[:, :3]).all(axis=1).sum() == 0


@pytest.mark.parametrize(("stream", "size"), STREAMS)
def test_arguments_out_of_range_are_refused(stream: Callable[..., Any], size: int) -> None:
    for rows in (0, 2, size - 1):
        with pytest.raises(ValueError, match=f"{size} distinct rows"):
            stream(0, 0, 1, rows)
    with pytest.raises(ValueError, match=r"below 2\^31"):
        stream(0, 0, 1, 2**31)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed"):
            stream(seed, 0, 1, 10)
    for start, stop in ((-1, 2), (3, 2), (0, 2**60 + 1)):
        with pytest.raises(ValueError, match=f"samples {start} to {stop}"):
            stream(0, start, stop, 10)


DATA = Path(__file__).parent.parent / "data" / "controls"
PAIR = next(
    pair
    for pair in json.loads((DATA / "reference.json").read_text())["pairs"]
    if pair["pair"] == "emoji_effnet_f16 ~ emoji_rn50_f16"
)
SEEDS, SAMPLES = 200, 600
SAMPLERS = [(triplets.sampled_range, "tsi_counts_cdist64"), (quadruplets.sampled_range, "qsi_counts_cdist64")]


@pytest.fixture(scope="module", params=SAMPLERS, ids=["tsi", "qsi"])
def runs(request: pytest.FixtureRequest) -> tuple[float, list[AgreementCounts]]:
    """The exact score, and the counts of every seed's samples."""
    sampler, reference = request.param
    x, y = (prepare(np.load(DATA / f"{name}.npy"), Distance.EUCLIDEAN) for name in PAIR["pair"].split(" ~ "))
    agreeing, comparisons = PAIR[reference]
    return agreeing / comparisons, [sampler(x, y, seed, 0, SAMPLES).counts for seed in range(SEEDS)]


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("method", [intervals.hoeffding, intervals.clopper_pearson])
def test_intervals_hold_the_exact_score_at_their_rate(
    runs: tuple[float, list[AgreementCounts]], method: Callable[..., intervals.Interval], confidence: float
) -> None:
    exact, found = runs
    missed = 0
    for counts in found:
        interval = method(counts, confidence)
        missed += not interval.low <= exact <= interval.high
    # With a true rate of misses of at most 1 - confidence, more than this many have probability below 1e-6.
    assert missed <= binom.isf(FALSE_ALARM, SEEDS, 1 - confidence)


def test_seeds_scatter_as_independent_samples_do(runs: tuple[float, list[AgreementCounts]]) -> None:
    exact, found = runs
    # All seeds' samples together are so many independent ones, and so are their sums of squares.
    agreeing = sum(counts.agreeing for counts in found)
    assert binom.cdf(agreeing, SEEDS * SAMPLES, exact) > FALSE_ALARM
    assert binom.sf(agreeing - 1, SEEDS * SAMPLES, exact) > FALSE_ALARM
    variance = SAMPLES * exact * (1 - exact)
    scatter = sum((counts.agreeing - SAMPLES * exact) ** 2 for counts in found) / variance
    assert chi2.ppf(FALSE_ALARM, SEEDS) < scatter < chi2.isf(FALSE_ALARM, SEEDS)


@pytest.mark.parametrize(("sampler", "minimum"), [(triplets.sampled_range, 3), (quadruplets.sampled_range, 4)])
def test_samplers_add_up_and_refuse(sampler: Callable[..., Sampled], minimum: int) -> None:
    rng = np.random.default_rng(0)
    x, y = (prepare(rng.integers(0, 3, (30, columns)), Distance.EUCLIDEAN) for columns in (2, 3))
    whole = sampler(x, y, 7, 0, 5000).counts
    assert whole.comparisons == 5000
    assert min(whole.concordant, whole.discordant, whole.tied_x, whole.tied_y, whole.tied_both) > 0
    parts = [sampler(x, y, 7, start, start + 500).counts for start in range(0, 5000, 500)]
    assert sum(parts, AgreementCounts()) == whole
    assert sampler(x, y, 7, 12, 12).counts == AgreementCounts()
    small = prepare(np.ones((minimum - 1, 2)), Distance.EUCLIDEAN)
    with pytest.raises(ValueError, match=f"at least {minimum} rows"):
        sampler(small, small, 0, 0, 10)
    with pytest.raises(ValueError, match="x has 30 rows and y has"):
        sampler(x, small, 0, 0, 10)
    with pytest.raises(ValueError, match="seed"):
        sampler(x, y, -1, 0, 10)


UNITS = [
    (triplets.units_range, sampling.triplet_units, lambda members: 1 + members),
    (quadruplets.units_range, sampling.quadruplet_units, lambda members: 2 * members),
]


@pytest.mark.parametrize(("counter", "draw", "size"), UNITS, ids=["tsi", "qsi"])
def test_units_draw_distinct_rows_evenly(counter: Any, draw: Any, size: Any) -> None:
    rows, members, units = 11, 4, 22_000
    drawn = draw(3, 5, 5 + units, rows, members)
    assert drawn.shape == (units, size(members))
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    assert (draw(3, 7, 9, rows, members) == drawn[2:4]).all()
    assert (draw(4, 5, 5 + units, rows, members) != drawn).any(axis=1).mean() > 0.99
    expected = units / rows
    for column in drawn.T:
        scatter = ((np.bincount(column, minlength=rows) - expected) ** 2).sum() / expected
        assert scatter < chi2.isf(FALSE_ALARM, rows - 1)
    # Neighbouring places are as good as independent: every ordered pair of different rows is as likely.
    cells = np.bincount(drawn[:, 0] * rows + drawn[:, 1], minlength=rows * rows)
    cells = np.delete(cells, np.arange(rows) * (rows + 1))
    expected = units / len(cells)
    assert ((cells - expected) ** 2).sum() / expected < chi2.isf(FALSE_ALARM, len(cells) - 1)
    # All rows can be drawn, and one more cannot.
    assert (np.sort(draw(0, 0, 5, size(members), members), axis=1) == np.arange(size(members))).all()
    with pytest.raises(ValueError, match="distinct rows are needed"):
        draw(0, 0, 5, size(members) - 1, members)


@pytest.mark.parametrize(("counter", "draw", "size"), UNITS, ids=["tsi", "qsi"])
def test_units_add_up_and_refuse(counter: Any, draw: Any, size: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = (prepare(rng.integers(0, 3, (30, columns)), Distance.EUCLIDEAN) for columns in (2, 3))
    whole = counter(x, y, 7, 0, 3000, 5)
    assert whole.counts.comparisons == 3000 * 10
    assert whole.counts.agreeing == whole.agreeing.sum()
    parts = [counter(x, y, 7, start, start + 500, 5) for start in range(0, 3000, 500)]
    assert sum((part.counts for part in parts), AgreementCounts()) == whole.counts
    assert (np.concatenate([part.agreeing for part in parts]) == whole.agreeing).all()
    with pytest.raises(ValueError, match="at least 2"):
        counter(x, y, 7, 0, 1, 1)
    with pytest.raises(ValueError, match="rows are needed"):
        counter(x, y, 7, 0, 1, 40)


@pytest.mark.parametrize("measure", [triplets, quadruplets])
def test_units_in_doubt_are_the_same_however_few_are_compared_at_a_time(
    measure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).integers(0, 2, (60, 3)).astype("u1")
    x, y = prepare(values, Distance.HAMMING), prepare(values[:, :2] * 1.5, Distance.EUCLIDEAN)
    whole = measure.units_range(x, y, 3, 5, 45, 12)
    assert whole.counts.tied_both > 0
    monkeypatch.setattr(drawing, "_AT_ONCE", 7)
    monkeypatch.setattr(drawing, "_DOUBTS", 200)
    slowly = measure.units_range(x, y, 3, 5, 45, 12)
    assert (slowly.counts, slowly.paths, slowly.uncertified) == (whole.counts, whole.paths, whole.uncertified)
    assert (slowly.agreeing == whole.agreeing).all()


def test_permutations_are_uniform_and_belong_to_their_seed() -> None:
    orders = [tuple(sampling.permutation(seed, 4).tolist()) for seed in range(4800)]
    counts = np.unique(np.array(orders), axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 200) ** 2).sum() / 200 < chi2.isf(FALSE_ALARM, 23)
    assert (np.sort(sampling.permutation(9, 1000)) == np.arange(1000)).all()


def test_batches_are_sorted_distinct_and_differ() -> None:
    batches = [sampling.batch(1, index, 6, 50).tolist() for index in range(200)]
    assert all(len(set(rows)) == 6 and sorted(rows) == rows for rows in batches)
    assert len({tuple(rows) for rows in batches}) > 190
    chosen = np.bincount(np.concatenate(batches), minlength=50)
    assert ((chosen - 24) ** 2).sum() / 24 < chi2.isf(FALSE_ALARM, 49)
    assert sampling.batch(1, 7, 50, 50).tolist() == list(range(50))
