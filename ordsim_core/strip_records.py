"""Records of pairs of rows, kept by strip until a strip is counted: in memory here, or wherever a `Store` keeps them.

A record is a few 32-bit words: the pair's key on its own side, its key or its strip on the other, and its two rows
where exact order may take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ordsim_core._numba import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Store(Protocol):
    """Keeps records of numbered strips."""

    def append(self, strip: int, words: NDArray[np.uint32]) -> None:
        """Add records to a strip, uint32 of shape (records * width,); the array is not to be kept."""

    def read(self, strip: int) -> NDArray[np.uint32]:
        """Give all records of a strip in the order they came, and forget them; empty if there are none."""


class MemoryStore:
    """Keeps records in memory."""

    def __init__(self) -> None:
        self._parts: dict[int, list[NDArray[np.uint32]]] = {}

    def append(self, strip: int, words: NDArray[np.uint32]) -> None:
        """Add a copy of records to a strip."""
        self._parts.setdefault(strip, []).append(words.copy())

    def read(self, strip: int) -> NDArray[np.uint32]:
        """Give all records of a strip, and let go of them."""
        parts = self._parts.pop(strip, [])
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)


class Layout(NamedTuple):
    """Of what records are made.

    Attributes
    ----------
    own_wide, other_wide : bool
        Whether the number of the own, and of the other side has 64 bits rather than 32.
    numbered : bool
        Whether the rows of a pair are kept.
    """

    own_wide: bool
    other_wide: bool
    numbered: bool

    @property
    def width(self) -> int:
        """32-bit words of a record."""
        return 2 + self.own_wide + self.other_wide + 2 * self.numbered


class Columns(NamedTuple):
    """What is known of pairs of rows: numbers of both sides, and the rows.

    Attributes
    ----------
    own, other : ndarray of uint64, shape (n,)
    left, right : ndarray of int32, shape (n,)
    """

    own: NDArray[np.uint64]
    other: NDArray[np.uint64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]


def new_columns(size: int, rows: int) -> Columns:
    """Give columns of `size` numbers and `rows` rows that are to be written."""
    return Columns(
        np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(rows, np.int32), np.empty(rows, np.int32)
    )


def by_strip(
    columns: Columns, strips: NDArray[np.int32], slots: NDArray[np.int32], layout: Layout
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Write records, those of a strip side by side.

    Parameters
    ----------
    columns : Columns
        Of n pairs.
    strips : ndarray of int32, shape (n,)
    slots : ndarray of int32, shape (strips,)
        Which of some consecutive numbers from 0 each strip goes by; -1 for strips that are left out.

    Returns
    -------
    words : ndarray of uint32, shape (records * width,)
    ends : ndarray of int64
        For each slot, where its words end.
    """
    ends = np.zeros(int(slots.max(initial=-1)) + 2, np.int64)
    _count(strips, slots, ends)
    words = np.empty((int(ends[-1]), layout.width), np.uint32)
    _write(columns, strips, slots, layout, ends, words)
    return words.reshape(-1), ends[:-1] * layout.width


def columns_of(words: NDArray[np.uint32], layout: Layout) -> Columns:
    """Read what `by_strip` wrote; rows are empty if they were not kept."""
    records = words.reshape(-1, layout.width)
    columns = new_columns(len(records), len(records) if layout.numbered else 0)
    _read(records, layout, columns)
    return columns


@kernel
def _count(strips: NDArray[np.int32], slots: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
    # Leaves in each place where the slot begins, and at the end how many records there are.
    for at in range(strips.shape[0]):
        slot = slots[strips[at]]
        if slot >= 0:
            ends[slot] += 1
    begin = np.int64(0)
    for slot in range(ends.shape[0]):
        size = ends[slot]
        ends[slot] = begin
        begin += size


@kernel
def _write(
    columns: Columns,
    strips: NDArray[np.int32],
    slots: NDArray[np.int32],
    layout: Layout,
    ends: NDArray[np.int64],
    words: NDArray[np.uint32],
) -> None:
    half = np.uint64(32)
    for at in range(strips.shape[0]):
        slot = slots[strips[at]]
        if slot < 0:
            continue
        record = words[ends[slot]]
        ends[slot] += 1
        own, other = columns.own[at], columns.other[at]
        column = 1
        record[0] = np.uint32(own)
        if layout.own_wide:
            record[1] = np.uint32(own >> half)
            column = 2
        record[column] = np.uint32(other)
        column += 1
        if layout.other_wide:
            record[column] = np.uint32(other >> half)
            column += 1
        if layout.numbered:
            record[column] = np.uint32(columns.left[at])
            record[column + 1] = np.uint32(columns.right[at])


@kernel
def _read(records: NDArray[np.uint32], layout: Layout, columns: Columns) -> None:
    half = np.uint64(32)
    for at in range(records.shape[0]):
        record = records[at]
        own, column = np.uint64(record[0]), 1
        if layout.own_wide:
            own |= np.uint64(record[1]) << half
            column = 2
        other = np.uint64(record[column])
        column += 1
        if layout.other_wide:
            other |= np.uint64(record[column]) << half
            column += 1
        columns.own[at], columns.other[at] = own, other
        if layout.numbered:
            columns.left[at], columns.right[at] = record[column], record[column + 1]
