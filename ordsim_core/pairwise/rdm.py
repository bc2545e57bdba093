"""RSA: the Pearson or the cosine correlation of the distances of all pairs of rows (Kriegeskorte et al. 2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairwise import careful, pilot, tile_sums
from ordsim_core.pairwise.pilot import CONSTANT, Pilot, least_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ordsim_core.distances import Distance
    from ordsim_core.pairwise.pairing import Pairing
    from ordsim_core.pairwise.tiles import Tile

SUMS = 5
"""Numbers that are kept of each tile, see `tile_sums.row_sums`."""


ROUNDED = 2.0**-44
"""A squared norm below this part of what it was before means were taken off is what rounding left."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large distances on either side are at least, to judge what is rounding."""

    x: float = 0.0
    y: float = 0.0

    @classmethod
    def of(cls, x: Distance, y: Distance) -> Sizes:
        """Give those of two distances."""
        return cls(least_size(x), least_size(y))


@dataclass(frozen=True, slots=True)
class RdmPlan:
    """What all tiles have in common.

    Attributes
    ----------
    pairing : Pairing
    pilot : Pilot
        Zero where nothing is taken off: for the cosine.
    """

    pairing: Pairing
    pilot: Pilot

    def with_values(self, x: NDArray[Any], y: NDArray[Any]) -> RdmPlan:
        """Give the same for arrays of these values."""
        return replace(self, pairing=self.pairing.with_values(x, y))


def plan(pairing: Pairing, centred: bool) -> RdmPlan:
    """Look at some pairs first; `centred` for Pearson correlation."""
    pairing = careful.where_needed(pilot.with_factor(pairing, centred), centred)
    found = pilot.look(pairing.listed_distances(*pilot.pairs(len(pairing.x)))) if centred else Pilot()
    return RdmPlan(pairing, found)


def sums_of(
    plan: RdmPlan, tiles: Iterable[Tile], checkpoint: Callable[[], None] = no_checkpoint
) -> NDArray[np.float64]:
    """Sum over the pairs of each tile: float64 of shape (tiles, `SUMS`)."""
    found = []
    for tile, entries in plan.pairing.distances(tiles, checkpoint):
        sums = np.empty(SUMS)
        tile_sums.sums_of_pairs(entries.of_x, entries.changes, plan.pilot.mean, plan.pilot.change, tile.diagonal, sums)
        found.append(sums)
    return np.array(found).reshape(-1, SUMS)


def combine(sums: NDArray[np.float64], rows: int, found: Pilot, centred: bool, sizes: Sizes) -> CosineSums:
    """Add up tiles, in any order, to the sums that the correlation follows from.

    Parameters
    ----------
    sums : ndarray of float64, shape (tiles, 5)
    rows : int
    found : Pilot
        What was taken off.
    centred : bool
        Whether the means are taken off: Pearson's correlation, else the cosine.
    sizes : Sizes
    """
    return from_moments([math.fsum(column) for column in sums.T.tolist()], comb(rows, 2), found, centred, sizes)


def from_moments(moments: list[float], pairs: int, found: Pilot, centred: bool, sizes: Sizes) -> CosineSums:
    """Turn the sums of `tile_sums.row_sums` over so many pairs into those of the correlation."""
    m, d, mm, md, dd = moments
    if not centred:
        return without_noise(CosineSums(mm, md, dd), pairs, sizes, mm + dd / 4)
    m2, t, q = (math.fsum((total, -one * other / pairs)) for total, one, other in ((mm, m, m), (md, m, d), (dd, d, d)))
    mean, change = found.mean + m / pairs, found.change + d / pairs
    sizes = Sizes(max(abs(mean - change / 2), sizes.x), max(abs(mean + change / 2), sizes.y))
    return without_noise(CosineSums(m2, t, max(q, 0.0)), pairs, sizes, mm + dd / 4)


def without_noise(sums: CosineSums, entries: int, sizes: Sizes, raw: float) -> CosineSums:
    """Make the norm of a side zero that is zero but for rounding.

    Parameters
    ----------
    sums : CosineSums
    entries : int
        Over how many the sums are.
    sizes : Sizes
        Of the entries, by which they were rounded.
    raw : float
        Half the sum of both squared norms before means were taken off, by which sums were rounded.
    """
    whole = float(sums.m2 + sums.q / 4)
    of_x, of_y = whole - float(sums.t), whole + float(sums.t)
    zero_x, zero_y = (
        not norm > max((CONSTANT * size) ** 2 * entries, ROUNDED * raw)
        for norm, size in ((of_x, sizes.x), (of_y, sizes.y))
    )
    if not zero_x and not zero_y:
        return sums
    # What M = (A + B) / 2 and D = B - A are where A is zero, or B, or both.
    left = 0.0 if zero_x and zero_y else (of_y if zero_x else of_x)
    return CosineSums(left / 4, left / 2 if zero_x else -left / 2, left)
