"""Rows made ready for one distance, a block at a time: the arrays themselves are never copied as a whole.

Cosine and correlation distance are half the squared Euclidean distance of rows of length 1, so that they too are
computed from differences where rows are alike. A shift that all rows have in common changes no difference: the mean
is taken off, so that a common offset takes no digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import DIRECTIONAL, Distance
from ordsim_core.errors import ZeroVectorError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SQUARES = (Distance.EUCLIDEAN, Distance.COSINE, Distance.CORRELATION)
"""Distances that follow from squared Euclidean distances."""
UNCHANGED = (Distance.HAMMING, Distance.PRECOMPUTED)
"""Distances that are made of values as they are stored."""


@dataclass(frozen=True, eq=False)
class Side:
    """An (N, D) array of any real dtype and the distance between its rows.

    Attributes
    ----------
    values : ndarray, shape (N, D)
    distance : Distance
    exponent : int
        Values are taken times 2^exponent, so that their squares neither overflow nor underflow.
    """

    values: NDArray[Any]
    distance: Distance
    exponent: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> int:
        """D."""
        return int(self.values.shape[1])


@dataclass(frozen=True, eq=False)
class Prepared:
    """Some rows of one side.

    Attributes
    ----------
    rows : ndarray of float64, shape (n, D)
    squares : ndarray of float64, shape (n,)
        Their squared lengths.
    """

    rows: NDArray[np.float64]
    squares: NDArray[np.float64]


def widened(side: Side, chosen: Any) -> NDArray[np.float64]:
    """Give some rows as a new float64 array."""
    rows = np.array(side.values[chosen], np.float64, order="C", ndmin=2)
    return np.ldexp(rows, side.exponent) if side.exponent else rows


def stored(side: Side, places: tuple[Any, Any]) -> NDArray[np.float64]:
    """Give some entries of stored distances as a new float64 array."""
    entries = np.array(side.values[places], np.float64)
    return np.ldexp(entries, side.exponent) if side.exponent else entries


def prepare(side: Side, chosen: Any, centre: NDArray[np.float64] | None) -> Prepared:
    """Prepare the rows of a slice or an index array of one side; `centre`, if any, is taken off.

    Raises
    ------
    ZeroVectorError
        A row has no direction under cosine or correlation distance.
    """
    rows = widened(side, chosen)
    if side.distance in DIRECTIONAL:
        rows, _ = directions(rows, side, chosen)
    if centre is not None:
        rows -= centre
    return Prepared(rows, lengths(rows, rows))


def lengths(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the inner product of each row with that of another array."""
    found: NDArray[np.float64] = np.einsum("ij,ij->i", one, other)
    return found


def directions(rows: NDArray[np.float64], side: Side, chosen: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give rows of length 1, less their mean before for correlation distance, and how long they were.

    Raises
    ------
    ZeroVectorError
        As `prepare`.
    """
    if side.distance is Distance.CORRELATION:
        rows = centred(rows)
    long = np.abs(rows).max(axis=1)
    if (long == 0).any():
        raise ZeroVectorError(_stored_row(chosen, int((long == 0).argmax())), side.distance.value)
    # By a power of two first: squares then neither overflow nor underflow.
    rows = np.ldexp(rows, -np.frexp(long)[1][:, None])
    length = np.sqrt(lengths(rows, rows))
    return rows / length[:, None], np.ldexp(length, np.frexp(long)[1])


def centred(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take off each row its mean, twice, so that what the first lost in rounding goes too; constant rows become 0."""
    constant = (rows == rows[:, :1]).all(axis=1)
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows -= rows.mean(axis=1, keepdims=True)
    rows[constant] = 0.0
    return rows


def _stored_row(chosen: Any, place: int) -> int:
    return int(np.arange(chosen.stop)[chosen][place]) if isinstance(chosen, slice) else int(chosen[place])
