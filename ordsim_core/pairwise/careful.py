"""Squared distances in twice the precision, where the sides are separate and their deficit is very small.

That is so where y is x rotated or rescaled, but for rounding: two distances that were each rounded leave nothing of
their difference. It takes about ten times as long, so it is for few rows.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ordsim_core.distances import Distance
from ordsim_core.pairwise import pilot
from ordsim_core.pairwise.related import CAREFUL, SEPARATE

if TYPE_CHECKING:
    from ordsim_core.pairwise.pairing import Pairing

ROWS = 2048
"""Most rows for which it is done."""
SMALL = 2.0**-30
"""Deficits below this lose more than a few digits otherwise; judged by some pairs."""


def where_needed(pairing: Pairing, centred: bool, weight: Fraction | None = None) -> Pairing:
    """Give a pairing that computes changes in twice the precision if that is needed, and can be had.

    Parameters
    ----------
    pairing : Pairing
        Whose factor, if no weight is given, makes distances in y as large as those in x.
    centred : bool
        Whether a shift of all distances does not count.
    weight : Fraction or None
        What squared distances in y are multiplied with; None for the square of the factor.
    """
    euclidean = pairing.x.distance is Distance.EUCLIDEAN and pairing.y.distance is Distance.EUCLIDEAN
    rows = len(pairing.x)
    if pairing.relation.route != SEPARATE or not euclidean or not 2 < rows <= ROWS:
        return pairing
    if weight is None:
        weight = Fraction(pairing.factor) ** 2
    tried = replace(pairing, factor=float(weight) ** 0.5)
    entries = tried.listed_distances(*pilot.pairs(rows))
    apart = pilot.spread(entries.changes, Distance.EUCLIDEAN, centred=False) ** 2
    whole = pilot.spread(entries.of_x, Distance.EUCLIDEAN, centred) ** 2
    if not apart < 2 * SMALL * whole:
        return pairing
    high = float(weight)
    # Rows as they are stored: what is taken off would be rounded.
    relation = replace(
        pairing.relation, route=CAREFUL, centre_x=None, centre_y=None, weight=(high, float(weight - Fraction(high)))
    )
    return replace(pairing, relation=relation, factor=1.0)
