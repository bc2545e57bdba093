"""Why data cannot be calibrated."""

from __future__ import annotations

from ordsim_core.errors import DataError


class UndefinedPermutationError(DataError):
    """The groups do not permit the permutations that were asked for."""


class NonFiniteStatisticError(DataError):
    """A statistic is NaN or infinite, and has no place among the others.

    `draw` is the number of the permutation, from 1, or 0 for the observed statistic.
    """

    def __init__(self, draw: int, value: float, place: str = "") -> None:
        what = "the observed statistic" if draw == 0 else f"the statistic of permutation {draw}"
        super().__init__(
            f"{what}{place} is {value}, so there is no p-value; look for constant columns, equal rows or overflow, "
            "or use a measure that is defined for this data"
        )
        self.draw = draw
        self.value = value
