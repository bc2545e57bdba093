"""Exact QSI: all pairs of rows compared with all others, less the triplets among them.

Three kinds of shards: blocks of anchors, whose triplets are taken off; strips of pairs by their distance in x; strips
by their distance in y. Each shard of strips goes over all pairs once and keeps its own, in memory if they fit, else
in files of this node; nothing travels between shards but counts.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial as bind
from typing import TYPE_CHECKING, Literal

from ordsim_core import intervals, quadruplets, strips, triplets
from ordsim_core.strip_counts import MARKS
from ordsim_core.strip_records import MemoryStore
from workers import costs, spilling
from workers.environment import from_environment
from workers.measures import cutting, ordinal_nulls
from workers.measures.checks import require_all_comparisons
from workers.measures.ordinal import QSI, outcome, to_partial, with_population
from workers.measures.protocol import Measure, MeasureOptions, Shard
from workers.measures.sizes import Never
from workers.partials import UNCERTIFIED, Partial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ordsim_core.strip_records import Store
    from ordsim_core.strips import StripCounts, StripPlan
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, Outcome, PairFacts, PairShape

ROWS_LIMIT = 100_000
"""5e9 pairs: 120 GB of local disk, and 180 MB of cells, how many pairs strips in x and in y have in common."""
CELLS_BYTES = 64 * costs.MEBIBYTE
"""Cells that a shard of strips in x counts and writes into the ledger."""
CELLS = "cells"
STRIP_TALLY = ("discordant", "tied_x", "tied_y", "tied_both", "mark")
"""Names of what strips add up, as in `strips.StripCounts`."""


class QsiExactOptions(MeasureOptions):
    """Options of exact QSI."""

    measure: Literal["qsi"]
    method: Literal["exact"]
    per_anchor: Never = False


@dataclass(frozen=True)
class Layout:
    """Where the kinds of shards lie in the walk: `rows` anchors, then strips in x, then strips in y.

    `groups` shards of strips a side; each goes over all pairs.
    """

    plan: StripPlan
    groups: int

    @property
    def rows(self) -> int:
        """Anchors, at the beginning."""
        return self.plan.rows

    @property
    def end(self) -> int:
        """Length of the walk."""
        return self.rows + self.plan.x + (0 if self.plan.single else self.plan.y)

    def bounds(self) -> list[tuple[int, int]]:
        """Give the ranges of all shards of strips."""
        found = []
        for start, length in ((self.rows, self.plan.x), (self.rows + self.plan.x, self.end - self.rows - self.plan.x)):
            cuts = [start + length * group // self.groups for group in range(self.groups + 1)]
            found += [(one, other) for one, other in itertools.pairwise(cuts) if other > one]
        return found


class QsiExact(Measure):
    """QSI over all 3 C(N, 4) comparisons."""

    measure = "qsi"
    method = "exact"
    title = "Quadruplet Similarity Index over all quadruplets"
    minimum_rows = 4
    maximum_rows: int | None = ROWS_LIMIT
    needs_symmetry = True
    options: type[MeasureOptions] = QsiExactOptions

    def comparisons(self, shape: PairShape, options: QsiExactOptions) -> int:  # noqa: ARG002
        """All there are."""
        return QSI.population(shape.rows)

    def seconds(self, shape: PairShape, options: QsiExactOptions) -> float:  # noqa: ARG002
        """Estimate the time of the triplets, of all passes over all pairs, and of counting strips."""
        layout = _layout(shape, 1.0)
        passes = len(layout.bounds())
        return (
            shape.rows * costs.anchor_seconds(shape)
            + passes * costs.pass_seconds(shape)
            + costs.counting_seconds(shape)
        )

    def memory(self, shape: PairShape, options: QsiExactOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what one strip takes to be counted, and the pairs of a shard where they stay in memory."""
        layout = _layout(shape, budget.seconds)
        count = -(-layout.plan.x // layout.groups)
        in_memory = _memory_bytes(shape, layout.plan, count)
        counting = in_memory if in_memory <= budget.memory_bytes else _counting_bytes(layout.plan, count)
        return max(counting, costs.anchor_bytes(shape))

    def shards(self, shape: PairShape, options: QsiExactOptions, budget: Budget) -> list[Shard]:  # noqa: ARG002
        """Cut the anchors as exact TSI does, and the strips so that a shard counts as long as it looks for them."""
        layout = _layout(shape, budget.seconds)
        anchors = cutting.shards(shape.rows, costs.anchor_seconds(shape), budget.seconds, 1)
        ranges = [(shard.start, shard.stop) for shard in anchors] + layout.bounds()
        # Progress counts comparisons: every shard stands for as many as its share of the time.
        until = list(itertools.accumulate((shard_seconds(shape, layout, *found) for found in ranges), initial=0.0))
        population = QSI.population(shape.rows)
        done = [min(population, int(population * (seconds / until[-1]))) for seconds in until[:-1]] + [population]
        return [Shard(index, start, stop, done[index + 1] - done[index]) for index, (start, stop) in enumerate(ranges)]

    def partial(
        self,
        pair: Pair,
        shard: Shard,
        options: QsiExactOptions,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        checkpoint: Checkpoint,
    ) -> Partial:
        """Count the triplets of some anchors, or some strips."""
        shape = pair.shape
        plan = strips.plan(shape.rows)
        if shard.start < plan.rows:
            blocks = []
            for start, stop in cutting.tiles(shard, costs.anchor_seconds(shape)):
                checkpoint()
                blocks.append(triplets.exact_block(pair.x, pair.y, start, stop))
            return to_partial(blocks)
        in_x = shard.start < plan.rows + plan.x
        first = shard.start - plan.rows - (0 if in_x else plan.x)
        last = first + shard.stop - shard.start
        with _store(shape, plan, last - first) as store:
            if in_x:
                found = strips.x_strips(pair.x, pair.y, plan, first, last, store, checkpoint)
                return Partial(pieces={CELLS: {first: found.cells}}, tally=_tally(found.counts))
            return Partial(tally=_tally(strips.y_strips(pair.x, pair.y, plan, first, last, store, checkpoint)))

    def null(self, shape: PairShape, options: QsiExactOptions, seed: int, *, own: bool) -> NullStatistic:  # noqa: ARG002
        """All quadruplets, or a design of units."""
        return ordinal_nulls.of_everything(QSI, shape, seed, own=own)

    def finish(self, total: Partial, pair: PairFacts, options: QsiExactOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Score all comparisons; nothing was sampled, so the sampling interval is a point."""
        rows = pair.shape.rows
        discordant, tied_x, tied_y, tied_both, mark = (total.tally[name] for name in STRIP_TALLY)
        found = strips.StripCounts(discordant, tied_x, tied_y, tied_both, mark % MARKS)
        everything = strips.agreement(strips.plan(rows), found, total.vector(CELLS))
        counts, moved = quadruplets.without_triplets(everything, total.counts)
        require_all_comparisons("qsi exact", counts, QSI.population(rows))
        counted = Partial(counts, tally={**total.tally, UNCERTIFIED: total.tally[UNCERTIFIED] + moved})
        bounds = with_population(QSI, pair, confidence, bind(intervals.exact, counts))
        return outcome(QSI, counted, pair, bounds)


def shard_seconds(shape: PairShape, layout: Layout, start: int, stop: int) -> float:
    """Estimate the time of one shard."""
    if start < layout.rows:
        return (stop - start) * costs.anchor_seconds(shape)
    return costs.pass_seconds(shape) + costs.counting_seconds(shape) * (stop - start) / (layout.end - layout.rows)


def _layout(shape: PairShape, seconds: float) -> Layout:
    """Cut strips into shards that count about as long as they take to find their pairs, or `seconds` if longer."""
    plan = strips.plan(shape.rows)
    longest = max(seconds, costs.pass_seconds(shape))
    groups = max(round(costs.counting_seconds(shape) / 2 / longest), -(-8 * plan.x * plan.y // CELLS_BYTES))
    return Layout(plan, max(1, min(plan.x, groups)))


def _counting_bytes(plan: StripPlan, count: int) -> int:
    """Bound the memory in which so many strips are counted one by one: their cells are copied as they are sent."""
    return costs.STRIP_BYTES + 3 * 8 * count * plan.y


def _memory_bytes(shape: PairShape, plan: StripPlan, count: int) -> int:
    """Bound the memory of a shard of so many strips whose pairs stay in memory."""
    kept = costs.record_bytes(shape) * (plan.pairs * count // plan.x + strips.STRIP_PAIRS)
    return _counting_bytes(plan, count) + kept


@contextmanager
def _store(shape: PairShape, plan: StripPlan, count: int) -> Iterator[Store]:
    """Keep pairs in memory if this worker has room for them, else in files."""
    environment = from_environment()
    needed = costs.PROCESS_BYTES + costs.pair_bytes(shape) + _memory_bytes(shape, plan, count)
    if environment.worker_memory is None or needed <= environment.worker_memory:
        yield MemoryStore()
    else:
        with spilling.disk_store(environment.staging_directory) as store:
            yield store


def _tally(counts: StripCounts) -> dict[str, int]:
    found = {name: getattr(counts, name) for name in STRIP_TALLY}
    return {**found, **asdict(counts.paths), UNCERTIFIED: counts.uncertified}
