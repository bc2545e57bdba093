"""Spaces: arrays prepared for one distance, so that all distances from a row can be put into order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import chains, distinct, lattice, packing, pairs
from ordsim_core.directions import centred_rows, scaled_rows
from ordsim_core.distances import DIRECTIONAL, KINDS, Distance, Exactness, Precision
from ordsim_core.errors import RangeTooWideError
from ordsim_core.lattice import no_checkpoint
from ordsim_core.pairs import Rows
from ordsim_core.ranking import Packing

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.lattice import Lattice

HIGHEST, LOWEST = 480, -500
"""With all values below 2^HIGHEST and multiples of 2^LOWEST, sums of squares of differences of up to 2^32 columns
neither overflow nor underflow."""


@dataclass(frozen=True, eq=False)
class Space:
    """An (N, D) array prepared for one distance.

    Attributes
    ----------
    distance : Distance
    precision : Precision
        What the order of distances means: as asked for, or what can be had.
    exactness : Exactness
        Of the stored values.
    pairs : Rows
        What is known of single rows, for comparisons of single distances.
    operand : ndarray of float32 or float64, shape (U, D), or None
        Distinct rows whose products give the keys; None where keys are not made of products.
    packing : Packing
        How products become whole numbers.
    first : ndarray of int64, shape (U,)
        Of each distinct row, the row where it first occurs.
    lowest : int
        All values of `pairs` are multiples of 2^lowest.
    unit : float
        What a squared Euclidean distance of rows of `pairs` is multiplied by to be a key, where keys are not exact.
    """

    distance: Distance
    precision: Precision
    exactness: Exactness
    pairs: Rows
    operand: NDArray[Any] | None
    packing: Packing
    first: NDArray[np.int64]
    lowest: int
    unit: float = 1.0

    @property
    def rows(self) -> int:
        """N, the number of rows."""
        return len(self.pairs.number)

    @property
    def columns(self) -> int:
        """D, the number of columns."""
        return int(self.pairs.values.shape[1])

    @property
    def distinct(self) -> int:
        """U, the number of distinct rows."""
        return len(self.first)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays held, those that are mapped from files included."""
        arrays = (self.operand, self.first, *self.pairs, *self.packing)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def exactness_of(values: NDArray[Any], checkpoint: Callable[[], None] = no_checkpoint) -> Exactness:
    """Classify an (N, D) array of a real dtype; `checkpoint` as for `prepare`.

    Raises
    ------
    NonFiniteError, NotRepresentableError
        As `prepare`.
    """
    return _exactness(lattice.scan(values, checkpoint))


def prepare(
    values: NDArray[Any],
    distance: Distance,
    precision: Precision = Precision.EXACT,
    checkpoint: Callable[[], None] = no_checkpoint,
    key_bits: int | None = None,
) -> Space:
    """Prepare an (N, D) array for one distance.

    Parameters
    ----------
    values : ndarray, shape (N, D)
        bool, integers or floats of up to 64 bits, in any layout and byte order; not changed, and kept without a copy
        if possible. For precomputed distances (N, N): row i holds the distances from i.
    distance : Distance
    precision : Precision
        What is wanted. EXACT is not to be had for correlation between floats, which then are FLOAT64.
    checkpoint : callable
        Called between blocks of rows; may raise to give up.
    key_bits : int or None
        Coarser keys than there is room for: the same counts, more slowly.

    Raises
    ------
    NonFiniteError
        A value is NaN or infinite.
    NotRepresentableError
        An integer is beyond 2^53 and no float64 equals it.
    ZeroVectorError
        A row has no direction under cosine or correlation distance.
    RangeTooWideError
        Values span so many powers of two that squares would overflow or underflow.
    ValueError
        The array is masked, is not two-dimensional, or has no rows or no columns, its values are not real numbers, or
        precomputed distances are not square.
    """
    _check(values, distance)
    grid = lattice.scan(values, checkpoint)
    exactness = _exactness(grid)
    stored, exact = _plain(values), True
    if distance in DIRECTIONAL:
        stored, grid, exact = _directional(stored, grid, distance, checkpoint)
    elif distance not in (Distance.HAMMING, Distance.PRECOMPUTED):
        stored, grid = _within_range(stored, grid)
    # What centring in float32 loses has no bound: correlation is then as exact as centring in float64 leaves it.
    wanted = precision if exact or precision is not Precision.FLOAT32 else Precision.EXACT
    kind = KINDS[distance]
    alike = distinct.every(len(stored)) if kind == pairs.PRECOMPUTED else distinct.find(stored, checkpoint)
    rows = _rows(kind, stored, alike.number, grid, checkpoint)
    keys = _keys(rows, alike.first, grid, np.float32 if wanted is Precision.FLOAT32 else np.float64, key_bits)
    if keys.exact:
        rows = rows._replace(relative=0.0, absolute=0.0)
    packed = Packing(
        mode=chains.EQUAL if wanted is not Precision.EXACT and keys.mode == chains.CERTIFY else keys.mode,
        id_bits=packing.id_bits(len(alike.first)),
        offset=keys.offset,
        weight=keys.weight,
        factor=keys.factor,
        saturation=keys.saturation,
        slack=keys.slack,
        shift=keys.shift,
        copies=alike.copies,
        number=alike.number,
        repeated=alike.repeated,
        certain=keys.exact,
    )
    reached = _reached(wanted, exact, keys)
    return Space(distance, reached, exactness, rows, keys.operand, packed, alike.first, grid.lowest, keys.unit)


