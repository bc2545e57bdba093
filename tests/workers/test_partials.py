"""Partials: exact sums in any order, and bytes that give back what was written."""

from __future__ import annotations

import io
import json
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core.counts import AgreementCounts
from workers.partials import PATHS, PRECISIONS, UNCERTIFIED, Partial

# A count of quadruplets of a million rows needs 80 bits.
counts = st.builds(AgreementCounts, *[st.integers(0, 2**90)] * 5)
tallies = st.dictionaries(st.sampled_from([*PATHS, UNCERTIFIED, "a@b"]), st.integers(-(2**70), 2**70))
precisions = st.sampled_from([None, *PRECISIONS])


def same(left: Partial, right: Partial) -> bool:
    """Compare everything, the dtypes of vectors included."""
    if (left.counts, left.tally, left.precision) != (right.counts, right.tally, right.precision):
        return False
    if left.pieces.keys() != right.pieces.keys() or left.sums.keys() != right.sums.keys():
        return False
    if not all(
        summand.dtype == right.sums[name].dtype and np.array_equal(summand, right.sums[name])
        for name, summand in left.sums.items()
    ):
        return False
    return all(
        left.pieces[name].keys() == right.pieces[name].keys()
        and all(
            piece.dtype == right.pieces[name][start].dtype and np.array_equal(piece, right.pieces[name][start])
            for start, piece in left.pieces[name].items()
        )
        for name in left.pieces
    )


@st.composite
def summands(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Sums of a shard: all of a name alike in length, and small enough to add up."""
    shapes = {"targets": (4,), "cells@": (2, 3)}
    names = draw(st.sets(st.sampled_from(list(shapes))))
    numbers = st.integers(-(2**58), 2**58)
    return {
        name: np.array(
            draw(st.lists(numbers, min_size=int(np.prod(shapes[name])), max_size=int(np.prod(shapes[name])))), np.int64
        ).reshape(shapes[name])
        for name in sorted(names)
    }


@st.composite
def shard_partials(draw: st.DrawFn) -> list[Partial]:
    """Partials of consecutive shards, each with its piece of a vector, and whatever else it may have."""
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    starts = np.cumsum([0, *lengths])
    return [
        Partial(
            draw(counts),
            {"per_anchor": {int(start): np.arange(start, start + length, dtype=np.int64)}},
            draw(summands()),
            draw(tallies),
            draw(precisions),
        )
        for start, length in zip(starts, lengths, strict=False)
        if length
    ]


@settings(deadline=None)
@given(counts)
def test_counts_of_any_size_survive_bytes(written: AgreementCounts) -> None:
    assert Partial.from_bytes(Partial(written).to_bytes()).counts == written


@settings(deadline=None)
@given(shard_partials(), st.randoms())
def test_the_total_does_not_depend_on_order(partials: list[Partial], random: object) -> None:
    shuffled = list(partials)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    total, other = reduce(add, partials, Partial()), reduce(add, shuffled, Partial())
    assert same(total, other)
    assert same(Partial.total(partials), total)
    if partials:
        rows = sum(len(piece) for piece in total.pieces["per_anchor"].values())
        assert np.array_equal(other.vector("per_anchor"), np.arange(rows))


@settings(deadline=None)
@given(shard_partials(), st.integers(0, 6), st.integers(0, 6))
def test_addition_is_associative(partials: list[Partial], first: int, second: int) -> None:
    cuts = sorted((min(first, len(partials)), min(second, len(partials))))
    one, two, three = (Partial.total(part) for part in np.split(np.array(partials, object), cuts))
    assert same((one + two) + three, one + (two + three))
    assert same((one + two) + three, Partial.total(partials))


@settings(deadline=None)
@given(shard_partials())
def test_sums_and_tallies_are_those_of_python_integers(partials: list[Partial]) -> None:
    total = Partial.total(partials)
    for name in {name for partial in partials for name in partial.sums}:
        expected = sum(partial.sums[name].astype(object) for partial in partials if name in partial.sums)
        assert total.sums[name].tolist() == np.asarray(expected).tolist()
    for name in {name for partial in partials for name in partial.tally}:
        assert total.tally[name] == sum(partial.tally.get(name, 0) for partial in partials)
    assert total.paths == {name: total.tally.get(name, 0) for name in ("chains", "direct", "exact")}
    assert total.uncertified == total.tally.get("uncertified", 0)
    weakest = max((PRECISIONS.index(partial.precision) for partial in partials if partial.precision), default=None)
    assert total.precision == (None if weakest is None else PRECISIONS[weakest])


@pytest.mark.parametrize(("left", "right"), [(2**63 - 1, 1), (-(2**63), -1), (-(2**63), -(2**63)), (2**62, 2**62)])
def test_a_sum_that_leaves_64_bits_is_refused(left: int, right: int) -> None:
    one, other = (Partial(sums={"targets": np.array([0, value], np.int64)}) for value in (left, right))
    with pytest.raises(OverflowError, match="'targets' does not fit"):
        one + other
    assert one.sums["targets"].tolist() == [0, left]
    at_the_ends = Partial(sums={"targets": np.array([2**63 - 1, -(2**63)], np.int64)})
    back = at_the_ends + Partial(sums={"targets": np.array([-(2**63), 2**63 - 1], np.int64)})
    assert back.sums["targets"].tolist() == [-1, -1]


def test_sums_of_other_lengths_and_types_are_refused() -> None:
    three, two = (Partial(sums={"targets": np.zeros(length, np.int64)}) for length in (3, 2))
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(2,\)"):
        three + two
    with pytest.raises(ValueError, match="of float64, and must be of int64"):
        three + Partial(sums={"targets": np.zeros(3)})  # type: ignore[dict-item]


def test_bytes_that_lack_a_part_are_not_read_as_if_it_were_empty() -> None:
    written = Partial(AgreementCounts(1), {"per_anchor": {3: np.array([7, 8])}})
    with np.load(io.BytesIO(written.to_bytes())) as archive:
        header, arrays = json.loads(archive["header"].tobytes()), dict(archive)
    for part in ("counts", "sums", "tally", "precision", "moments"):
        less = {name: value for name, value in header.items() if name != part}
        buffer = io.BytesIO()
        np.savez(buffer, **{**arrays, "header": np.frombuffer(json.dumps(less).encode(), np.uint8)})
        with pytest.raises(KeyError, match=part):
            Partial.from_bytes(buffer.getvalue())


@settings(deadline=None)
@given(shard_partials())
def test_bytes_give_back_pieces_and_dtype(partials: list[Partial]) -> None:
    total = reduce(add, partials, Partial())
    assert same(Partial.from_bytes(total.to_bytes()), total)


def test_names_may_hold_the_separator() -> None:
    written = Partial(pieces={"a@b": {7: np.array([1.5, 2.5])}})
    assert same(Partial.from_bytes(written.to_bytes()), written)


def test_addition_leaves_its_arguments_alone() -> None:
    sums = {"s": np.array([1], np.int64)}
    left = Partial(AgreementCounts(1), {"v": {0: np.array([1])}}, sums, {"chains": 1})
    right = Partial(AgreementCounts(2), {"v": {1: np.array([2])}}, sums, {"chains": 1})
    assert (left + right).counts.concordant == 3
    assert (left + right).sums["s"].tolist() == [2]
    assert (sums["s"].tolist(), left.tally) == ([1], {"chains": 1})
    assert list(left.pieces["v"]) == [0]
    assert list(right.pieces["v"]) == [1]


def test_bytes_never_hold_pickles() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        Partial.from_bytes(Partial(pieces={"v": {0: np.array([object()], dtype=object)}}).to_bytes())
