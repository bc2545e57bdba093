"""CCA, SVCCA and PWCCA: blocks of rows give triangular factors, of which the last step makes angles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ordsim_core.correlations import canonical, factors, pilots
from ordsim_core.correlations.pilots import Layout
from ordsim_core.nulls.features import Kind
from workers import costs
from workers.measures.protocol import VALUES, Measure, MeasureOptions, Outcome, Shard
from workers.measures.value_nulls import FeatureStatistic
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from ordsim_core.correlations.canonical import Canonical
    from workers.measures.given import NullStatistic, Values
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape

FACTOR, X_CONSTANT, Y_CONSTANT = "factor", "x_constant", "y_constant"
"""The factor of every shard; and which columns are constant, from the first alone."""
SHARDS_LIMIT = 8
FACTORS_BYTES = 512 * costs.MEBIBYTE
"""Most bytes of factors that shards write into the ledger together, unless a single one is larger."""
ROWS_PER_COLUMN = 8
"""A shard has at least so many rows for each column of both sides: fewer, and joining factors takes as long."""
OPERATION = 0.1e-9
"""Seconds of one multiplication and addition of a rotation."""


class CcaOptions(MeasureOptions):
    """CCA has no options."""

    measure: Literal["cca"]
    method: Literal["exact"] = "exact"


class PwccaOptions(MeasureOptions):
    """PWCCA has no options."""

    measure: Literal["pwcca"]
    method: Literal["exact"] = "exact"


class SvccaOptions(MeasureOptions):
    """Options of SVCCA.

    Attributes
    ----------
    threshold : float
        Share of the variance that the leading components of each side hold together.
    """

    measure: Literal["svcca"]
    method: Literal["exact"] = "exact"
    threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.99


class CanonicalCorrelation(Measure):
    """One of the three, which differ in what they make of the same factor."""

    method = "exact"
    minimum_rows = 3
    maximum_rows: int | None = None
    needs = VALUES
    uses_distance = False
    default = True

    def __init__(
        self,
        measure: str,
        title: str,
        options: type[MeasureOptions],
        compare: Callable[[NDArray[np.float64], Layout, Any], Canonical],
    ) -> None:
        self.measure, self.title, self.options = measure, title, options
        self._compare = compare

    def comparisons(self, shape: PairShape, options: Any) -> int:  # noqa: ARG002
        """Pairs of rows, so that progress counts what others count."""
        return math.comb(max(shape.rows, 0), 2)

    def seconds(self, shape: PairShape, options: Any) -> float:  # noqa: ARG002
        """Estimate the rotations of all rows, of the factors of all shards, and the decompositions at the end."""
        width = _width(shape)
        joined = (len(_bounds(shape)) + 12) * min(width, shape.rows)
        return OPERATION * (shape.rows + joined) * width * width + costs.stage_seconds(0)

    def memory(self, shape: PairShape, options: Any, budget: Budget) -> int:  # noqa: ARG002
        """Bound copies of a block of rows, and of the factor, and what the survey reads at a time."""
        width = _width(shape)
        rows = min(factors.block_rows(width), shape.rows)
        return 8 * width * (4 * rows + 5 * min(width, shape.rows)) + 64 * costs.MEBIBYTE

    def shards(self, shape: PairShape, options: Any, budget: Budget) -> list[Shard]:  # noqa: ARG002
        """Cut the rows from shape alone: where factors are joined decides their last bits."""
        bounds = _bounds(shape)
        total = self.comparisons(shape, options)
        done = [total * stop // shape.rows for stop in bounds]
        return [
            Shard(index, start, stop, done[index] - (done[index - 1] if index else 0))
            for index, (start, stop) in enumerate(zip([0, *bounds], bounds, strict=False))
        ]

    def partial(self, pair: Values, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:  # noqa: ARG002
        """Give the factor of some rows."""
        pilot = pair.memo("correlation-pilot", lambda: pilots.survey(pair.x, pair.y, checkpoint))
        rows = slice(shard.start, shard.stop)
        pieces: dict[str, dict[int, NDArray[Any]]] = {
            FACTOR: {shard.start: factors.factor(pair.x[rows], pair.y[rows], pilot, checkpoint)}
        }
        if shard.start == 0:
            pieces |= {X_CONSTANT: {0: pilot.x.constant}, Y_CONSTANT: {0: pilot.y.constant}}
        return Partial(pieces=pieces)

    def null(self, shape: PairShape, options: Any, seed: int, *, own: bool) -> NullStatistic:  # noqa: ARG002
        """The score itself, from bases that are kept."""
        threshold = options.threshold if self.measure == "svcca" else None
        about = {"measure": self.measure} | ({} if threshold is None else {"threshold": threshold})
        return FeatureStatistic(shape, Kind.PWCCA if self.measure == "pwcca" else Kind.CCA, about, threshold)

    def finish(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> Outcome:  # noqa: ARG002
        """Join the factors, and compare what the columns span."""
        rows, factors_found = pair.shape.rows, total.pieces[FACTOR]
        if sorted(factors_found) != [0, *_bounds(pair.shape)[:-1]]:
            raise RuntimeError(f"{self.measure}: the factor of a shard is missing")
        upper = factors.fold_all((factors_found[start] for start in sorted(factors_found)), _width(pair.shape))
        layout = Layout(rows, total.vector(X_CONSTANT), total.vector(Y_CONSTANT))
        found = self._compare(upper, layout, options)
        return Outcome(
            score=found.score,
            deficit=found.deficit,
            reason=found.reason,
            naive_deficit=None if found.score is None else 1 - found.score,
            figures=_figures(found, truncated=self.measure == "svcca"),
            cautions=_cautions(found, rows, truncated=self.measure == "svcca"),
            artifacts={} if found.score is None else {"correlations": found.correlations},
        )


CCA = CanonicalCorrelation(
    "cca",
    "Mean canonical correlation",
    CcaOptions,
    lambda upper, layout, _: canonical.cca(upper, layout),
)
SVCCA = CanonicalCorrelation(
    "svcca",
    "Mean canonical correlation of leading singular components",
    SvccaOptions,
    lambda upper, layout, options: canonical.svcca(upper, layout, options.threshold),
)
PWCCA = CanonicalCorrelation(
    "pwcca",
    "Projection weighted mean canonical correlation, weighted by x",
    PwccaOptions,
    lambda upper, layout, _: canonical.pwcca(upper, layout),
)
CANONICAL = (CCA, SVCCA, PWCCA)


def _width(shape: PairShape) -> int:
    return 1 + shape.x_columns + shape.y_columns


def _bounds(shape: PairShape) -> list[int]:
    """Where shards end."""
    width = _width(shape)
    room = FACTORS_BYTES // (8 * width * min(width, max(shape.rows, 1)))
    number = max(1, min(SHARDS_LIMIT, room, shape.rows // (ROWS_PER_COLUMN * width)))
    return [shape.rows * index // number for index in range(1, number + 1)]


def _figures(found: Canonical, truncated: bool) -> dict[str, Any]:
    def sides(pair: tuple[Any, Any]) -> dict[str, Any]:
        return dict(zip(("x", "y"), pair, strict=True))

    finite = [condition if math.isfinite(condition) else None for condition in found.conditions]
    return {
        "components" if truncated else "ranks": sides(found.ranks),
        "columns": sides(found.columns),
        "constantColumns": sides(found.constant),
        "conditionNumbers": sides((finite[0], finite[1])),
        "correlations": len(found.correlations),
        "correlationsOneByNecessity": found.necessary,
        "deficitForm": "sines",
        "deficitFloor": found.floor if math.isfinite(found.floor) else None,
    }


def _cautions(found: Canonical, rows: int, truncated: bool) -> list[tuple[str, str]]:
    cautions = []
    sides = zip(("x", "y"), found.ranks, found.columns, found.constant, found.conditions, strict=True)
    for name, rank, columns, constant, condition in sides:
        if constant:
            what = f"{constant} of {columns} columns of {name} are constant and count for nothing."
            cautions.append(("constant-columns", what))
        if not truncated and 0 < rank < min(columns - constant, rows - 1):
            what = f"The {columns} columns of {name} have rank {rank}: the others are combinations of so many."
            cautions.append(("ill-conditioned", what))
        if canonical.ILL_CONDITIONED <= condition < math.inf:
            what = f"The condition number of {name} is {condition:.1e}: so much more than values correlations change."
            cautions.append(("ill-conditioned", what))
    if found.necessary and found.score is not None:
        what = (
            f"{found.necessary} of {len(found.correlations)} correlations are 1 whatever the values: {rows} rows are "
            f"too few for {found.ranks[0]} and {found.ranks[1]} dimensions."
        )
        cautions.append(("small-sample", what))
    return cautions
