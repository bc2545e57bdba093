"""Statistics of permuted rows against plain Python, and against preparing and counting the permuted rows anew."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nulls_by_hand import (
    STREAMS,
    Side,
    agreeing,
    all_quadruplets,
    all_triplets,
    design,
    index_arrays,
    side,
    units_of,
)

from ordsim_core import quadruplets, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.errors import AsymmetricDistanceError
from ordsim_core.nulls import exact, profiles, rank_tables, sampled
from ordsim_core.nulls.designs import Design, Drawn, Stream, draw
from ordsim_core.spaces import Space, prepare, select

if TYPE_CHECKING:
    from ordsim_core.nulls.rank_tables import RankTable

settings.register_profile("core", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("core")

ROWS = 9


def two_sides(seed: int, distance: str, repeated: bool, rows: int = ROWS) -> tuple[Side, Side, np.random.Generator]:
    rng = np.random.default_rng(seed)
    other = str(rng.choice(list(Distance)))
    return side(rng, rows, distance, repeated), side(rng, rows, other, repeated), rng


def table_for(space: Space, stream: Stream) -> RankTable:
    return rank_tables.of_targets(space) if stream.anchored else rank_tables.of_pairs(space)


def recounted(x: Space, y: Space, of: Design) -> int:
    """What a comparison of these spaces counts on the same design."""
    index = triplets if of.stream.anchored else quadruplets
    if of.stream.single:
        return index.sampled_range(x, y, of.seed, of.start, of.stop).counts.agreeing
    return index.units_range(x, y, of.seed, of.start, of.stop, of.members).counts.agreeing


both_kinds = pytest.mark.parametrize("repeated", [False, True], ids=["", "repeated"])
all_distances = pytest.mark.parametrize("distance", list(Distance))


@both_kinds
@all_distances
@pytest.mark.parametrize("seed", range(6))
def test_ranks_order_all_distances_exactly(seed: int, distance: str, repeated: bool) -> None:
    own = side(np.random.default_rng(seed), ROWS, distance, repeated)
    space, rows = own.space, range(ROWS)
    assert space.precision is Precision.EXACT
    of_targets, of_pairs = rank_tables.of_targets(space), rank_tables.of_pairs(space)
    number = of_targets.number
    assert (rank_tables.within_rows(of_pairs).ranks == of_targets.ranks).all()
    assert rank_tables.within_rows(of_targets) is of_targets
    pairs = [(i, j) for i in rows for j in rows]
    for i, j in pairs:
        for k, m in pairs:
            expected = own.sign((i, j, k, m), rows)
            in_pairs = int(of_pairs.ranks[number[i], number[j]]) - int(of_pairs.ranks[number[k], number[m]])
            assert np.sign(in_pairs) == expected
            if i == k:
                in_row = int(of_targets.ranks[number[i], number[j]]) - int(of_targets.ranks[number[i], number[m]])
                assert np.sign(in_row) == expected


@both_kinds
@all_distances
@pytest.mark.parametrize("stream", STREAMS)
def test_designs_on_permuted_rows(stream: Stream, distance: str, repeated: bool) -> None:
    for seed in range(6):
        x, y, rng = two_sides(seed, distance, repeated)
        of = design(stream, ROWS, seed=seed, start=3 * seed)
        drawn, arrays = draw(of), index_arrays(rng, ROWS)
        comparisons = [comparison for unit in units_of(of) for comparison in unit]
        x_space, y_space = x.space, y.space
        found = sampled.agreeing(profiles.of_space(x_space, drawn), table_for(y_space, stream), drawn, arrays)
        assert found.dtype == np.int64
        assert found.tolist() == [agreeing(x, y, comparisons, rows.tolist()) for rows in arrays]
        assert found.tolist() == [recounted(x_space, select(y_space, rows), of) for rows in arrays]
        assert found[0] == recounted(x_space, y_space, of)


@both_kinds
@all_distances
def test_all_comparisons_of_permuted_rows(distance: str, repeated: bool) -> None:
    for seed in range(6):
        rows = 4 + seed
        x, y, rng = two_sides(seed, distance, repeated, rows)
        arrays = index_arrays(rng, rows)
        x_space, y_space = x.space, y.space
        of_targets = rank_tables.of_targets(x_space), rank_tables.of_targets(y_space)
        of_pairs = rank_tables.of_pairs(x_space), rank_tables.of_pairs(y_space)
        expected = [agreeing(x, y, all_triplets(rows), own.tolist()) for own in arrays]
        assert exact.agreeing_triplets(*of_targets, arrays).tolist() == expected
        assert exact.agreeing_triplets(*of_pairs, arrays).tolist() == expected
        anew = [triplets.exact_block(x_space, select(y_space, own), 0, rows).counts.agreeing for own in arrays]
        assert anew == expected
        expected = [agreeing(x, y, all_quadruplets(rows), own.tolist()) for own in arrays]
        assert exact.agreeing_quadruplets(*of_pairs, arrays).tolist() == expected
        anew = [quadruplets.exact_counts(x_space, select(y_space, own)).counts.agreeing for own in arrays]
        assert anew == expected


@given(
    st.integers(0, 2**32),
    st.integers(3, 40),
    st.integers(1, 4),
    st.sampled_from(list(Distance)),
    st.sampled_from(STREAMS),
)
def test_any_index_array_of_any_lattice(seed: int, rows: int, spread: int, distance: Distance, stream: Stream) -> None:
    rng = np.random.default_rng(seed)
    rows = rows if stream.anchored else max(4, rows)
    sides = []
    for _ in range(2):
        values = rng.integers(-spread, spread + 1, (rows, 4)).astype("f8")
        if distance is Distance.PRECOMPUTED:
            values = np.abs(values[:, :1] - values[:, 0])
        elif distance in (Distance.COSINE, Distance.CORRELATION):
            values[(values == values[:, :1]).all(axis=1), 0] += 2 * spread + 1
        sides.append(prepare(values, distance))
    x, y = sides
    arrays = [rng.integers(0, rows, rows), rng.permutation(rows)]
    of = design(stream, rows, seed=seed, units=300)
    drawn = draw(of)
    found = sampled.agreeing(profiles.of_space(x, drawn), table_for(y, stream), drawn, arrays)
    assert found.tolist() == [recounted(x, select(y, own), of) for own in arrays]
    tables = rank_tables.of_targets(x), rank_tables.of_targets(y)
    in_full = [triplets.exact_block(x, select(y, own), 0, rows).counts.agreeing for own in arrays]
    assert exact.agreeing_triplets(*tables, arrays).tolist() == in_full


def gaussian(rows: int, seed: int = 0, columns: int = 16) -> tuple[Space, Space]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)).astype("f4")
    y = x + 0.7 * rng.standard_normal(x.shape).astype("f4")
    return prepare(x, Distance.EUCLIDEAN), prepare(y, Distance.EUCLIDEAN)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("units", [1, 255, 256, 257, 1000])
def test_designs_of_several_blocks(units: int, stream: Stream) -> None:
    # So many rows that their pairs need more than 16 bits.
    x, y = gaussian(400)
    members = 2 if stream.single else 32
    of = Design(stream, 2**64 - 1, 400, members, 77, 77 + units)
    drawn = draw(of)
    table = table_for(y, stream)
    assert table.ranks.dtype == (np.uint16 if stream.anchored else np.uint32)
    rows = np.random.default_rng(1).permutation(400)
    found = sampled.agreeing(profiles.of_space(x, drawn), table, drawn, [np.arange(400), rows])
    assert found.tolist() == [recounted(x, y, of), recounted(x, select(y, rows), of)]


def test_all_comparisons_of_some_hundred_rows() -> None:
    x, y = gaussian(300, columns=3)
    rows = np.random.default_rng(1).permutation(300)
    tables = rank_tables.of_targets(x), rank_tables.of_targets(y)
    expected = [triplets.exact_block(x, other, 0, 300).counts.agreeing for other in (y, select(y, rows))]
    assert exact.agreeing_triplets(*tables, [np.arange(300), rows]).tolist() == expected
    tables = rank_tables.of_pairs(x), rank_tables.of_pairs(y)
    expected = [quadruplets.exact_counts(x, other).counts.agreeing for other in (y, select(y, rows))]
    assert exact.agreeing_quadruplets(*tables, [np.arange(300), rows]).tolist() == expected


def test_a_table_is_of_distinct_rows() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((5, 3))[rng.permutation(np.arange(200) % 5)]
    space = prepare(values, Distance.EUCLIDEAN)
    table = rank_tables.of_targets(space)
    assert table.ranks.shape == (5, 5)
    assert (table.rows, table.distinct) == (200, 5)
    assert table.nbytes == 50 + 800
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 200, 20, 0, 50))
    rows = rng.permutation(200)
    found = sampled.agreeing(profiles.of_space(space, drawn), table, drawn, [rows])
    assert found.tolist() == [recounted(space, select(space, rows), drawn.design)]


def test_precomputed_distances_need_not_be_symmetric_for_triplets() -> None:
    rng = np.random.default_rng(4)
    space = prepare(rng.integers(0, 5, (30, 30)).astype("f8"), Distance.PRECOMPUTED)
    rows = rng.permutation(30)
    table = rank_tables.of_targets(space)
    expected = triplets.exact_block(space, select(space, rows), 0, 30).counts.agreeing
    assert exact.agreeing_triplets(table, table, [rows]).tolist() == [expected]
    with pytest.raises(AsymmetricDistanceError):
        rank_tables.of_pairs(space)


def test_blocks_of_a_table_and_of_anchors_add_up() -> None:
    x, y = gaussian(50)
    table_x, table_y = rank_tables.of_targets(x), rank_tables.of_targets(y)
    borders = [0, 1, 20, 20, 50]
    blocks = [rank_tables.target_ranks(y, *ends) for ends in pairwise(borders)]
    assert (np.concatenate(blocks) == table_y.ranks).all()
    arrays = index_arrays(np.random.default_rng(0), 50)
    counts = [exact.agreeing_triplets(table_x, table_y, arrays, *ends) for ends in pairwise(borders)]
    assert (sum(counts) == exact.agreeing_triplets(table_x, table_y, arrays)).all()


def test_parts_of_a_design_add_up() -> None:
    x, y = gaussian(50)
    table, rows = rank_tables.of_targets(y), np.random.default_rng(0).permutation(50)
    whole = Design(Stream.TRIPLET_UNITS, 3, 50, 7, 10, 700)

    def count(of: Design) -> int:
        drawn = draw(of)
        return int(sampled.agreeing(profiles.of_space(x, drawn), table, drawn, [rows])[0])

    assert count(whole) == sum(count(whole.part(*ends)) for ends in [(10, 11), (11, 400), (400, 700)])


def test_grids_are_of_all_pairs() -> None:
    rng = np.random.default_rng(2)
    spaces = [prepare(rng.integers(0, 3, (30, 3)).astype("f4"), Distance.EUCLIDEAN) for _ in range(5)]
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 30, 6, 0, 300))
    xs = [profiles.of_space(space, drawn) for space in spaces[:2]]
    ys = [rank_tables.of_targets(space) for space in spaces[2:]]
    # More profiles of permuted rows than are kept at a time.
    arrays = [*index_arrays(rng, 30), *(rng.permutation(30) for _ in range(8))]
    grids = sampled.agreeing_grids(xs, ys, drawn, arrays)
    assert grids.shape == (len(arrays), 2, 3)
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            assert (grids[:, i, j] == sampled.agreeing(x, y, drawn, arrays)).all()
    assert sampled.agreeing_grids(xs, ys, drawn, iter([])).shape == (0, 2, 3)
    for none in (([], ys), (xs, [])):
        with pytest.raises(ValueError, match="nothing to compare"):
            sampled.agreeing_grids(*none, drawn, arrays)


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.FLOAT64])
def test_other_precisions_take_the_order_of_their_keys(precision: Precision) -> None:
    rng = np.random.default_rng(3)
    x, y = (prepare(rng.standard_normal((60, 5)).astype("f4"), Distance.EUCLIDEAN, precision) for _ in range(2))
    table = rank_tables.of_targets(x), rank_tables.of_targets(y)
    expected = triplets.exact_block(x, y, 0, 60).counts.agreeing
    assert exact.agreeing_triplets(*table, [np.arange(60)]).tolist() == [expected]


class StoppedError(Exception):
    pass


def test_all_can_be_given_up() -> None:
    x, y = gaussian(20)
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 20, 6, 0, 30))
    table_x, table_y, profile = rank_tables.of_targets(x), rank_tables.of_targets(y), profiles.of_space(x, drawn)
    pairs = rank_tables.of_pairs(x)
    rows = np.arange(20)

    def stop() -> None:
        raise StoppedError

    for call in (
        lambda: rank_tables.of_targets(x, stop),
        lambda: profiles.of_space(x, drawn, stop),
        lambda: sampled.agreeing(profile, table_y, drawn, [rows], stop),
        lambda: exact.agreeing_triplets(table_x, table_y, [rows], checkpoint=stop),
        lambda: exact.agreeing_quadruplets(pairs, pairs, [rows], stop),
    ):
        with pytest.raises(StoppedError):
            call()


def test_bytes_of_tables() -> None:
    assert rank_tables.target_bytes(2**16) == 2 * 2**32
    assert rank_tables.target_bytes(2**16 + 1) == 4 * (2**16 + 1) ** 2
    space = gaussian(30)[0]
    assert rank_tables.target_bytes(30) == rank_tables.of_targets(space).ranks.nbytes
    assert rank_tables.pair_bytes(30) == rank_tables.of_pairs(space).ranks.nbytes
    assert rank_tables.pair_bytes(400) == rank_tables.of_pairs(gaussian(400)[0]).ranks.nbytes == 4 * 400**2


@pytest.mark.parametrize(
    ("build", "needed"),
    [
        (rank_tables.of_targets, rank_tables.target_building_bytes),
        (rank_tables.of_pairs, rank_tables.pair_building_bytes),
    ],
)
def test_building_takes_no_more_memory_than_said(build: Any, needed: Any) -> None:
    rng = np.random.default_rng(0)
    # Many distances in doubt, which take most memory.
    values = rng.integers(0, 3, (500, 8)) / 7
    space = prepare(values, Distance.EUCLIDEAN)
    build(space)
    tracemalloc.start()
    table = build(space)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.nbytes < most < needed(space.distinct)


WARM = """
import numpy as np
from ordsim_core.distances import Distance
from ordsim_core.nulls import exact, planes, profiles, rank_tables, sampled, warmup
from ordsim_core.nulls.designs import Design, Stream, draw
from ordsim_core.spaces import prepare

