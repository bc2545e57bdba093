"""Sorted words in doubt, put into exact order: in compiled code, and in Python's integers where that cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core import chains, pairs, wide
from ordsim_core.chains import Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space


def settle(
    space: Space,
    words: NDArray[np.uint64],
    id_bits: int,
    mode: int,
    full: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    tied: NDArray[np.uint8],
    paths: NDArray[np.int64],
) -> None:
    """Bring sorted words into the exact order of their elements, pairs of rows (left, right).

    Parameters are those of `chains.settle`; `left` is one row for all elements, or one for each.
    """
    doubts = tied.copy()
    pending = np.zeros(len(right), np.uint8)
    ranks = np.full(len(right), chains.UNRESOLVED, np.int64)
    elements = Elements(left, right, ranks)
    tried = np.zeros(3, np.int64)
    arguments = (words, np.uint64(id_bits), mode, full, space.pairs, elements)
    if chains.settle(*arguments, tied, tried, pending):
        found = np.flatnonzero(pending)
        lefts = left[found] if len(left) > 1 else np.repeat(left, len(found))
        ranks[found] = wide.dense_ranks(
            [
                pairs.exact_value(space.pairs, i, j, space.lowest)
                for i, j in zip(lefts.tolist(), right[found].tolist(), strict=True)
            ]
        )
        # Keys have kept their places, so that the same chains are found again.
        tied[:] = doubts
        tried[:] = 0
        if chains.settle(*arguments, tied, tried, pending):
            raise RuntimeError("distances were left unordered")
    paths += tried
