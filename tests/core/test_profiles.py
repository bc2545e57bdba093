"""Profiles against the counts of the same samples, one pair of spaces at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nulls_by_hand import STREAMS, Side, design, side, units_of

from ordsim_core import betting, intervals, quadruplets, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.nulls import planes, profiles, rank_tables
from ordsim_core.nulls.designs import Design, Drawn, Stream, draw
from ordsim_core.spaces import Space, prepare, select

if TYPE_CHECKING:
    from ordsim_core.nulls.profiles import Profile

all_streams = pytest.mark.parametrize("stream", STREAMS)


def spaces(count: int, rows: int, seed: int = 0, precision: Precision = Precision.EXACT) -> list[Space]:
    """Noisy copies of the same lattice: with ties in each."""
    rng = np.random.default_rng(seed)
    same = rng.integers(-3, 4, (rows, 3))
    return [
        prepare((same + rng.integers(-1, 2, same.shape)).astype("f4"), Distance.EUCLIDEAN, precision)
        for _ in range(count)
    ]


def signs(profile: Profile) -> list[list[int]]:
    """What the planes say, unit by unit, read bit by bit as their description has it."""
    greater, less = profile.planes.astype(int)
    found = []
    for unit in range(profile.design.units):
        block, place = divmod(unit, 256)
        bit, lane = divmod(place, 16)
        above, below = (plane[block, :, lane] >> bit & 1 for plane in (greater, less))
        assert not (above & below).any()
        found.append((above - below).tolist())
    return found


def by_hand(own: Side, of: Design) -> list[list[int]]:
    """The sign of distances a and b < a of every unit, in the order a = 1, 2, ..."""
    rows, members = range(of.rows), of.members
    found = []
    for unit in units_of(of):
        # Enumerated are (b, a): the first of a pair of distances comes first.
        sign = {places: -own.sign(c, rows) for places, c in zip(combinations_of(members), unit, strict=True)}
        found.append([sign[b, a] for a in range(members) for b in range(a)])
    return found


def combinations_of(members: int) -> list[tuple[int, int]]:
    return [(b, a) for b in range(members) for a in range(b + 1, members)]


@all_streams
@pytest.mark.parametrize("distance", list(Distance))
@pytest.mark.parametrize("repeated", [False, True], ids=["", "repeated"])
def test_signs_are_those_of_exact_distances(repeated: bool, distance: str, stream: Stream) -> None:
    for seed in range(4):
        own = side(np.random.default_rng(seed), 10, distance, repeated)
        of = design(stream, 10, seed=seed, units=300)
        drawn, space = draw(of), own.space
        found = profiles.of_space(space, drawn)
        assert signs(found) == by_hand(own, of)
        table = rank_tables.of_targets(space) if stream.anchored else rank_tables.of_pairs(space)
        assert (profiles.of_table(table, drawn).planes == found.planes).all()


@all_streams
def test_a_profile_of_permuted_rows_is_that_of_the_permuted_space(stream: Stream) -> None:
    (space,) = spaces(1, 40)
    rows = np.random.default_rng(0).integers(0, 40, 40)
    drawn = draw(design(stream, 40, units=700))
    found = profiles.of_table(rank_tables.of_pairs(space), drawn, rows)
    assert (found.planes == profiles.of_space(select(space, rows), drawn).planes).all()


@all_streams
@pytest.mark.parametrize("units", [0, 1, 256, 600])
def test_agreement_is_that_of_the_same_samples(units: int, stream: Stream) -> None:
    x, y = spaces(2, 50)
    of = design(stream, 50, seed=11, start=9, units=units)
    drawn = draw(of)
    one, other = profiles.of_space(x, drawn), profiles.of_space(y, drawn)
    index = triplets if stream.anchored else quadruplets
    own = profiles.agreeing_by_unit(one, other)
    assert own.dtype == np.int64
    if stream.single:
        counts = index.sampled_range(x, y, 11, 9, 9 + units).counts
        assert ((own == 0) | (own == 1)).all()
    else:
        found = index.units_range(x, y, 11, 9, 9 + units, of.members)
        counts = found.counts
        assert own.tolist() == found.agreeing.tolist()
    assert profiles.agreeing(one, other) == own.sum() == counts.agreeing
    assert of.comparisons == counts.comparisons
    for interval in (betting.interval, intervals.maurer_pontil) if units else ():
        assert interval(own, of.each, 0.9).low <= counts.score <= interval(own, of.each, 0.9).high


def test_grids_are_of_all_pairs() -> None:
    drawn = draw(Design(Stream.TRIPLET_UNITS, 0, 60, 12, 0, 900))
    found = [profiles.of_space(space, drawn) for space in spaces(4, 60)]
    grid = profiles.grid(found, found)
    assert grid.dtype == np.int64
    assert (grid == grid.T).all()
    assert (np.diag(grid) == drawn.design.comparisons).all()
    for i in range(4):
        for j in range(4):
            assert grid[i, j] == profiles.agreeing_by_unit(found[i], found[j]).sum()
    assert (profiles.grid(found[:1], found[1:]) == grid[:1, 1:]).all()
    assert len(np.unique(grid)) > 4


@all_streams
@pytest.mark.parametrize("cuts", [(256,), (512, 256), (0, 256)])
def test_parts_join_to_the_whole(cuts: tuple[int, ...], stream: Stream) -> None:
    (space,) = spaces(1, 40)
    whole = design(stream, 40, start=5, units=700)
    expected = profiles.of_space(space, draw(whole))
    borders = [5, *(5 + cut for cut in sorted(cuts)), 705]
    parts = [profiles.of_space(space, draw(whole.part(*ends))) for ends in pairwise(borders)]
    found = profiles.joined(parts)
    assert found.design == whole
    assert (found.planes == expected.planes).all()


def test_only_consecutive_parts_join() -> None:
    (space,) = spaces(1, 40)

    def part(start: int, stop: int, seed: int = 0) -> Profile:
        return profiles.of_space(space, draw(Design(Stream.TRIPLETS, seed, 40, 2, start, stop)))

    first, last = part(0, 256), part(256, 300)
    for wrong in ([last, first], [first, first], [first, part(300, 400)], [first, part(256, 300, seed=1)]):
        with pytest.raises(ValueError, match="consecutive parts"):
            profiles.joined(wrong)
    with pytest.raises(ValueError, match="multiple of 256"):
        profiles.joined([part(0, 255), part(255, 300)])
    with pytest.raises(ValueError, match="no parts"):
        profiles.joined([])


def test_doubts_in_float32_are_counted() -> None:
    rng = np.random.default_rng(0)
    values = np.eye(40, dtype="f4") + 1e-7 * rng.standard_normal((40, 40)).astype("f4")  # all about equally far apart
    space = prepare(values, Distance.EUCLIDEAN, Precision.FLOAT32)
    whole = Design(Stream.TRIPLET_UNITS, 0, 40, 16, 0, 600)
    found = profiles.of_space(space, draw(whole))
    # The same space on both sides: every doubt is there twice.
    twice = triplets.units_range(space, space, 0, 0, 600, 16).uncertified
    assert 0 < 2 * found.uncertified == twice
    parts = [profiles.of_space(space, draw(whole.part(*ends))) for ends in ((0, 512), (512, 600))]
    assert profiles.joined(parts).uncertified == found.uncertified
    assert profiles.from_bytes(profiles.to_bytes(found)).uncertified == found.uncertified


@all_streams
def test_bytes_bring_a_profile_back(stream: Stream) -> None:
    (space,) = spaces(1, 40)
    found = profiles.of_space(space, draw(design(stream, 40, seed=2**64 - 1, start=7, units=300)))
    data = profiles.to_bytes(found)
    assert (data.dtype, data.ndim) == (np.uint8, 1)
    back = profiles.from_bytes(data)
    assert (back.design, back.uncertified) == (found.design, found.uncertified)
    assert (back.planes == found.planes).all()
    assert profiles.agreeing(back, found) == found.design.comparisons
    # As read from a file, and not at the beginning of it.
    unaligned = np.concatenate((np.zeros(3, np.uint8), data))[3:]
    assert (profiles.from_bytes(np.frombuffer(unaligned.tobytes(), np.uint8)).planes == found.planes).all()
    assert (profiles.from_bytes(unaligned).planes == found.planes).all()


def test_other_bytes_are_no_profile() -> None:
    (space,) = spaces(1, 40)
    data = profiles.to_bytes(profiles.of_space(space, draw(design(Stream.TRIPLETS, 40))))
    for wrong in (data[:20], data.astype(np.int64), data.reshape(1, -1)):
        with pytest.raises(ValueError, match="not the bytes of a profile"):
            profiles.from_bytes(wrong)
    with pytest.raises(ValueError, match="bytes, not"):
        profiles.from_bytes(data[:-1])
    data[0] = 9
    with pytest.raises(ValueError, match="no stream 9"):
        profiles.from_bytes(data)


def test_profiles_of_other_designs_are_not_compared() -> None:
    (space,) = spaces(1, 40)
    one, other = (profiles.of_space(space, draw(design(Stream.TRIPLETS, 40, seed=seed))) for seed in range(2))
    for call in (profiles.agreeing, profiles.agreeing_by_unit, lambda *both: profiles.grid([one], both)):
        with pytest.raises(ValueError, match="one design"):
            call(one, other)
    with pytest.raises(ValueError, match="no profiles"):
        profiles.grid([], [])


def test_bits_without_a_unit_are_not_set() -> None:
    (space,) = spaces(1, 40)
    drawn = draw(design(Stream.TRIPLET_UNITS, 40, units=20))
    scratch = planes.empty(20, drawn.design.each)
    scratch[:] = 0xFFFF
    table = rank_tables.of_targets(space)
    planes.look_up(table.ranks, table.number, drawn.left, drawn.right, scratch)
    assert (scratch == profiles.of_space(space, drawn).planes).all()
    # Of 256 units, 20 are there: all lanes have one, the first four two.
    assert not (scratch & ~np.where(np.arange(16) < 4, 3, 1).astype(np.uint16)).any()


def test_designs_are_drawn_as_samplers_draw_them() -> None:
    drawn: Drawn = draw(Design(Stream.QUADRUPLET_UNITS, 3, 30, 4, 2, 8))
    pairs = [sorted((*left, *right)) for left, right in zip(drawn.left.tolist(), drawn.right.tolist(), strict=True)]
    assert all(len(set(rows)) == 8 for rows in pairs)
    assert (drawn.left.shape, drawn.right.shape) == ((6, 4), (6, 4))
    assert draw(Design(Stream.TRIPLET_UNITS, 3, 30, 4, 2, 8)).left.shape == (6, 1)


WRONG_DESIGNS: list[tuple[tuple[Any, ...], str]] = [
    ((Stream.TRIPLET_UNITS, 0, 9, 1, 0, 1), "at least 2 distances"),
    ((Stream.TRIPLETS, 0, 9, 3, 0, 1), "has 2 distances, not 3"),
    ((Stream.QUADRUPLETS, 0, 9, 3, 0, 1), "has 2 distances, not 3"),
    ((Stream.TRIPLET_UNITS, 0, 9, 9, 0, 1), "10 distinct rows"),
    ((Stream.QUADRUPLET_UNITS, 0, 9, 5, 0, 1), "10 distinct rows"),
    ((Stream.TRIPLETS, -1, 9, 2, 0, 1), "seed"),
    ((Stream.TRIPLETS, 0, 9, 2, 3, 1), "not a part of the stream"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG_DESIGNS)
def test_wrong_designs_are_named(fields: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Design(*fields)
