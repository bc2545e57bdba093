"""CKNNA: alignment of two kernels on the neighbours that both spaces share."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordsim_core.counts import Paths
from ordsim_core.distances import Distance
from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna
from ordsim_core.neighbours.hsic import Estimator
from ordsim_core.neighbours.lists import Neighbours, Ties, nearest_blocks
from ordsim_core.neighbours.overlaps import ROWS_LIMIT
from workers.measures import cutting
from workers.measures.mutual_knn import TIED, K, TiesRule, anchor_seconds, block_bytes, count
from workers.measures.neighbour_nulls import NeighbourStatistic
from workers.measures.protocol import FLOAT32, GRID, Measure, MeasureOptions, NoInterval, Outcome
from workers.partials import UNCERTIFIED, Partial, weaker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.neighbours.cknna import Cknna as Found
    from workers.measures.given import Grid, NullStatistic
    from workers.measures.protocol import Budget, Checkpoint, PairFacts, PairShape, Shard

SIDES = ("x", "y")
NO_BOUND = "How far CKNNA moves with neighbours that float32 may have mistaken has no known bound."
PARTS = ("length", "rows", "shared", "above", "below", "entries")
"""What is written down of the neighbours of a range of rows, for either side."""
ENTRY_BYTES = 128
"""Of one neighbour on one side, with all that the last step makes of it."""
CROWDED = "crowded"
"""A row of which more neighbours tie than `most_neighbours` allows, on either side."""
SHARD_ENTRIES = 1 << 22
"""Most neighbours of one side that a shard writes down, should all its rows have as many as are allowed."""
ENTRY_COLUMN = 2e-9
"""Seconds for one column of a kernel's entry in twice the precision."""


class CknnaOptions(MeasureOptions):
    """Options of CKNNA.

    Attributes
    ----------
    k : int
        Places in a neighbourhood, at most N - 1; neighbours are always by the arrays' distances.
    kernel : str
        Inner products of rows as they are stored ("linear"), or distances.
    estimator : str
        Of the independence criterion; "unbiased" needs 4 rows.
    ties : str
        Of rows that are equally far at the border each counts with its share ("fractional"), or those that stand first
        are taken ("index").
    """

    measure: Literal["cknna"]
    method: Literal["exact"] = "exact"
    k: K = 10
    kernel: Literal["linear", "distance"] = "linear"
    estimator: Literal["unbiased", "biased"] = "unbiased"
    ties: TiesRule = "fractional"


