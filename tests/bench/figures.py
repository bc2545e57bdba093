"""What a benchmark has to say: figures, each with its target if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from timing import Series


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a figure should keep to."""

    bound: float
    at_most: bool

    def met(self, value: float) -> bool:
        """Whether a value keeps to it."""
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.bound:,.4g}"


def at_most(bound: float) -> Target:
    """Give a target that a figure must not exceed."""
    return Target(bound, True)


def at_least(bound: float) -> Target:
    """Give a target that a figure must reach."""
    return Target(bound, False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes
    ----------
    case : str
        Data, N and D.
    name : str
        What the figure is; a name with a slash is a ratio.
    values : Series or float
        The figure in every repetition, of which the median counts; or the only one.
    unit : str
        Empty for a ratio.
    target : Target or None
    measured : mapping of str to float
        What else was measured on the way.
    measured_unit : str
    """

    case: str
    name: str
    values: Series | float
    unit: str = ""
    target: Target | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    measured_unit: str = ""

    @property
    def value(self) -> float:
        """The figure itself."""
        return self.values if isinstance(self.values, float) else self.values.median

    @property
    def repeated(self) -> list[float]:
        """The figure in every repetition."""
        return [self.values] if isinstance(self.values, float) else self.values.values.tolist()

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        return None if self.target is None else self.target.met(self.value)


@dataclass(frozen=True, slots=True)
class Options:
    """How much to measure.

    Attributes
    ----------
    quick : bool
        Small arrays and few repetitions: shows that everything runs, and nothing else.
    repetitions : int
        Times that everything is measured, of which the median counts.
    all_sizes : bool
        Exact TSI of every kind of data at every N and D.
    job_seconds : float
        About how long the job through a service should take.
    """

    quick: bool
    repetitions: int
    all_sizes: bool
    job_seconds: float


@dataclass(frozen=True, slots=True)
class Section:
    """One thing that is measured; `measure` yields its figures."""

    name: str
    title: str
    measure: Callable[[Options], Iterator[Figure]]
