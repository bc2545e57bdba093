"""Permutation schemes: which rows may change places if the two arrays have nothing to do with one another.

Rows that are repeated, or measured together, are not exchangeable one by one. Where 50 images share one prompt and its
embedding, permuting rows singly breaks up blocks that unrelated data have too, and finds what is not there. Such rows
stay together in groups.

A permutation is an array of row numbers, `values[index]` being the permuted array. Number 0 is the identity, which
belongs to the observed statistic; draws are numbers 1, 2, ... Each depends on the seed and its number alone, so any
worker can make any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ordsim_core import sampling
from ordsim_core.calibration.errors import UndefinedPermutationError
from ordsim_core.calibration.ordering import ordering

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["rows", "within-groups", "between-groups"]
Side = Literal["x", "y"]

_STREAM = 0xA0761D6478BD642F


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """A set of permutations of rows, each as likely as any other. Made by `scheme`.

    Attributes
    ----------
    kind : {"rows", "within-groups", "between-groups"}
        All rows change places; rows do inside their group; whole groups do.
    side : {"x", "y"}
        Which array is permuted: y, unless only x can be.
    group : ndarray of int64, shape (N,)
        Number of each row's group, from 0.
    members : ndarray of int64, shape (N,)
        Rows by group, in ascending order within each.
    sizes : tuple of int
        Rows of each group.
    """

    kind: Kind
    side: Side
    group: NDArray[np.int64]
    members: NDArray[np.int64]
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """N, of each array."""
        return len(self.group)

    @property
    def number(self) -> int:
        """How many permutations there are, the identity among them: a product of factorials, of any size."""
        return math.prod(math.factorial(places) for places in self._places())

    def has_at_most(self, limit: int) -> bool:
        """Tell whether there are at most `limit` permutations, without multiplying far beyond it."""
        number = 1
        for places in self._places():
            for factor in range(2, places + 1):
                number *= factor
                if number > limit:
                    return False
        return number <= limit

    def drawn(self, seed: int, number: int) -> NDArray[np.int64]:
        """Draw permutation `number`, independent of the others and uniform over the scheme; 0 gives the identity.

        Returns
        -------
        ndarray of int64, shape (N,)
            Row numbers: the permuted array is `values[index]`. Where groups of unequal size change places, the side
            that is permuted is constant within them, and a row is given as often as the other side needs it.

        Raises
        ------
        ValueError
            If seed or number is out of bounds.
        """
        sampling.check(seed, number, number + 1, self.rows, 1)
        if number == 0:
            return np.arange(self.rows)
        own = _own_seed(seed, number)
        if self.kind == "between-groups":
            return self._moved(sampling.permutation(own, len(self.sizes)))
        order = sampling.permutation(own, self.rows)
        # Rows in random order, brought back to their groups, are in random order in each.
        index = np.empty(self.rows, np.int64)
        index[self.members] = order[np.argsort(self.group[order], kind="stable")]
        return index

    def drawn_range(self, seed: int, start: int, stop: int) -> NDArray[np.int64]:
        """Draw permutations `start` to `stop` - 1, int64 of shape (stop - start, N); as `drawn` does."""
        index = np.empty((max(0, stop - start), self.rows), np.int64)
        for place, number in enumerate(range(start, stop)):
            index[place] = self.drawn(seed, number)
        return index

    def listed(self, number: int) -> NDArray[np.int64]:
        """Give permutation `number` of all there are, in lexicographic order: 0 is the identity.

        Raises
        ------
        ValueError
            If there is no such permutation.
        """
        if number < 0 or self.has_at_most(number):
            raise ValueError(f"the scheme has no permutation {number}; they are numbered from 0")
        if self.kind == "between-groups":
            return self._moved(ordering(len(self.sizes), number))
        index = np.empty(self.rows, np.int64)
        stop = self.rows
        for size in reversed(self.sizes):  # the last group changes fastest
            number, own = divmod(number, math.factorial(size))
            rows = self.members[stop - size : stop]
            index[rows] = rows[ordering(size, own)]
            stop -= size
        return index

    def _places(self) -> tuple[int, ...]:
        return (len(self.sizes),) if self.kind == "between-groups" else self.sizes

    def _moved(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Let group `labels[g]` take the place of group g."""
        if len(set(self.sizes)) > 1:
            first = self.members[np.cumsum((0, *self.sizes[:-1]))]
            other = labels[self.group]
            return np.where(other == self.group, np.arange(self.rows), first[other])
        members = self.members.reshape(len(self.sizes), -1)
        index = np.empty(self.rows, np.int64)
        index[members] = members[labels]
        return index


