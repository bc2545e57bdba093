"""Timing in turns: everything that is compared, on the same rows, one after another, again and again."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Call = Callable[[], object]
"""What is timed."""

Contender = Callable[[int], Call]
"""Given the number of a repetition, makes ready what is needed for it, and gives the call to be timed.

Each repetition must bring rows of its own: a processor learns the branches of rows that it has sorted before."""

NANOSECONDS = 1e9


@dataclass(frozen=True, eq=False)
class Series:
    """One figure in every repetition, float64 of shape (repetitions,)."""

    values: NDArray[np.float64]

    @property
    def median(self) -> float:
        """The one that counts."""
        return float(np.median(self.values))

    def __add__(self, other: Series) -> Series:
        return Series(self.values + other.values)

    def __mul__(self, factor: float) -> Series:
        return Series(self.values * factor)

    def __truediv__(self, other: Series | float) -> Series:
        """Divide each by that of the same repetition: what slows down a whole repetition cancels out."""
        return Series(self.values / (other.values if isinstance(other, Series) else other))


def in_turns(contenders: Mapping[str, Contender], repetitions: int, warm: int = 1) -> dict[str, Series]:
    """Time all contenders in every repetition, in rotating order; seconds.

    The first `warm` repetitions, which fetch code and memory, are left out.
    """
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(warm + repetitions):
        turn = repetition % len(names)
        for name in names[turn:] + names[:turn]:
            seconds[name].append(_seconds(contenders[name](repetition)))
    return {name: Series(np.array(found[warm:])) for name, found in seconds.items()}


def _seconds(call: Call) -> float:
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin
    finally:
        gc.enable()
