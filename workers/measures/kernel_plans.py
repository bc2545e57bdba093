"""What all shards of CKA of one kernel have in common, found once in a process; the arrays are not kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ordsim_core.distances import Distance
from ordsim_core.pairwise import bandwidth, kernel_matrices, relation
from ordsim_core.pairwise.bandwidth import Bandwidths, Middle
from ordsim_core.pairwise.pairing import Pairing
from workers.measures import pair_tiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.pairwise.kernel_matrices import KernelPlan
    from ordsim_core.pairwise.related import Relation
    from ordsim_core.pairwise.rows import Side
    from workers.measures.given import Values
    from workers.measures.protocol import Checkpoint


@dataclass(frozen=True, slots=True)
class Prepared:
    """What all shards have in common; `plan` is None where a bandwidth is 0, and the kernel is undefined.

    `sigma_x` and `sigma_y` are those of the arrays as they are stored, 0 without a bandwidth.
    """

    plan: KernelPlan | None
    sigma_x: float = 0.0
    sigma_y: float = 0.0


def of_distances(pair: Values, checkpoint: Checkpoint) -> Prepared:
    """Prepare kernels that are minus the distance."""
    x, y = relation.sides(pair.x, pair.y, pair.x_distance, pair.y_distance)
    found = relation.find(x, y, centred=True, scalable=True, checkpoint=checkpoint)
    return Prepared(_plan(Pairing(x, y, found), None))


def of_bandwidth(pair: Values, sigma: float, checkpoint: Checkpoint) -> Prepared:
    """Prepare RBF kernels of this bandwidth."""
    x, y, found = _euclidean(pair, checkpoint, scalable=False)
    width = Fraction(sigma) * Fraction(2) ** x.exponent
    return Prepared(_plan(Pairing(x, y, found), Bandwidths(width, width)), sigma, sigma)


def of_medians(pair: Values, sampled: int | None, checkpoint: Checkpoint) -> Prepared:
    """Prepare RBF kernels whose bandwidths are medians: of all distances, or of those of so many sampled pairs."""
    x, y, found = _euclidean(pair, checkpoint, scalable=True)
    middle_x, middle_y = _middle(x, sampled, checkpoint), _middle(y, sampled, checkpoint)
    widths = bandwidth.of(x, y, middle_x, middle_y, found.scale)
    stored_x = widths.x / Fraction(found.scale) / Fraction(2) ** x.exponent
    sigmas = float(stored_x), float(widths.y / Fraction(2) ** y.exponent)
    if not (widths.x > 0 and widths.y > 0):
        return Prepared(None, *sigmas)
    return Prepared(_plan(Pairing(x, y, found), widths), *sigmas)


def _middle(side: Side, sampled: int | None, checkpoint: Checkpoint) -> Middle:
    checkpoint()
    if sampled is not None:
        return bandwidth.sampled_middle(side, sampled)
    return bandwidth.middle(side, relation.stored_centre(side), checkpoint)


def _euclidean(pair: Values, checkpoint: Checkpoint, scalable: bool) -> tuple[Side, Side, Relation]:
    x, y = relation.sides(pair.x, pair.y, Distance.EUCLIDEAN, Distance.EUCLIDEAN, alike=not scalable)
    return x, y, relation.find(x, y, centred=True, scalable=scalable, checkpoint=checkpoint)


def _plan(pairing: Pairing, widths: Bandwidths | None) -> KernelPlan:
    plan = kernel_matrices.plan(pairing, widths)
    return plan.with_values(*map(pair_tiles.emptied, (pairing.x.values, pairing.y.values)))


def facts_of(prepared: Prepared) -> NDArray[np.float64]:
    """Write down what `finish` must know: pilot, bandwidths, route, factor (0 without a plan) and sizes."""
    plan = prepared.plan
    sigmas = prepared.sigma_x, prepared.sigma_y
    if plan is None:
        return pair_tiles.facts(0.0, 0.0, *sigmas, 0.0, 0.0, 0.0, 0.0)
    route = pair_tiles.route_number(plan.pairing.relation.route)
    sizes = kernel_matrices.sizes(plan)
    return pair_tiles.facts(plan.pilot.mean, plan.pilot.change, *sigmas, route, plan.factor, sizes.x, sizes.y)
