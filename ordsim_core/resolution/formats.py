"""Floating-point formats that values may have been rounded to, whatever they are stored in now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


_OF_NUMPY = ("float16", "float32", "float64")


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    Attributes
    ----------
    name : str
    significant_bits : int
        Bits of the significand, the hidden one included.
    lowest_exponent : int
        The smallest positive value, subnormal, is 2^lowest_exponent.
    largest : float
        The largest finite value.
    """

    name: str
    significant_bits: int
    lowest_exponent: int
    largest: float

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest: 2^-significant_bits."""
        return 2.0**-self.significant_bits

    def step_exponents(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Exponent of the distance from each value to the next larger magnitude; at 0, that of the smallest value."""
        exponents = np.frexp(values)[1] - np.int32(self.significant_bits)
        return np.where(values == 0, np.int32(self.lowest_exponent), np.maximum(exponents, self.lowest_exponent))

    def holds(self, values: NDArray[np.float64]) -> bool:
        """Whether rounding to this format changes no value."""
        if self.name in _OF_NUMPY:  # several times faster
            with np.errstate(over="ignore"):
                return bool((values.astype(self.name) == values).all())
        if max(values.max(initial=0.0), -values.min(initial=0.0)) > self.largest:
            return False
        steps = np.ldexp(values, -self.step_exponents(values))
        return bool((steps == np.rint(steps)).all())


FLOAT64 = Format("float64", 53, -1074, float(np.finfo(np.float64).max))
FLOAT32 = Format("float32", 24, -149, float(np.finfo(np.float32).max))
FLOAT16 = Format("float16", 11, -24, 65504.0)
BFLOAT16 = Format("bfloat16", 8, -133, (2 - 2.0**-7) * 2.0**127)
FLOAT8_E4M3 = Format("float8_e4m3", 4, -9, 448.0)
FLOAT8_E5M2 = Format("float8_e5m2", 3, -16, 57344.0)

FORMATS = (FLOAT8_E5M2, FLOAT8_E4M3, BFLOAT16, FLOAT16, FLOAT32, FLOAT64)
"""From the coarsest to the finest; every value of float64 is held by the last."""
