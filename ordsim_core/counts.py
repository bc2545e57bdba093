"""Agreement counts: the integers every ordinal score is made of."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True)
class AgreementCounts:
    """How many comparisons fell into each of five kinds, which exclude one another.

    A comparison asks, in each of two spaces, which of two distances is the larger; it agrees when the
    answers are equal, a tie being an answer of its own (Soares et al. 2026, Definitions 1 and 2).

    Attributes
    ----------
    concordant, discordant : int
        No tie in either space; same or opposite order.
    tied_x, tied_y : int
        Tied in that space only.
    tied_both : int
        Tied in both, which agrees.
    """

    concordant: int = 0
    discordant: int = 0
    tied_x: int = 0
    tied_y: int = 0
    tied_both: int = 0

    def __add__(self, other: AgreementCounts) -> AgreementCounts:
        return AgreementCounts(
            self.concordant + other.concordant,
            self.discordant + other.discordant,
            self.tied_x + other.tied_x,
            self.tied_y + other.tied_y,
            self.tied_both + other.tied_both,
        )

    @property
    def comparisons(self) -> int:
        """Number of comparisons made."""
        return self.concordant + self.discordant + self.tied_x + self.tied_y + self.tied_both

    @property
    def agreeing(self) -> int:
        """Number of comparisons with the same answer in both spaces."""
        return self.concordant + self.tied_both

    @property
    def score(self) -> float:
        """Agreeing share of the comparisons, correctly rounded. ZeroDivisionError without comparisons."""
        return self.agreeing / self.comparisons

    @property
    def deficit(self) -> float:
        """Disagreeing share, from its own integers: exactly 0 when nothing disagrees, never 1 - score."""
        return (self.discordant + self.tied_x + self.tied_y) / self.comparisons

    @property
    def tie_rates(self) -> tuple[float, float]:
        """Share of comparisons tied in x and in y, joint ties counted in both."""
        total = self.comparisons
        return (self.tied_x + self.tied_both) / total, (self.tied_y + self.tied_both) / total

    @property
    def baseline(self) -> float:
        """Score expected of unrelated representations with these tie rates (Soares et al. 2026, Lemma 1)."""
        tied_x, tied_y = self.tie_rates
        return tied_x * tied_y + (1 - tied_x) * (1 - tied_y) / 2

    @property
    def attainable_maximum(self) -> float:
        """Largest score that these tie rates leave possible: a tie on one side only never agrees."""
        tied_x, tied_y = self.tie_rates
        return 1 - abs(tied_x - tied_y)


@dataclass(frozen=True, slots=True)
class Paths:
    """What it took to put distances into exact order.

    Attributes
    ----------
    chains : int
        Distances that stood too close to a neighbour for their order to be certain.
    direct : int
        Distances computed again, directly from the stored values, with a tighter bound.
    exact : int
        Distances computed in exact arithmetic.
    """

    chains: int = 0
    direct: int = 0
    exact: int = 0

    def __add__(self, other: Paths) -> Paths:
        return Paths(self.chains + other.chains, self.direct + other.direct, self.exact + other.exact)


def triplet_population(rows: int) -> int:
    """Number of unordered triplet comparisons: N (N - 1)(N - 2) / 2, an anchor with a pair of targets."""
    return rows * comb(rows - 1, 2) if rows > 0 else 0


def quadruplet_population(rows: int) -> int:
    """Number of unordered quadruplet comparisons: 3 C(N, 4), two disjoint pairs."""
    return 3 * comb(rows, 4)
