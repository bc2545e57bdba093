"""CKA of the RBF kernel, and of the kernel that is minus the distance: over all pairs of rows, or over batches."""

from __future__ import annotations

from math import comb, sqrt
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ordsim_core import sampling
from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.pairwise import bandwidth, centred, kernel_matrices, rdm
from ordsim_core.pairwise.kernel_matrices import LEAST_DEBIASED
from ordsim_core.pairwise.pilot import Pilot
from ordsim_core.pairwise.tiles import TileGrid
from workers.measures import cutting, kernel_plans, pair_tiles
from workers.measures.batched import BATCHES_LIMIT, NO_GUARANTEE
from workers.measures.pair_tiles import EXPONENTIALS, FACTS, SUMS
from workers.measures.protocol import VALUES, Measure, MeasureOptions, NoInterval, Outcome, Shard
from workers.measures.value_nulls import of_kernel
from workers.partials import Partial

if TYPE_CHECKING:
    from ordsim_core.cosine.cosine_form import Cosine
    from workers.measures.given import NullStatistic, Values
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape

ROWS_LIMIT = 1 << 18
"""Rows of which all pairs are taken: what is kept of their tiles are a few gigabytes then."""
BATCH_LIMIT = 1 << 13
MEDIAN_ROWS = 1 << 14
"""Up to so many rows, batches too take the median of all distances as their bandwidth; else that of sampled pairs."""
MEDIAN_PAIRS = 1 << 20
RADIAL_FLOOR = 2.0**-200
"""Deficit that rounding of the ratio of two bandwidths, which is known to twice the precision, can leave."""

Bandwidth = Annotated[float, Field(ge=1e-100, le=1e100, strict=True, allow_inf_nan=False)]
Estimator = Literal["biased", "debiased", "minibatch"]


