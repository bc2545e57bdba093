"""Keys of all pairs of rows on one scale, so that any two pairs can be compared, whichever rows they have.

A key is offset[i] + weight[j] - factor * product, as for the targets of one anchor, with one bound on the error of
all of them. Under the Euclidean distance that error grows with the norm of the nearer of the two rows and with their
distance; the few pairs of which both rows lie far from all others are computed from the stored values instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordsim_core import chains, pairs
from ordsim_core._numba import Int, kernel
from ordsim_core.distances import Precision
from ordsim_core.pairs import DOT, EUCLIDEAN, Rows, direct_value
from ordsim_core.ranking import MAGIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

NARROW_BITS = 32
"""Bits of the keys of float32 distances, which are no more accurate than that."""
FAR = 0.2
"""Rows whose squared norm is beyond this part of the largest key are far: four times that of others is half of it."""

_MASK = np.uint64((1 << 52) - 1)
_SIGN = np.uint64(1 << 63)


class PairKeys(NamedTuple):
    """What kernels need to make keys; see `ranking.Packing` for what is not explained here.

    Attributes
    ----------
    full : bool
        Whether keys are the bits of stored distances, in an order of unsigned integers.
    drop : int
        Low bits of a key that are dropped.
    far : ndarray of bool, shape (U,)
        Rows that take their distances to each other from the stored values.
    unit : float
        What such a distance is multiplied by.
    """

    full: bool
    offset: NDArray[np.float64]
    weight: NDArray[np.float64]
    factor: float
    saturation: float
    drop: int
    far: NDArray[np.bool_]
    unit: float
    number: NDArray[np.int32]
    repeated: bool


@dataclass(frozen=True, eq=False)
class PairSpace:
    """A space of which all pairs of rows are put into one order.

    Attributes
    ----------
    space : Space
    keys : PairKeys
    mode : int
        What close keys mean, see `chains`.
    slack : int
        Keys that differ by more are in the order of the distances; 0 where any difference is.
    saturated : int
        Keys end here.
    """

    space: Space
    keys: PairKeys
    mode: int
    slack: int
    saturated: int

    @property
    def certified(self) -> bool:
        """Whether distances of close keys are compared by other means: then it takes the rows of a pair."""
        return self.mode == chains.CERTIFY

    @property
    def doubtful(self) -> bool:
        """Whether comparisons whose order is in doubt are counted."""
        return self.space.precision is Precision.FLOAT32

    @property
    def narrow(self) -> bool:
        """Whether keys fit 32 bits."""
        return self.doubtful


def pair_space(space: Space) -> PairSpace:
    """Prepare the order of all pairs of rows of a space."""
    packing = space.packing
    full = packing.mode == chains.FULL
    kind = space.pairs.kind
    # Inner products have an offset for each anchor: the largest serves all.
    offset = np.full_like(packing.offset, packing.offset.max()) if kind == DOT else packing.offset
    rounded = kind == EUCLIDEAN and not packing.certain
    far = packing.weight > FAR * packing.saturation if rounded else np.zeros(len(packing.weight), np.bool_)
    saturated = int(packing.saturation + 0.5)
    drop = max(0, saturated.bit_length() - NARROW_BITS) if space.precision is Precision.FLOAT32 else 0
    slack = 0
    if not packing.certain:
        slack = int(packing.slack[~far].max()) + (saturated >> packing.shift)
        slack = rounded_up(slack, drop)
    keys = PairKeys(
        full,
        offset,
        packing.weight,
        packing.factor,
        packing.saturation,
        drop,
        far,
        space.unit,
        packing.number,
        packing.repeated,
    )
    return PairSpace(space, keys, packing.mode, slack, saturated >> drop)


def rounded_up(slack: int, drop: int) -> int:
    """Give the slack of keys without their low bits: two that differ by more did so by more than `slack` before."""
    return -(-slack >> drop)


def keys_of(side: PairSpace, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Give the keys of some pairs of rows, uint64 of shape (n,), the same on every machine but for their last bits."""
    operand = side.space.operand
    found = np.empty(len(left), np.uint64)
    _few_keys(np.empty((0, 0)) if operand is None else operand, side.keys, side.space.pairs, left, right, found)
    return found