def loaded():  # whether compiled now or before
    kernels = [value for module in (exact, planes) for value in vars(module).values()]
    return {kernel.__name__: len(kernel.signatures) for kernel in kernels if hasattr(kernel, "signatures")}

cold = loaded()
warmup.warm(prepare(np.arange(12.0).reshape(6, 2) % 5, Distance.EUCLIDEAN))
warm = loaded()
for rows in (30, 400):
    space = prepare(np.random.default_rng(0).integers(0, 9, (rows, 5)).astype("f4"), Distance.COSINE)
    of_targets, of_pairs = rank_tables.of_targets(space), rank_tables.of_pairs(space)
    orders = [np.arange(rows), np.arange(rows)[::-1].astype(np.int32)]
    for stream in (Stream.TRIPLET_UNITS, Stream.QUADRUPLET_UNITS):
        drawn = draw(Design(stream, 0, rows, 8, 0, 300))
        profile = profiles.of_space(space, drawn)
        sampled.agreeing(profile, of_targets if stream.anchored else of_pairs, drawn, orders)
        profiles.agreeing_by_unit(profile, profiles.from_bytes(profiles.to_bytes(profile)))
        profiles.of_table(of_pairs, drawn)
    exact.agreeing_triplets(of_targets, of_targets, orders)
    exact.agreeing_quadruplets(of_pairs, of_pairs, orders)
