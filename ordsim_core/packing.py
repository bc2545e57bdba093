"""How keys are scaled to whole numbers, and how far rounding can have moved them: certified order's arithmetic.

A key is offset[anchor] + weight[target] - factor * product, in units so small that the ordinary ones fill the bits
that a word has for keys. Bounds hold for any order of summation in a product, with or without fused operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import chains
from ordsim_core.pairs import FLOAT32_ROUNDOFF, UNIT_ROUNDOFF, gamma

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_BITS = 52
"""Bits of a float64 below the one that turns it into an integer."""
LEAST_ID_BITS = 12
EXACT_FLOAT32 = 2.0**24
EXACT_KEYS = 2.0**51
CENTRE_ROWS = 512
NO_SHIFT = 63
LARGEST_SLACK = 2.0**52
LARGEST_STEP = 511
FLOAT32_RANGE = 2.0**60
"""Squared norms in float32 may exceed the ordinary ones by this factor without overflow of products."""


@dataclass(frozen=True, eq=False)
class Keys:
    """The arithmetic of one space's keys; see `ranking.Packing` for what is not explained here.

    Attributes
    ----------
    operand : ndarray of float32 or float64, shape (U, D), or None
        Rows whose products give the keys; None where keys are not made of products.
    exact : bool
        Whether keys order and tie exactly as exact arithmetic would.
    unit : float
        What a squared Euclidean distance of stored rows is multiplied by to be a key.
    """

    operand: NDArray[Any] | None
    offset: NDArray[np.float64]
    weight: NDArray[np.float64]
    factor: float
    saturation: float
    slack: NDArray[np.int64]
    shift: int
    exact: bool
    mode: int
    unit: float = 1.0


def id_bits(distinct: int) -> int:
    """Give the low bits of a word that number this many distinct rows."""
    return max(LEAST_ID_BITS, (max(distinct, 2) - 1).bit_length())


def budget(distinct: int, key_bits: int | None) -> int:
    """Give the bits that keys may have, one of them spare: fewer if `key_bits` says so."""
    return max(4, min(64 - id_bits(distinct), KEY_BITS, key_bits or KEY_BITS))


def euclidean(rows: NDArray[np.float64], bits: int, dtype: type, low: int) -> Keys:
    """Prepare squared Euclidean distances of distinct float64 rows, (U, D), which are overwritten.

    `low`: all values are multiples of 2^low.
    """
    if len(rows) == 1:
        return _single(rows)
    sample = rows[_spread(len(rows))]
    whole = _whole(rows, np.median(sample, axis=0), low, bits)
    if whole is not None:
        operand, squares = whole
        if squares.max() < EXACT_FLOAT32:
            operand = operand.astype(np.float32)
        return Keys(operand, squares, squares, 2.0, _saturation(bits), _zeros(squares), NO_SHIFT, True, chains.EQUAL)
    rows -= np.median(sample, axis=0)
    squares = np.einsum("ij,ij->i", rows, rows)
    ordinary = _ordinary(squares)
    # 4 * ordinary * 4^step <= 2^(bits - 1), and 4^step a float.
    step = min((bits - 3 - math.frexp(ordinary)[1]) // 2, LARGEST_STEP)
    rows *= 2.0**step
    with np.errstate(over="ignore"):  # of rows far from all others, whose keys saturate
        squares *= 4.0**step
    narrow = dtype is np.float32 and squares.max() <= ordinary * 4.0**step * FLOAT32_RANGE
    bound = gamma(rows.shape[1] + 8, FLOAT32_ROUNDOFF if narrow else UNIT_ROUNDOFF)
    with np.errstate(over="ignore"):  # what is infinite here is in doubt as a whole
        slack = _slack(1 + 16 * bound * squares)
    return Keys(
        rows.astype(np.float32) if narrow else rows,
        squares,
        squares,
        2.0,
        _saturation(bits),
        slack,
        _relative(4.1 * bound),
        False,
        chains.CERTIFY,
        4.0**step,
    )


def cosine(rows: NDArray[np.float64], norms: NDArray[np.float64], bits: int, dtype: type) -> Keys:
    """Prepare cosine distances of distinct float64 rows, (U, D), none of them zero; overwritten."""
    half = (bits - 2) // 2
    rows /= norms[:, None]
    rows *= 2.0**half
    unit = 4.0**half
    narrow = dtype is np.float32
    bound = gamma(rows.shape[1] + 8, FLOAT32_ROUNDOFF) if narrow else 2 * gamma(rows.shape[1] + 8)
    constant = np.full(len(rows), unit)
    return Keys(
        rows.astype(np.float32) if narrow else rows,
        constant,
        _zeros(constant, np.float64),
        1.0,
        _saturation(bits),
        _slack(1 + 2 * bound * constant),
        NO_SHIFT,
        False,
        chains.CERTIFY,
    )


def dot(rows: NDArray[np.float64], norms: NDArray[np.float64], bits: int, dtype: type, low: int) -> Keys:
    """Prepare negative inner products of distinct float64 rows, (U, D), which are overwritten."""
    largest = float(norms.max())
    if largest == 0.0:
        return _single(rows)
    whole = math.frexp(largest)[1] - low < 30 and (
        math.ldexp(largest, -low) ** 2 * 2.5 < min(2.0 ** (bits - 1), EXACT_KEYS)
    )
    step = -low if whole else (bits - 3 - 2 * math.frexp(largest)[1]) // 2
    rows *= 2.0**step
    norms = norms * 2.0**step
    largest *= 2.0**step
    if whole:
        offset = np.ceil(norms * largest * 1.01) + 1
        operand: NDArray[Any] = rows.astype(np.float32) if largest**2 < EXACT_FLOAT32 else rows
        slack, mode = _zeros(norms), chains.EQUAL
    else:
        offset = norms * largest * 1.01
        operand = rows.astype(np.float32) if dtype is np.float32 else rows
        bound = gamma(rows.shape[1] + 8, FLOAT32_ROUNDOFF if dtype is np.float32 else UNIT_ROUNDOFF)
        slack, mode = _slack(1 + 2.1 * bound * norms * largest), chains.CERTIFY
    return Keys(operand, offset, np.zeros(len(rows)), 1.0, _saturation(bits), slack, NO_SHIFT, whole, mode)


def listed(distinct: int, columns: int, largest: float, bits: int, step: int | None) -> Keys:
    """Prepare distances that are computed one by one, and are at most `largest`.

    `step`: distances are whole multiples of 2^step, computed without error; None if they are not.
    """
    nothing = np.zeros(distinct)
    exact = step is not None and largest <= math.ldexp(1.0, bits - 1 + step)
    exponent = -step if exact and step is not None else bits - 1 - math.frexp(largest)[1]
    bound = gamma(columns + 4)
    return Keys(
        None,
        nothing,
        nothing,
        -(2.0**exponent),
        _saturation(bits),
        _zeros(nothing) if exact else _slack(nothing + 2),
        NO_SHIFT if exact else _relative(2.1 * bound),
        exact,
        chains.EQUAL if exact else chains.CERTIFY,
    )


def given(rows: int) -> Keys:
    """Prepare distances that are stored: float64 keys, packed by their leading bits."""
    nothing = np.zeros(rows)
    return Keys(None, nothing, nothing, 0.0, 0.0, _zeros(nothing), NO_SHIFT, True, chains.FULL)


def _single(rows: NDArray[np.float64]) -> Keys:
    """All distances tie."""
    nothing = np.zeros(len(rows))
    return Keys(rows * 0.0, nothing, nothing, 1.0, 1.0, _zeros(nothing), NO_SHIFT, True, chains.EQUAL)


def _whole(
    rows: NDArray[np.float64], centre: NDArray[np.float64], low: int, bits: int
) -> tuple[NDArray[Any], NDArray[np.float64]] | None:
    """Give rows as exact integers and their exact squared norms, if all squared distances fit; the centre is whole."""
    if float(np.abs(rows).max(initial=0.0)) >= 2.0 ** min(low + KEY_BITS, 1000):
        return None
    operand = np.ldexp(rows, -low)
    operand -= np.rint(np.ldexp(centre, -low))
    squares = np.einsum("ij,ij->i", operand, operand)
    fits = 4 * squares.max() * (1 + 2.0**-20) < min(2.0 ** (bits - 1), EXACT_KEYS)
    return (operand, squares) if fits else None


def _ordinary(squares: NDArray[np.float64]) -> float:
    """Give the largest squared norm, rows far from all others left out."""
    limit = max(64 * float(np.median(squares)), 4 * float(np.quantile(squares, 0.99)))
    return float(squares[squares <= limit].max(initial=0.0)) or float(squares.max())


def _spread(rows: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, rows - 1, CENTRE_ROWS).astype(np.int64))


def _saturation(bits: int) -> float:
    return 1.25 * 2.0 ** (bits - 1)


def _slack(bound: NDArray[np.float64]) -> NDArray[np.int64]:
    return (np.floor(np.minimum(bound, LARGEST_SLACK)) + 1).astype(np.int64)


def _zeros(like: NDArray[Any], dtype: type = np.int64) -> NDArray[Any]:
    return np.zeros(len(like), dtype)


def _relative(bound: float) -> int:
    """Give the largest shift whose power of two is at least `bound`."""
    return max(0, min(NO_SHIFT, math.floor(-math.log2(bound))))
