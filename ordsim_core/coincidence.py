"""Triplets of rows that are not all of different groups: how many there are, and a sample of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.counts import triplet_population

if TYPE_CHECKING:
    from numpy.typing import NDArray


def population(sizes: NDArray[np.int64]) -> int:
    """Give the number of comparisons of rows not all of different groups, from the sizes of the groups."""
    rows = pairs = triples = 0
    for size in sizes.tolist():
        # So far rows, pairs and triples of different groups: the rows of this group join pairs of earlier ones.
        triples += size * pairs
        pairs += size * rows
        rows += size
    return triplet_population(rows) - 3 * triples


def triplets(groups: NDArray[Any], seed: int, samples: int) -> NDArray[np.int64]:
    """Draw independent triplets, uniform over those of rows not all of different groups.

    Parameters
    ----------
    groups : ndarray, shape (N,)
        A label for every row.
    seed : int
        Below 2^64.
    samples : int

    Returns
    -------
    ndarray of int64, shape (samples, 3)
        Rows (anchor, target, target).

    Raises
    ------
    ValueError
        If no group has two rows, or there are fewer than 3 rows.
    """
    _, member, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    # Rows in the order of their groups, where a group is a range of places.
    order = np.argsort(member, kind="stable")
    starts = np.cumsum(sizes) - sizes
    with_others = sizes * (sizes - 1.0) / 2 * (len(groups) - sizes)
    alone = sizes * (sizes - 1.0) * (sizes - 2.0) / 6
    weights = np.cumsum(with_others + alone)
    if len(groups) < 3 or weights[-1] == 0:
        raise ValueError("no three rows are of fewer than three groups")
    which, kind, first, second, third, turn = _uniforms(seed, samples)
    group = np.searchsorted(weights, which * weights[-1], side="right")
    size, start = sizes[group], starts[group]
    one = _below(first, size)
    other = _below(second, size - 1)
    other += other >= one
    inside = kind * (with_others + alone)[group] < alone[group]
    last = _below(third, np.where(inside, size - 2, len(groups) - size))
    # Past the two rows, or past the whole group.
    last += inside & (last >= np.minimum(one, other))
    last += inside & (last >= np.maximum(one, other))
    last = np.where(inside, start + last, last + np.where(last >= start, size, 0))
    rows = order[np.stack([start + one, start + other, last], axis=1)]
    # Any of the three is the anchor.
    turns = (np.arange(3) + _below(turn, np.full(samples, 3))[:, None]) % 3
    return np.take_along_axis(rows, turns, axis=1)


def _uniforms(seed: int, samples: int) -> NDArray[np.float64]:
    """Give six times as many numbers of [0, 1). The bits, unlike a generator's methods, never change with numpy."""
    bits = np.random.Philox(key=seed).random_raw(6 * samples) >> np.uint64(11)
    return (bits.astype(np.float64) * 2.0**-53).reshape(6, samples)


def _below(uniform: NDArray[np.float64], limit: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.minimum((uniform * limit).astype(np.int64), limit - 1)