class CkaKernelOptions(MeasureOptions):
    """Options of CKA of a kernel that does not factor.

    Attributes
    ----------
    estimator : str
        Biased, debiased (HSIC1), or the debiased one summed over random batches (minibatch).
    batches : int or None
        Of minibatch alone: how many batches are drawn, independently of one another; None for as many as the rows make.
    batch_size : int or None
        Of minibatch alone: rows in a batch, all different.
    """

    measure: Literal["cka"]
    estimator: Estimator = "biased"
    batches: Annotated[int, Field(ge=1, le=BATCHES_LIMIT, strict=True)] | None = None
    batch_size: Annotated[int, Field(ge=LEAST_DEBIASED, le=BATCH_LIMIT, strict=True)] | None = None

    @model_validator(mode="after")
    def _batches_go_with_minibatch(self) -> Self:
        if self.estimator == "minibatch" and self.batch_size is None:
            raise ValueError("batch_size is missing: minibatch needs it")
        if self.estimator != "minibatch" and not (self.batches is None and self.batch_size is None):
            raise ValueError(f"batches and batch_size are of minibatch: leave them out with {self.estimator}")
        return self

    def drawn(self, rows: int) -> tuple[int, int] | None:
        """How many batches there are, and of how many rows, if batches are drawn of so many rows."""
        if self.batch_size is None:
            return None
        return (rows // self.batch_size if self.batches is None else self.batches), self.batch_size


class CkaRbfOptions(CkaKernelOptions):
    """Options of CKA of the RBF kernel exp(-d^2 / (2 sigma^2)).

    Attributes
    ----------
    bandwidth : "median" or float
        Sigma: on each side the median of the Euclidean distances of all pairs of rows, or this number on both.
    """

    method: Literal["rbf"]
    kernel: Literal["rbf"] = "rbf"
    bandwidth: Literal["median"] | Bandwidth = "median"


class CkaDistanceOptions(CkaKernelOptions):
    """Options of CKA of the kernel that is minus the distance asked for in each reference."""

    method: Literal["distance"]
    kernel: Literal["distance"] = "distance"


class CkaKernel(Measure):
    """CKA of two kernel matrices, biased, debiased or over batches."""

    measure = "cka"
    minimum_rows = 2
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1
    needs = VALUES
    chosen_by = "kernel"

    def __init__(self, kernel: Literal["rbf", "distance"], title: str, options: type[MeasureOptions]) -> None:
        self.method = kernel
        self.title = title
        self.options = options
        # Distances of the references have no part in an RBF kernel.
        self.needs_symmetry = self.uses_distance = kernel == "distance"

    def rows_needed(self, options: CkaKernelOptions) -> int:
        """As many as a batch has, and 4 for the debiased form."""
        if options.batch_size is not None:
            return options.batch_size
        return LEAST_DEBIASED if options.estimator == "debiased" else self.minimum_rows

    def comparisons(self, shape: PairShape, options: CkaKernelOptions) -> int:
        """Pairs of rows, of all batches together where there are batches."""
        batches, rows = options.drawn(shape.rows) or (1, shape.rows)
        return batches * comb(rows, 2)

    def seconds(self, shape: PairShape, options: CkaKernelOptions) -> float:
        """Estimate the time of all tiles, and of the pass that finds the medians."""
        return self.comparisons(shape, options) * self._pair_seconds(shape) + self._median_seconds(shape, options)

    def memory(self, shape: PairShape, options: CkaKernelOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what tiles take, and the pairs among which the median is found."""
        if options.batch_size is None and shape.rows > ROWS_LIMIT:
            return pair_tiles.UNAVAILABLE
        found = pair_tiles.tile_bytes(shape)
        if self._median_seconds(shape, options) > 0:
            # Sampled pairs leave about 5 in their root of all pairs to be looked through, and twice that to be sure.
            pairs, drawn = comb(shape.rows, 2), bandwidth.sampled(shape.rows)
            found += 2 * 48 * int(pairs * min(1.0, 5 / sqrt(drawn)))
        if options.batch_size is not None:
            found += 32 * shape.rows + 2 * 8 * options.batch_size * (shape.x_columns + shape.y_columns)
        return found

    def shards(self, shape: PairShape, options: CkaKernelOptions, budget: Budget) -> list[Shard]:
        """Cut the tiles, or the batches."""
        drawn = options.drawn(shape.rows)
        if drawn is None:
            return pair_tiles.shards(shape, self._pair_seconds(shape), budget.seconds)
        batches, size = drawn
        return cutting.shards(batches, comb(size, 2) * self._pair_seconds(shape), budget.seconds, comb(size, 2))

    def partial(self, pair: Values, shard: Shard, options: Any, seed: int, checkpoint: Checkpoint) -> Partial:
        """Sum over some tiles, or over some batches."""
        prepared = self._prepared(pair, options, checkpoint)
        plan = prepared.plan
        if plan is None:
            return Partial(pieces={FACTS: {shard.start: kernel_plans.facts_of(prepared)}})
        plan = plan.with_values(pair.x, pair.y)
        if options.batch_size is None:
            tiles = TileGrid(len(pair.x)).tiles(shard.start, shard.stop)
            sums = kernel_matrices.sums_of(plan, tiles, checkpoint)
        else:
            found = []
            for index in range(shard.start, shard.stop):
                checkpoint()
                batch = sampling.batch(seed, index, options.batch_size, len(pair.x))
                one = kernel_matrices.batch_sums(plan, batch)
                found.append((one.m2, one.t, one.q))
            sums = np.array(found)
        return Partial(pieces={SUMS: {shard.start: sums}, FACTS: {shard.start: kernel_plans.facts_of(prepared)}})

    def null(self, shape: PairShape, options: Any, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """The score from centred kernel matrices; for batches that of all rows, debiased."""
        if own and options.estimator == "minibatch":
            return None
        debiased = options.estimator != "biased"
        about = {"measure": "cka", "kernel": self.method, "estimator": "debiased" if debiased else "biased"}
        given = None if self.method != "rbf" or options.bandwidth == "median" else float(options.bandwidth)
        return of_kernel(shape, about, radial=self.method == "rbf", bandwidth=given, debiased=debiased)

    def finish(self, total: Partial, pair: PairFacts, options: Any, confidence: float) -> Outcome:  # noqa: ARG002
        """Centre the sums, which makes the score."""
        name, rows = f"cka {self.method}", pair.shape.rows
        mean, change, sigma_x, sigma_y, route, factor, *least = pair_tiles.common(name, total)
        figures: dict[str, Any] = {"bandwidthX": sigma_x, "bandwidthY": sigma_y} if self.method == "rbf" else {}
        if self.method == "rbf" and self._sampled_median(pair.shape, options):
            figures["bandwidthPairs"] = MEDIAN_PAIRS
        drawn = options.drawn(rows)
        intervals = {} if drawn is None else {"sampling": NoInterval(NO_GUARANTEE)}
        if factor == 0:
            return Outcome(None, None, reason=_no_bandwidth(sigma_x, sigma_y), intervals=intervals, figures=figures)
        sums, pilot = total.vector(SUMS), Pilot(mean, change)
        if drawn is not None:
            pair_tiles.require_parts(name, sums, drawn[0])
            found = CosineSums.total(CosineSums(*row) for row in sums.tolist())
        else:
            form = centred.debiased if options.estimator == "debiased" else centred.biased
            found = form(centred.total(rows, sums), pilot, rdm.Sizes(*least))
        cosine = found.cosine()
        return Outcome(
            score=cosine.score,
            deficit=cosine.deficit,
            reason=cosine.reason,
            naive_deficit=cosine.naive_deficit,
            intervals=intervals,
            figures=figures | {"route": pair_tiles.route_name(route), "deficitFloor": self._floor(cosine)},
        )

    def _floor(self, cosine: Cosine) -> float:
        return max(cosine.floor, RADIAL_FLOOR) if self.method == "rbf" else cosine.floor

    def _pair_seconds(self, shape: PairShape) -> float:
        if self.method == "rbf":
            return pair_tiles.pair_seconds(pair_tiles.euclidean(shape)) + EXPONENTIALS
        return pair_tiles.pair_seconds(shape)

    def _median_seconds(self, shape: PairShape, options: Any) -> float:
        """Estimate the time of the pass over all tiles that finds the medians; 0 if there is none."""
        if self.method != "rbf" or options.bandwidth != "median" or self._sampled_median(shape, options):
            return 0.0
        return comb(shape.rows, 2) * pair_tiles.pair_seconds(pair_tiles.euclidean(shape))

    def _sampled_median(self, shape: PairShape, options: Any) -> bool:
        return options.batch_size is not None and options.bandwidth == "median" and shape.rows > MEDIAN_ROWS

    def _prepared(self, pair: Values, options: Any, checkpoint: Checkpoint) -> kernel_plans.Prepared:
        """Find what all shards have in common, once in this process; arrays are not kept with it."""
        if self.method == "distance":
            return pair.memo("cka-distance", lambda: kernel_plans.of_distances(pair, checkpoint))
        if options.bandwidth != "median":
            name = f"cka-rbf-{options.bandwidth!r}"
            return pair.memo(name, lambda: kernel_plans.of_bandwidth(pair, options.bandwidth, checkpoint))
        sampled = MEDIAN_PAIRS if self._sampled_median(pair.shape, options) else None
        return pair.memo(f"cka-rbf-median-{sampled}", lambda: kernel_plans.of_medians(pair, sampled, checkpoint))


def _no_bandwidth(sigma_x: float, sigma_y: float) -> str:
    side = "x and in y" if sigma_x == 0 and sigma_y == 0 else ("x" if sigma_x == 0 else "y")
    return (
        f"the median distance of rows in {side} is 0, for more than half of all pairs of rows are equal: there is no "
        "bandwidth; send one as a number"
    )


CKA_KERNELS = (
    CkaKernel("rbf", "Centred kernel alignment of RBF kernels", CkaRbfOptions),
    CkaKernel("distance", "Centred kernel alignment of distances", CkaDistanceOptions),
)
