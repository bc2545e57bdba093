"""Exact QSI: all pairs of rows against all others, in strips of any size, equal exact arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rational
from against_oracle import five, lattice, spaces
from nasty_cases import cases, fit

from ordsim_core import concordance, intervals, pair_doubts, quadruplets, sifting, splitters, strips, triplets
from ordsim_core.anchors import products
from ordsim_core.counts import AgreementCounts, quadruplet_population
from ordsim_core.distances import Distance, Precision
from ordsim_core.errors import AsymmetricDistanceError, RangeTooWideError
from ordsim_core.pair_keys import FAR, PairSpace, keys_of, later_keys, pair_space
from ordsim_core.spaces import prepare
from ordsim_core.strip_records import MemoryStore
from ordsim_core.strips import ShardsDisagreeError, StripCounts, StripPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.spaces import Space
    from ordsim_core.strip_records import Store

CASES = [case for case in cases() if len(case.x) >= 4]
CUTS = [(1, 1), (2, 1), (1, 5), (2, 5), (5, 2), (40, 40), (5, 5), (40, 2)]
COARSE = [None, 20, 14, 6]


class ForgetfulStore:
    """Keeps bytes, as a file would, and reads nothing twice."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.total = 0

    def append(self, strip: int, words: np.ndarray) -> None:
        assert words.dtype == np.uint32
        assert len(words)
        self.kept[strip] = self.kept.get(strip, b"") + words.tobytes()
        self.total += words.nbytes

    def read(self, strip: int) -> np.ndarray:
        return np.frombuffer(self.kept.pop(strip), np.uint32)


