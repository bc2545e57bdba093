"""Designs: which comparisons a statistic makes, drawn from a seed alone and never from the data.

One design serves the observed rows, every permutation of them, and every pair of arrays. Given the design, all these
statistics are one function of exchangeable data, which makes a permutation test exact (Hemerik and Goeman 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import sampling

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Stream(StrEnum):
    """What is drawn, by the samplers of the same names in `sampling`."""

    TRIPLETS = "triplets"
    TRIPLET_UNITS = "triplet-units"
    QUADRUPLETS = "quadruplets"
    QUADRUPLET_UNITS = "quadruplet-units"

    @property
    def anchored(self) -> bool:
        """Whether distances are compared only with distances from the same row."""
        return self in (Stream.TRIPLETS, Stream.TRIPLET_UNITS)

    @property
    def single(self) -> bool:
        """Whether a unit is one comparison."""
        return self in (Stream.TRIPLETS, Stream.QUADRUPLETS)


@dataclass(frozen=True, slots=True)
class Design:
    """Units `start` to `stop` - 1 of a stream; a unit is all comparisons of some distances with each other.

    Attributes
    ----------
    stream : Stream
    seed : int
        Below 2^64.
    rows : int
        N, the rows that are drawn from.
    members : int
        Distances in a unit: targets of one anchor, or pairs that share no row. 2 where a unit is one comparison.
    start, stop : int
    """

    stream: Stream
    seed: int
    rows: int
    members: int
    start: int
    stop: int

    def __post_init__(self) -> None:
        """Raise ValueError if nothing can be drawn, naming what is wrong."""
        if self.members < 2:
            raise ValueError(f"a unit needs at least 2 distances to compare, not {self.members}")
        if self.stream.single and self.members != 2:
            raise ValueError(f"a single comparison has 2 distances, not {self.members}")
        needed = 1 + self.members if self.stream.anchored else 2 * self.members
        sampling.check(self.seed, self.start, self.stop, self.rows, needed)

    @property
    def units(self) -> int:
        """Number of units."""
        return self.stop - self.start

    @property
    def each(self) -> int:
        """Comparisons in a unit."""
        return comb(self.members, 2)

    @property
    def comparisons(self) -> int:
        """Comparisons in all units."""
        return self.units * self.each

    def part(self, start: int, stop: int) -> Design:
        """Give units `start` to `stop` - 1 of the same stream.

        Raises
        ------
        ValueError
            If they are not within the stream.
        """
        return replace(self, start=start, stop=stop)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rows of a design.

    Attributes
    ----------
    design : Design
    left : ndarray of int32, shape (units, 1) or (units, members)
        The anchor of each unit, or the first row of each of its pairs.
    right : ndarray of int32, shape (units, members)
        The targets, or second rows.
    """

    design: Design
    left: NDArray[np.int32]
    right: NDArray[np.int32]


def draw(design: Design) -> Drawn:
    """Draw the rows of a design: those that `triplets` and `quadruplets` compare for the same seed and range."""
    seed, start, stop, rows = design.seed, design.start, design.stop, design.rows
    match design.stream:
        case Stream.TRIPLETS:
            found = sampling.triplets(seed, start, stop, rows)
        case Stream.TRIPLET_UNITS:
            found = sampling.triplet_units(seed, start, stop, rows, design.members)
        case Stream.QUADRUPLETS:
            found = sampling.quadruplets(seed, start, stop, rows)
        case Stream.QUADRUPLET_UNITS:
            found = sampling.quadruplet_units(seed, start, stop, rows, design.members)
    sides = (found[:, :1], found[:, 1:]) if design.stream.anchored else (found[:, ::2], found[:, 1::2])
    left, right = (np.ascontiguousarray(side, np.int32) for side in sides)
    return Drawn(design, left, right)
