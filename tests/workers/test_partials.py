"""Partials: exact sums in any order, and bytes that give back what was written."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core.counts import AgreementCounts
from workers.partials import Partial

# A count of quadruplets of a million rows needs 80 bits.
counts = st.builds(AgreementCounts, *[st.integers(0, 2**90)] * 5)


def same(left: Partial, right: Partial) -> bool:
    """Compare counts and pieces, the dtype of the pieces included."""
    if left.counts != right.counts or left.pieces.keys() != right.pieces.keys():
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
def shard_partials(draw: st.DrawFn) -> list[Partial]:
    """Partials of consecutive shards, each with its piece of a vector."""
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    starts = np.cumsum([0, *lengths])
    return [
        Partial(draw(counts), {"per_anchor": {int(start): np.arange(start, start + length, dtype=np.int64)}})
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
    if partials:
        rows = sum(len(piece) for piece in total.pieces["per_anchor"].values())
        assert np.array_equal(other.vector("per_anchor"), np.arange(rows))


@settings(deadline=None)
@given(shard_partials())
def test_bytes_give_back_pieces_and_dtype(partials: list[Partial]) -> None:
    total = reduce(add, partials, Partial())
    assert same(Partial.from_bytes(total.to_bytes()), total)


def test_names_may_hold_the_separator() -> None:
    written = Partial(pieces={"a@b": {7: np.array([1.5, 2.5])}})
    assert same(Partial.from_bytes(written.to_bytes()), written)


def test_addition_leaves_its_arguments_alone() -> None:
    left = Partial(AgreementCounts(1), {"v": {0: np.array([1])}})
    right = Partial(AgreementCounts(2), {"v": {1: np.array([2])}})
    assert (left + right).counts.concordant == 3
    assert list(left.pieces["v"]) == [0]
    assert list(right.pieces["v"]) == [1]


def test_bytes_never_hold_pickles() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        Partial.from_bytes(Partial(pieces={"v": {0: np.array([object()], dtype=object)}}).to_bytes())
