"""Quadruplet similarity (QSI; Soares et al. 2026, Definition 2): which of two disjoint pairs lies closer together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import sampling
from ordsim_core._numba import Int, kernel
from ordsim_core.comparisons import check_pair, keys_of, pair_key, tally, to_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.distances import Space


def sampled_range(x: Space, y: Space, seed: int, start: int, stop: int) -> AgreementCounts:
    """Count the agreement of samples `start` to `stop` - 1 of the quadruplet stream.

    Raises
    ------
    ValueError
        If the spaces differ in rows or have fewer than 4, or the seed or range is out of bounds.
    """
    check_pair(x, y, 4)
    sampling.check(seed, start, stop, x.rows, 4)
    counts = np.zeros(5, np.int64)
    key = sampling.stream_key(seed, sampling.QUADRUPLET_STREAM)
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
        i, j, k, l = sampling.draw_quadruplet(key, sample, rows)  # noqa: E741 - the field's letter
        tally(
            pair_key(x, x_norms, x_cosine, i, j),
            pair_key(x, x_norms, x_cosine, k, l),
            pair_key(y, y_norms, y_cosine, i, j),
            pair_key(y, y_norms, y_cosine, k, l),
            counts,
        )
