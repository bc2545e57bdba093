"""Triplet similarity (TSI; Soares et al. 2026, Definition 1): is j or k nearer to the anchor i, in both spaces?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import concordance, drawing, sampling
from ordsim_core.anchors import products, rank, whole_tiles
from ordsim_core.counts import AgreementCounts, Paths
from ordsim_core.integers import integer, row_numbers
from ordsim_core.ranking import Ranked, ranked
from ordsim_core.spaces import check_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ordsim_core.comparisons import Sampled, Units
    from ordsim_core.spaces import Space

PRODUCT_BYTES = 1 << 25
"""Products of one side that are held at a time, and rows of anchors: enough of these for a fast matrix product."""
RANKED_ANCHORS = 16
RANKED_TARGETS = 1 << 15
"""Ranks of one side that are held at a time stay in the cache."""


@dataclass(frozen=True)
class AnchorBlock:
    """Agreement of some anchors with all pairs of the other rows.

    Attributes
    ----------
    counts : AgreementCounts
        Over unordered comparisons, (N - 1)(N - 2) / 2 for each anchor.
    agreeing : ndarray of int64, shape (anchors,)
        Agreeing comparisons of each anchor.
    targets : ndarray of int64, shape (N,), or None
        Agreeing comparisons that each row takes part in as a target; each comparison has two.
    paths : Paths
    uncertified : int
        Comparisons whose order is in doubt, counted for float32 precision only.
    """

    counts: AgreementCounts
    agreeing: NDArray[np.int64]
    targets: NDArray[np.int64] | None
    paths: Paths
    uncertified: int


def exact_block(x: Space, y: Space, start: int, stop: int, per_target: bool = False) -> AnchorBlock:
    """Count all triplets whose anchor is one of the rows `start` to `stop` - 1.

    Raises
    ------
    ValueError
        If the spaces differ in rows, have fewer than 3 or more than 2^21, or the block is not within them.
    """
    check_pair(x, y, 3)
    start, stop = integer(start, "the first anchor"), integer(stop, "the end of the anchors")
    if not 0 <= start <= stop <= x.rows:
        raise ValueError(f"anchors {start} to {stop} are not within {x.rows} rows")
    return exact_anchors(x, y, np.arange(start, stop), per_target)


def exact_anchors(x: Space, y: Space, anchors: NDArray[np.int64], per_target: bool = False) -> AnchorBlock:
    """Count all triplets whose anchor is one of these rows, integers of shape (anchors,).

    Raises
    ------
    ValueError
        As `exact_block`, or if `anchors` are not row numbers.
    """
    anchors = row_numbers(anchors, "anchors")
    check_pair(x, y, 3)
    if x.rows > concordance.ELEMENTS_LIMIT:
        raise ValueError(f"at most {concordance.ELEMENTS_LIMIT} rows can be counted at once, not {x.rows}")
    if len(anchors) and not (anchors.min() >= 0 and anchors.max() < x.rows):
        raise ValueError(f"anchors are not within {x.rows} rows")
    counts = np.zeros((len(anchors), 4), np.int64)
    targets = np.zeros(x.rows if per_target else 0, np.int64)
    paths, doubt = np.zeros(3, np.int64), 0
    for place, chosen, ranks_x, ranks_y in _ranked(x, y, anchors):
        concordance.count_rows(
            ranks_x,
            ranks_y,
            not x.packing.repeated,
            not y.packing.repeated,
            chosen,
            counts[place : place + len(chosen)],
            targets,
        )
        for side in (ranks_x, ranks_y):
            paths += side.paths[: len(chosen)].sum(axis=0)
            doubt += int(side.doubt[: len(chosen)].sum())
    return AnchorBlock(
        concordance.total(counts, x.rows - 1),
        concordance.agreeing(counts, x.rows - 1),
        targets if per_target else None,
        Paths(*paths.tolist()),
        doubt,
    )


def sampled_range(x: Space, y: Space, seed: int, start: int, stop: int) -> Sampled:
    """Count the agreement of samples `start` to `stop` - 1 of the triplet stream.

    Raises
    ------
    ValueError
        If the spaces differ in rows or have fewer than 3, or the seed or range is out of bounds.
    """
    check_pair(x, y, 3)
    sampling.check(seed, start, stop, x.rows, 3)

    def draw(first: int, last: int) -> NDArray[np.int64]:
        return sampling.triplets(seed, first, last, x.rows).take((0, 1, 0, 2), axis=1)

    return drawing.count_tuples(x, y, draw, start, stop)


def units_range(x: Space, y: Space, seed: int, start: int, stop: int, targets: int) -> Units:
    """Count units `start` to `stop` - 1, each one anchor with all pairs of `targets` targets.

    Raises
    ------
    ValueError
        If the spaces differ in rows or have no more than `targets`, there are fewer than 2 targets, or the seed or
        range is out of bounds.
    """
    if targets < 2:
        raise ValueError(f"a unit needs at least 2 targets to compare, not {targets}")
    check_pair(x, y, 1 + targets)
    sampling.check(seed, start, stop, x.rows, 1 + targets)

    def draw(first: int, last: int) -> NDArray[np.int64]:
        drawn = sampling.triplet_units(seed, first, last, x.rows, targets)
        return np.stack(np.broadcast_arrays(drawn[:, :1], drawn[:, 1:]), axis=2)

    return drawing.count_units(x, y, draw, start, stop)


def _ranked(x: Space, y: Space, anchors: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], Ranked, Ranked]]:
    """Yield (place of the first, anchors, ranks in x, ranks in y), a few anchors at a time; ranks are overwritten."""
    few = max(1, min(RANKED_ANCHORS, RANKED_TARGETS // x.rows, len(anchors)))
    many = max(few, min(len(anchors), PRODUCT_BYTES // (8 * max(x.rows, x.columns, y.columns))))
    many = whole_tiles(many, x, y)
    ranks_x, ranks_y = ranked(few, x.rows), ranked(few, x.rows)
    for begin in range(0, len(anchors), many):
        block = anchors[begin : begin + many]
        made_x, made_y = products(x, block), products(y, block)
        for place in range(0, len(block), few):
            chosen = block[place : place + few]
            rank(x, chosen, made_x[place : place + few], ranks_x)
            rank(y, chosen, made_y[place : place + few], ranks_y)
            yield begin + place, chosen, ranks_x, ranks_y
