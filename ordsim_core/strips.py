"""Agreement over all pairs of pairs of rows, in parts that are counted one by one and add up to the same integers.

Splitters cut the M = N (N - 1) / 2 pairs into strips by their distance in x, and into strips by their distance in y.
Pairs of different strips on both sides are counted by how many pairs each cell holds; pairs of the same strip in x in
that strip, and those of the same strip in y, but different ones in x, in that strip. Splitters are distances, and
which strip a pair belongs to is settled as exactly as the order within: counts do not depend on how many strips
there are, nor on where they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import concordance
from ordsim_core._numba import Int, kernel
from ordsim_core.comparisons import new_paths, to_paths
from ordsim_core.counts import AgreementCounts, Paths
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pair_doubts import KeyDoubts, exact_product
from ordsim_core.pair_ranks import rank_pairs
from ordsim_core.sifting import Sifted, cut, sift
from ordsim_core.spaces import check_pair
from ordsim_core.strip_records import Layout, MemoryStore, by_strip, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.sifting import CutSide
    from ordsim_core.spaces import Space
    from ordsim_core.strip_records import Store

STRIP_PAIRS = 1 << 20
"""Pairs that a strip should have."""
MARKS = 1 << 64


@dataclass(frozen=True, slots=True)
class StripPlan:
    """Into how many strips the pairs of `rows` rows are cut, in x and in y."""

    rows: int
    x: int
    y: int

    @property
    def pairs(self) -> int:
        """M, the number of pairs of rows."""
        return comb(self.rows, 2)

    @property
    def single(self) -> bool:
        """Whether the only strip in x is all there is to count."""
        return self.x == 1 and self.y == 1


@dataclass(frozen=True, slots=True)
class StripCounts:
    """What some strips contribute; contributions add up.

    Attributes
    ----------
    discordant : int
        Comparisons in opposite order that no other part counts.
    tied_x, tied_y, tied_both : int
        Comparisons tied in x, in y and in both; the first two include those tied in both.
    mark : int
        What all pairs that were seen, with their strips, add up to: from x strips and from y strips the same.
    uncertified : int
        Comparisons whose order may be in doubt, counted for float32 precision only: an upper bound.
    paths : Paths
    """

    discordant: int = 0
    tied_x: int = 0
    tied_y: int = 0
    tied_both: int = 0
    mark: int = 0
    uncertified: int = 0
    paths: Paths = Paths()

    def __add__(self, other: StripCounts) -> StripCounts:
        return StripCounts(
            self.discordant + other.discordant,
            self.tied_x + other.tied_x,
            self.tied_y + other.tied_y,
            self.tied_both + other.tied_both,
            (self.mark + other.mark) % MARKS,
            self.uncertified + other.uncertified,
            self.paths + other.paths,
        )


@dataclass(frozen=True)
class XStrips:
    """Some strips in x.

    Attributes
    ----------
    counts : StripCounts
    first : int
    cells : ndarray of int64, shape (strips, plan.y)
        Pairs of strip `first` and those after it, by their strip in y.
    """

    counts: StripCounts
    first: int
    cells: NDArray[np.int64]
