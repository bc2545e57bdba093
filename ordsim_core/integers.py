"""Integers as callers give them: of Python, of numpy, or not integers at all."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def integer(value: Any, name: str) -> int:
    """Give an integer of any type as Python's, whose arithmetic does not overflow.

    Raises
    ------
    ValueError
        If it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, not {value!r}") from None


def row_numbers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Give row numbers, a sequence or array of integers, as int64 of shape (n,).

    Raises
    ------
    ValueError
        If they are none: floats, or a mask.
    """
    found = np.asarray(values)
    if found.size == 0 and found.ndim == 1:
        return np.empty(0, np.int64)
    if found.dtype.kind == "b":
        raise ValueError(f"{name} must be row numbers, not a mask: give np.flatnonzero(mask)")
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be row numbers, a 1-D array of integers, not {found.ndim}-D of type {found.dtype}"
        )
    return found.astype(np.int64)