@kernel
def fill_keys(
    products: NDArray[Any], begin: Int, start: Int, keys: PairKeys, rows: Rows, found: NDArray[np.uint64]
) -> None:
    """Make the keys of pairs (i, j) of which i is one of some consecutive rows, and j any later row.

    Parameters
    ----------
    products : ndarray of float32 or float64, shape (m, U - begin)
        Products of the rows with all distinct rows from `begin` on.
    start : int
        The first of the rows.
    found : ndarray of uint64, shape (m, N)
        Written in columns behind the row's own.
    """
    drop = np.uint64(keys.drop)
    for a in range(products.shape[0]):
        i = start + a
        own = np.int64(keys.number[i])
        later = found[a, i + 1 :]
        values = later.view(np.float64)
        if keys.repeated:
            _gather(products[a], keys, own, keys.number[i + 1 :], values)
        else:
            _scale(products[a, i + 1 - begin :], keys, own, keys.weight[i + 1 :], values)
        if keys.full:
            _order_bits(later)
            continue
        if keys.far[own]:
            for k in range(values.shape[0]):
                if keys.far[keys.number[i + 1 + k]]:
                    values[k] = _whole(keys.unit * direct_value(rows, i, i + 1 + k)[0], keys.saturation)
        for k in range(values.shape[0]):
            later[k] = (later[k] & _MASK) >> drop


@kernel
def _whole(key: float, saturation: float) -> float:
    # Infinity minus infinity, of a row that is far beyond all others, is not a number: written so, it saturates.
    key = key if key < saturation else saturation
    return (key if key > 0.0 else 0.0) + MAGIC


@kernel
def _scale(
    products: NDArray[Any], keys: PairKeys, own: Int, weight: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    if keys.full:
        for k in range(values.shape[0]):
            values[k] = np.float64(products[k]) + 0.0
        return
    offset, factor, saturation = keys.offset[own], keys.factor, keys.saturation
    for k in range(values.shape[0]):
        values[k] = _whole((offset + weight[k]) - factor * np.float64(products[k]), saturation)


@kernel
def _gather(
    products: NDArray[Any], keys: PairKeys, own: Int, number: NDArray[np.int32], values: NDArray[np.float64]
) -> None:
    if keys.full:
        for k in range(values.shape[0]):
            values[k] = np.float64(products[number[k]]) + 0.0
        return
    offset, factor, saturation = keys.offset[own], keys.factor, keys.saturation
    for k in range(values.shape[0]):
        column = number[k]
        values[k] = _whole((offset + keys.weight[column]) - factor * np.float64(products[column]), saturation)


@kernel
def _order_bits(bits: NDArray[np.uint64]) -> None:
    # Float64 order as unsigned order: flip all bits of negative numbers, the sign of others.
    for k in range(bits.shape[0]):
        bits[k] = ~bits[k] if bits[k] & _SIGN else bits[k] | _SIGN


def stored_distances(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Give the float64 distances that full keys stand for."""
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    distances: NDArray[np.float64] = bits.view(np.float64)
    return distances


@kernel
def _few_keys(
    operand: NDArray[Any],
    keys: PairKeys,
    rows: Rows,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    found: NDArray[np.uint64],
) -> None:
    values = found.view(np.float64)
    drop = np.uint64(keys.drop)
    for k in range(found.shape[0]):
        i, j = keys.number[left[k]], keys.number[right[k]]
        if keys.full:
            values[k] = direct_value(rows, left[k], right[k])[0] + 0.0
        elif keys.far[i] and keys.far[j]:
            values[k] = _whole(keys.unit * direct_value(rows, left[k], right[k])[0], keys.saturation)
        else:
            if operand.shape[0] == 0:
                product = direct_value(rows, left[k], right[k])[0]
            else:
                product = pairs.inner_product(operand, i, j)
            values[k] = _whole((keys.offset[i] + keys.weight[j]) - keys.factor * product, keys.saturation)
    if keys.full:
        _order_bits(found)
        return
    for k in range(found.shape[0]):
        found[k] = (found[k] & _MASK) >> drop
