"""Values of a statistic, brought into a form in which they can be compared without rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.calibration.errors import NonFiniteStatisticError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TIE_EPSILONS = 100
"""Floats count as equal within so many machine epsilons of the observed statistic, as in `scipy.stats`."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The observed statistic and those of permutations, in units of 1 / `denominator`. Made by `compare`.

    Attributes
    ----------
    observed : int or float
    null : ndarray of int64, object (Python integers beyond 64 bits) or float64, shape (K,)
        In the order of the draws.
    compared : ndarray of the same dtype, shape (K,)
        `null`, but what is tied with the observed statistic is equal to it.
    denominator : int
        1 for floats.
    """

    observed: int | float
    null: NDArray[Any]
    compared: NDArray[Any]
    denominator: int

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether each permutation does as well as what was observed."""
        return np.asarray(self.compared >= self.observed, np.bool_)

    @property
    def scale(self) -> Fraction:
        """What one unit is worth."""
        return Fraction(1, self.denominator)

    def first(self, draws: int) -> Values:
        """Keep the first draws only."""
        return Values(self.observed, self.null[:draws], self.compared[:draws], self.denominator)


def compare(
    observed: Any,
    null: NDArray[Any] | Sequence[Any],
    denominator: int = 1,
    tolerance: float | None = None,
    size: float = 0.0,
) -> Values:
    """Bring the values of a statistic into one form.

    Parameters
    ----------
    observed : int, Fraction or float
    null : array or sequence of the same, shape (K,)
        Integers and fractions stay exact where all values are such; otherwise all become float64.
    denominator : int
        Of integers and fractions: the statistic is the value over it.
    tolerance : float, optional
        Floats that differ from the observed one by at most this share of it are taken to be equal to it, as they may be
        in exact arithmetic. 100 machine epsilons of their own type unless given. Integers and fractions need none.
    size : float
        What the statistic was rounded at, if that is larger than itself: a sum of terms of size 1 that cancel is as
        uncertain as those terms. The tolerance is a share of the larger of the two.

    Raises
    ------
    ValueError
        If the null is empty, the denominator is not positive or comes with floats, or the tolerance is negative.
    NonFiniteStatisticError
        If a value is NaN or infinite, naming the first of them.
    TypeError
        If a value is not a real number.
    """
    values, unit = gather(null)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"the null must be a sequence of at least one value, not an array of shape {values.shape}")
    if denominator < 1:
        raise ValueError(f"the denominator must be at least 1, not {denominator}")
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"the tolerance must be at least 0, not {tolerance}")
    if isinstance(observed, Rational) and values.dtype.kind != "f":
        return _exact(observed, values, unit, denominator)
    if denominator != 1:
        raise ValueError("a denominator is for integers; divide floats by it before")
    return _rounded(observed, values, tolerance, size)


def reaches(
    observed: Any, null: NDArray[Any] | Sequence[Any], tolerance: float | None = None, size: float = 0.0
) -> NDArray[np.bool_]:
    """Tell of each permutation whether its statistic is as large as the observed one, ties included.

    Arguments and errors as of `compare`, but there may be no permutations.
    """
    return compare(observed, null, tolerance=tolerance, size=size).reached if len(null) else np.empty(0, np.bool_)


def gather(values: NDArray[Any] | Sequence[Any]) -> tuple[NDArray[Any], int]:
    """Put values into an array of integers, with the denominator that they share, or of floats, with 1.

    Integers are of int64, or Python's own where they need more bits. Floats keep their type where all have one.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "if":
        return (values.astype(np.int64) if values.dtype.kind == "i" else values), 1
    listed = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
    shape = values.shape if isinstance(values, np.ndarray) else (len(listed),)
    if all(isinstance(value, Rational) for value in listed):
        denominator = math.lcm(*(int(value.denominator) for value in listed))
        units = [int(value.numerator) * (denominator // int(value.denominator)) for value in listed]
        return _integers(units).reshape(shape), denominator
    if all(isinstance(value, np.floating) for value in listed):
        return np.array(listed).reshape(shape), 1
    return np.array([as_float(value) for value in listed]).reshape(shape), 1


def as_float(value: Any) -> float:
    """Read a value of a statistic. TypeError if it is not a real number."""
    if isinstance(value, str | bytes):
        raise TypeError(f"a statistic must be a real number, not {value!r}")
    return float(value)


def _integers(values: list[int]) -> NDArray[Any]:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array(values, object)


def _exact(observed: Rational, null: NDArray[Any], unit: int, denominator: int) -> Values:
    own = int(observed.denominator)
    common = math.lcm(unit, own)
    first = int(observed.numerator) * (common // own)
    if common > unit:
        null = _integers([int(value) * (common // unit) for value in null.tolist()])
    if not -(2**63) <= first < 2**63:
        null = null.astype(object)
    return Values(first, null, null, denominator * common)


def _rounded(observed: Any, values: NDArray[Any], tolerance: float | None, size: float) -> Values:
    if tolerance is None:
        tolerance = TIE_EPSILONS * max(_epsilon(np.asarray(observed).dtype), _epsilon(values.dtype))
    first = as_float(observed)
    rest = values.astype(np.float64)
    if not math.isfinite(first):
        raise NonFiniteStatisticError(0, first)
    wrong = np.flatnonzero(~np.isfinite(rest))
    if len(wrong):
        raise NonFiniteStatisticError(int(wrong[0]) + 1, float(rest[wrong[0]]))
    # Not the difference, which may overflow.
    slack = tolerance * max(abs(first), size)
    tied = (rest >= first - slack) & (rest <= first + slack)
    return Values(first, rest, np.where(tied, first, rest), 1)


def _epsilon(dtype: np.dtype[Any]) -> float:
    """Give the machine epsilon of a float type; what is no float is read into float64."""
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
