"""Ordinal profiles: what a space answers to all comparisons of a design, two bits each, ready to be compared.

Of M arrays each is read once; how much any two of them agree is then a matter of counting bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.comparisons import DOUBTED, new_paths, quick_values, signs
from ordsim_core.lattice import no_checkpoint
from ordsim_core.nulls import planes as bits
from ordsim_core.nulls.designs import Design, Stream
from ordsim_core.quadruplets import require_symmetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.rank_tables import RankTable
    from ordsim_core.spaces import Space

_DISTANCES_AT_ONCE = 1 << 14
"""Distances measured at a time: what is known of them stays in the cache."""

_STREAMS = tuple(Stream)
_HEADER, _STORED = np.dtype("<u8"), np.dtype("<u2")
_FIELDS = 7


@dataclass(frozen=True, eq=False)
class Profile:
    """The signs of all comparisons of a design in one space.

    Attributes
    ----------
    design : Design
    planes : ndarray of uint16, shape (2, blocks, comparisons, 16)
        See `planes`.
    uncertified : int
        Comparisons whose order is in doubt, counted for float32 precision only.
    """

    design: Design
    planes: NDArray[np.uint16]
    uncertified: int = 0

    @property
    def words(self) -> NDArray[np.uint64]:
        """The planes for `planes.count_disagreeing`: uint64 of shape (1, 2, words)."""
        return bits.words(self.planes)


def of_space(space: Space, drawn: Drawn, checkpoint: Callable[[], None] = no_checkpoint) -> Profile:
    """Compare distances of a space as `triplets` and `quadruplets` do for the same design.

    Parameters
    ----------
    space : Space
    drawn : Drawn
    checkpoint : callable
        Called between blocks of work; may raise to give up.

    Raises
    ------
    AsymmetricDistanceError
        If pairs are compared and precomputed distances are not symmetric.
    ValueError
        If the design is for another number of rows.
    """
    design = drawn.design
    _check_rows(space.rows, design)
    if not design.stream.anchored:
        require_symmetric(space)
    planes, paths = bits.empty(design.units, design.each), new_paths()
    step = max(1, _DISTANCES_AT_ONCE // design.members)
    doubtful = np.empty((min(step, design.units) * design.each, 3), np.int64)
    for first in range(0, design.units, step):
        checkpoint()
        right = drawn.right[first : first + step]
        chosen = np.stack(np.broadcast_arrays(drawn.left[first : first + step], right), axis=2).astype(np.int64)
        values, errors = (found.reshape(right.shape) for found in quick_values(space, chosen.reshape(-1, 2)))
        found = doubtful[: bits.compare_values(values, errors, first, planes, doubtful)]
        # What a quick look leaves in doubt is compared one by one.
        unit, a, b = found.T
        tuples = np.concatenate((chosen[unit, a], chosen[unit, b]), axis=1)
        bits.set_signs(found, signs(space, tuples, paths), first, planes)
    return Profile(design, planes, int(paths[DOUBTED]))


def of_table(table: RankTable, drawn: Drawn, rows: NDArray[np.integer] | None = None) -> Profile:
    """Compare stored ranks, after the rows were permuted if `rows` are given: see `RankTable.numbers`.

    Raises
    ------
    ValueError
        If the design is for another number of rows or compares pairs and the table does not, or as
        `RankTable.numbers` does.
    """
    check_table(table, drawn.design)
    numbers = table.number if rows is None else table.numbers(rows)
    planes = bits.empty(drawn.design.units, drawn.design.each)
    bits.look_up(table.ranks, numbers, drawn.left, drawn.right, planes)
    return Profile(drawn.design, planes)


def agreeing(one: Profile, other: Profile) -> int:
    """Count the comparisons with the same answer in both.

    Raises
    ------
    ValueError
        If the profiles are of different designs.
    """
    return int(grid([one], [other])[0, 0])


def grid(ones: Sequence[Profile], others: Sequence[Profile]) -> NDArray[np.int64]:
    """Count the agreeing comparisons of each of some profiles with each of others, int64 of shape (ones, others).

    Raises
    ------
    ValueError
        If there are no profiles, or profiles of different designs.
    """
    design = _same_design([*ones, *others])
    found = np.empty((len(ones), len(others)), np.int64)
    bits.count_disagreeing(stacked(ones), stacked(others), found)
    return np.int64(design.comparisons) - found


def agreeing_by_unit(one: Profile, other: Profile) -> NDArray[np.int64]:
    """Count the agreeing comparisons of each unit, int64 of shape (units,).

    As `Units.agreeing` has them: for intervals from `betting` and `intervals.maurer_pontil`.

    Raises
    ------
    ValueError
        If the profiles are of different designs.
    """
    design = _same_design([one, other])
    found = np.empty(one.planes.shape[1] * bits.BLOCK, np.int64)
    bits.count_by_unit(one.planes, other.planes, found)
    return design.each - found[: design.units]


def joined(parts: Sequence[Profile]) -> Profile:
    """Put profiles of consecutive parts of one design together.

    Raises
    ------
    ValueError
        If there are none, they are not consecutive, or one but the last has no multiple of `planes.BLOCK` units.
    """
    designs = [part.design for part in parts]
    if not designs:
        raise ValueError("there are no parts to join")
    whole = designs[0].part(designs[0].start, designs[-1].stop)
    if any(design.part(whole.start, whole.stop) != whole for design in designs) or any(
        one.stop != other.start for one, other in pairwise(designs)
    ):
        raise ValueError("profiles can only be joined if they are consecutive parts of one design")
    if any(design.units % bits.BLOCK for design in designs[:-1]):
        raise ValueError(f"all parts of a profile but the last must have a multiple of {bits.BLOCK} units")
    planes = np.concatenate([part.planes for part in parts], axis=1)
    return Profile(whole, planes, sum(part.uncertified for part in parts))


def to_bytes(profile: Profile) -> NDArray[np.uint8]:
    """Give a profile as bytes, uint8 of shape (length,), for `from_bytes`."""
    design = profile.design
    stream = _STREAMS.index(design.stream)
    fields = (stream, design.seed, design.rows, design.members, design.start, design.stop, profile.uncertified)
    return np.concatenate(
        (np.array(fields, _HEADER).view(np.uint8), profile.planes.astype("<u2").view(np.uint8).ravel())
    )


def from_bytes(data: NDArray[np.uint8]) -> Profile:
    """Give the profile that `to_bytes` made bytes of.

    Raises
    ------
    ValueError
        If these are not the bytes of a profile.
    """
    size = _FIELDS * _HEADER.itemsize
    if data.dtype != np.uint8 or data.ndim != 1 or len(data) < size:
        raise ValueError("these are not the bytes of a profile")
    stream, *numbers, uncertified = (int(field) for field in np.ascontiguousarray(data[:size]).view(_HEADER))
    if stream >= len(_STREAMS):
        raise ValueError(f"these are not the bytes of a profile: there is no stream {stream}")
    design = Design(_STREAMS[stream], *numbers)
    planes = bits.empty(design.units, design.each)
    if len(data) != size + planes.nbytes:
        raise ValueError(f"a profile of {design.units} units has {size + planes.nbytes} bytes, not {len(data)}")
    planes[:] = np.ascontiguousarray(data[size:]).view(_STORED).reshape(planes.shape)
    return Profile(design, planes, uncertified)


def stacked(profiles: Sequence[Profile]) -> NDArray[np.uint64]:
    """Give the words of profiles of one design, uint64 of shape (profiles, 2, words); of a single one, not copied."""
    if len(profiles) == 1:
        return profiles[0].words
    return np.concatenate([profile.words for profile in profiles])


def check_table(table: RankTable, design: Design) -> None:
    """Raise ValueError unless the comparisons of a design can be looked up in a table."""
    _check_rows(table.rows, design)
    if not (design.stream.anchored or table.of_pairs):
        raise ValueError("pairs can only be compared in a table of all pairs: rank_tables.of_pairs makes one")


def _check_rows(rows: int, design: Design) -> None:
    if rows != design.rows:
        raise ValueError(f"the design is for {design.rows} rows, there are {rows}")


def _same_design(profiles: Sequence[Profile]) -> Design:
    if not profiles:
        raise ValueError("there are no profiles")
    design = profiles[0].design
    for profile in profiles:
        if profile.design != design:
            raise ValueError(f"only profiles of one design can be compared: {design} is not {profile.design}")
    return design
