"""What a matrix of scores of layers is summed up by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Kind = Literal["max", "mean", "row-max-mean", "column-max-mean"]
"""The best pair; all pairs; the best layer of y for each of x, on average; the best of x for each of y, on average."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_SUMS: dict[Kind, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "max": lambda scores: scores.max(axis=(-2, -1)),
    "mean": lambda scores: scores.sum(axis=(-2, -1)),
    "row-max-mean": lambda scores: scores.max(axis=-1).sum(axis=-1),
    "column-max-mean": lambda scores: scores.max(axis=-2).sum(axis=-1),
}


def aggregate(kind: Kind, scores: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Sum up matrices of scores, or of the counts that they are made of.

    Parameters
    ----------
    kind : {"max", "mean", "row-max-mean", "column-max-mean"}
    scores : ndarray of a float type, int64 or object (Python integers), shape (..., LA, LB)
        Rows are layers of x, columns layers of y.

    Returns
    -------
    sums : ndarray, shape (...)
        Of integers: integers, object where 64 bits might not do. Of floats: the aggregate itself.
    denominator : int
        What integers are to be divided by to give the aggregate; 1 for floats.

    Raises
    ------
    ValueError
        If the kind is unknown, or there are no layers.
    """
    if kind not in _SUMS:
        raise ValueError(f"the aggregate must be one of {', '.join(KINDS)} or a function, not {kind!r}")
    if scores.ndim < 2 or 0 in scores.shape[-2:]:
        raise ValueError(f"an aggregate needs at least one layer on each side, not scores of shape {scores.shape}")
    rows, columns = scores.shape[-2:]
    terms = {"max": 1, "mean": rows * columns, "row-max-mean": rows, "column-max-mean": columns}[kind]
    if scores.dtype.kind == "f":
        return np.asarray(_SUMS[kind](scores)) / terms, 1
    if scores.dtype == np.int64 and scores.size and max(-int(scores.min()), int(scores.max())) * terms >= 2**63:
        scores = scores.astype(object)
    return np.asarray(_SUMS[kind](scores)), terms
