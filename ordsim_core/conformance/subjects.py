"""The function under examination, called so that every kind of answer can be judged."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ordsim_core.conformance.kinds import Arrays, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]


class UnusableError(Exception):
    """The function cannot be examined: it does not take two arrays, or does not return a number."""


@dataclass(frozen=True)
class Answer:
    """What a call came to: a value, which may be NaN, or an error."""

    value: float
    error: Exception | SystemExit | None = None

    @property
    def finite(self) -> bool:
        """Whether there is a number."""
        return self.error is None and bool(np.isfinite(self.value))

    @property
    def number(self) -> bool:
        """Whether there is a number or an infinity: an answer that is taken for a score, unlike NaN or an error."""
        return self.error is None and not np.isnan(self.value)

    def __str__(self) -> str:
        if self.error is None:
            return f"returned {self.value!r}"
        message = " ".join(str(self.error).split())
        short = message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."
        return f"raised {type(self.error).__name__}: {short}" if short else f"raised {type(self.error).__name__}"


_LONGEST_MESSAGE = 90


@dataclass(frozen=True)
class Subject:
    """A function f(X, Y) of two arrays with as many rows."""

    function: Callable[[Any, Any], Any]
    kind: Kind = Kind.SIMILARITY
    arrays: Arrays = Arrays.NUMPY

    def __call__(self, x: Array, y: Array) -> Answer:
        """Call the function; its warnings are silenced and its errors kept."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Answer(_number(self.function(self._given(x), self._given(y))))
            except (Exception, SystemExit) as error:  # whatever it raises is what is to be reported
                return Answer(float("nan"), error)

    def value(self, x: Array, y: Array) -> float:
        """Call the function where an error cannot be excused.

        Raises
        ------
        CallFailedError
            If the function raises, or returns no finite number.
        """
        answer = self(x, y)
        if not answer.finite:
            raise CallFailedError(str(answer))
        return answer.value

    def deficit(self, x: Array, y: Array) -> float:
        """How far the function's value is from that of equal arrays; negative if it is beyond."""
        return self.short(self.value(x, y))

    def short(self, value: float) -> float:
        """How far a value is from that of equal arrays."""
        return 1 - value if self.kind is Kind.SIMILARITY else value

    def _given(self, values: Array) -> Any:
        if self.arrays is Arrays.NUMPY:
            return values
        return importlib.import_module("torch").from_numpy(values)


class CallFailedError(Exception):
    """The function failed on arrays that give it no reason to."""


def subject(function: Callable[[Any, Any], Any], kind: Kind, arrays: Arrays | None, x: Array, y: Array) -> Subject:
    """Find out what a function takes, by calling it: numpy arrays, or torch tensors if it fails and torch is there.

    Raises
    ------
    UnusableError
        If it answers neither with a number.
    """
    choices = (arrays,) if arrays is not None else tuple(Arrays)
    failures = []
    for choice in choices:
        if choice is Arrays.TORCH and importlib.util.find_spec("torch") is None:
            if arrays is not None:
                raise UnusableError("torch tensors were asked for, and torch is not installed")
            continue
        candidate = Subject(function, kind, choice)
        answer = candidate(x, y)
        if answer.finite:
            return candidate
        failures.append(f"with {choice} arrays of {_shape(x)} and {_shape(y)} it {answer}")
    raise UnusableError("; ".join(failures))


def _shape(values: Array) -> str:
    return " x ".join(map(str, values.shape))


def _number(result: Any) -> float:
    """Read a plain number, or an array or tensor that holds a single one."""
    if hasattr(result, "detach"):
        result = result.detach().cpu().numpy()
    value = np.asarray(result)
    if value.dtype.kind not in "fiu" or value.size != 1:
        what = f"an array of shape {value.shape}" if isinstance(result, np.ndarray) else f"a {type(result).__name__}"
        raise TypeError(f"it returns {what}; a single real number is needed")
    return float(value.reshape(())[()])