def in_shards(
    x: Space, y: Space, plan: StripPlan, shards: int = 1, store: Callable[[], Store] = MemoryStore
) -> tuple[AgreementCounts, StripCounts]:
    """All pairs of pairs, from so many shards of strips on each side."""
    total, cells = StripCounts(), []
    for first, last in pairwise(plan.x * shard // shards for shard in range(shards + 1)):
        part = strips.x_strips(x, y, plan, first, last, store())
        assert part.first == first
        total += part.counts
        cells.append(part.cells)
    if not plan.single:
        for first, last in pairwise(plan.y * shard // shards for shard in range(shards + 1)):
            total += strips.y_strips(x, y, plan, first, last, store())
    return strips.agreement(plan, total, np.concatenate(cells)), total


def counted(x: Space, y: Space, in_x: int, in_y: int, shards: int = 1) -> rational.Counts:
    """Counts of quadruplets from forced strips, the same in shards and in one go."""
    plan = StripPlan(x.rows, in_x, in_y)
    everything, total = in_shards(x, y, plan, shards)
    at_once = strips.all_strips(x, y, plan)
    assert strips.agreement(plan, at_once.counts, at_once.cells) == everything
    assert at_once.counts.uncertified == total.uncertified
    return five(quadruplets.without_triplets(everything, triplets.exact_block(x, y, 0, x.rows).counts).counts)


@cache
def truth(number: int) -> rational.Counts:
    case = CASES[number]
    return rational.quadruplets(
        rational.Ranked(case.x.tolist(), case.x_distance), rational.Ranked(case.y.tolist(), case.y_distance)
    )


@pytest.mark.parametrize("part", range(8))
def test_nasty_cases_in_strips(part: int) -> None:
    """Every case with one of the cuts and one of the coarser keys, each of which meets all others in some case."""
    answered = 0
    for number in range(part, len(CASES), 8):
        case, turn = CASES[number], number // 8
        key_bits, (in_x, in_y) = COARSE[turn // 8 % 4], CUTS[turn % 8]
        try:
            sides = spaces(case.x, case.y, case.x_distance, case.y_distance, key_bits=key_bits)
        except RangeTooWideError:
            continue
        if all(space.precision is Precision.EXACT for space in sides):
            assert counted(*sides, in_x, in_y, shards=1 + turn % 3) == truth(number), (case, key_bits, in_x, in_y)
            answered += 1
    assert answered > 0.8 * len(CASES) / 8


@pytest.mark.parametrize("distance", Distance)
@pytest.mark.parametrize("cuts", CUTS)
def test_all_distances_in_strips(distance: Distance, cuts: tuple[int, int]) -> None:
    rng = np.random.default_rng(cuts[0])
    for rows in (4, 9, 16):
        x, y = fit(lattice(rng, rows, 3), distance), lattice(rng, rows, 2)
        expected = rational.quadruplets(
            rational.Ranked(x.tolist(), distance.value), rational.Ranked(y.tolist(), "euclidean")
        )
        for key_bits in (None, 8):
            assert counted(*spaces(x, y, distance, key_bits=key_bits), *cuts, shards=2) == expected


@pytest.mark.parametrize("cuts", CUTS)
def test_stored_distances_of_any_size_and_sign(cuts: tuple[int, int]) -> None:
    rng = np.random.default_rng(13)
    sign, share, uniform = rng.choice([-1.0, 1.0], (30, 30)), rng.random((30, 30)), rng.random((30, 30))
    largest = 1e308 * (1 + 0.7 * uniform.round(1))
    for x in (sign * uniform, sign * 10.0 ** (600 * uniform - 300), np.where(share < 0.3, -1e-5 * uniform, largest)):
        x = fit(x, "precomputed")
        order = np.unique(x, return_inverse=True)[1].reshape(x.shape)
        y = lattice(rng, 30, 2)
        expected = five(quadruplets.exact_counts(*spaces(order, y, "precomputed")).counts)
        assert counted(*spaces(x, y, "precomputed"), *cuts, shards=2) == expected


def by_comparison(x: np.ndarray, y: np.ndarray) -> rational.Counts:
    """Compare all pairs of disjoint pairs of rows of integers, one signed difference each."""
    left, right = np.triu_indices(len(x), 1)
    keys = [((side[left] - side[right]) ** 2).sum(axis=1) for side in (x, y)]
    found = np.zeros(9, np.int64)
    for pair in range(len(left)):
        later = slice(pair + 1, None)
        one, other = (np.sign(key[pair] - key[later]) for key in keys)
        disjoint = (
            (left[pair] != left[later])
            & (left[pair] != right[later])
            & (right[pair] != left[later])
            & (right[pair] != right[later])
        )
        found += np.bincount((3 * (one + 1) + other + 1)[disjoint], minlength=9)
    below, tied, above = found.reshape(3, 3).tolist()
    return below[0] + above[2], below[2] + above[0], tied[0] + tied[2], below[1] + above[1], tied[1]


@pytest.mark.parametrize(("rows", "spread"), [(60, 2), (90, 40), (120, 1000)])
def test_larger_arrays_against_plain_comparisons(rows: int, spread: int) -> None:
    rng = np.random.default_rng(rows)
    x, y = rng.integers(-spread, spread + 1, (2, rows, 4))
    y[: rows // 2] = x[: rows // 2]
    expected = by_comparison(x, y)
    assert sum(expected) == quadruplet_population(rows)
    for scale in (1.0, 1 / 3):  # a third is no multiple of anything: keys are not exact any more
        sides = spaces(x * scale, y, key_bits=None if scale == 1 else 30)
        if scale == 1:
            assert five(quadruplets.exact_counts(*sides).counts) == expected
        exact = expected if scale == 1 else five(quadruplets.exact_counts(*sides).counts)
        for in_x, in_y in CUTS:
            assert counted(*sides, in_x, in_y, shards=2) == exact


def of_ranks(x: np.ndarray, y: np.ndarray) -> rational.Counts:
    """Counts from tables of the exact ranks of all distances: nothing left to round."""
    return five(quadruplets.exact_counts(*(prepare(ranks(side), Distance.PRECOMPUTED) for side in (x, y))).counts)


def ranks(values: np.ndarray) -> np.ndarray:
    return np.array(rational.Ranked(values.tolist(), "euclidean").rank)


def test_tables_of_ranks_count_as_the_rows_do() -> None:
    rng = np.random.default_rng(0)
    for rows in (20, 61):
        x, y = rng.standard_normal((rows, 3)).astype("f4"), lattice(rng, rows, 3)
        assert five(quadruplets.exact_counts(*spaces(x, y)).counts) == of_ranks(x, y)


@pytest.mark.parametrize("key_bits", [None, 30, 12])
def test_rows_far_from_all_others_but_near_each_other(key_bits: int | None) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 420, 3)).astype("f4").astype("f8")
    x[7] += 1e7
    x[[20, 300]] = x[7] + rng.standard_normal((2, 3)) * [[1e-3], [0.3]]
    sides = spaces(x, y, key_bits=key_bits)
    assert pair_space(sides[0]).keys.far.sum() == 3
    expected = of_ranks(x, y)
    assert five(quadruplets.exact_counts(*sides).counts) == expected
    assert counted(*sides, 20, 5) == expected
    x32, y32 = spaces(x, y, precision=Precision.FLOAT32)
    rounded = quadruplets.exact_counts(x32, y32)
    assert abs(rounded.counts.agreeing - expected[0] - expected[4]) <= rounded.uncertified
    assert rounded.uncertified < 0.05 * quadruplet_population(420)


def test_far_rows_are_those_that_saturate() -> None:
    x = np.random.default_rng(2).standard_normal((300, 4))
    x[5] *= 1e6
    side = pair_space(prepare(x, Distance.EUCLIDEAN))
    assert np.flatnonzero(side.keys.far).tolist() == [5]
    assert side.keys.weight[0] < FAR * side.keys.saturation


def all_keys(space: Space) -> np.ndarray:
    """Keys of all pairs of rows, as a pass over them makes them."""
    side = pair_space(space)
    found = np.zeros((space.rows, space.rows), np.uint64)
    later_keys(side, products(space, np.arange(space.rows)), 0, 0, found)
    return found[np.triu_indices(space.rows, 1)].astype(np.int64)


@pytest.mark.parametrize("precision", [Precision.EXACT, Precision.FLOAT32])
def test_keys_that_differ_by_more_than_the_slack_are_in_order(precision: Precision) -> None:
    doubtful = 0
    for case in CASES[::2]:
        for values, distance in ((case.x, case.x_distance), (case.y, case.y_distance)):
            try:
                space = prepare(values, Distance(distance), precision)
            except RangeTooWideError:
                continue
            side = pair_space(space)
            if space.packing.certain or space.precision is Precision.FLOAT64:
                continue
            keys, few = all_keys(space), np.triu_indices(space.rows, 1)
            assert np.abs(keys_of(side, *few).astype(np.int64) - keys).max() <= side.slack_at(side.saturated)
            exact = np.array(rational.Ranked(values.tolist(), distance).rank)[few]
            certain = keys[:, None] > keys + side.slack_at(keys)[:, None]
            assert (exact[:, None] > exact)[certain].all(), case
            doubtful += np.count_nonzero(~(certain | certain.T)) > len(keys)
    assert doubtful > 50


@pytest.mark.parametrize("key_bits", [None, 40])
@pytest.mark.parametrize("share", [16, 6])
def test_keys_may_be_off_by_what_the_slack_allows(
    monkeypatch: pytest.MonkeyPatch, key_bits: int | None, share: int
) -> None:
    rng = np.random.default_rng(14)
    x = rng.standard_normal((100, 4)).astype("f4")
    x[60:] = x[:40]
    sides = spaces(x, rng.standard_normal((100, 4)), y_distance="cosine", key_bits=key_bits)
    expected = five(quadruplets.exact_counts(*sides).counts)
    slack = 1 << ((key_bits or 52) - share)

    def loose(space: Space) -> PairSpace:
        return replace(pair_space(space), slack=slack)

    def disturb(side: PairSpace, keys: np.ndarray) -> None:
        moved = keys.astype(np.int64) + rng.integers(-slack // 2 + 4, slack // 2 - 3, keys.shape)
        keys[:] = np.clip(moved, 0, side.saturated)

    def later(side: PairSpace, made: np.ndarray, begin: int, start: int, found: np.ndarray) -> None:
        later_keys(side, made, begin, start, found)
        disturb(side, found)

    def few(side: PairSpace, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        keys = keys_of(side, left, right)
        disturb(side, keys)
        return keys

    monkeypatch.setattr(sifting, "pair_space", loose)
    monkeypatch.setattr(sifting, "later_keys", later)
    monkeypatch.setattr(splitters, "keys_of", few)
    for in_x, in_y in CUTS:
        assert counted(*sides, in_x, in_y, shards=2) == expected


HEAVY = {
    "binary": lambda rng: rng.integers(0, 2, (70, 5)),
    "one row": lambda _: np.ones((70, 3)),
    "few rows": lambda rng: rng.standard_normal((4, 3))[rng.integers(0, 4, 70)],
    "two groups": lambda rng: np.repeat(rng.standard_normal((2, 3)), 35, axis=0),
    "few differ": lambda _: np.eye(70)[:, :3] / 3,
    "continuous": lambda rng: rng.standard_normal((70, 3)),
}


@pytest.mark.parametrize("kind_x", HEAVY)
@pytest.mark.parametrize("kind_y", HEAVY)
def test_heavy_ties(kind_x: str, kind_y: str) -> None:
    rng = np.random.default_rng(3)
    x, y = HEAVY[kind_x](rng).astype("f8"), HEAVY[kind_y](rng).astype("f8")
    sides = spaces(x, y)
    expected = five(quadruplets.exact_counts(*sides).counts)
    assert expected == of_ranks(x, y)
    for in_x, in_y in ((2, 2), (7, 30), (60, 60)):
        assert counted(*sides, in_x, in_y, shards=2) == expected


def test_pairs_that_all_tie_are_not_kept() -> None:
    """A strip of ties may be of any size, so it must take no memory."""
    sides = spaces(np.random.default_rng(4).integers(0, 2, (100, 3)), np.ones((100, 2)))
    stores: list[ForgetfulStore] = []

    def store() -> ForgetfulStore:
        stores.append(ForgetfulStore())
        return stores[-1]

    plan = StripPlan(100, 40, 40)
    everything, _ = in_shards(*sides, plan, store=store)
    assert [one.total for one in stores] == [0, 0]
    assert five(everything) == five(in_shards(*sides, StripPlan(100, 1, 1))[0])


def test_nothing_depends_on_where_strips_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((80, 3)).astype("f4")
    x[40:] = x[:40]
    sides = spaces(x, lattice(rng, 80, 4), key_bits=16)
    expected = counted(*sides, 1, 1)
    for seed in range(5):
        monkeypatch.setattr(splitters, "SEED", seed)
        assert counted(*sides, 9, 4, shards=3) == expected
    monkeypatch.setattr(splitters, "SAMPLED", 1)
    assert counted(*sides, 20, 20, shards=3) == expected


def test_strips_larger_than_the_counter_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    plan = StripPlan(50, 1, 1)
    for columns, spread in ((3, 1), (3, 50), (1, 1)):
        sides = spaces(lattice(rng, 50, columns, spread), lattice(rng, 50, 2))
        expected = in_shards(*sides, plan)[0]
        with monkeypatch.context() as context:
            context.setattr(concordance, "ELEMENTS_LIMIT", 100)
            assert in_shards(*sides, plan)[0] == expected
            assert in_shards(*sides, StripPlan(50, 3, 4), 2)[0] == expected


def test_few_bits_are_left_for_keys_of_many_pairs() -> None:
    """Whole numbers of which a word holds only the leading bits: the others tell ties from near ties."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2**24, (90, 2)).astype("f8")
    x[:30, 1] = 0
    y = np.where(rng.random((90, 1)) < 0.5, x, rng.permutation(x))
    sides = spaces(x, y)
    assert all(space.packing.certain for space in sides)
    assert five(quadruplets.exact_counts(*sides).counts) == by_comparison(x.astype("i8"), y.astype("i8"))
    table = rng.standard_normal((90, 90))
    table = np.where(np.abs(table + table.T) < 0.3, 0.0, np.nextafter(1.0 + (table + table.T).round(1), 2.0))
    found = quadruplets.exact_counts(*spaces(table, y, "precomputed"))
    order = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    assert found.counts == quadruplets.exact_counts(*spaces(order, y, "precomputed")).counts


@pytest.mark.parametrize(("precision", "x_bytes", "y_bytes"), [(Precision.EXACT, 24, 20), (Precision.FLOAT32, 8, 8)])
def test_bytes_that_are_kept_of_a_pair(precision: Precision, x_bytes: int, y_bytes: int) -> None:
    rng = np.random.default_rng(8)
    sides = spaces(rng.standard_normal((50, 3)), rng.standard_normal((50, 3)), precision=precision)
    plan = StripPlan(50, 3, 3)
    for part, expected in ((strips.x_strips, x_bytes), (strips.y_strips, y_bytes)):
        store = ForgetfulStore()
        part(*sides, plan, 0, 3, store)
        assert store.total == expected * plan.pairs
        assert not store.kept


def test_plans_have_strips_of_a_size_that_can_be_counted() -> None:
    for rows in (4, 100, 1000, 1050, 5000, 20_000, 100_000, 250_000):
        plan = strips.plan(rows)
        assert plan.x == plan.y
        assert plan.single == (plan.pairs <= strips.SINGLE_PAIRS)
        assert plan.pairs / plan.x <= strips.STRIP_PAIRS < concordance.ELEMENTS_LIMIT
        assert plan.x <= max(strips.FEW_STRIPS, -(-plan.pairs // strips.STRIP_PAIRS)) + 1


@pytest.mark.parametrize("repeated", [False, True])
def test_products_that_are_held_at_a_time_are_bounded(repeated: bool) -> None:
    for rows in (4, 1000, 30_000, 1_000_000):
        bounds = list(sifting.blocks(rows, repeated))
        assert bounds[0][0] == 0
        assert bounds[-1][1] == rows
        assert all(one[1] == other[0] for one, other in pairwise(bounds))
        columns = [rows if repeated else rows - start for start, _ in bounds]
        held = [(stop - start) * count * 8 for (start, stop), count in zip(bounds, columns, strict=True)]
        assert max(held) <= max(sifting.PRODUCT_BYTES, 8 * rows)


def test_float32_knows_how_far_it_may_be_off() -> None:
    missed = 0
    for number, case in enumerate(CASES):
        try:
            sides = spaces(case.x, case.y, case.x_distance, case.y_distance, Precision.FLOAT32)
        except RangeTooWideError:
            continue
        if any(space.precision is Precision.FLOAT64 for space in sides):
            continue  # exact for rows that were themselves rounded, when they were centred
        exact = truth(number)
        for plan in (StripPlan(len(case.x), 1, 1), StripPlan(len(case.x), 5, 3)):
            everything, total = in_shards(*sides, plan, 2)
            of_triplets = triplets.exact_block(*sides, 0, len(case.x))
            found, moved = quadruplets.without_triplets(everything, of_triplets.counts)
            assert moved <= total.uncertified + of_triplets.uncertified
            assert min(five(found)) >= 0
            assert sum(five(found)) == quadruplet_population(len(case.x))
            error = abs(found.agreeing - exact[0] - exact[4])
            assert error <= total.uncertified + of_triplets.uncertified, case
            missed += error > 0
    assert missed > 20


def test_what_kinds_lack_is_taken_from_all_others() -> None:
    """None becomes negative, all add up to what they did, and what was moved is known."""
    for kinds, mended in (
        ((5, 1, 0, 2, 3), (5, 1, 0, 2, 3)),
        ((9, 1, -4, 2, 3), (5, 1, 0, 2, 3)),
        ((-3, 2, 2, 0, 2), (0, 0, 1, 0, 2)),
        ((-3, -3, 4, 3, 0), (0, 0, 0, 1, 0)),
        ((-5, 2, 1, 1, 1), (0, 0, 0, 0, 0)),
    ):
        triplets_of_all = AgreementCounts(6, 6, 6, 6, 6)
        found = quadruplets.without_triplets(triplets_of_all + AgreementCounts(*kinds), triplets_of_all)
        assert five(found.counts) == mended
        assert found.moved == -sum(min(kind, 0) for kind in kinds)


def test_float32_counts_of_few_rows_are_counts() -> None:
    """Of so few rows that some kind has none but those that rounding put there; one row may be far from all others."""
    for number in (1531, *range(0, 900, 3)):
        rng = np.random.default_rng(number)
        rows = int(rng.integers(4, 8))
        x, y = rng.integers(-2, 3, (rows, 3)).astype("f4"), rng.integers(-3, 4, (rows, 2)) * 0.1
        y[rng.integers(rows)] *= 10.0 ** int(rng.integers(0, 9))
        distance = (Distance.EUCLIDEAN, Distance.DOT)[number % 2]
        exact, rounded = (
            quadruplets.exact_counts(prepare(x, Distance.HAMMING, precision), prepare(y, distance, precision))
            for precision in (Precision.EXACT, Precision.FLOAT32)
        )
        assert min(five(rounded.counts)) >= 0, number
        assert rounded.counts.comparisons == quadruplet_population(rows)
        interval = intervals.arithmetic(rounded.counts, rounded.uncertified)
        assert interval.low <= exact.counts.score <= interval.high


def test_doubts_are_bounded_closely_where_bins_are_fine() -> None:
    rng = np.random.default_rng(9)
    space = prepare(rng.standard_normal((60, 300)).astype("f4"), Distance.EUCLIDEAN, Precision.FLOAT32)
    side = pair_space(space)
    keys = rng.integers(0, side.saturated, (40, 50)).astype("u8")
    doubts = pair_doubts.KeyDoubts(side)
    doubts.add(keys[:10], 0)
    doubts.add(keys[10:], 10)
    seen = np.concatenate([keys[row, row + 1 :] for row in range(40)]).astype("i8")
    exact = sum(abs(one - other) <= side.slack_at(max(one, other)) for one, other in combinations(seen.tolist(), 2))
    assert exact <= doubts.count() <= 1.3 * exact + 10


def test_products_of_counts_do_not_overflow() -> None:
    large = np.array([2**40, 2**41, 3])
    assert pair_doubts.exact_product(large, large) == 2**80 + 2**82 + 9
    assert pair_doubts.exact_product(np.array([2, 3]), np.array([5, 7])) == 31


def test_parts_that_do_not_fit_together_are_refused() -> None:
    rng = np.random.default_rng(10)
    x, y = spaces(rng.standard_normal((30, 3)), rng.standard_normal((30, 3)))
    plan = StripPlan(30, 4, 4)
    in_x = strips.x_strips(x, y, plan, 0, 4)
    in_y = strips.y_strips(x, y, plan, 0, 4)
    assert sum(five(strips.agreement(plan, in_x.counts + in_y, in_x.cells))) == plan.pairs * (plan.pairs - 1) // 2
    other = strips.y_strips(x, spaces(rng.standard_normal((30, 3)), rng.standard_normal((30, 3)))[1], plan, 0, 4)
    for counts, cells in (
        (in_x.counts, in_x.cells),
        (in_x.counts + in_y, in_x.cells[1:]),
        (in_x.counts + other, in_x.cells),
        (in_x.counts + strips.y_strips(x, y, plan, 0, 3), in_x.cells),
    ):
        with pytest.raises(ShardsDisagreeError, match="do not fit together"):
            strips.agreement(plan, counts, cells)


def test_a_store_that_lost_pairs_is_noticed() -> None:
    x, y = spaces(np.random.default_rng(11).standard_normal((30, 3)), np.arange(30.0)[:, None])

    class Leaky(MemoryStore):
        def read(self, strip: int) -> np.ndarray:
            words = super().read(strip)
            return words[:-6] if strip == 1 else words

    with pytest.raises(RuntimeError, match="strip 1 was kept with"):
        strips.x_strips(x, y, StripPlan(30, 3, 3), 0, 3, Leaky())


def test_the_caller_can_give_up() -> None:
    x, y = spaces(np.random.default_rng(12).standard_normal((60, 3)), np.arange(60.0)[:, None])
    calls = []
    quadruplets.exact_counts(x, y, lambda: calls.append(None))
    assert len(calls) >= 2

    def give_up() -> None:
        raise InterruptedError

    for part in (strips.x_strips, strips.y_strips):
        with pytest.raises(InterruptedError):
            part(x, y, StripPlan(60, 2, 2), 0, 1, checkpoint=give_up)


def test_what_cannot_be_counted_is_refused() -> None:
    x, y = spaces(np.arange(12.0).reshape(4, 3), np.arange(4.0)[:, None])
    few = prepare(np.arange(3.0)[:, None], Distance.EUCLIDEAN)
    with pytest.raises(ValueError, match="at least 4 rows"):
        quadruplets.exact_counts(few, few)
    with pytest.raises(ValueError, match="must describe the same inputs"):
        quadruplets.exact_counts(x, few)
    table = np.arange(16.0).reshape(4, 4)
    with pytest.raises(AsymmetricDistanceError):
        quadruplets.exact_counts(x, prepare(table, Distance.PRECOMPUTED))
    with pytest.raises(ValueError, match="the plan is for 5 rows"):
        strips.x_strips(x, y, StripPlan(5, 1, 1), 0, 1)
    with pytest.raises(ValueError, match="not within 2"):
        strips.y_strips(x, y, StripPlan(4, 2, 2), 1, 3)


DATA = Path(__file__).parent.parent / "data"
PAIRS = json.loads((DATA / "controls" / "reference.json").read_text())["pairs"]


@cache
def stored(name: str, rows: int) -> Space:
    return prepare(np.load(next(DATA.glob(f"*/{name}.npy")))[:rows], Distance.EUCLIDEAN)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["pair"])
def test_real_embeddings_count_as_the_reference_does(pair: dict[str, Any]) -> None:
    """The reference counts ordered comparisons, twice as many."""
    rows = pair["n"]
    counts = quadruplets.exact_counts(*(stored(name, rows) for name in pair["pair"].split(" ~ "))).counts
    assert counts.comparisons == quadruplet_population(rows)
    assert [2 * counts.agreeing, 2 * counts.comparisons] == pair["qsi_counts_cdist64"]
