"""A look at some pairs before all are summed: what is taken off first, so that sums of squares keep their digits.

Whatever is taken off, the sums say the same; that it is close to the mean is what matters. It has few digits itself, so
that it does not depend on how some machine rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import sampling
from ordsim_core.distances import DIRECTIONAL, Distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairwise.entries import Entries
    from ordsim_core.pairwise.pairing import Pairing

CONSTANT = 2.0**-40
"""Distances that vary by less than this part of their mean do so by rounding: they count as all equal."""
DIRECTIONAL_SIZE = 2.0**-60
"""The mean of distances between directions counts as no smaller."""

BITS = 20
"""Digits that are kept of a mean."""
PAIRS = 2048
SEED = 0
ALL_ROWS = 64
"""Of so few rows all pairs are looked at."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What is taken off the means of both entries, and off their changes."""

    mean: float = 0.0
    change: float = 0.0


def pairs(rows: int, most: int = PAIRS) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give all pairs of few rows, or so many that are drawn at random, the same each time."""
    if rows <= ALL_ROWS:
        left, right = np.triu_indices(rows, 1)
        return left.astype(np.int64), right.astype(np.int64)
    drawn = sampling.triplets(SEED, 0, most, rows)
    return np.ascontiguousarray(drawn[:, 0]), np.ascontiguousarray(drawn[:, 1])


def look(entries: Entries) -> Pilot:
    """Give the means of these entries."""
    means = (entries.of_x + 0.5 * entries.changes).mean(), entries.changes.mean()
    return Pilot(*(_shortened(float(value)) for value in means))


def _shortened(value: float) -> float:
    fraction, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(fraction, BITS)), exponent - BITS)


def with_factor(pairing: Pairing, centred: bool) -> Pairing:
    """Give a pairing whose distances in y are multiplied so that they vary as much as those in x.

    Where y is x on another scale, the deficit would else be lost in a difference that is mostly scale.
    """
    if pairing.relation.joint or len(pairing.x) < 2:
        return pairing
    of_x, changes = pairing.listed_distances(*pairs(len(pairing.x)))
    of_y = of_x + changes
    spread_x, spread_y = (spread(part, side.distance, centred) for part, side in ((of_x, pairing.x), (of_y, pairing.y)))
    factor = spread_x / spread_y if spread_x > 0 and spread_y > 0 else 1.0
    return replace(pairing, factor=factor if 0 < factor < math.inf else 1.0)


def spread(entries: NDArray[np.float64], distance: Distance, centred: bool) -> float:
    """Give the root mean square, about the mean if `centred`; 0 for what is rounding."""
    mean = float(entries.mean())
    part = entries - mean if centred else entries
    found = math.sqrt(float(np.vdot(part, part)) / len(part))
    size = max(abs(mean) if centred else 0.0, least_size(distance))
    return found if found > CONSTANT * size else 0.0


def least_size(distance: Distance) -> float:
    """Say as how large distances count at least, when it is judged what is rounding: unit lengths are rounded."""
    return DIRECTIONAL_SIZE if distance in DIRECTIONAL else 0.0
