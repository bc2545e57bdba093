"""RSA: how well the distances of pairs of rows in x and in y are correlated, over all pairs or over sampled ones."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy import stats

from ordsim_core import sampling
from ordsim_core.pairwise import correlation_intervals, pair_ranking, rdm, relation, sampled_pairs, spearman
from ordsim_core.pairwise.pairing import Pairing
from ordsim_core.pairwise.pilot import Pilot
from ordsim_core.pairwise.rdm import RdmPlan, Sizes
from ordsim_core.pairwise.tiles import TileGrid
from ordsim_core.spaces import prepare
from workers import costs
from workers.measures import cutting, pair_tiles
from workers.measures.pair_tiles import FACTS, SUMS
from workers.measures.protocol import VALUES, Measure, MeasureOptions, NoInterval, Outcome, Shard
from workers.measures.sizes import Draws
from workers.measures.value_nulls import of_dissimilarities
from workers.partials import Partial, weaker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.cosine.cosine_form import Cosine
    from ordsim_core.intervals import Interval
    from workers.measures.given import NullStatistic, Values
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape

RANKED_SAMPLES = 10**7
"""Most samples that are ranked: both distances of each are kept."""
RANK_SUMS, DISTANCES = "rank sums", "distances"

Correlation = Literal["pearson", "spearman", "cosine"]


class RsaOptions(MeasureOptions):
    """Options of RSA.

    Attributes
    ----------
    correlation : str
        Of the distances: Pearson's, Spearman's (of their ranks, ties in the middle), or the cosine.
    """

    measure: Literal["rsa"]
    correlation: Correlation = "pearson"


class RsaExactOptions(RsaOptions):
    """Options of RSA over all pairs of rows."""

    method: Literal["exact"]


class RsaSampledOptions(RsaOptions):
    """Options of RSA over pairs of rows drawn independently.

    Attributes
    ----------
    samples : int
        Number of pairs drawn.
    """

    method: Literal["sampled"]
    samples: Annotated[Draws, Field(ge=2)]

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if self.correlation == "spearman" and self.samples > RANKED_SAMPLES:
            raise ValueError(f"samples must be at most {RANKED_SAMPLES} for spearman: all of them are ranked at once")
        return self


class _Rsa(Measure):
    measure = "rsa"
    minimum_rows = 3
    maximum_rows: int | None = sampling.ROWS_LIMIT - 1
    needs_symmetry = True
    needs = VALUES

    def null(self, shape: PairShape, options: RsaOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """The correlation over all pairs of rows."""
        if own and self.method != "exact":
            return None
        about = {"measure": "rsa", "method": "exact", "correlation": options.correlation}
        return of_dissimilarities(shape, about, options.correlation)


class RsaExact(_Rsa):
    """RSA over all N (N - 1) / 2 pairs of rows."""

    method = "exact"
    title = "Representational similarity analysis over all pairs of rows"
    options: type[MeasureOptions] = RsaExactOptions
    default = True

    def comparisons(self, shape: PairShape, options: RsaExactOptions) -> int:  # noqa: ARG002
        """Pairs of rows."""
        return comb(shape.rows, 2)

    def seconds(self, shape: PairShape, options: RsaExactOptions) -> float:
        """Estimate the time of all tiles; of ranks, that of putting all pairs into order."""
        if options.correlation == "spearman":
            return costs.prepare_seconds(shape) + costs.pass_seconds(shape) + costs.counting_seconds(shape)
        return comb(shape.rows, 2) * pair_tiles.pair_seconds(shape)

    def memory(self, shape: PairShape, options: RsaExactOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what a tile takes; ranks take that of all pairs, in one shard."""
        if options.correlation != "spearman":
            return pair_tiles.tile_bytes(shape)
        if shape.rows > pair_ranking.ROWS_LIMIT:
            return pair_tiles.UNAVAILABLE
        prepared = costs.pair_bytes(shape) + costs.preparing_bytes(shape)
        return prepared + costs.STRIP_BYTES + pair_ranking.PAIR_BYTES * comb(shape.rows, 2)

    def shards(self, shape: PairShape, options: RsaExactOptions, budget: Budget) -> list[Shard]:
        """Cut the tiles; ranks are of all pairs at once."""
        if options.correlation == "spearman":
            return [Shard(0, 0, 1, comb(shape.rows, 2))]
        return pair_tiles.shards(shape, pair_tiles.pair_seconds(shape), budget.seconds)

    def partial(
        self,
        pair: Values,
        shard: Shard,
        options: RsaExactOptions,
        seed: int,  # noqa: ARG002
        checkpoint: Checkpoint,
    ) -> Partial:
        """Sum over some tiles, or over the ranks of all pairs."""
        if options.correlation == "spearman":
            return _ranked(pair, checkpoint)
        plan = _plan(pair, options.correlation, checkpoint)
        tiles = TileGrid(len(pair.x)).tiles(shard.start, shard.stop)
        sums = rdm.sums_of(plan, tiles, checkpoint)
        return Partial(pieces={SUMS: {shard.start: sums}, FACTS: {shard.start: _facts(plan)}})

    def finish(self, total: Partial, pair: PairFacts, options: RsaExactOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Turn the sums into the correlation."""
        if options.correlation == "spearman":
            found = spearman.RankSums(*(total.tally[f"{RANK_SUMS} {name}"] for name in ("xx", "xy", "yy")))
            return _outcome(found.cosine(), precision=total.precision)
        shape, sums = pair.shape, total.vector(SUMS)
        pair_tiles.require_parts("rsa exact", sums, len(TileGrid(shape.rows)))
        pilot, route = _common("rsa exact", total)
        sizes = Sizes.of(shape.x_distance, shape.y_distance)
        cosine = rdm.combine(sums, shape.rows, pilot, options.correlation == "pearson", sizes).cosine()
        return _outcome(cosine, route)


class RsaSampled(_Rsa):
    """RSA over pairs of rows drawn independently, with an interval."""

    method = "sampled"
    title = "Representational similarity analysis from independently sampled pairs of rows"
    options: type[MeasureOptions] = RsaSampledOptions

    def comparisons(self, shape: PairShape, options: RsaSampledOptions) -> int:  # noqa: ARG002
        """Pairs that are drawn."""
        return options.samples

    def seconds(self, shape: PairShape, options: RsaSampledOptions) -> float:
        """Estimate the time of all samples."""
        return options.samples * pair_tiles.listed_seconds(shape)

    def memory(self, shape: PairShape, options: RsaSampledOptions, budget: Budget) -> int:
        """Bound what a block of samples takes, and the distances of a shard where these are kept."""
        rows = 8 * 8 * sampled_pairs.BLOCK * (shape.x_columns + shape.y_columns)
        longest = max(shard.comparisons for shard in self.shards(shape, options, budget))
        return pair_tiles.SCRATCH_BYTES + rows + (32 * longest if options.correlation == "spearman" else 0)

    def shards(self, shape: PairShape, options: RsaSampledOptions, budget: Budget) -> list[Shard]:
        """Cut the blocks of the stream."""
        block = sampled_pairs.BLOCK
        seconds = block * pair_tiles.listed_seconds(shape)
        found = cutting.shards(sampled_pairs.blocks(options.samples), seconds, budget.seconds, 1)
        ends = [min(options.samples, shard.stop * block) for shard in found]
        return [
            Shard(shard.index, shard.start, shard.stop, end - shard.start * block)
            for shard, end in zip(found, ends, strict=True)
        ]

    def partial(
        self, pair: Values, shard: Shard, options: RsaSampledOptions, seed: int, checkpoint: Checkpoint
    ) -> Partial:
        """Sum over some blocks of samples; where these are to be ranked, keep their distances."""
        plan = _plan(pair, options.correlation, checkpoint)
        parts = []
        for block in range(shard.start, shard.stop):
            checkpoint()
            if options.correlation == "spearman":
                parts.append(np.stack(sampled_pairs.distances(plan.pairing, seed, block, options.samples), axis=1))
            else:
                parts.append(sampled_pairs.moments(plan, seed, block, options.samples)[None])
        name = DISTANCES if options.correlation == "spearman" else SUMS
        return Partial(pieces={name: {shard.start: np.concatenate(parts)}, FACTS: {shard.start: _facts(plan)}})

    def finish(self, total: Partial, pair: PairFacts, options: RsaSampledOptions, confidence: float) -> Outcome:
        """Turn the sums into the correlation, with an interval that holds for many samples."""
        if options.correlation == "spearman":
            return self._ranked(total, options, confidence)
        parts = total.vector(SUMS)
        pair_tiles.require_parts("rsa sampled", parts, sampled_pairs.blocks(options.samples))
        pilot, route = _common("rsa sampled", total)
        centred = options.correlation == "pearson"
        sizes = Sizes.of(pair.shape.x_distance, pair.shape.y_distance)
        moments = sampled_pairs.add_up(parts)
        sums = rdm.from_moments(sampled_pairs.first_moments(moments), options.samples, pilot, centred, sizes)
        cosine = sums.cosine()
        fourth = sampled_pairs.about_means(moments, options.samples) if centred else moments
        interval = None
        if cosine.deficit is not None:
            interval = correlation_intervals.of_moments(sums, fourth, options.samples, cosine.deficit, confidence)
        return _outcome(cosine, route, interval=_interval(interval))

    def _ranked(self, total: Partial, options: RsaSampledOptions, confidence: float) -> Outcome:
        distances = total.vector(DISTANCES)
        pair_tiles.require_parts("rsa sampled", distances, options.samples)
        x, y = np.ascontiguousarray(distances.T)
        cosine = spearman.sums(_doubled_ranks(x), _doubled_ranks(y)).cosine()
        interval = None
        if cosine.deficit is not None:
            interval = correlation_intervals.of_ranks(x, y, cosine.deficit, confidence)
        return _outcome(cosine, interval=_interval(interval))


def _plan(pair: Values, correlation: Correlation, checkpoint: Checkpoint) -> RdmPlan:
    """Find what all tiles have in common, once in this process; arrays are not kept with it."""

    def compute() -> RdmPlan:
        x, y = relation.sides(pair.x, pair.y, pair.x_distance, pair.y_distance)
        found = relation.find(x, y, centred=False, scalable=True, checkpoint=checkpoint)
        plan = rdm.plan(Pairing(x, y, found), centred=correlation == "pearson")
        return plan.with_values(pair_tiles.emptied(pair.x), pair_tiles.emptied(pair.y))

    name = "pearson" if correlation == "pearson" else "cosine"
    return pair.memo(f"rsa-{name}", compute).with_values(pair.x, pair.y)


def _facts(plan: RdmPlan) -> NDArray[np.float64]:
    return pair_tiles.facts(plan.pilot.mean, plan.pilot.change, pair_tiles.route_number(plan.pairing.relation.route))


def _common(measure: str, total: Partial) -> tuple[Pilot, str]:
    mean, change, route = pair_tiles.common(measure, total)
    return Pilot(mean, change), pair_tiles.route_name(route)


def _ranked(pair: Values, checkpoint: Checkpoint) -> Partial:
    ranks, precision = [], None
    for values, distance in ((pair.x, pair.x_distance), (pair.y, pair.y_distance)):
        space = prepare(values, distance, checkpoint=checkpoint)
        precision = weaker(precision, space.precision.value)
        ranks.append(pair_ranking.doubled_ranks(space, checkpoint))
        del space
    sums = spearman.sums(*ranks)
    tally = {f"{RANK_SUMS} {name}": getattr(sums, name) for name in ("xx", "xy", "yy")}
    return Partial(tally=tally, precision=precision)


def _doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rank samples, ties in the middle: twice the rank, less twice the mean rank."""
    doubled: NDArray[np.int64] = np.rint(2 * stats.rankdata(values)).astype(np.int64)
    return doubled - (len(values) + 1)


def _interval(found: Interval | None) -> Interval | NoInterval:
    reason = "The samples show no variance from which the interval could be found: all agree as far as they can."
    return NoInterval(reason) if found is None else found


def _outcome(
    cosine: Cosine,
    route: str | None = None,
    interval: Interval | NoInterval | None = None,
    precision: str | None = None,
) -> Outcome:
    return Outcome(
        score=cosine.score,
        deficit=cosine.deficit,
        precision=precision,
        reason=cosine.reason,
        naive_deficit=cosine.naive_deficit,
        intervals={} if interval is None else {"sampling": interval},
        figures={} if route is None else {"route": route, "deficitFloor": cosine.floor},
    )


RSA = (RsaExact(), RsaSampled())
