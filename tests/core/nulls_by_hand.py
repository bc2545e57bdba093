"""Permuted statistics from exact distances, one comparison after another, in plain Python."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from nasty_cases import KINDS, fit
from rational import integers, pair_keys, sign

from ordsim_core import sampling
from ordsim_core.distances import Distance
from ordsim_core.nulls.designs import Design, Stream
from ordsim_core.spaces import Space, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Comparison = tuple[int, int, int, int]
"""Distance (i, j) with distance (k, m)."""

STREAMS = tuple(Stream)


class Side:
    """One array with its distance: prepared, and with exact integers for all distances, of rows to themselves too."""

    def __init__(self, values: np.ndarray, distance: str) -> None:
        self.values, self.distance = values, distance
        rows = range(len(values))
        self.key = pair_keys(integers(values.tolist()), distance, [(i, j) for i in rows for j in rows])

    @property
    def space(self) -> Space:
        return prepare(self.values, Distance(self.distance))

    def sign(self, comparison: Comparison, rows: Sequence[int]) -> int:
        i, j, k, m = (rows[row] for row in comparison)
        return sign(self.key[i, j] - self.key[k, m])


def side(rng: np.random.Generator, rows: int, distance: str, repeated: bool) -> Side:
    """An array of any nasty kind; for correlation of integers, which are centred without rounding."""
    kind = KINDS[rng.integers(len(KINDS))]
    values = kind(rng, rows, int(rng.integers(2, 6)))
    if distance == "correlation":
        values = rng.integers(-3, 4, (rows, 4)).astype("f8")
    values = fit(values, distance)
    if repeated and distance != "precomputed":
        values = values[rng.integers(0, max(2, rows // 2), rows)]
    return Side(values, distance)


def index_arrays(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    """Rows as they are, two permutations, any rows, and always the same row."""
    return [
        np.arange(rows),
        rng.permutation(rows),
        rng.permutation(rows).astype(np.int32),
        rng.integers(0, rows, rows),
        np.full(rows, rows - 1),
    ]


def design(stream: Stream, rows: int, seed: int = 5, start: int = 0, units: int = 40) -> Design:
    members = 2 if stream.single else min(5, rows - 1) if stream.anchored else rows // 2
    return Design(stream, seed, rows, members, start, start + units)


def units_of(design: Design) -> list[list[Comparison]]:
    """The comparisons of every unit."""
    seed, start, stop, rows, members = design.seed, design.start, design.stop, design.rows, design.members
    drawn = {
        Stream.TRIPLETS: lambda: sampling.triplets(seed, start, stop, rows),
        Stream.TRIPLET_UNITS: lambda: sampling.triplet_units(seed, start, stop, rows, members),
        Stream.QUADRUPLETS: lambda: sampling.quadruplets(seed, start, stop, rows),
        Stream.QUADRUPLET_UNITS: lambda: sampling.quadruplet_units(seed, start, stop, rows, members),
    }[design.stream]()
    found = []
    for unit in drawn.tolist():
        right = unit[1:] if design.stream.anchored else unit[1::2]
        left = unit[:1] * len(right) if design.stream.anchored else unit[::2]
        pairs = zip(left, right, strict=True)
        found.append([(*one, *other) for one, other in combinations(pairs, 2)])
    return found


def all_triplets(rows: int) -> list[Comparison]:
    return [(i, j, i, k) for i in range(rows) for j, k in combinations([row for row in range(rows) if row != i], 2)]


def all_quadruplets(rows: int) -> list[Comparison]:
    pairs = list(combinations(range(rows), 2))
    return [(*one, *other) for one, other in combinations(pairs, 2) if not {*one} & {*other}]


def agreeing(x: Side, y: Side, comparisons: Iterable[Comparison], rows: Sequence[int]) -> int:
    """Comparisons with the same answer in x and in y, when `rows` of y have taken the places of its rows."""
    everyone = range(len(x.values))
    return sum(x.sign(comparison, everyone) == y.sign(comparison, rows) for comparison in comparisons)
