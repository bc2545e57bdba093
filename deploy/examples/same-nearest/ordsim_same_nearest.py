"""The share of rows whose nearest other row is the same in both arrays: an example of a measure of one's own."""

from typing import Any, Literal

import numpy as np

from ordsim_core.counts import AgreementCounts
from workers.measures.protocol import VALUES, Measure, MeasureOptions, Outcome, Shard
from workers.partials import Partial

ROWS = 64  # of one shard
RATE = 2e8  # differences of values in a second


class SameNearestOptions(MeasureOptions):
    """What stands in a request; more options are more fields."""

    measure: Literal["same_nearest"]
    method: Literal["exact"]


class SameNearest(Measure):
    """Compares nearest neighbours by Euclidean distance, the first of them where several are as near."""

    measure, method, title = "same_nearest", "exact", "Share of rows with the same nearest row"
    minimum_rows, maximum_rows = 2, 20_000
    options = SameNearestOptions
    needs, uses_distance, default = VALUES, False, True

    def comparisons(self, shape: Any, options: SameNearestOptions) -> int:
        return int(shape.rows)

    def seconds(self, shape: Any, options: SameNearestOptions) -> float:
        return float(shape.rows) ** 2 * (shape.x_columns + shape.y_columns) / RATE

    def memory(self, shape: Any, options: SameNearestOptions, budget: Any) -> int:
        return 16 * shape.rows * (max(shape.x_columns, shape.y_columns) + 1)

    def shards(self, shape: Any, options: SameNearestOptions, budget: Any) -> list[Shard]:
        starts = range(0, shape.rows, ROWS)
        stops = [min(start + ROWS, shape.rows) for start in starts]
        return [Shard(at, *span, span[1] - span[0]) for at, span in enumerate(zip(starts, stops, strict=True))]

    def partial(self, pair: Any, shard: Shard, options: SameNearestOptions, seed: int, checkpoint: Any) -> Partial:
        same = 0
        for row in range(shard.start, shard.stop):
            checkpoint()  # raises when the job was cancelled
            same += nearest(pair.x, row) == nearest(pair.y, row)
        return Partial(AgreementCounts(concordant=same, discordant=shard.stop - shard.start - same))

    def finish(self, total: Partial, pair: Any, options: SameNearestOptions, confidence: float) -> Outcome:
        return Outcome(total.counts.score, total.counts.deficit, total.counts, pair.shape.rows)


def nearest(values: np.ndarray, row: int) -> int:
    distances = ((values.astype(np.float64) - values[row]) ** 2).sum(axis=1)
    distances[row] = np.inf
    return int(distances.argmin())
