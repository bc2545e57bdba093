"""The counting kernel against pairs counted one by one, at every size at which its counters change."""

from __future__ import annotations

import numpy as np
import pytest

from ordsim_core import concordance


def brute_force(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Discordant pairs, and pairs tied in x, in y, and in both."""
    in_x = np.sign(x[:, None] - x[None, :])
    in_y = np.sign(y[:, None] - y[None, :])
    upper = np.triu_indices(len(x), 1)
    in_x, in_y = in_x[upper], in_y[upper]
    kinds = (in_x * in_y < 0, in_x == 0, in_y == 0, (in_x == 0) & (in_y == 0))
    return [int(kind.sum()) for kind in kinds]


def counted(x: np.ndarray, y: np.ndarray, left_out: int) -> list[int]:
    rows = [np.insert(side.astype(np.float64), left_out, 0.0)[None, :].copy() for side in (x, y)]
    return concordance.count_pairs(*rows, left_out)[0].tolist()


@pytest.mark.parametrize("elements", [2, 3, 63, 64, 65, 511, 512, 513, 2047, 2048, 2049, 2600])
@pytest.mark.parametrize("values", [2, 7, 100, 10**6], ids="{}values".format)
def test_against_brute_force(elements: int, values: int) -> None:
    rng = np.random.default_rng(elements * values)
    x, y = rng.integers(0, values, (2, elements))
    assert counted(x, y, int(rng.integers(0, elements + 1))) == brute_force(x, y)


@pytest.mark.parametrize("elements", [8191, 8192, 8193, 32768, 32770, 131073, 600000])
def test_large_sizes_by_their_formula(elements: int) -> None:
    line = np.arange(elements)
    pairs = elements * (elements - 1) // 2
    assert counted(line, line, 0) == [0, 0, 0, 0]
    assert counted(line, -line, elements) == [pairs, 0, 0, 0]
    # A rotation by r puts r elements behind the elements - r others.
    turn = elements // 3
    assert counted(line, np.roll(line, turn), 1) == [turn * (elements - turn), 0, 0, 0]
    assert counted(line, line // elements, 0) == [0, 0, pairs, 0]


def test_negative_zero_is_zero() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0])
    assert counted(x, np.array([1.0, 2.0, 3.0, 4.0]), 2) == brute_force(x, np.array([1.0, 2.0, 3.0, 4.0]))
    assert counted(x, x, 0) == [0, 1, 1, 1]


def test_rows_leave_out_one_place_after_the_other() -> None:
    rng = np.random.default_rng(11)
    x, y = rng.integers(0, 4, (2, 5, 9)).astype(np.float64)
    counts = concordance.count_pairs(x.copy(), y.copy(), 3)
    for row in range(5):
        expected = brute_force(np.delete(x[row], 3 + row), np.delete(y[row], 3 + row))
        assert counts[row].tolist() == expected


def test_too_many_elements_are_refused() -> None:
    keys = np.broadcast_to(np.zeros(1), (1, 2**21 + 1))
    with pytest.raises(ValueError, match=r"at most 2097152 .* not 2097153"):
        concordance.count_pairs(keys, keys, 0)