print(any(cold.values()), cold == warm, warm == loaded())
"""


def test_nothing_is_left_to_compile_once_warm() -> None:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", WARM], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("distance", [Distance.CORRELATION, Distance.COSINE])
def test_angles_of_floats(distance: Distance) -> None:
    # Correlation is exact for the rows as they are once their means are taken.
    rng = np.random.default_rng(8)
    values = rng.standard_normal((12, 5)).astype("f4")[rng.integers(0, 12, 30)] * rng.choice([1, 2, 3], (30, 1))
    space = prepare(values, distance)
    table, rows = rank_tables.of_targets(space), rng.integers(0, 30, 30)
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 30, 9, 0, 300))
    found = sampled.agreeing(profiles.of_space(space, drawn), table, drawn, [rows])
    assert found.tolist() == [recounted(space, select(space, rows), drawn.design)]
    expected = triplets.exact_block(space, select(space, rows), 0, 30).counts.agreeing
    assert exact.agreeing_triplets(table, table, [rows]).tolist() == [expected]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.arange(19), "as many integers"),
        (np.arange(20.0), "as many integers"),
        (np.arange(20) - 1, "rows 0 to 19"),
        (np.arange(20) + 1, "rows 0 to 19"),
    ],
)
def test_wrong_permutations_are_named(rows: Any, message: str) -> None:
    x, y = gaussian(20)
    drawn = draw(Design(Stream.TRIPLETS, 0, 20, 2, 0, 30))
    table, profile = rank_tables.of_targets(y), profiles.of_space(x, drawn)
    for call in (
        lambda: sampled.agreeing(profile, table, drawn, [rows]),
        lambda: exact.agreeing_triplets(table, table, [rows]),
        lambda: profiles.of_table(table, drawn, rows),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_what_does_not_go_together_is_named() -> None:
    x, y = gaussian(20)
    table, other = rank_tables.of_targets(x), rank_tables.of_targets(gaussian(21)[0])
    rows = [np.arange(20)]
    with pytest.raises(ValueError, match="x has 20 rows and y has 21"):
        exact.agreeing_triplets(table, other, rows)
    with pytest.raises(ValueError, match="anchors 3 to 21 are not within 20"):
        exact.agreeing_triplets(table, table, rows, 3, 21)
    with pytest.raises(ValueError, match="of_pairs"):
        exact.agreeing_quadruplets(table, table, rows)
    few = rank_tables.of_pairs(gaussian(3)[0])
    with pytest.raises(ValueError, match="between 4 and 2048 rows"):
        exact.agreeing_quadruplets(few, few, [np.arange(3)])
    with pytest.raises(ValueError, match="not within 20 distinct"):
        rank_tables.target_ranks(x, 0, 21)

    def drawn(stream: Stream, seed: int = 0, rows: int = 20) -> Drawn:
        return draw(Design(stream, seed, rows, 2, 0, 10))

    profile = profiles.of_space(x, drawn(Stream.TRIPLETS))
    with pytest.raises(ValueError, match="must be of the design"):
        sampled.agreeing(profile, table, drawn(Stream.TRIPLETS, seed=1), rows)
    with pytest.raises(ValueError, match="the design is for 20 rows, there are 21"):
        sampled.agreeing(profile, other, drawn(Stream.TRIPLETS), rows)
    of_pairs = drawn(Stream.QUADRUPLETS)
    with pytest.raises(ValueError, match="table of all pairs"):
        sampled.agreeing(profiles.of_space(x, of_pairs), table, of_pairs, rows)
    with pytest.raises(ValueError, match="the design is for 19 rows, there are 20"):
        profiles.of_space(y, drawn(Stream.TRIPLETS, rows=19))
