"""Spearman's correlation from doubled ranks: sums of integers, and a deficit of exactly 0 where both orders agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.cosine.cosine_form import Cosine, zero_norm

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RankSums:
    """Sums of products of ranks less their mean: Python integers of any size.

    Attributes
    ----------
    xx, xy, yy : int
    """

    xx: int
    xy: int
    yy: int

    def cosine(self) -> Cosine:
        """Turn the sums into the correlation and its deficit."""
        reason = zero_norm(self.xx == 0, self.yy == 0)
        if reason is not None:
            return Cosine(None, None, None, reason)
        norms = math.sqrt(self.xx) * math.sqrt(self.yy)
        score = max(-1.0, min(1.0, self.xy / norms))
        if self.xy <= 0:
            return Cosine(score, 1 - score, 1 - score)
        # (1 - s^2) / (1 + s), whose numerator is an integer: nothing is lost.
        lost = self.xx * self.yy - self.xy * self.xy
        deficit = lost / (self.xx * self.yy) / (1 + score)
        return Cosine(1 - deficit if deficit <= 0.5 else score, deficit, 1 - score)


def sums(x: NDArray[np.signedinteger], y: NDArray[np.signedinteger]) -> RankSums:
    """Add up products of doubled ranks, int32 or int64 of at most 2^31 in magnitude, less their mean."""
    return RankSums(*(_total(*_products(one, other)) for one, other in ((x, x), (x, y), (y, y))))


def _total(high: Int, low: Int) -> int:
    return (int(high) << 32) + int(low)


@kernel
def _products(one: NDArray[np.signedinteger], other: NDArray[np.signedinteger]) -> tuple[Int, Int]:
    # Upper and lower halves apart: of fewer than 2^31 products, neither sum leaves 64 bits.
    high, low = np.int64(0), np.int64(0)
    for at in range(one.shape[0]):
        product = np.int64(one[at]) * np.int64(other[at])
        high += product >> 32
        low += product & 0xFFFFFFFF
    return high, low
