"""Which way to the sums is taken, decided before all rows are read, from a few of them and from shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.cosine import exact_gram, tiles
from ordsim_core.cosine.alignment import RANGE, Alignment, Reader, Survey, survey, unaligned
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.errors import ZeroVectorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.cosine.gram_sums import GramSums, StatisticSums

PILOT_ROWS = 128
"""Rows, evenly spread, from which condition numbers are estimated."""
SCALE_LIMIT = 8.0
"""Condition number above which the smaller array is stretched: below it, less than a digit is lost."""
ROTATION_LIMIT = 1e4
"""Condition number above which moments would lose more than the twelfth digit."""
SHORT = 2.0**-48
"""Relative distance within which a factor counts as one of 24 bits: rounding of the norms that it comes from."""
FACTOR_LIMIT = 1e30
BLIND = 1e-12
"""Squared norm of the smaller array, to that of the larger, below which it was not seen."""
RESOLVED = 1e-12
"""Relative error of a deficit that is worth whole-number arithmetic, where that is quick."""
ROUNDOFF = 2.0**-53


class Route(StrEnum):
    """How sums over Gram matrices are computed."""

    MOMENTS = "moments"
    FACTORS = "tsqr"
    TILES = "tiles"
    EXACT = "exact"


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """What every block needs to know of the whole.

    Attributes
    ----------
    survey : Survey
        How rows are aligned, and which array is constant.
    route : Route
    statistic : Statistic
    """

    survey: Survey
    route: Route
    statistic: Statistic

    @property
    def alignment(self) -> Alignment:
        """How rows are aligned."""
        return self.survey.alignment


def prepare(
    x: NDArray[Any],
    y: NDArray[Any],
    statistic: Statistic,
    checkpoint: Callable[[], None] = lambda: None,
    route: Route | None = None,
    unit_rows: bool = False,
) -> LinearPlan:
    """Look at some rows, then at all of them once: a pure function of the arrays.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Finite values of any real type and in any layout; columns may differ in number.
    statistic : Statistic
        What the sums are for.
    checkpoint : callable
        Called about every tenth of a second.
    route : Route or None
        Take this one, whatever the condition numbers are.
    unit_rows : bool
        As of `Alignment`.

    Raises
    ------
    ValueError
        If the arrays are not two-dimensional with equally many rows, or have too few for the statistic.
    """
    _check(x, y, statistic)
    with np.errstate(all="ignore"):  # the pilot of values that are out of range is thrown away
        # Each row is scaled for itself, so that the spread of what is left says nothing of the range.
        powers = (_extreme_power(x), _extreme_power(y)) if unit_rows else (0, 0)
        pilot = _pilot(x, y, powers, unit_rows)
        found = survey(x, y, pilot[0], checkpoint)
        if not all(_within_range(spread) for spread in found.spread):
            pilot = _pilot(x, y, (_power(x), _power(y)), unit_rows)
            found = survey(x, y, pilot[0], checkpoint)
        if not (unit_rows or any(found.constant)) and _blind(pilot[1]):
            found = survey(x, y, _stretched(x, y, pilot[0], found.spread), checkpoint)
    if route is None:
        exact = not unit_rows and not any(found.constant)
        route = _route(len(x), found.alignment.columns, pilot[1], statistic, exact)
    return LinearPlan(found, route, statistic)


def relative_error(route: Route, found: StatisticSums) -> float:
    """Estimate how far rounding moved the deficit, relative to it: what tests show, with room, not a bound."""
    if route is Route.EXACT:
        return 4 * ROUNDOFF
    turning = found.kappa_rotation if route is Route.MOMENTS else math.sqrt(found.kappa_rotation)
    return 32 * ROUNDOFF * max(turning, found.kappa_scale, found.kappa_norm)


def _route(rows: int, columns: int, pilot: GramSums, statistic: Statistic, exact: bool) -> Route:
    # Two rows give equal Gram matrices up to a factor, whatever they are.
    unresolved = rows == 2 or relative_error(Route.TILES, pilot.of(statistic)) > RESOLVED
    if exact and unresolved and rows * rows * columns <= exact_gram.PRODUCTS_LIMIT:
        return Route.EXACT
    well = pilot.of(Statistic.BIASED).kappa_rotation <= ROTATION_LIMIT
    if rows <= (columns if well else 2 * columns):
        return Route.TILES
    return Route.MOMENTS if well else Route.FACTORS


def _pilot(x: NDArray[Any], y: NDArray[Any], powers: tuple[int, int], unit_rows: bool) -> tuple[Alignment, GramSums]:
    """Align a few rows, and sum over their Gram matrices."""
    count = min(len(x), PILOT_ROWS)
    chosen = np.arange(count) * len(x) // count
    some_x, some_y = x[chosen], y[chosen]
    try:
        begun = unaligned(some_x, some_y, powers, unit_rows=unit_rows)
        alignment, sums = _few(some_x, some_y, begun)
    except ZeroVectorError as error:
        raise ZeroVectorError(int(chosen[error.row]), "correlation") from None
    if not unit_rows and sums.whole.kappa_scale > SCALE_LIMIT:
        factor, x_larger = _factor(some_x, some_y, begun)
        if factor != 1:
            begun = unaligned(some_x, some_y, powers, factor, x_larger)
            alignment, sums = _few(some_x, some_y, begun)
    return replace(alignment, rows=len(x)), sums


def _blind(pilot: GramSums) -> bool:
    """Whether one array, of which not all rows are equal, shows nothing of it in the pilot."""
    whole, lean = float(pilot.whole.m2 + pilot.whole.q / 4), abs(float(pilot.whole.t))
    return not whole - lean > BLIND * whole


def _stretched(x: NDArray[Any], y: NDArray[Any], pilot: Alignment, spread: tuple[float, float]) -> Alignment:
    """Align arrays by their largest values, roughly."""
    of_x, of_y = spread
    factor = 2.0 ** round(abs(math.log2(of_y / of_x)))
    begun = unaligned(x[:1], y[:1], pilot.powers, factor, of_x > of_y, pilot.unit_rows)
    return replace(begun, rows=len(x))


def _few(x: NDArray[Any], y: NDArray[Any], begun: Alignment) -> tuple[Alignment, GramSums]:
    alignment = survey(x, y, begun, lambda: None).alignment
    return alignment, tiles.gram_sums(*Reader(x, y, alignment, len(x)).read(slice(None)))


def _factor(x: NDArray[Any], y: NDArray[Any], begun: Alignment) -> tuple[float, bool]:
    """Give what stretches the smaller array to the size of the other, and whether x is the larger."""
    sizes = []
    for side in Reader(x, y, begun, len(x)).widened(slice(None)):
        centred = side - side[0]
        sizes.append(float(np.linalg.norm(centred - centred.mean(axis=0))))
    size_x, size_y = sizes
    if not (0 < size_x < math.inf and 0 < size_y < math.inf):
        return 1.0, False
    factor = max(size_x, size_y) / min(size_x, size_y)
    # Of an exact multiple by a short number, rounding must not hide that nothing differs.
    short = float(np.float32(factor)) if factor < FACTOR_LIMIT else factor
    return short if abs(short - factor) <= SHORT * factor else factor, size_x > size_y


def _within_range(spread: float) -> bool:
    return spread == 0 or (math.isfinite(spread) and abs(math.frexp(spread)[1]) <= RANGE)


def _extreme_power(values: NDArray[Any]) -> int:
    power = _power(values)
    return power if abs(power) > RANGE else 0


def _power(values: NDArray[Any]) -> int:
    """Give the power of two that brings the largest magnitude to about 1."""
    largest = max(float(np.abs(values[start : start + 4096]).max()) for start in range(0, len(values), 4096))
    return -math.frexp(largest)[1]


def _check(x: NDArray[Any], y: NDArray[Any], statistic: Statistic) -> None:
    for name, values in (("x", x), ("y", y)):
        if values.ndim != 2 or values.shape[1] == 0:
            raise ValueError(f"{name} must have two dimensions and at least one column, its shape is {values.shape}")
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} rows and y has {len(y)}; they must be the same rows")
    if len(x) < statistic.minimum_rows:
        raise ValueError(f"{statistic} needs at least {statistic.minimum_rows} rows, there are {len(x)}")
