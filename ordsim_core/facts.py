"""Facts about an array that a reader should be warned of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import distinct
from ordsim_core.lattice import no_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_BLOCK_VALUES = 1 << 20


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
    """Count the different rows of an (N, D) array of a real dtype; 0.0 and -0.0 are equal.

    `checkpoint` is called between blocks, and may raise to give up.

    Raises
    ------
    NotRepresentableError
        If an integer has no float64 equal to it.
    """
    return distinct.count(values, checkpoint)


def _blocks(values: NDArray[Any], checkpoint: Callable[[], None]) -> Iterator[NDArray[Any]]:
    step = max(1, _BLOCK_VALUES // max(1, values.shape[1]))
    for start in range(0, len(values), step):
        checkpoint()
        yield values[start : start + step]
