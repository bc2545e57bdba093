"""The cosine form: its sums, its deficit, and what is undefined."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordsim_core.cosine.cosine_form import ZERO_BOTH, ZERO_X, ZERO_Y, CosineSums

SMALL = st.integers(-20, 20)
VECTORS = st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=6)


def sums_of(a: list[int], b: list[int], number: type = float) -> CosineSums:
    """Sums of two integer vectors."""
    mean = [Fraction(p + q, 2) for p, q in zip(a, b, strict=True)]
    difference = [q - p for p, q in zip(a, b, strict=True)]
    pairs = ((mean, mean), (mean, difference), (difference, difference))
    return CosineSums(*(number(sum(p * q for p, q in zip(*pair, strict=True))) for pair in pairs))


@pytest.mark.parametrize("number", [float, Fraction])
@given(vectors=VECTORS)
def test_cosine_of_whole_numbers(number: type, vectors: list[tuple[int, int]]) -> None:
    a, b = [p for p, _ in vectors], [q for _, q in vectors]
    found = sums_of(a, b, number).balanced().cosine()
    squares = (sum(p * p for p in a), sum(q * q for q in b))
    if 0 in squares:
        expected = ZERO_BOTH if squares == (0, 0) else ZERO_X if squares[0] == 0 else ZERO_Y
        assert (found.score, found.deficit, found.naive_deficit, found.reason) == (None, None, None, expected)
        return
    inner = sum(p * q for p, q in zip(a, b, strict=True))
    with localcontext(prec=50):
        norms = (Decimal(squares[0]) * Decimal(squares[1])).sqrt()
        ratio = Decimal(inner) / norms
        deficit = (squares[0] * squares[1] - inner**2) / (norms * (norms + inner)) if inner > 0 else 1 - ratio
        # Norms that differ much are rounded alike as floats, and kept as fractions.
        room = 1e-15 if number is Fraction else 1e-15 * max(squares) / min(squares)
        assert found.deficit is not None
        assert found.score is not None
        assert abs(found.deficit - float(deficit)) <= 8 * room
        assert abs(found.score - float(ratio)) <= 8 * room


@given(st.floats(0.1, 1e9), st.floats(-1e3, 1e3), st.floats(1e-9, 10))
def test_exchange_changes_no_bit(m2: float, t: float, q: float) -> None:
    t = t * 1e-3 * math.sqrt(m2 * q)
    one, other = CosineSums(m2, t, q).cosine(), CosineSums(m2, -t, q).cosine()
    assert (one.score, one.deficit, one.naive_deficit) == (other.score, other.deficit, other.naive_deficit)
    assert one.deficit is not None
    assert 0 <= one.deficit <= 2


def test_no_difference_is_exactly_zero() -> None:
    found = CosineSums(0.1, 0.0, 0.0).cosine()
    assert (found.score, found.deficit) == (1.0, 0.0)
    assert CosineSums(0.1, 0.0, 0.0).kappa_scale == 1.0


def test_opposite_and_orthogonal() -> None:
    assert CosineSums(0.0, 0.0, 4.0).cosine().deficit == 2.0
    orthogonal = CosineSums(0.5, 0.0, 2.0).cosine()
    assert (orthogonal.score, orthogonal.deficit) == (0.0, 1.0)


def test_sums_of_extreme_size_stay_in_range() -> None:
    for size in (1e-200, 1e200):
        found = CosineSums(size, 0.0, 1e-20 * size).cosine()
        assert found.deficit == pytest.approx(5e-21, rel=1e-15)
        assert CosineSums(size, 0.5e-10 * size, 1e-20 * size).kappa_scale == pytest.approx(4 / 3)


def test_kappa_scale_grows_towards_a_multiple() -> None:
    kappas = [CosineSums(1.0, math.sqrt(1 - share), 1.0).kappa_scale for share in (1.0, 0.1, 1e-6)]
    assert kappas == pytest.approx([1, 10, 1e6], rel=1e-6)
    assert CosineSums(1.0, 1.0, 1.0).kappa_scale == math.inf


def test_parts_add_up_in_any_order() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((500, 3)) * 10.0 ** rng.integers(-9, 9, (500, 1))
    parts = [CosineSums(*row) for row in numbers.tolist()]
    totals = set()
    for seed in range(5):
        random.Random(seed).shuffle(parts)
        totals.add(CosineSums.total(parts))
    assert len(totals) == 1
    assert totals.pop().t == math.fsum(part.t for part in parts)
