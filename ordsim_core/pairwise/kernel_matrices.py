"""CKA of kernels that do not factor: the RBF kernel, and the kernel that is minus the distance.

With K = -d the centred kernel of Euclidean distances is that of distance covariance (Szekely, Rizzo and Bakirov 2007),
and CKA the square of distance correlation, the debiased one included (Szekely and Rizzo 2014). The sign, and any
factor, changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.errors import ZeroVectorError
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairwise import careful, centred, pilot, tile_sums
from ordsim_core.pairwise.pilot import Pilot
from ordsim_core.pairwise.rdm import Sizes
from ordsim_core.pairwise.related import CAREFUL
from ordsim_core.pairwise.tiles import TileGrid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.cosine.cosine_form import CosineSums
    from ordsim_core.pairwise.bandwidth import Bandwidths
    from ordsim_core.pairwise.entries import Entries
    from ordsim_core.pairwise.pairing import Pairing
    from ordsim_core.pairwise.tiles import Tile

FACTOR_BITS = 3
"""Kernels whose entries vary by less than 2^3 times more on one side than on the other are left as they are."""
SMALL = 0.25
"""Exponents of RBF kernels whose entries are near 1."""
LEAST_DEBIASED = 4
"""Rows without which the debiased form is not defined."""


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """What all tiles have in common.

    Attributes
    ----------
    pairing : Pairing
    bandwidths : Bandwidths or None
        Of the RBF kernel exp(-d^2 / (2 sigma^2)); None for minus the distance.
    pilot : Pilot
    factor : float
        What an RBF kernel of y is multiplied with.
    exponents : (float, float) or None
        Mean exponents of RBF kernels of x and of y, if both are small: 1 is then taken off all entries, which centring
        would take off anyway, but not their digits with it.
    """

    pairing: Pairing
    bandwidths: Bandwidths | None
    pilot: Pilot
    factor: float = 1.0
    exponents: tuple[float, float] | None = None

    def with_values(self, x: NDArray[Any], y: NDArray[Any]) -> KernelPlan:
        """Give the same for arrays of these values."""
        return replace(self, pairing=self.pairing.with_values(x, y))


def plan(pairing: Pairing, bandwidths: Bandwidths | None) -> KernelPlan:
    """Look at some pairs first."""
    left, right = pilot.pairs(len(pairing.x))
    if bandwidths is None:
        pairing = careful.where_needed(pilot.with_factor(pairing, True), True)
        return KernelPlan(pairing, None, pilot.look(pairing.listed_distances(left, right)))
    pairing = careful.where_needed(pairing, True, (bandwidths.x / bandwidths.y) ** 2)
    found = KernelPlan(pairing, bandwidths, Pilot())
    found = replace(found, exponents=_small_exponents(found, pairing.listed_squares(left, right)))
    plain = _radial(found, pairing.listed_squares(left, right))
    found = replace(found, factor=_factor(found, plain))
    return replace(found, pilot=pilot.look(_radial(found, pairing.listed_squares(left, right))))


def _factor(plan: KernelPlan, entries: Entries) -> float:
    """Give a power of two that brings the kernels to about the same size, if they are far from it.

    Sums of both would else take the digits of the smaller one. Kernels of small exponents are nearly squared distances,
    which may be the same but for their scale: then the factor is that scale.
    """
    if plan.pairing.relation.joint:
        return 1.0
    parts = entries.of_x, entries.of_x + entries.changes
    of_x, of_y = (pilot.spread(part, Distance.EUCLIDEAN, centred=True) for part in parts)
    if plan.exponents is not None and of_x > 0 and of_y > 0:
        return of_x / of_y
    apart = round(math.log2(of_x / of_y)) if of_x > 0 and of_y > 0 else 0
    return 2.0**apart if abs(apart) >= FACTOR_BITS else 1.0


def sums_of(
    plan: KernelPlan, tiles: Iterable[Tile], checkpoint: Callable[[], None] = no_checkpoint
) -> NDArray[np.float64]:
    """Sum over tiles; the sums of all tiles, joined in order, are for `centred.total`."""
    found = [centred.sums_of(tile, entries, plan.pilot) for tile, entries in _entries(plan, tiles, checkpoint)]
    return np.concatenate(found) if found else np.empty(0)


def batch_sums(plan: KernelPlan, batch: NDArray[np.int64]) -> CosineSums:
    """Give the sums of the U-centred kernel matrices of some rows: they add up over batches (Nguyen et al. 2021)."""
    chosen = replace(plan, pairing=plan.pairing.chosen(batch))
    grid = TileGrid(len(batch))
    try:
        parts = sums_of(chosen, grid.tiles(0, len(grid)))
    except ZeroVectorError as error:
        raise ZeroVectorError(int(batch[error.row]), _directional(plan)) from None
    return centred.debiased(centred.total(len(batch), parts), plan.pilot, sizes(plan))


def _directional(plan: KernelPlan) -> str:
    """Name the distance for which a row has no direction."""
    distances = plan.pairing.x.distance, plan.pairing.y.distance
    return (Distance.CORRELATION if Distance.CORRELATION in distances else Distance.COSINE).value


def sizes(plan: KernelPlan) -> Sizes:
    """Say how large entries are: those of an RBF kernel up to 1, or as large as small exponents."""
    if plan.bandwidths is not None:
        of_x, of_y = plan.exponents or (1.0, 1.0)
        return Sizes(of_x, of_y * plan.factor)
    return Sizes.of(plan.pairing.x.distance, plan.pairing.y.distance)


def _entries(plan: KernelPlan, tiles: Iterable[Tile], checkpoint: Callable[[], None]) -> Iterator[tuple[Tile, Entries]]:
    if plan.bandwidths is None:
        yield from plan.pairing.distances(tiles, checkpoint)
        return
    for tile, squares in plan.pairing.squares(tiles, checkpoint):
        yield tile, _radial(plan, squares)


def _radial(plan: KernelPlan, squares: Entries) -> Entries:
    """Turn squared distances into entries of the RBF kernel, in place."""
    own, other = _rates(plan)
    of_x, changes = np.atleast_2d(squares.of_x), np.atleast_2d(squares.changes)
    rates = float(own), float(other), float(other - own)
    tile_sums.radial(of_x, changes, *rates, plan.pairing.relation.joint, plan.exponents is not None)
    if plan.factor != 1.0:
        changes = squares.changes
        changes += squares.of_x
        changes *= plan.factor
        changes -= squares.of_x
    return squares


def _rates(plan: KernelPlan) -> tuple[Fraction, Fraction]:
    """Give 1 / (2 sigma^2) of either side."""
    assert plan.bandwidths is not None
    own = Fraction(1, 2) / plan.bandwidths.x**2
    # Of squared distances in y whose weight makes both bandwidths the same.
    return own, own if plan.pairing.relation.route == CAREFUL else Fraction(1, 2) / plan.bandwidths.y**2


def _small_exponents(plan: KernelPlan, squares: Entries) -> tuple[float, float] | None:
    """Give the mean exponents of both sides if they are small, and not all 0."""
    of_y = squares.of_x + squares.changes if plan.pairing.relation.joint else squares.changes
    means = [float(rate) * float(part.mean()) for rate, part in zip(_rates(plan), (squares.of_x, of_y), strict=True)]
    return (means[0], means[1]) if min(means) > 0 and max(means) < SMALL else None
