"""Nearest neighbours of rows, exact for any distance whose order is exact, and their shares where distances tie."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import chains
from ordsim_core.anchors import products, whole_tiles
from ordsim_core.counts import Paths
from ordsim_core.distances import Precision
from ordsim_core.neighbours import screening
from ordsim_core.neighbours.filling import fill_rows
from ordsim_core.neighbours.selection import SPARE_PLACES, border_rows, select_rows
from ordsim_core.settling import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

BLOCK_TARGETS = 1 << 22
"""Anchors times rows of a block: its products and, should all distances tie, its lists stay below 100 MiB."""


class Ties(StrEnum):
    """What happens to rows that are equally far at the border of a neighbourhood.

    FRACTIONAL: each counts with the share of places that are left for them. INDEX: those that stand first are taken.
    """

    FRACTIONAL = "fractional"
    INDEX = "index"


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of some rows, each anchor's in ascending order; an anchor is never its own.

    Attributes
    ----------
    nearest : int
        k.
    start : ndarray of int64, shape (anchors + 1,)
        The neighbours of anchor a are ``rows[start[a]:start[a + 1]]``.
    rows : ndarray of int32
        k for each anchor, more where distances tie at the border.
    shared : ndarray of bool
        Whether a row is one of too many at the border, and counts with its anchor's share.
    above, below : ndarray of int64, shape (anchors,)
        The share as a fraction in lowest terms: places left over rows that tie; 1 / 1 where all have a place.
    paths : Paths
        What it took to put distances about the borders into exact order.
    uncertified : int
        By how many rows neighbourhoods may differ from exact ones; 0 unless precision is FLOAT32.
    """

    nearest: int
    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    shared: NDArray[np.bool_]
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    paths: Paths = field(default_factory=Paths)
    uncertified: int = 0

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def ties(self) -> int:
        """Anchors of which more rows tie at the border than there are places for."""
        return int((self.below > 1).sum())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (self.start, self.rows, self.shared, self.above, self.below))


def nearest(space: Space, anchors: NDArray[np.int64], count: int, ties: Ties = Ties.FRACTIONAL) -> Neighbours:
    """Find the `count` nearest neighbours of some rows.

    Parameters
    ----------
    space : Space
    anchors : ndarray of int64, shape (anchors,)
        Row numbers.
    count : int
        k, from 1 to N - 1.
    ties : Ties

    Raises
    ------
    ValueError
        If there are not enough other rows, or an anchor is none of them.
    """
    return join(list(nearest_blocks(space, anchors, count, ties)), count)


def first_come(found: Neighbours) -> NDArray[np.bool_]:
    """Say which entries the rule INDEX keeps: of rows that share places, those that stand first.

    Returns
    -------
    ndarray of bool, of the shape of `rows`
    """
    owner = np.repeat(np.arange(len(found)), np.diff(found.start))
    certain = np.bincount(owner[~found.shared], minlength=len(found))
    sharing = np.cumsum(found.shared)
    before = np.concatenate((np.zeros(1, np.int64), sharing))[found.start[:-1]]
    fits = np.less_equal(sharing - before[owner], (found.nearest - certain)[owner])
    kept: NDArray[np.bool_] = ~found.shared | fits
    return kept


def keep(found: Neighbours, kept: NDArray[np.bool_]) -> Neighbours:
    """Leave out entries, so that every anchor has k neighbours and shares no place; paths are not carried along."""
    lengths = np.bincount(np.repeat(np.arange(len(found)), np.diff(found.start))[kept], minlength=len(found))
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    whole = np.ones(len(found), np.int64)
    return Neighbours(found.nearest, start, found.rows[kept], np.zeros(int(kept.sum()), np.bool_), whole, whole)


def nearest_blocks(
    space: Space, anchors: NDArray[np.int64], count: int, ties: Ties = Ties.FRACTIONAL
) -> Iterator[Neighbours]:
    """As `nearest`, as many anchors at a time as are given by `block_anchors`."""
    check(space, anchors, count)
    members = _members(space)
    many = whole_tiles(block_anchors(space.rows), space)
    chosen_space = _fast_enough(space, count, ties, members) if len(anchors) else space
    for begin in range(0, len(anchors), many):
        chosen = anchors[begin : begin + many]
        yield _block(chosen_space, chosen, products(chosen_space, chosen), count, ties, members)