def select(space: Space, rows: NDArray[np.int64], checkpoint: Callable[[], None] = no_checkpoint) -> Space:
    """Prepare some rows of a space, in the order given, for the same distance; order is certified as in the space.

    `checkpoint` as for `prepare`.
    """
    values = space.pairs.values
    if space.distance is Distance.PRECOMPUTED:
        return prepare(values[np.ix_(rows, rows)], Distance.PRECOMPUTED, space.precision, checkpoint)
    # Rows of which the mean was taken are directions like any others.
    distance = Distance.COSINE if space.distance is Distance.CORRELATION else space.distance
    if space.packing.mode != chains.CERTIFY:
        return replace(prepare(values[rows], distance, space.precision, checkpoint), distance=space.distance)
    # What order means is still what it did: of rows that were centred in float64, it is exact for these.
    chosen = prepare(values[rows], distance, Precision.EXACT, checkpoint)
    return replace(chosen, distance=space.distance, precision=space.precision)


def check_pair(x: Space, y: Space, needed: int) -> None:
    """Raise ValueError unless both spaces have the same rows, and at least `needed`; TypeError if they are none."""
    if not (isinstance(x, Space) and isinstance(y, Space)):
        raise TypeError("spaces are compared, not arrays: make them with ordsim_core.spaces.prepare")
    if x.rows != y.rows:
        raise ValueError(f"x has {x.rows} rows and y has {y.rows}: they must describe the same inputs")
    if x.rows < needed:
        raise ValueError(f"at least {needed} rows are needed, there are {x.rows}")


def _check(values: NDArray[Any], distance: Distance) -> None:
    if not isinstance(values, np.ndarray):
        raise TypeError(f"an array is needed, not a {type(values).__name__}: np.asarray makes one")
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            "the array is masked, and its masked values would be taken for values: give values.filled(...) of what "
            "should stand there, or values.data[rows] of the rows without any"
        )
    if values.ndim != 2:
        raise ValueError(f"an (N, D) array is needed, this one has {values.ndim} dimensions")
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise ValueError(f"values of type {values.dtype} cannot be compared")
    if values.shape[0] == 0:
        raise ValueError("the array has no rows, so there is nothing to compare")
    if values.shape[1] == 0:
        raise ValueError("the array has no columns, so all its rows are alike; it needs at least one")
    if distance is Distance.PRECOMPUTED and values.shape[0] != values.shape[1]:
        raise ValueError(f"precomputed distances need a square array, this one has shape {values.shape}")


