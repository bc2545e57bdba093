"""p-values adjusted for their number, and the order of a matrix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordsim_core.calibration.adjusted import holm, westfall_young
from ordsim_core.calibration.clustering import dendrogram_order
from ordsim_core.calibration.errors import NonFiniteStatisticError

TABLES = st.integers(1, 5).flatmap(
    lambda scores: st.lists(st.lists(st.integers(0, 6), min_size=scores, max_size=scores), min_size=2, max_size=9)
)


def step_down(table: list[list[int]]) -> list[float]:
    """As Westfall and Young write it, score by score."""
    observed, *null = table
    order = sorted(range(len(observed)), key=lambda place: -observed[place])
    found = [Fraction(0)] * len(observed)
    before = Fraction(0)
    for rank, score in enumerate(order):
        behind = order[rank:]
        reached = sum(max(row[place] for place in behind) >= observed[score] for row in null)
        before = found[score] = max(before, Fraction(1 + reached, 1 + len(null)))
    return [float(value) for value in found]


@given(TABLES)
def test_step_down_is_as_it_is_written(table: list[list[int]]) -> None:
    found = westfall_young(np.array(table))
    # Scores that tie may be taken in any order, with the same result.
    assert found.tolist() == step_down(table)


@given(TABLES)
def test_adjusted_p_values_are_no_smaller_than_single_ones(table: list[list[int]]) -> None:
    observed, *null = np.array(table)
    alone = (1 + (np.array(null) >= observed).sum(axis=0)) / (1 + len(null))
    assert (westfall_young(np.array(table)) >= alone).all()


def test_a_statistic_that_is_not_finite_is_an_error() -> None:
    with pytest.raises(NonFiniteStatisticError):
        westfall_young(np.array([[0.5, 0.6], [0.4, np.nan]]))
    with pytest.raises(ValueError, match="at least one permutation"):
        westfall_young(np.array([[0.5, 0.6]]))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]


def test_similar_items_stand_together() -> None:
    families = np.array([0, 1, 0, 1, 0])
    scores = np.where(families[:, None] == families, 0.9, 0.2) + 0.0
    np.fill_diagonal(scores, 1.0)
    order = dendrogram_order(scores)
    assert sorted(order) == list(range(5))
    assert np.count_nonzero(np.diff(families[order])) == 1
    assert dendrogram_order(np.eye(2)) == [0, 1]
