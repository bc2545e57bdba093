"""Measures of all pairs of rows as the core computes them, in one go, and cases with known answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordsim_core.distances import Distance
from ordsim_core.pairwise import bandwidth, centred, kernel_matrices, pair_ranking, rdm, relation, spearman
from ordsim_core.pairwise.bandwidth import Bandwidths
from ordsim_core.pairwise.pairing import Pairing
from ordsim_core.pairwise.tiles import TileGrid
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    import numpy as np

    from ordsim_core.cosine.cosine_form import Cosine

FOLDER = Path(__file__).parent.parent / "data"
KNOWN: dict[str, Any] = json.loads((FOLDER / "oracle" / "pair_matrices.json").read_text())


def pairing(
    x: np.ndarray, y: np.ndarray, distances: tuple[str, str], *, centred: bool, scalable: bool = True
) -> Pairing:
    sides = relation.sides(x, y, *(Distance(distance) for distance in distances), alike=not scalable)
    return Pairing(*sides, relation.find(*sides, centred=centred, scalable=scalable))


def rdm_plan(x: np.ndarray, y: np.ndarray, distances: tuple[str, str], *, centred: bool) -> rdm.RdmPlan:
    return rdm.plan(pairing(x, y, distances, centred=False), centred)


def rsa(x: np.ndarray, y: np.ndarray, x_distance: str, y_distance: str | None = None, *, centred: bool) -> Cosine:
    """Pearson's correlation of all distances if `centred`, else their cosine."""
    distances = x_distance, y_distance or x_distance
    plan, grid = rdm_plan(x, y, distances, centred=centred), TileGrid(len(x))
    sums = rdm.sums_of(plan, grid.tiles(0, len(grid)))
    sizes = rdm.Sizes.of(*(Distance(distance) for distance in distances))
    return rdm.combine(sums, len(x), plan.pilot, centred, sizes).cosine()


def ranked(x: np.ndarray, y: np.ndarray, x_distance: str = "euclidean", y_distance: str = "euclidean") -> Cosine:
    """Spearman's correlation of all distances."""
    sides = ((x, x_distance), (y, y_distance))
    return spearman.sums(
        *(pair_ranking.doubled_ranks(prepare(values, Distance(distance))) for values, distance in sides)
    ).cosine()


def kernel_plan(x: np.ndarray, y: np.ndarray, kernel: str | tuple[str, str], sigma: float | None = None) -> Any:
    if kernel != "rbf":
        found = pairing(x, y, (kernel, kernel) if isinstance(kernel, str) else kernel, centred=True)
        return kernel_matrices.plan(found, None)
    found = pairing(x, y, ("euclidean", "euclidean"), centred=True, scalable=sigma is None)
    if sigma is not None:
        return kernel_matrices.plan(found, Bandwidths(Fraction(sigma), Fraction(sigma)))
    return kernel_matrices.plan(found, medians(found))


def medians(found: Pairing) -> Bandwidths:
    middles = [bandwidth.middle(side, relation.stored_centre(side)) for side in (found.x, found.y)]
    return bandwidth.of(found.x, found.y, *middles, found.relation.scale)


def cka(
    x: np.ndarray, y: np.ndarray, kernel: str | tuple[str, str], *, debiased: bool = False, sigma: float | None = None
) -> Cosine:
    """CKA of the "rbf" kernel, or of distances."""
    plan, grid = kernel_plan(x, y, kernel, sigma), TileGrid(len(x))
    total = centred.total(len(x), kernel_matrices.sums_of(plan, grid.tiles(0, len(grid))))
    form = centred.debiased if debiased else centred.biased
    return form(total, plan.pilot, kernel_matrices.sizes(plan)).cosine()