def block_anchors(rows: int) -> int:
    """Give how many anchors are worth a product of matrices, and keep to `BLOCK_TARGETS`."""
    return max(1, BLOCK_TARGETS // max(rows, 1))


def check(space: Space, anchors: NDArray[np.int64], count: int) -> None:
    """Raise ValueError unless these rows have so many others."""
    if not 1 <= count < space.rows:
        raise ValueError(f"k must be from 1 to {space.rows - 1}, the number of other rows, not {count}")
    if len(anchors) and not (anchors.min() >= 0 and anchors.max() < space.rows):
        raise ValueError(f"anchors are not within {space.rows} rows")


def join(parts: list[Neighbours], count: int) -> Neighbours:
    """Put the lists of some anchors after those of others."""
    starts, end = [np.zeros(1, np.int64)], 0
    for part in parts:
        starts.append(part.start[1:] + end)
        end += int(part.start[-1])
    none = np.zeros(0, np.int64)
    return Neighbours(
        count,
        np.concatenate(starts),
        np.concatenate([part.rows for part in parts] or [none.astype(np.int32)]),
        np.concatenate([part.shared for part in parts] or [none.astype(np.bool_)]),
        np.concatenate([part.above for part in parts] or [none]),
        np.concatenate([part.below for part in parts] or [none]),
        sum((part.paths for part in parts), Paths()),
        sum(part.uncertified for part in parts),
    )


def _fast_enough(space: Space, count: int, ties: Ties, members: tuple[NDArray[np.int32], NDArray[np.int64]]) -> Space:
    """Choose keys from float32 products if they leave few rows in doubt: neighbours are the same."""
    if space.rows <= screening.FEW_ROWS:
        return space
    fast = screening.screened(space)
    if fast is space:
        return space
    anchors = screening.probes(space.rows)
    doubts = _block(fast, anchors, products(fast, anchors), count, ties, members).paths.chains
    return space if doubts * screening.CROWDED > len(anchors) * space.rows else fast


def _members(space: Space) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give the rows of each distinct row, one after another, and where those of each begin."""
    if not space.packing.repeated:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    begins = np.zeros(space.distinct + 1, np.int64)
    np.cumsum(space.packing.copies, out=begins[1:])
    return np.argsort(space.packing.number, kind="stable").astype(np.int32), begins


def _block(
    space: Space,
    anchors: NDArray[np.int64],
    made: NDArray[Any],
    count: int,
    ties: Ties,
    members: tuple[NDArray[np.int32], NDArray[np.int64]],
    room: int | None = None,
) -> Neighbours:
    room = min(made.shape[1], count + SPARE_PLACES) if room is None else room
    found, tied = np.empty((len(anchors), room), np.uint64), np.empty((len(anchors), room), np.uint8)
    sizes = np.empty((len(anchors), 4), np.int64)
    doubt = space.precision is Precision.FLOAT32
    select_rows(made, anchors, space.packing, count, doubt, found, tied, sizes)
    if (sizes[:, 0] < 0).any():
        return _in_parts(space, anchors, made, count, ties, members, sizes[:, 0] < 0)
    paths = _settle(space, anchors, made, found, tied, sizes)
    borders = np.empty((len(anchors), 4), np.int64)
    border_rows(found, tied, sizes, anchors, space.packing, count, borders)
    by_index = ties is Ties.INDEX
    nearer, level = borders[:, 0], borders[:, 1]
    start = np.zeros(len(anchors) + 1, np.int64)
    np.cumsum(np.full_like(nearer, count) if by_index else nearer + level, out=start[1:])
    rows, shared = np.empty(start[-1], np.int32), np.empty(start[-1], np.bool_)
    fill_rows(found, borders, anchors, space.packing, *members, count, by_index, start, rows, shared)
    divisor = np.gcd(count - nearer, level)
    one = np.ones_like(level)
    above, below = (one, one) if by_index else ((count - nearer) // divisor, level // divisor)
    return Neighbours(count, start, rows, shared, above, below, paths, int(sizes[:, 3].sum()))


def _in_parts(
    space: Space,
    anchors: NDArray[np.int64],
    made: NDArray[Any],
    count: int,
    ties: Ties,
    members: tuple[NDArray[np.int32], NDArray[np.int64]],
    crowded: NDArray[np.bool_],
) -> Neighbours:
    """Give those that had no room for their zone all the room there is; order is that of the anchors."""
    parts = []
    for begin, end in _runs(crowded):
        room = made.shape[1] if crowded[begin] else None
        parts.append(_block(space, anchors[begin:end], made[begin:end], count, ties, members, room))
    return join(parts, count)


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Give where runs of equal flags begin and end."""
    changes = (np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist()
    return list(zip([0, *changes], [*changes, len(flags)], strict=True))


def _settle(
    space: Space,
    anchors: NDArray[np.int64],
    made: NDArray[Any],
    found: NDArray[np.uint64],
    tied: NDArray[np.uint8],
    sizes: NDArray[np.int64],
) -> Paths:
    """Put the zones in doubt into exact order."""
    packing, paths = space.packing, np.zeros(3, np.int64)
    if packing.mode == chains.EQUAL:
        return Paths()
    for a in np.flatnonzero(sizes[:, 2]).tolist():
        zone = slice(sizes[a, 0], sizes[a, 0] + sizes[a, 1])
        full = made[a] if packing.mode == chains.FULL else np.empty(0)
        own = anchors[a : a + 1]
        settle(space, found[a, zone], packing.id_bits, packing.mode, full, own, space.first, tied[a, zone], paths)
    return Paths(*paths.tolist())
