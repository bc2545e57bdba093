"""Distances in doubt: what they are sorted by, and how much work that takes."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core import chains, pairs, sorting
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from ordsim_core.spaces import Space

LARGEST = 2**64 - 1


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 2**63, LARGEST])] * 2), max_size=40))
def test_numbers_of_two_parts_are_sorted(numbers: list[tuple[int, int]]) -> None:
    upper, lower = (np.array([number[part] for number in numbers], np.uint64) for part in (0, 1))
    assert sorting.by_size(upper, lower).tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False), max_size=40))
def test_numbers_of_one_part_are_sorted(numbers: list[float]) -> None:
    values = np.array(numbers)
    assert sorting.by_size(values, values).tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])


rows_of_small_integers = st.lists(st.tuples(*[st.integers(-9000, 9000)] * 2), min_size=4, max_size=8)


@settings(deadline=None)
@given(rows_of_small_integers)
def test_whole_cosines_have_integers_that_order_as_fractions_do(rows: list[tuple[int, int]]) -> None:
    values = np.array([(*row, 1) for row in rows], float)
    compared = prepare(values, Distance.COSINE).pairs
    assert compared.whole
    found = {}
    for i, one in enumerate(values.astype(int).tolist()):
        for j, other in enumerate(values.astype(int).tolist()):
            product = int(np.dot(one, other))
            exact = Fraction(-product * abs(product), int(np.dot(one, one)) * int(np.dot(other, other)))
            high, low = (int(part) for part in pairs.cosine_order(compared, i, j))
            assert 0 <= low < 2**63
            found[high << 63 | low] = exact
            assert abs(Fraction(high << 63 | low, 2**125) - 1 - exact) <= Fraction(1, 2**125)
    assert [found[key] for key in sorted(found)] == sorted(set(found.values()))


def test_whole_cosines_that_differ_by_next_to_nothing_are_told_apart() -> None:
    """Neighbouring fractions of denominators near 2^62, and the ends of the range."""
    length = 2**15
    values = np.array([[length, 1], [length, 2], [length - 1, 1], [-length, -1], [1, -length], [length, 1]], float)
    compared = prepare(values, Distance.COSINE).pairs
    assert compared.whole
    places = [(i, j) for i in range(6) for j in range(6)]
    found = {place: tuple(int(part) for part in pairs.cosine_order(compared, *place)) for place in places}
    exact = {place: pairs.exact_value(compared, *place, -20) for place in places}
    for one in places:
        for other in places:
            assert (found[one] < found[other]) == (exact[one] < exact[other])
            assert (found[one] == found[other]) == (exact[one] == exact[other])
    assert found[0, 0] == (0, 0)
    assert found[0, 3] == (2**63, 0)
    assert found[0, 4] == (2**62, 0)


def scattered_lattice(rows: int) -> Space:
    """Sums of squares of multiples of 0.1, which tie or nearly tie, in 128 bits."""
    return prepare(np.random.default_rng(rows).integers(0, 4, (rows, 6)) * 0.1, Distance.EUCLIDEAN)


def directions(rows: int) -> Space:
    return prepare(np.random.default_rng(rows).integers(-3, 4, (rows, 6)) + 0.5, Distance.COSINE)


def unordered(rows: int) -> Space:
    """Sums of absolute differences, which take ranks found elsewhere."""
    return prepare(np.random.default_rng(rows).integers(0, 4, (rows, 6)) * 0.1, Distance.MANHATTAN)


@pytest.mark.parametrize("make", [scattered_lattice, directions, unordered])
def test_work_hardly_grows_faster_than_chains(make: Callable[[int], Space], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of Python that are run in place of the kernels: four times the elements, not sixteen times the lines."""
    for module in (chains, sorting):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func") and value.__module__ in (chains.__name__, sorting.__name__):
                monkeypatch.setattr(module, name, value.py_func)
    few, many = lines_of_one_chain(make(100), 250), lines_of_one_chain(make(100), 1000)
    assert many < 6 * few


def lines_of_one_chain(space: Space, size: int) -> int:
    """Count the lines that put so many pairs of rows into order, all of them in doubt, the farthest first."""
    left, right = (side[:size].astype(np.int64) for side in np.triu_indices(space.rows, 1))
    exact = [pairs.exact_value(space.pairs, i, j, space.lowest) for i, j in zip(left, right, strict=True)]
    farthest = np.array(sorted(range(size), key=lambda place: exact[place], reverse=True))
    levels = sorted(set(exact))
    elements = chains.Elements(
        left[farthest], right[farthest], np.array([levels.index(exact[place]) for place in farthest])
    )
    tied = np.ones(size, np.uint8)
    tied[0] = 0
    chain, pending, paths = np.arange(size), np.zeros(size, np.uint8), np.zeros(3, np.int64)
    lines = 0

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return traced

    def trace(frame: FrameType, *_: Any) -> Any:
        return traced if frame.f_code.co_filename in (chains.__file__, sorting.__file__) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        missing = chains._settle_equals(space.pairs, elements, chain, tied, paths, pending)
    finally:
        sys.settrace(before)
    assert missing == 0
    assert paths[chains.EXACT] == size
    ordered = [exact[farthest[place]] for place in chain]
    assert ordered == sorted(exact)
    assert tied[1:].tolist() == [int(one == other) for one, other in pairwise(ordered)]
    return lines