def scheme(kind: Kind, rows: int, groups: NDArray[Any] | None = None, *, constant: Side | None = None) -> Scheme:
    """Choose how rows are permuted.

    Parameters
    ----------
    kind : {"rows", "within-groups", "between-groups"}
        `rows`: rows of y are exchangeable, given x. `within-groups`: only those of one group are. `between-groups`:
        whole groups are, the i-th row of one for the i-th row of another; where their sizes differ, the side that is
        constant within every group is permuted.
    rows : int
        N, of each array.
    groups : ndarray, shape (N,), optional
        A label for each row, of any dtype that can be sorted. Needed by all kinds but `rows`, which does without.
    constant : {"x", "y"}, optional
        The side whose rows are equal within every group (see `constant_side`), used where group sizes differ.

    Raises
    ------
    ValueError
        If the kind is unknown, or there is not one label for each row.
    UndefinedPermutationError
        If no row can change its place, or groups of different sizes would have to and neither side is constant.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"the scheme must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    if constant not in (None, *get_args(Side)):
        raise ValueError(f"the constant side must be x, y or None, not {constant!r}")
    group, sizes = _grouped(kind, rows, groups)
    side: Side = "y"
    if kind == "between-groups" and len(set(sizes)) > 1:
        if constant is None:
            raise UndefinedPermutationError(
                f"groups have {min(sizes)} to {max(sizes)} rows, and neither array is constant within every group, so "
                "whole groups cannot change places; use groups of equal size, arrays of one row per group (its mean, "
                "for example), or the scheme within-groups"
            )
        side = constant
    made = Scheme(kind, side, group, np.argsort(group, kind="stable"), sizes)
    if made.has_at_most(1):
        raise UndefinedPermutationError(_nothing_moves(made))
    return made


def constant_within(values: NDArray[Any], groups: NDArray[Any]) -> bool:
    """Tell whether rows of the same group are equal, for an (N, ...) array; NaN equals nothing.

    Raises
    ------
    ValueError
        If there is not one label for each row.
    """
    group, _ = _grouped("within-groups", len(values), groups)
    _, first = np.unique(group, return_index=True)
    representative = first[group]
    step = max(1, (1 << 20) // max(1, math.prod(values.shape[1:])))
    for start in range(0, len(values), step):
        stop = start + step
        if not np.array_equal(values[start:stop], values[representative[start:stop]]):
            return False
    return True


def constant_side(x: NDArray[Any], y: NDArray[Any], groups: NDArray[Any]) -> Side | None:
    """Name the array that is constant within every group: y if it is, else x if it is, else None.

    Raises
    ------
    ValueError
        If there is not one label for each row.
    """
    if constant_within(y, groups):
        return "y"
    return "x" if constant_within(x, groups) else None


def _grouped(kind: Kind, rows: int, groups: NDArray[Any] | None) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    if kind == "rows":
        return np.zeros(rows, np.int64), (rows,)
    if groups is None:
        raise ValueError(f"the scheme {kind} needs groups: a label for each row")
    labels = np.asarray(groups)
    if labels.shape != (rows,):
        raise ValueError(f"{rows} rows need as many group labels, not an array of shape {labels.shape}")
    _, number, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return number.astype(np.int64), tuple(sizes.tolist())


def _nothing_moves(made: Scheme) -> str:
    if made.kind == "rows":
        return f"{made.rows} row cannot be permuted; calibration needs at least 2"
    if made.kind == "within-groups":
        return "every group has a single row, so no row can move inside its group; use the scheme rows"
    return "all rows are in one group, so no group can take the place of another; use the scheme within-groups"


def _own_seed(seed: int, number: int) -> int:
    """Give each permutation a seed of its own: steps of an odd constant, through the SplitMix64 finaliser.

    Both are one to one on 64 bits, so different numbers have different seeds.
    """
    mixed = (int(sampling.stream_key(seed, _STREAM)) + number * 0x9E3779B97F4A7C15) % sampling.SEEDS
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % sampling.SEEDS
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % sampling.SEEDS
    return mixed ^ (mixed >> 31)
