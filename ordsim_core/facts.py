"""Facts about an array that a reader should be warned of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def constant_columns(values: NDArray[Any]) -> int:
    """Count the columns of an (N, D) array whose N values are all equal."""
    if len(values) == 0:
        return int(values.shape[1])
    return int(np.count_nonzero(values.min(axis=0) == values.max(axis=0)))


def distinct_rows(values: NDArray[Any]) -> int:
    """Count the distinct rows of an (N, D) array; 0.0 and -0.0 are equal, NaN is not expected."""
    rows = (
        np.ascontiguousarray(values + values.dtype.type(0))
        if values.dtype.kind == "f"
        else np.ascontiguousarray(values)
    )
    if 0 in rows.shape:
        return min(len(rows), 1)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return len(set(as_bytes.ravel().tolist()))
