"""What the checks of one function share: the function, arrays to call it with, and how exact it can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.subjects import Subject, UnusableError, subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from ordsim_core.conformance.kinds import Arrays, Kind
    from ordsim_core.conformance.promises import Promise

ROWS = 48
WIDTHS = ((7, 5), (6, 6))
"""Columns of x and y that are tried; some functions need as many in both."""

SEEDS = range(15)
TOLERANCE = 1e3
"""In units of roundoff: how far rounding may move a value when the arrays change."""

EXACT_TOLERANCE = 16
"""In units of roundoff: how far a value may be off that has a limit, 1 or 0, and no change of arrays to excuse it."""

_PROBES = range(100, 106)


@dataclass(frozen=True)
class Pair:
    """Two arrays with as many rows."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """One function, and what is known of it before the checks.

    Attributes
    ----------
    subject : Subject
    promises : tuple of Promise
    widths : tuple of int
        Columns of x and y.
    single : bool
        Whether it returns numbers of 32 bits.
    """

    subject: Subject
    promises: tuple[Promise, ...]
    widths: tuple[int, int]
    single: bool

    @property
    def tolerance(self) -> float:
        """How far rounding may move a value of about 1."""
        return TOLERANCE * self._roundoff

    @property
    def exact_tolerance(self) -> float:
        """How far rounding may put the value of equal arrays from where it should be."""
        return EXACT_TOLERANCE * self._roundoff

    @property
    def _roundoff(self) -> float:
        return 2.0**-24 if self.single else 2.0**-53

    def pair(self, seed: int, rows: int = ROWS) -> Pair:
        """Draw two arrays that are related, but far from equal."""
        return related(seed, rows, self.widths)


def related(seed: int, rows: int, widths: tuple[int, int]) -> Pair:
    """Draw normal x, and y as a mixture of its columns plus as much noise."""
    generator = np.random.default_rng([seed, rows, *widths])
    x = generator.standard_normal((rows, widths[0]))
    mixing = generator.standard_normal(widths) / np.sqrt(widths[0])
    return Pair(x, x @ mixing + generator.standard_normal((rows, widths[1])))


def rotation(seed: int, columns: int) -> NDArray[np.float64]:
    """Draw an orthogonal matrix of shape (columns, columns)."""
    square = np.random.default_rng([seed, columns]).standard_normal((columns, columns))
    return np.linalg.qr(square)[0]


def prepare(
    function: Callable[[Any, Any], Any], kind: Kind, promises: tuple[Promise, ...], arrays: Arrays | None
) -> Setting:
    """Find out what a function can be called with.

    Raises
    ------
    UnusableError
        If it cannot be called with two arrays.
    """
    failures: list[str] = []
    for widths in WIDTHS:
        pair = related(0, ROWS, widths)
        try:
            found = subject(function, kind, arrays, pair.x, pair.y)
        except UnusableError as error:
            failures.append(str(error))
            continue
        probes = [found(probe.x, probe.y).value for probe in (related(seed, ROWS, widths) for seed in _PROBES)]
        single = all(value == float(np.float32(value)) for value in probes)
        return Setting(found, promises, widths, single)
    raise UnusableError("; ".join(failures))
