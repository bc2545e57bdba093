"""Triplet similarity (TSI; Soares et al. 2026, Definition 1): is j or k nearer to the anchor i, in both spaces?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import concordance, sampling
from ordsim_core._numba import Int, kernel
from ordsim_core.comparisons import check_pair, keys_of, pair_key, tally, to_counts
from ordsim_core.distances import block_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.distances import Space

_KEYS_AT_ONCE = 1 << 18
"""Keys of one side that are held at a time: 2 MiB, which stay in the cache between distances and order."""


@dataclass(frozen=True)
class AnchorBlock:
    """Agreement of a block of anchors with all pairs of the other rows.

    Attributes
    ----------
    counts : AgreementCounts
        Over unordered comparisons, (N - 1)(N - 2) / 2 for each anchor.
    agreeing : ndarray of int64, shape (anchors,)
        Agreeing comparisons of each anchor.
    """

    counts: AgreementCounts
    agreeing: NDArray[np.int64]


def exact_block(x: Space, y: Space, start: int, stop: int) -> AnchorBlock:
    """Count all triplets whose anchor is one of the rows `start` to `stop` - 1.

    Raises
    ------
    ValueError
        If the spaces differ in rows, have fewer than 3, or the block is not within them.
    """
    check_pair(x, y, 3)
    if not 0 <= start <= stop <= x.rows:
        raise ValueError(f"anchors {start} to {stop} are not within {x.rows} rows")
    step = max(1, _KEYS_AT_ONCE // x.rows)
    counted = [np.zeros((0, 4), np.int64)]
    for first in range(start, stop, step):
        last = min(first + step, stop)
        counted.append(concordance.count_pairs(block_keys(x, first, last), block_keys(y, first, last), first))
    counts = np.concatenate(counted)
    return AnchorBlock(concordance.total(counts, x.rows - 1), concordance.agreeing(counts, x.rows - 1))


def sampled_range(x: Space, y: Space, seed: int, start: int, stop: int) -> AgreementCounts:
    """Count the agreement of samples `start` to `stop` - 1 of the triplet stream.

    Raises
    ------
    ValueError
        If the spaces differ in rows or have fewer than 3, or the seed or range is out of bounds.
    """
    check_pair(x, y, 3)
    sampling.check(seed, start, stop, x.rows, 3)
    counts = np.zeros(5, np.int64)
    key = sampling.stream_key(seed, sampling.TRIPLET_STREAM)
    _count_samples(*keys_of(x), *keys_of(y), key, start, stop, counts)
    return to_counts(counts)


@kernel
def _count_samples(
    x: NDArray[np.float64],
    x_norms: NDArray[np.float64],
    x_cosine: bool,
    y: NDArray[np.float64],
    y_norms: NDArray[np.float64],
    y_cosine: bool,
    key: np.uint64,
    start: Int,
    stop: Int,
    counts: NDArray[np.int64],
) -> None:
    rows = np.int64(x.shape[0])
    for sample in range(start, stop):
        i, j, k = sampling.draw_triplet(key, sample, rows)
        tally(
            pair_key(x, x_norms, x_cosine, i, j),
            pair_key(x, x_norms, x_cosine, i, k),
            pair_key(y, y_norms, y_cosine, i, j),
            pair_key(y, y_norms, y_cosine, i, k),
            counts,
        )
