"""Statistics of permuted rows: what the scores of a job are calibrated with.

Position 0 of the walk is the identity, whose statistic is the observed one: it is computed as all others are, on the
same rows and the same sampling design, or the p-value would mean nothing. Positions 1, 2, ... are the permutations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import SerializeAsAny

from ordsim_core.calibration import stopping, values
from ordsim_core.calibration.aggregates import Kind as AggregateKind
from ordsim_core.calibration.aggregates import aggregate
from ordsim_core.calibration.errors import NonFiniteStatisticError
from workers import operands
from workers.errors import ProblemError
from workers.measures import cutting, grids, registry
from workers.measures.calibration import Calibration
from workers.measures.given import UndefinedStatistic
from workers.measures.grids import Basis
from workers.measures.orders import BETWEEN, ORDERS_BYTES, ranging
from workers.measures.ordinal_nulls import DesignStatistic
from workers.measures.protocol import GRID, Budget, Measure, MeasureOptions, PairShape, Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workers.measures.given import Grid, NullStatistic, Operand
    from workers.measures.orders import Orders
    from workers.measures.protocol import Checkpoint, Outcome, PairFacts

STATISTICS = "statistics"
REASON = "reason"
"""Why a shard has no statistics."""
ROWS = "rows"
"""Tally of the rows that take part, of the first shard."""
ENUMERATED = "enumerated"
"""Tally of shards that went through all permutations there are, instead of drawing some."""

SETUP_SHARE = 4
"""A shard permutes for so many times as long as it takes to get ready, which every shard does anew."""
EARLY_PERMUTATIONS = 32
"""Permutations of a shard, at least, where enough exceedances end the walk."""
COMMON_SECONDS = 2.0
"""Length of a shard, for an estimate."""
PARTIAL_BYTES = 64 * 1024**2
"""Most that a shard writes down."""


class PermutedOptions(MeasureOptions):
    """What is permuted, and how often.

    Attributes
    ----------
    inner : MeasureOptions
        The measure whose scores are calibrated.
    calibration : Calibration or None
        None for the observed statistics alone.
    layers : (int, int)
        Number of arrays of x and of y.
    aggregate : str
        Which summary of all their scores is set against the null.
    pairs : bool
        x and y are the same arrays, and only pairs of different ones count.
    """

    measure: Literal["permuted"] = "permuted"
    method: Literal["permuted"] = "permuted"
    inner: SerializeAsAny[MeasureOptions]
    calibration: Calibration | None
    layers: tuple[int, int] = (1, 1)
    aggregate: AggregateKind = "max"
    pairs: bool = False

    @property
    def innermost(self) -> MeasureOptions:
        """The measure whose scores are asked for."""
        return self.inner

    @property
    def label(self) -> tuple[str, str]:
        """The measure that is calibrated."""
        return self.inner.measure, self.inner.method if self.calibration is None else "calibration"

    @property
    def permutations(self) -> int:
        """How many are asked for."""
        return 0 if self.calibration is None else self.calibration.permutations


class Permuted(Measure):
    """The statistics of a measure under permutations of rows, between all arrays of x and all of y."""

    measure = "permuted"
    method = "permuted"
    title = "Statistics of permuted rows"
    minimum_rows = 2
    maximum_rows: int | None = None
    options: type[MeasureOptions] = PermutedOptions
    needs = GRID

    def rows_needed(self, options: PermutedOptions) -> int:
        """What the measure needs."""
        inner = registry.find(options.inner.measure, options.inner.method)
        return max(self.minimum_rows, inner.minimum_rows, inner.rows_needed(options.inner))

    def comparisons(self, shape: PairShape, options: PermutedOptions) -> int:
        """As many as the measure makes, for each permutation and each pair of arrays."""
        return (options.permutations + 1) * setting(shape, options, 0).comparisons

    def seconds(self, shape: PairShape, options: PermutedOptions) -> float:
        """What all permutations take, and what the shards take to get ready."""
        found = setting(shape, options, 0)
        shards = len(self.shards(shape, options, Budget(COMMON_SECONDS, 0)))
        return (options.permutations + 1) * found.each_seconds + shards * found.once_seconds

    def memory(self, shape: PairShape, options: PermutedOptions, budget: Budget) -> int:  # noqa: ARG002
        """What is kept of all arrays of x, and of one of y."""
        return setting(shape, options, 0).bytes

    def shards(self, shape: PairShape, options: PermutedOptions, budget: Budget) -> list[Shard]:
        """Cut the permutations up."""
        found = setting(shape, options, 0)
        seconds = max(EARLY_PERMUTATIONS * found.each_seconds, found.once_seconds)
        if not self.sequential(options):
            seconds = max(budget.seconds, SETUP_SHARE * found.once_seconds)
        # As many as make a partial of moderate size.
        most = max(1, PARTIAL_BYTES // (8 * options.layers[0] * options.layers[1]))
        seconds = min(seconds, most * found.each_seconds)
        return cutting.shards(options.permutations + 1, found.each_seconds, seconds, found.comparisons)

    def sequential(self, options: PermutedOptions) -> bool:
        """Whether enough exceedances end the walk."""
        return options.calibration is not None and options.calibration.early_stop is not None

    def partial(self, pair: Grid, shard: Shard, options: PermutedOptions, seed: int, checkpoint: Checkpoint) -> Partial:
        """Compute the statistics of a range of permutations, shape (permutations, arrays of x, arrays of y)."""
        found = setting(pair.shape, options, seed)
        kept = options.calibration is not None and options.calibration.scheme == BETWEEN
        grid = operands.subset(pair, found.rows, seed, whole_groups=kept)
        if grid.shape.rows < found.rows:  # whole groups
            found = setting(replace(pair.shape, rows=grid.shape.rows), options, seed)
        orders = ranging(options.calibration, grid, shard, seed)
        if orders.of_x and not found.statistic.symmetric:
            raise _one_sided(options)
        x, y = (grid.y, grid.x) if orders.of_x else (grid.x, grid.y)
        try:
            statistics = _statistics(found.statistic, x, y, orders, checkpoint, pairs=options.pairs)
        except UndefinedStatistic as error:
            return Partial(pieces={REASON: {shard.start: np.array([str(error)])}})
        if orders.of_x:
            statistics = statistics.swapaxes(1, 2)
        return Partial(
            pieces={STATISTICS: {shard.start: statistics}},
            tally={ENUMERATED: int(orders.enumerated), ROWS: grid.shape.rows if shard.index == 0 else 0},
        )

    def enough(self, total: Partial, pair: PairFacts, options: PermutedOptions, confidence: float) -> bool:  # noqa: ARG002
        """Whether so many permutations reach the observed statistic as were said to suffice."""
        if REASON in total.pieces:
            return True
        assert options.calibration is not None
        assert options.calibration.early_stop is not None  # it is sequential
        if total.tally[ENUMERATED]:
            return False
        found, _ = aggregate(options.aggregate, total.vector(STATISTICS))  # with `pairs`, 0 below the diagonal
        try:
            reached = values.reaches(found[0], found[1:], size=grids.rounded_at(total.tally[ROWS]))
        except NonFiniteStatisticError:
            return True  # more permutations would not mend it
        return stopping.stops_after(reached, options.calibration.early_stop.exceedances) is not None

    def finish(self, total: Partial, pair: PairFacts, options: PermutedOptions, confidence: float) -> Outcome:
        """Set the observed statistics against their nulls."""
        if REASON in total.pieces:
            return grids.undefined(str(total.vector(REASON)[0]))
        statistics, enumerated = total.vector(STATISTICS), bool(total.tally[ENUMERATED])
        found = setting(replace(pair.shape, rows=total.tally[ROWS]), options, 0)
        basis = Basis(found.statistic, found.rows, pair.shape.rows)
        try:
            return self._conclude(statistics, basis, options, enumerated, confidence)
        except NonFiniteStatisticError as error:
            return grids.undefined(f"{error}.")

    def _conclude(
        self, statistics: NDArray[Any], basis: Basis, options: PermutedOptions, enumerated: bool, confidence: float
    ) -> Outcome:
        if options.pairs and options.calibration is not None:
            return grids.conclude_pairs(
                statistics, basis, options.calibration, enumerated=enumerated, confidence=confidence
            )
        return grids.conclude(
            statistics, basis, options.calibration, options.aggregate, enumerated=enumerated, confidence=confidence
        )


PERMUTED = Permuted()
registry.register(PERMUTED, listed=False)


@dataclass(frozen=True)
class Setting:
    """What is computed for every permutation, and what that takes.

    Attributes
    ----------
    rows : int
        Rows that take part: all, or as many as are drawn.
    statistic : NullStatistic
    comparisons : int
        Of all pairs of arrays, for one permutation: what progress counts.
    once_seconds, each_seconds : float
        To get ready, and for one permutation.
    bytes : int
        Private memory.
    """

    rows: int
    statistic: NullStatistic
    comparisons: int
    once_seconds: float
    each_seconds: float
    bytes: int


def setting(shape: PairShape, options: PermutedOptions, seed: int) -> Setting:
    """Work out what is computed: from shape and options alone, so that it is the same everywhere.

    Raises
    ------
    ProblemError
        invalid-request if the measure has no statistic for permutations.
    """
    measure = registry.find(options.inner.measure, options.inner.method)
    calibration = options.calibration
    rows = shape.rows
    if calibration is not None and calibration.statistic_rows is not None:
        rows = min(rows, calibration.statistic_rows)
    own = calibration is None or calibration.statistic == "measure" or options.layers != (1, 1)
    found = measure.null(replace(shape, rows=rows), options.inner, seed, own=own)
    if calibration is None and isinstance(found, DesignStatistic):
        found = replace(found, permuting=False)
    limit = None if found is None else found.rows_limit
    if limit is not None and limit < rows:
        if calibration is None:
            raise ProblemError(
                "over-limit",
                f"{measure.measure} ({measure.method}) takes at most {limit} rows between layers, and there are "
                f"{rows}: select rows, or choose a sampled method.",
                "request",
            )
        rows = limit
        found = measure.null(replace(shape, rows=rows), options.inner, seed, own=own)
    if found is None:
        raise ProblemError(
            "invalid-request",
            f"{measure.measure} ({measure.method}) cannot be computed for permuted rows as it is: choose another "
            "method or estimator, or, to calibrate one comparison, the statistic 'fast'.",
            "request",
        )
    statistic = found
    x, y = options.layers
    return Setting(
        rows,
        statistic,
        x * y * (statistic.unit or rows * (rows - 1) // 2),
        max(x, y) * statistic.once_seconds,
        y * statistic.permuted_seconds + x * y * statistic.statistic_seconds,
        x * statistic.fixed_bytes + statistic.permutable_bytes + ORDERS_BYTES + 2 * PARTIAL_BYTES,
    )


def _one_sided(options: PermutedOptions) -> ProblemError:
    measure, method = options.inner.label
    return ProblemError(
        "undefined-permutation",
        "Groups have different sizes and only x is constant within them, so x would have to be permuted; but "
        f"{measure} ({method}) is not the same with x and y exchanged. Exchange the arrays yourself, or use groups of "
        "equal size.",
    )


def _statistics(
    statistic: NullStatistic,
    x: Sequence[Operand],
    y: Sequence[Operand],
    orders: Orders,
    checkpoint: Checkpoint,
    *,
    pairs: bool,
) -> NDArray[Any]:
    """Compute all statistics between x and permuted y, array by array of y, of which one at a time is held."""
    found = np.zeros((len(orders.numbers), len(x), len(y)), np.int64 if statistic.unit else np.float64)
    if not orders.numbers:
        return found
    fixed = [statistic.fixed(one, checkpoint) for one in x]
    for column, other in enumerate(y):
        before = fixed[:column] if pairs else fixed
        if before:
            permutable = statistic.permutable(other, checkpoint)
            for first, block in orders.blocks():
                checkpoint()
                made = statistic.statistics(before, permutable, block, checkpoint)
                found[first : first + len(block), : len(before), column] = made
    return found