def _exactness(grid: Lattice) -> Exactness:
    return Exactness.INTEGER if grid.squares_fit else Exactness.FLOAT


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Give the same values as C-contiguous float32 or float64, without a copy where that is what they are."""
    small = values.dtype.kind == "b" or values.dtype.itemsize < 4 or values.dtype in (np.float32, ">f4")
    return np.ascontiguousarray(values, np.float32 if small else np.float64)


def _directional(
    stored: NDArray[Any], grid: Lattice, distance: Distance, checkpoint: Callable[[], None]
) -> tuple[NDArray[Any], Lattice, bool]:
    """Scale rows of which only the direction counts, centred for correlation; also whether they are still exact."""
    stored, grid = scaled_rows(stored, grid, distance, checkpoint)
    if distance is not Distance.CORRELATION:
        return stored, grid, True
    # Rows were within range, so that sums neither overflow nor underflow.
    centred, exact = centred_rows(stored, grid, checkpoint)
    return *scaled_rows(centred, lattice.scan(centred, checkpoint), distance, checkpoint), exact


def _reached(wanted: Precision, exact: bool, keys: packing.Keys) -> Precision:
    """Say what the order of distances means: `exact` is whether rows are those that were given."""
    if keys.exact or wanted is Precision.EXACT:
        return Precision.EXACT if exact else Precision.FLOAT64
    return wanted


def _within_range(values: NDArray[Any], grid: Lattice) -> tuple[NDArray[Any], Lattice]:
    """Scale the whole array by one power of two, only if its squares would not fit."""
    low, high = grid.lowest, int(grid.high.max(initial=-lattice.ZERO))
    if high < low or (high <= HIGHEST and low >= LOWEST):
        return values, grid
    shift = HIGHEST - high
    if low + shift < LOWEST:
        raise RangeTooWideError(high - low, HIGHEST - LOWEST)
    zero = grid.high == -lattice.ZERO
    moved = np.where(zero, 0, shift)
    with np.errstate(over="ignore"):
        spread = np.ldexp(grid.spread, shift)
    return np.ldexp(values.astype(np.float64), shift), lattice.Lattice(grid.low + moved, grid.high + moved, spread)


def _rows(
    kind: int, values: NDArray[Any], number: NDArray[np.int32], grid: Lattice, checkpoint: Callable[[], None]
) -> Rows:
    # Read-only, as mapped files are: kernels are compiled for one or the other.
    values = np.asarray(values).view()
    values.flags.writeable = False
    norms = np.empty(len(values) if kind in (pairs.COSINE, pairs.DOT) else 0)
    if len(norms):
        for start, stop in lattice.ranges(values, checkpoint):
            pairs.norms(values[start:stop], norms[start:stop])
    low, high = (np.clip(part, -(2**15), 2**15 - 1).astype(np.int16) for part in (grid.low, grid.high))
    roundoff = pairs.FLOAT32_ROUNDOFF if values.dtype == np.float32 else pairs.UNIT_ROUNDOFF
    columns = values.shape[1]
    direct, quick = pairs.direct_bounds(kind, columns), pairs.quick_bounds(kind, columns, roundoff)
    with np.errstate(over="ignore"):
        whole = kind == pairs.COSINE and bool((np.ldexp(norms, -low.astype(np.int32)) < pairs.WHOLE_LENGTH).all())
    return Rows(kind, values, number, low, high, norms, *direct, *quick, whole)


def _keys(rows: Rows, first: NDArray[np.int64], grid: Lattice, dtype: type, key_bits: int | None) -> packing.Keys:
    distinct_rows, columns = len(first), rows.values.shape[1]
    bits = packing.budget(distinct_rows, key_bits)
    if rows.kind == pairs.PRECOMPUTED:
        return packing.given(distinct_rows)
    if rows.kind == pairs.HAMMING:
        return packing.listed(distinct_rows, columns, float(columns), packing.budget(distinct_rows, None), 0)
    if rows.kind == pairs.MANHATTAN:
        largest = float(np.sum(grid.spread)) * (1 + 2.0**-40)
        whole = largest < 2.0 ** min(grid.lowest + 53, 1000)
        return packing.listed(distinct_rows, columns, largest, bits, grid.lowest if whole else None)
    operand = rows.values[first].astype(np.float64)
    if rows.kind == pairs.COSINE:
        return packing.cosine(operand, rows.norms[first], bits, dtype)
    if rows.kind == pairs.DOT:
        return packing.dot(operand, rows.norms[first], bits, dtype, grid.lowest)
    return packing.euclidean(operand, bits, dtype, grid.lowest)