class Cknna(Measure):
    """CKNNA of all rows."""

    measure = "cknna"
    method = "exact"
    title = "Kernel alignment on mutual nearest neighbours"
    minimum_rows = 2
    maximum_rows: int | None = ROWS_LIMIT
    options: type[MeasureOptions] = CknnaOptions
    needs = GRID
    default = True

    def rows_needed(self, options: CknnaOptions) -> int:
        """One more than there are places in a neighbourhood, and 4 for the unbiased estimator."""
        return max(options.k + 1, 4 if options.estimator == "unbiased" else 2)

    def comparisons(self, shape: PairShape, options: CknnaOptions) -> int:  # noqa: ARG002
        """Every row with every other."""
        return shape.rows * max(shape.rows - 1, 0)

    def seconds(self, shape: PairShape, options: CknnaOptions) -> float:
        """Estimate the time of all rows."""
        return shape.rows * _row_seconds(shape, options)

    def memory(self, shape: PairShape, options: CknnaOptions, budget: Budget) -> int:  # noqa: ARG002
        """Bound a block of rows and what a shard writes down, and all neighbours as the last step needs them."""
        written = ENTRY_BYTES * min(SHARD_ENTRIES, shape.rows * most_neighbours(options.k))
        return block_bytes(shape) + max(written, 2 * ENTRY_BYTES * shape.rows * options.k)

    def shards(self, shape: PairShape, options: CknnaOptions, budget: Budget) -> list[Shard]:
        """Cut the rows into ranges of about as long as the budget says."""
        each = _row_seconds(shape, options)
        longest = each * max(1, SHARD_ENTRIES // most_neighbours(options.k))
        return cutting.shards(shape.rows, each, min(budget.seconds, longest), max(shape.rows - 1, 0))

    def partial(self, pair: Grid, shard: Shard, options: CknnaOptions, seed: int, checkpoint: Checkpoint) -> Partial:  # noqa: ARG002
        """Find the neighbours of a range of rows, and the kernel's entries for them."""
        if _impossible(pair.shape, options) is not None:
            return Partial()
        pieces: dict[str, dict[int, NDArray[Any]]] = {}
        tally = dict.fromkeys((*asdict(Paths()), UNCERTIFIED, *TIED), 0)
        precision = None
        for side, tied, operand in zip(SIDES, TIED, (pair.x[0], pair.y[0]), strict=True):
            space, values = operand.space(), operand.values()
            precision = weaker(precision, space.precision.value)
            exponent = kernels.exponent_of(values) if options.kernel == "linear" else 0
            begin = shard.start
            every = np.arange(shard.start, shard.stop)
            for found in nearest_blocks(space, every, options.k, Ties(options.ties)):
                checkpoint()
                anchors = np.arange(begin, begin + len(found))
                crowded = np.flatnonzero(np.diff(found.start) > most_neighbours(options.k))
                if len(crowded):
                    return Partial(pieces={CROWDED: {shard.start: anchors[crowded[:1]]}}, precision=precision)
                if options.kernel == "linear":
                    entries = kernels.linear_entries(values, exponent, anchors, found)
                else:
                    entries = kernels.distance_entries(space, anchors, found)
                _write(pieces, side, begin, found, entries)
                count(tally, tied, found)
                begin += len(found)
        return Partial(pieces=pieces, tally=tally, precision=precision)

    def null(self, shape: PairShape, options: CknnaOptions, seed: int, *, own: bool) -> NullStatistic | None:  # noqa: ARG002
        """The score itself, from lists of neighbours and entries that are kept."""
        if _impossible(shape, options) is not None:
            return None
        about = {"measure": self.measure, **options.model_dump(include={"k", "kernel", "estimator", "ties"})}
        ties, estimator = Ties(options.ties), Estimator(options.estimator)
        return NeighbourStatistic(shape, options.k, ties, about, estimator, linear=options.kernel == "linear")

    def finish(self, total: Partial, pair: PairFacts, options: CknnaOptions, confidence: float) -> Outcome:  # noqa: ARG002
        """Put the neighbours of all rows together, and compare."""
        reason = _impossible(pair.shape, options)
        if reason is not None:
            return Outcome(score=None, deficit=None, reason=reason)
        if CROWDED in total.pieces:
            return Outcome(score=None, deficit=None, reason=_crowded(int(total.vector(CROWDED).min()), options.k))
        (x, of_x), (y, of_y) = (_read(total, side, options.k) for side in SIDES)
        if not len(x) == len(y) == pair.shape.rows:
            raise RuntimeError(f"cknna: the shards have {len(x)} and {len(y)} rows together")
        found = cknna(x, of_x, y, of_y, Estimator(options.estimator))
        return Outcome(
            score=found.score,
            deficit=found.deficit,
            reason=found.reason,
            precision=total.precision,
            intervals={"arithmetic": NoInterval(NO_BOUND)} if total.precision == FLOAT32 else {},
            paths=total.paths,
            uncertified=total.uncertified,
            naive_deficit=None if found.score is None else 1 - found.score,
            figures={
                "sharedNeighbours": found.shared,
                "tiedBorders": dict(zip(SIDES, (x.ties, y.ties), strict=True)),
                "deficitForm": "subtracted in twice the precision",
            },
            cautions=_cautions(found),
        )


CKNNA = Cknna()


def most_neighbours(k: int) -> int:
    """Give how many neighbours a row may have, those that tie at the border included: all are written down."""
    return max(1024, 16 * k)


def _row_seconds(shape: PairShape, options: CknnaOptions) -> float:
    return anchor_seconds(shape) + options.k * (shape.x_columns + shape.y_columns) * ENTRY_COLUMN


def _impossible(shape: PairShape, options: CknnaOptions) -> str | None:
    if options.kernel == "linear" and Distance.PRECOMPUTED in (shape.x_distance, shape.y_distance):
        return "Precomputed distances have no inner products of rows: ask for the kernel 'distance'."
    return None


def _crowded(row: int, k: int) -> str:
    return (
        f"More than {most_neighbours(k)} rows are among the {k} nearest neighbours of row {row}, or of others, because "
        "they tie. Ask for the ties 'index', or for a distance in which fewer rows are equally far."
    )


def _write(
    pieces: dict[str, dict[int, NDArray[Any]]],
    side: str,
    begin: int,
    found: Neighbours,
    entries: NDArray[np.float64],
) -> None:
    lengths = np.diff(found.start)
    parts: tuple[NDArray[Any], ...] = lengths, found.rows, found.shared, found.above, found.below, entries
    for name, part in zip(PARTS, parts, strict=True):
        pieces.setdefault(f"{side}_{name}", {})[begin] = part


def _read(total: Partial, side: str, k: int) -> tuple[Neighbours, NDArray[np.float64]]:
    lengths, rows, shared, above, below, entries = (total.vector(f"{side}_{name}") for name in PARTS)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return Neighbours(k, start, rows, shared, above, below), entries


def _cautions(found: Found) -> list[tuple[str, str]]:
    if found.score is None or found.score <= 1:
        return []
    what = "The score exceeds 1, as it may: masks of neighbours are not symmetric, and differ between its three terms."
    return [("score-above-one", what)]
