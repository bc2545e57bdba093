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
from ordsim_core.ranking import MAGIC, whole

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
    slack, shift : int
        What keys are off by, see `slack_at`.
    saturated : int
        Keys end here.
    far_rows : bool
        Whether any row is far.
    """

    space: Space
    keys: PairKeys
    mode: int
    slack: int
    shift: int
    saturated: int
    far_rows: bool

    def slack_at(self, key: Any) -> Any:
        """Give by how much keys up to this one must differ to be in the order of their distances; more than so much.

        `key` : int, or ndarray of uint64, of which the same is returned.
        """
        if self.keys.drop:
            # In coarser units, every part rounded up.
            return self.slack + ((key + 1) >> self.shift) + 1
        return self.slack + (key >> self.shift)

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
        slack = rounded_up(int(packing.slack[~far].max()), drop)
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
    return PairSpace(space, keys, packing.mode, slack, packing.shift, saturated >> drop, bool(far.any()))


def rounded_up(slack: int, drop: int) -> int:
    """Give the slack of keys without their low bits: two that differ by more did so by more than `slack` before."""
    return -(-slack >> drop)


def keys_of(side: PairSpace, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Give the keys of some pairs of rows, uint64 of shape (n,): those of `later_keys`, up to their slack."""
    space, keys = side.space, side.keys
    one, other = (keys.number[rows].astype(np.int64) for rows in (left, right))
    values = np.empty(len(left))
    if space.operand is None:
        _direct_values(space.pairs, left, right, values)
    else:
        _products(space.operand, one, other, values)
    if keys.full:
        bits = (values + 0.0).view(np.uint64)
        _order_bits(bits)
        return bits
    with np.errstate(invalid="ignore"):
        values = (keys.offset[one] + keys.weight[other]) - keys.factor * values
    far = np.flatnonzero(keys.far[one] & keys.far[other])
    if len(far):
        found = np.empty(len(far))
        _direct_values(space.pairs, left[far], right[far], found)
        values[far] = keys.unit * found
    # Infinity minus infinity, of a row that is far beyond all others, is not a number, and saturates.
    values = np.where(values < keys.saturation, np.maximum(values, 0.0), keys.saturation) + MAGIC
    found_keys: NDArray[np.uint64] = (values.view(np.uint64) & _MASK) >> np.uint64(keys.drop)
    return found_keys


def later_keys(side: PairSpace, products: NDArray[Any], begin: int, start: int, found: NDArray[np.uint64]) -> None:
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
    keys = side.keys
    _fill(products, begin, start, keys, found)
    if side.far_rows:
        _fill_far(side.space.pairs, start, keys, found[: len(products)])


@kernel
def _fill(products: NDArray[Any], begin: Int, start: Int, keys: PairKeys, found: NDArray[np.uint64]) -> None:
    drop = np.uint64(keys.drop)
    for a in range(products.shape[0]):
        i = start + a
        later = found[a, i + 1 :]
        values = later.view(np.float64)
        if keys.repeated:
            _gather(products[a], keys, keys.number[i], keys.number[i + 1 :], values)
        else:
            _scale(products[a, i + 1 - begin :], keys, i, keys.weight[i + 1 :], values)
        if keys.full:
            _order_bits(later)
            continue
        for k in range(values.shape[0]):
            later[k] = (later[k] & _MASK) >> drop


@kernel
def _fill_far(rows: Rows, start: Int, keys: PairKeys, found: NDArray[np.uint64]) -> None:
    for a in range(found.shape[0]):
        i = start + a
        if keys.far[keys.number[i]]:
            for j in range(i + 1, found.shape[1]):
                if keys.far[keys.number[j]]:
                    key = min(keys.unit * direct_value(rows, i, j)[0], keys.saturation)
                    found[a, j] = np.uint64(np.rint(key)) >> np.uint64(keys.drop)


@kernel
def _direct_values(rows: Rows, left: NDArray[np.int64], right: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    for k in range(values.shape[0]):
        values[k] = direct_value(rows, left[k], right[k])[0]


@kernel
def _products(
    operand: NDArray[Any], left: NDArray[np.int64], right: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    for k in range(values.shape[0]):
        values[k] = pairs.inner_product(operand, left[k], right[k])


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
        values[k] = whole((offset + weight[k]) - factor * np.float64(products[k]), saturation)


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
        values[k] = whole((offset + keys.weight[column]) - factor * np.float64(products[column]), saturation)


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
