"""The cosine of two elements of a Euclidean space, and its deficit without subtraction from one.

With the mean M = (A + B) / 2 and the difference D = B - A, everything follows from three sums that add up over any
partition of the entries: <M, M>, <M, D> and <D, D>. The deficit 1 - <A, B> / (|A| |B|) is then a quotient in which
nothing cancels but <M, M> <D, D> - <M, D>^2, and that only where B is close to a multiple of A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SUMS_ROUNDING = 2.0**-50
"""Relative, of <M, M> <D, D> - <M, D>^2 before anything cancels: a few roundings of each sum."""

ZERO_X = "x is the same in all rows as far as this measure sees it, so its norm is zero and the cosine is undefined"
ZERO_Y = "y is the same in all rows as far as this measure sees it, so its norm is zero and the cosine is undefined"
ZERO_BOTH = "both arrays are the same in all rows as far as this measure sees it, so the cosine is undefined"


@dataclass(frozen=True, slots=True)
class CosineSums:
    """Sums over the entries of M = (A + B) / 2 and D = B - A.

    Attributes
    ----------
    m2, t, q : float or Fraction
        <M, M>, <M, D> and <D, D>.
    """

    m2: float | Fraction
    t: float | Fraction
    q: float | Fraction

    @classmethod
    def total(cls, parts: Iterable[CosineSums]) -> CosineSums:
        """Add up parts, rounding once: the order of the parts does not matter."""
        found = tuple(parts)
        return cls(*(math.fsum(getattr(part, name) for part in found) for name in ("m2", "t", "q")))

    @property
    def kappa_scale(self) -> float:
        """Factor by which rounding of the sums reaches the deficit: large where B is close to a multiple of A."""
        if self.q == 0:
            return 1.0
        # Divided before they are multiplied: products of sums may leave the range of float64.
        share = float((self.t / self.m2) * (self.t / self.q)) if self.m2 > 0 else math.inf
        return 1 / (1 - share) if share < 1 else math.inf

    def balanced(self) -> CosineSums:
        """Stretch the shorter of A and B to about the length of the other, if the sums are fractions.

        Its squared norm is <M, M> + <D, D> / 4 -+ <M, D>, and would lose digits when the sums become floats.
        """
        if not isinstance(self.m2, Fraction):
            return self
        whole, inner = self.m2 + self.q / 4, self.m2 - self.q / 4
        shorter, longer = sorted((whole - self.t, whole + self.t))
        if shorter <= 0:
            return self
        factor = Fraction(math.sqrt(longer / shorter))
        shorter, inner = shorter * factor * factor, inner * factor
        lean = (longer - shorter) / 2
        return CosineSums(
            (shorter + 2 * inner + longer) / 4, lean if self.t > 0 else -lean, shorter - 2 * inner + longer
        )

    def cosine(self) -> Cosine:
        """Turn the sums into score and deficit.

        The deficit is exactly 0 where D is, and the same bits when x and y are exchanged, which turns t into -t. A
        cosine that is not positive is subtracted from one: nothing cancels then.
        """
        whole = self.m2 + self.q / 4
        reason = zero_norm(whole - self.t <= 0, whole + self.t <= 0)
        if reason is not None:
            return Cosine(None, None, None, reason)
        mean, difference, lean = float(self.m2 / whole), float(self.q / whole), float(self.t / whole)
        norms = math.sqrt((1 - lean) * (1 + lean))
        inner = mean - difference / 4
        ratio = inner / norms
        if inner <= 0:
            deficit, floor = min(1 - ratio, 2.0), 0.0
        else:
            product = mean * difference
            deficit = max(product - lean * lean, 0.0) / (norms * (norms + inner))
            floor = 0.0 if self.q == 0 else SUMS_ROUNDING * product / (norms * (norms + inner))
        return Cosine(1 - deficit if deficit <= 0.5 else ratio, deficit, 1 - ratio, floor=floor)


def zero_norm(x: bool, y: bool) -> str | None:
    """Say which of the two norms is zero; None if neither is."""
    return {(True, True): ZERO_BOTH, (True, False): ZERO_X, (False, True): ZERO_Y}.get((bool(x), bool(y)))


@dataclass(frozen=True, slots=True)
class Cosine:
    """A cosine, or why there is none.

    Attributes
    ----------
    score, deficit : float or None
        The cosine, and 1 less it, computed directly; None where undefined.
    naive_deficit : float or None
        What subtracting the rounded cosine from one gives, for comparison.
    floor : float
        What is left of the deficit by rounding of the three sums, where B is a multiple of A.
    reason : str or None
        Why it is undefined.
    """

    score: float | None
    deficit: float | None
    naive_deficit: float | None
    reason: str | None = None
    floor: float = 0.0
