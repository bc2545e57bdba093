"""Mutual k nearest neighbours: the overlap of each row's neighbourhoods, of all rows or of some that are drawn."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ordsim_core import betting, sampling
from ordsim_core.counts import Paths
from ordsim_core.intervals import Interval
from ordsim_core.neighbours.lists import BLOCK_TARGETS, Ties, nearest_blocks
from ordsim_core.neighbours.overlaps import ROWS_LIMIT, Overlaps, overlaps
from workers import costs
from workers.measures import cutting
from workers.measures.neighbour_nulls import NeighbourStatistic
from workers.measures.protocol import FLOAT32, Measure, MeasureOptions, Outcome
from workers.partials import UNCERTIFIED, Partial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.neighbours.lists import Neighbours
    from workers.measures.given import NullStatistic, Pair
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape, Shard

ABOVE, BELOW = "above", "below"
"""The overlap of each anchor as a fraction, in the order in which anchors are taken."""
TIED = ("borders_tied_x", "borders_tied_y")
"""Anchors of which more rows tie at the border of the neighbourhood than there are places for."""

SELECTED = 8e-9
"""Seconds to see on both sides whether one target is near, beside the product that its key is made of."""
FINEST = 1 << 20
"""Shares of places are rounded to this fraction of one, outwards, where their exact sums get too large."""

K = Annotated[int, Field(ge=1, lt=ROWS_LIMIT, strict=True)]
TiesRule = Literal["fractional", "index"]


class MutualKnnOptions(MeasureOptions):
    """Options of mutual kNN.

    Attributes
    ----------
    k : int
        Places in a neighbourhood, at most N - 1.
    ties : str
        Of rows that are equally far at the border each counts with its share ("fractional"), or those that stand first
        are taken ("index").
    """

    measure: Literal["mutual_knn"]
    k: K = 10
    ties: TiesRule = "fractional"


class MutualKnnExactOptions(MutualKnnOptions):
    """Options of mutual kNN of all rows."""

    method: Literal["exact"] = "exact"


class MutualKnnAnchorsOptions(MutualKnnOptions):
    """Options of mutual kNN of some rows.

    Attributes
    ----------
    anchors : int
        How many rows are drawn, without replacement.
    """

    method: Literal["anchors"]
    anchors: Annotated[int, Field(ge=1, le=ROWS_LIMIT, strict=True)]


class _MutualKnn(Measure):
    """What both methods share: rows are anchors, in the order of `_order`."""

    measure = "mutual_knn"
    minimum_rows = 2
    maximum_rows: int | None = ROWS_LIMIT

    def rows_needed(self, options: MutualKnnOptions) -> int:
        """One more than there are places in a neighbourhood."""
        return options.k + 1

    def comparisons(self, shape: PairShape, options: MutualKnnOptions) -> int:
        """Every anchor with every other row."""
        return self._anchors(shape.rows, options) * max(shape.rows - 1, 0)

    def seconds(self, shape: PairShape, options: MutualKnnOptions) -> float:
        """Estimate the time of all anchors."""
        return self._anchors(shape.rows, options) * anchor_seconds(shape)

    def memory(self, shape: PairShape, options: MutualKnnOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound what a block of anchors takes, and the order in which rows are drawn."""
        return block_bytes(shape) + 32 * shape.rows

    def shards(self, shape: PairShape, options: MutualKnnOptions, budget: Budget) -> list[Shard]:
        """Cut the anchors into ranges of about as long as the budget says."""
        anchors, others = self._anchors(shape.rows, options), max(shape.rows - 1, 0)
        return cutting.shards(anchors, anchor_seconds(shape), budget.seconds, others)

    def partial(
        self, pair: Pair, shard: Shard, options: MutualKnnOptions, seed: int, checkpoint: Checkpoint
    ) -> Partial:
        """Compare the neighbourhoods of the range's anchors, block by block."""
        chosen = self._order(pair.x.rows, seed)[shard.start : shard.stop]
        above, below, tally = [], [], dict.fromkeys((*asdict(Paths()), UNCERTIFIED, *TIED), 0)
        sides = (nearest_blocks(side, chosen, options.k, Ties(options.ties)) for side in (pair.x, pair.y))
        for x, y in zip(*sides, strict=True):
            checkpoint()
            found = overlaps(x, y)
            above.append(found.above)
            below.append(found.below)
            count(tally, TIED[0], x)
            count(tally, TIED[1], y)
        pieces = {ABOVE: {shard.start: np.concatenate(above)}, BELOW: {shard.start: np.concatenate(below)}}
        return Partial(pieces=pieces, tally=tally)

    def null(self, shape: PairShape, options: MutualKnnOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """The score of all rows, from lists of neighbours that are kept."""
        if own and self.method != "exact":
            return None
        about = {"measure": self.measure, "method": "exact", "k": options.k, "ties": options.ties}
        return NeighbourStatistic(shape, options.k, Ties(options.ties), about)

    def finish(self, total: Partial, pair: PairFacts, options: MutualKnnOptions, confidence: float) -> Outcome:
        """Add up the overlaps without rounding."""
        found = Overlaps(options.k, total.vector(ABOVE), total.vector(BELOW))
        if len(found) != self._anchors(pair.shape.rows, options):
            raise RuntimeError(f"mutual_knn: the shards have {len(found)} anchors together")
        intervals = {"sampling": self._interval(found, pair.shape.rows, confidence)}
        if pair.precision == FLOAT32:
            intervals["arithmetic"] = _arithmetic(found, total.uncertified)
        tied = [total.tally.get(name, 0) for name in TIED]
        return Outcome(
            score=found.score,
            deficit=found.deficit,
            precision=pair.precision,
            intervals=intervals,
            paths=total.paths,
            uncertified=total.uncertified,
            figures={"anchors": len(found), "tiedBorders": {"x": tied[0], "y": tied[1]}},
        )

    def _anchors(self, rows: int, options: Any) -> int:  # noqa: ARG002
        return rows

    def _order(self, rows: int, seed: int) -> NDArray[np.int64]:  # noqa: ARG002
        return np.arange(rows)

    def _interval(self, found: Overlaps, rows: int, confidence: float) -> Interval:  # noqa: ARG002
        return Interval(found.score, found.score, "none-exact", confidence, True)


class MutualKnnExact(_MutualKnn):
    """Mutual kNN of all rows."""

    method = "exact"
    title = "Mutual k nearest neighbours of all rows"
    options: type[MeasureOptions] = MutualKnnExactOptions
    default = True


class MutualKnnAnchors(_MutualKnn):
    """Mutual kNN of rows that are drawn without replacement."""

    method = "anchors"
    title = "Mutual k nearest neighbours of sampled rows"
    options: type[MeasureOptions] = MutualKnnAnchorsOptions

    def rows_needed(self, options: Any) -> int:
        """As many as there are to be anchors, and as `k` needs."""
        return int(max(options.k + 1, options.anchors))

    def _anchors(self, rows: int, options: Any) -> int:  # noqa: ARG002
        return int(options.anchors)

    def _order(self, rows: int, seed: int) -> NDArray[np.int64]:
        return _drawn(seed, rows)

    def _interval(self, found: Overlaps, rows: int, confidence: float) -> Interval:
        """Bet on the overlaps, rounded down for the lower end and up for the upper one."""
        low, high, each = _places(found)
        lower, upper = (betting.without_replacement(counts, each, rows, confidence) for counts in (low, high))
        return Interval(min(lower.low, found.score), max(upper.high, found.score), "betting", confidence, True)


EXACT, ANCHORS = MutualKnnExact(), MutualKnnAnchors()


def anchor_seconds(shape: PairShape) -> float:
    """Estimate the time to find the neighbours of one anchor on both sides."""
    return costs.anchor_seconds(shape) - max(shape.rows, 1) * (costs.TARGET - SELECTED)


def block_bytes(shape: PairShape) -> int:
    """Bound the memory of a block of anchors: products of one side, lists of both should all distances tie, and rows in
    float32.
    """
    rounded = 4 * shape.rows * (shape.x_columns + shape.y_columns)
    return 24 * max(BLOCK_TARGETS, shape.rows) + 16 * costs.MEBIBYTE + 64 * shape.rows + rounded


def count(tally: dict[str, int], tied: str, found: Neighbours) -> None:
    """Add to a tally what it took to find neighbours, and how many of them tie; `tied` is one of `TIED`."""
    tally[tied] += found.ties
    tally[UNCERTIFIED] += found.uncertified
    for path, number in asdict(found.paths).items():
        tally[path] += number


def _arithmetic(found: Overlaps, uncertified: int) -> Interval:
    """Bound the score where keys err: each row in doubt may add or take one place."""
    places, (above, below) = found.nearest * len(found), found.total()
    low, high = max(0, above - uncertified * below), min(places * below, above + uncertified * below)
    return Interval(low / (places * below), high / (places * below), "float32-bound", 1.0, True)


def _places(found: Overlaps) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Give overlaps as counts of places, rounded down and up, and how many a neighbourhood has; exact without ties."""
    if (found.below == 1).all():
        return found.above, found.above, found.nearest
    pairs = zip(found.above.tolist(), found.below.tolist(), strict=True)
    low, high = zip(*((above * FINEST // below, -(-above * FINEST // below)) for above, below in pairs), strict=True)
    return np.array(low, np.int64), np.array(high, np.int64), found.nearest * FINEST


@lru_cache(maxsize=2)
def _drawn(seed: int, rows: int) -> NDArray[np.int64]:
    """Give all rows in the order in which they are drawn: the same for all shards of a job."""
    drawn = sampling.permutation(seed, rows)
    drawn.flags.writeable = False
    return drawn
