"""Facts about an array that a reader should be warned of."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_BLOCK_VALUES = 1 << 20
_BLOCK_ROWS = 1 << 16
"""A row costs a digest however short it is."""


def constant_columns(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> int:
    """Count the columns of an (N, D) array, of any dtype, that hold one value in all rows.

    `checkpoint` is called between blocks, and may raise to give up.
    """
    if len(values) == 0:
        return int(values.shape[1])
    constant = np.ones(values.shape[1], bool)
    for block in _blocks(values, checkpoint):
        constant &= (block == values[0]).all(axis=0)
        if not constant.any():
            break
    return int(np.count_nonzero(constant))


def distinct_rows(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> int:
    """Count the different rows of an (N, D) array of any dtype; 0.0 and -0.0 are equal.

    Rows are told apart by digests of 128 bits: two different rows among a million pass for equal with probability
    10^-26. `checkpoint` is called between blocks, and may raise to give up.
    """
    digests: set[bytes] = set()
    for block in _blocks(values, checkpoint):
        rows = np.ascontiguousarray(block + block.dtype.type(0) if block.dtype.kind == "f" else block)
        digests.update(hashlib.blake2b(row.data, digest_size=16).digest() for row in rows)
    return len(digests)


def _blocks(values: NDArray[Any], checkpoint: Callable[[], None]) -> Iterator[NDArray[Any]]:
    step = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // max(1, values.shape[1])))
    for start in range(0, len(values), step):
        checkpoint()
        yield values[start : start + step]
