"""Triplets of rows that are not all of different groups, against enumeration."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordsim_core import coincidence


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_coincident_triplets_are_counted(sizes: list[int]) -> None:
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    expected = 3 * sum(len({groups[row] for row in triple}) < 3 for triple in combinations(range(len(groups)), 3))
    assert coincidence.population(np.array(sizes)) == expected


@pytest.mark.parametrize("groups", [[2, 0, 1, 0, 2, 0, 3], [0, 0, 0], [0, 0, 1, 1], [1, 0, 0, 2]])
def test_coincident_triplets_are_drawn_uniformly(groups: list[int]) -> None:
    samples = 60_000
    drawn = coincidence.triplets(np.array(groups), 5, samples)
    assert drawn.shape == (samples, 3)
    assert drawn.dtype == np.int64
    rows = range(len(groups))
    expected = {
        (i, *sorted((j, k))): 0
        for i in rows
        for j, k in combinations([row for row in rows if row != i], 2)
        if len({groups[i], groups[j], groups[k]}) < 3
    }
    assert len(expected) == coincidence.population(np.bincount(groups))
    for i, j, k in drawn.tolist():
        expected[i, min(j, k), max(j, k)] += 1
    mean = samples / len(expected)
    squares = sum((count - mean) ** 2 for count in expected.values()) / mean
    freedom = len(expected) - 1
    assert squares < freedom + 5 * math.sqrt(2 * freedom) + 10
    assert np.array_equal(drawn[:0], coincidence.triplets(np.array(groups), 5, 0))
    assert np.array_equal(drawn, coincidence.triplets(np.array(groups), 5, samples))
    assert not np.array_equal(drawn, coincidence.triplets(np.array(groups), 6, samples))


def test_coincident_triplets_of_a_seed_stay_what_they_are() -> None:
    drawn = coincidence.triplets(np.array([0, 0, 1, 1, 1, 2, 3, 3]), 2**64 - 1, 4)
    assert drawn.tolist() == [[3, 0, 2], [2, 3, 1], [4, 0, 2], [5, 2, 3]]


def test_without_groups_of_two_there_are_no_coincident_triplets() -> None:
    assert coincidence.population(np.ones(9, np.int64)) == 0
    for groups in ([0, 1, 2, 3], [0, 0]):
        with pytest.raises(ValueError, match="fewer than three groups"):
            coincidence.triplets(np.array(groups), 0, 5)
