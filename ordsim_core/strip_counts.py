"""What parts of a count over all pairs of pairs of rows contribute, and how they make up the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

from ordsim_core.counts import AgreementCounts, Paths
from ordsim_core.strip_counting import discordant_between

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    paths: Paths = field(default_factory=Paths)

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


class ShardsDisagreeError(RuntimeError):
    """Shards did not see the same pairs in the same strips."""

    def __init__(self) -> None:
        super().__init__(
            "the parts of an exact count over pairs do not fit together: in float32 precision, workers with different "
            "processors or libraries may compute different distances; use exact precision, or workers that are alike"
        )


def agreement(plan: StripPlan, counts: StripCounts, cells: NDArray[np.int64]) -> AgreementCounts:
    """Give the agreement over all pairs of pairs of rows, from the sum of all strips in x and, unless `single`, in y.

    Parameters
    ----------
    cells : ndarray of int64, shape (plan.x, plan.y)
        Those of all strips in x.

    Raises
    ------
    ShardsDisagreeError
        If the strips do not fit together.
    """
    if int(cells.sum()) != plan.pairs or counts.mark != 0:
        raise ShardsDisagreeError
    discordant = counts.discordant + discordant_between(cells)
    tied = counts.tied_x + counts.tied_y - counts.tied_both
    return AgreementCounts(
        concordant=comb(plan.pairs, 2) - discordant - tied,
        discordant=discordant,
        tied_x=counts.tied_x - counts.tied_both,
        tied_y=counts.tied_y - counts.tied_both,
        tied_both=counts.tied_both,
    )
