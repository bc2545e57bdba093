"""The counting kernel against pairs counted one by one, at every size at which its counters change."""

from __future__ import annotations

import numpy as np
import pytest

from ordsim_core import concordance
from ordsim_core.ranking import Ranked


def brute_force(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Discordant pairs, and pairs tied in x, in y, and in both."""
    in_x = np.sign(x[:, None] - x[None, :])
    in_y = np.sign(y[:, None] - y[None, :])
    upper = np.triu_indices(len(x), 1)
    in_x, in_y = in_x[upper], in_y[upper]
    kinds = (in_x * in_y < 0, in_x == 0, in_y == 0, (in_x == 0) & (in_y == 0))
    return [int(kind.sum()) for kind in kinds]


def ranked(keys: np.ndarray, left_out: int) -> Ranked:
    """Ranks of one row's elements, the one left out at its place."""
    start = np.insert(np.searchsorted(np.sort(keys), keys), left_out, -1).astype(np.int32)
    order = np.argsort(keys, kind="stable")
    order = np.append(order + (order >= left_out), 0).astype(np.int32)
    ties = brute_ties(keys)
    return Ranked(order[None], start[None], np.array([ties]), np.zeros(1, int), np.zeros((1, 3), int))


def brute_ties(keys: np.ndarray) -> int:
    _, counts = np.unique(keys, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def counted(x: np.ndarray, y: np.ndarray, left_out: int, ordered: bool = True) -> tuple[list[int], np.ndarray]:
    """Counts, and the agreeing pairs of each element."""
    counts, targets = np.zeros((1, 4), np.int64), np.zeros(len(x) + 1, np.int64)
    sides = ranked(x, left_out), ranked(y, left_out)
    for _ in range(2):  # scratch space must not remember
        targets[:] = 0
        concordance.count_rows(*sides, ordered, ordered, np.array([left_out]), counts, targets)
    without = np.zeros((1, 4), np.int64)
    concordance.count_rows(*sides, ordered, ordered, np.array([left_out]), without, np.zeros(0, np.int64))
    assert (without == counts).all()
    assert targets[left_out] == 0
    return counts[0].tolist(), np.delete(targets, left_out)


def agreeing_of_each(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    agree = np.sign(x[:, None] - x[None, :]) == np.sign(y[:, None] - y[None, :])
    return agree.sum(axis=1) - 1


@pytest.mark.parametrize("elements", [2, 3, 63, 64, 65, 511, 512, 513, 2047, 2048, 2049, 2600])
@pytest.mark.parametrize("values", [1, 2, 7, 100, 10**6], ids="{}values".format)
def test_against_brute_force(elements: int, values: int) -> None:
    rng = np.random.default_rng(elements * values)
    x, y = rng.integers(0, values, (2, elements))
    strict = rng.permutation(elements)
    left_out = int(rng.integers(0, elements + 1))
    for one, other in ((x, y), (x, strict), (strict, y), (strict, strict[::-1])):
        for ordered in (True, False):
            counts, targets = counted(one, other, left_out, ordered)
            assert counts == brute_force(one, other)
            assert (targets == agreeing_of_each(one, other)).all()


@pytest.mark.parametrize("elements", [8191, 8192, 8193, 32768, 32770, 131073, 600000, 2**21])
def test_large_sizes_by_their_formula(elements: int) -> None:
    line = np.arange(elements)
    pairs = elements * (elements - 1) // 2
    assert counted(line, line, 0)[0] == [0, 0, 0, 0]
    assert counted(line, -line, elements)[0] == [pairs, 0, 0, 0]
    # A rotation by r puts r elements behind the elements - r others.
    turn = elements // 3
    assert counted(line, np.roll(line, turn), 1)[0] == [turn * (elements - turn), 0, 0, 0]
    assert counted(line, line // elements, 0)[0] == [0, 0, pairs, 0]


def test_many_ties_by_their_formula() -> None:
    # 200,000 values of seven classes: the tie terms alone are beyond 32 bits.
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 7, (2, 200_000))
    table = [[int(((x == a) & (y == b)).sum()) for b in range(7)] for a in range(7)]
    cells = [(a, b) for a in range(7) for b in range(7)]
    discordant = sum(table[a][b] * table[c][d] for a, b in cells for c, d in cells if a < c and b > d)
    both = sum(count * (count - 1) // 2 for row in table for count in row)
    tied_x = sum(sum(row) * (sum(row) - 1) // 2 for row in table)
    tied_y = sum(sum(column) * (sum(column) - 1) // 2 for column in zip(*table, strict=True))
    assert counted(x, y, 5)[0] == [discordant, tied_x, tied_y, both]
