"""Differences of two scores of a matrix, each of the same array x with another: intervals and p-values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic.alias_generators import to_camel

from ordsim_core import coincidence, drawing, triplets
from ordsim_core.counts import AgreementCounts
from ordsim_core.nulls import differences, profiles
from ordsim_core.nulls.differences import DifferenceInterval, ExactScore, JackknifeDifference
from workers import costs
from workers.measures import cutting
from workers.measures.protocol import Shard
from workers.measures.tsi_exact import COINCIDENT_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.profiles import Profile
    from ordsim_core.spaces import Space
    from workers.measures.given import Grid
    from workers.measures.matrices import MatrixOptions
    from workers.measures.protocol import Checkpoint, PairShape
    from workers.partials import Partial

JACKKNIFE_ROWS = 20_000
"""Up to so many rows all triplets are counted, for the jackknife on differences of TSI."""
FIGURES = "differences"
"""Of each difference: itself, low, high; of its jackknife low, high, standard error and p-value, NaN where none."""
METHODS = "methods"
"""Of each difference: the method of its interval and of its jackknife, empty where none."""
TOO_MANY = f"The jackknife on a difference counts all triplets, of {JACKKNIFE_ROWS} rows at most."
OF_QUADRUPLETS = "There is no jackknife on differences of QSI: send tsi."
FEW_GROUPS = "A jackknife over groups needs at least 3 of them."
FEW_ROWS = 4
"""A jackknife over rows needs so many for a variance."""


@dataclass(frozen=True)
class Contrast:
    """One difference.

    Attributes
    ----------
    difference : float
    sampling : DifferenceInterval
        Of the difference of the scores of these rows.
    jackknife : JackknifeDifference or None
        Of the population's.
    """

    difference: float
    sampling: DifferenceInterval
    jackknife: JackknifeDifference | None


@dataclass(frozen=True)
class Contrasts:
    """What differences have in common: the array x, and the reference whose score is taken off."""

    grid: Grid
    options: MatrixOptions
    profile: Callable[[int], Profile]
    seed: int
    checkpoint: Checkpoint

    def of(self, other: int) -> Contrast:
        """Compare the score of x and `other` with that of x and the reference."""
        assert self.options.difference is not None
        x, reference = (self.profile(place) for place in self.options.difference)
        a, b = (profiles.agreeing_by_unit(x, one) for one in (self.profile(other), reference))
        sampling = differences.sampled(a, b, x.design.each, self.options.confidence)
        difference = int((a - b).sum()) / x.design.comparisons
        return Contrast(difference, sampling, self._jackknife(other))

    def _jackknife(self, other: int) -> JackknifeDifference | None:
        groups = self.grid.groups
        if without_jackknife(self.options, self.grid.shape.rows, groups) is not None:
            return None
        coincident = None
        if groups is not None and self._coincident_reference.comparisons:
            coincident = (self._coincident(self.grid.y[other].space()), self._coincident_reference)
        return differences.jackknifed(
            self._exact(self.grid.y[other].space()), self._reference, self.options.confidence, groups, coincident
        )

    @cached_property
    def _x(self) -> Space:
        assert self.options.difference is not None
        return self.grid.x[self.options.difference[0]].space()

    @cached_property
    def _reference_space(self) -> Space:
        assert self.options.difference is not None
        return self.grid.y[self.options.difference[1]].space()

    @cached_property
    def _reference(self) -> ExactScore:
        return self._exact(self._reference_space)

    @cached_property
    def _coincident_reference(self) -> AgreementCounts:
        return self._coincident(self._reference_space)

    def _exact(self, other: Space) -> ExactScore:
        """Count all triplets of x and another array, by anchor and by target."""
        x, rows = self._x, self.grid.shape.rows
        agreeing, targets = np.empty(rows, np.int64), np.zeros(rows, np.int64)
        counts = AgreementCounts()
        for start, stop in cutting.tiles(Shard(0, 0, rows, 0), costs.anchor_seconds(self.grid.shape)):
            self.checkpoint()
            block = triplets.exact_block(x, other, start, stop, per_target=True)
            assert block.targets is not None
            agreeing[start:stop] = block.agreeing
            targets += block.targets
            counts += block.counts
        return ExactScore(agreeing, targets, counts)

    def _coincident(self, other: Space) -> AgreementCounts:
        """Sample the comparisons of rows that are not of three different groups: the same ones for all arrays."""
        groups = self.grid.groups
        if groups is None or coincidence.population(np.bincount(groups)) == 0:
            return AgreementCounts()
        drawn = coincidence.triplets(groups, self.seed, COINCIDENT_SAMPLES).take((0, 1, 0, 2), axis=1)
        return drawing.count_tuples(self._x, other, lambda start, stop: drawn[start:stop], 0, len(drawn)).counts


def without_jackknife(options: MatrixOptions, rows: int, groups: NDArray[np.int64] | None) -> str | None:
    """Say why there is no jackknife; None if there is."""
    if options.inner.measure != "tsi":
        return OF_QUADRUPLETS
    if rows > JACKKNIFE_ROWS:
        return TOO_MANY
    if rows < FEW_ROWS:
        return f"A jackknife over rows needs at least {FEW_ROWS} of them."
    if groups is not None and len(np.unique(groups)) < 3:
        return FEW_GROUPS
    return None


def seconds(shape: PairShape, options: MatrixOptions) -> float:
    """Estimate the time of one difference beyond that of its profiles."""
    counted = options.inner.measure == "tsi" and shape.rows <= JACKKNIFE_ROWS
    return shape.rows * costs.anchor_seconds(shape) if counted else 0.0


def pieces(found: Sequence[Contrast], first: int) -> dict[str, dict[int, NDArray[Any]]]:
    """Write differences down."""
    table = np.full((len(found), 7), np.nan)
    methods = []
    for row, one in zip(table, found, strict=True):
        row[:3] = one.difference, one.sampling.low, one.sampling.high
        if one.jackknife is not None:
            p_value = np.nan if one.jackknife.p_value is None else one.jackknife.p_value
            row[3:] = one.jackknife.low, one.jackknife.high, one.jackknife.standard_error, p_value
        methods.append((one.sampling.method, "" if one.jackknife is None else one.jackknife.method))
    return {FIGURES: {first: table}, METHODS: {first: np.array(methods)}}


def shown(total: Partial, options: MatrixOptions, rows: int, groups: NDArray[np.int64] | None) -> list[dict[str, Any]]:
    """All differences under the contract's names."""
    assert options.difference is not None  # or there would be nothing to show
    reason = without_jackknife(options, rows, groups)
    unit = "row" if groups is None else "group"
    found = []
    table, methods = total.vector(FIGURES).tolist(), total.vector(METHODS).tolist()
    for array, figures, (sampling, jackknife) in zip(options.others, table, methods, strict=True):
        difference, low, high, least, most, error, p_value = figures
        entry: dict[str, Any] = {
            "array": array,
            "x": options.difference[0],
            "reference": options.difference[1],
            "difference": difference,
            "sampling": _interval(DifferenceInterval(low, high, sampling, options.confidence, True)),
        }
        if reason is None:
            bounds = DifferenceInterval(least, most, jackknife, options.confidence, False)
            entry["jackknife"] = {**_interval(bounds), "standardError": error, "unit": unit}
            entry["pValue"] = None if np.isnan(p_value) else p_value
            if entry["pValue"] is None:
                entry["reason"] = "The scores do not differ from row to row, so there is no standard error."
        else:
            entry |= {"jackknife": None, "pValue": None, "reason": reason}
        found.append(entry)
    return found


def _interval(bounds: DifferenceInterval) -> dict[str, Any]:
    return {to_camel(name): value for name, value in asdict(bounds).items()}
