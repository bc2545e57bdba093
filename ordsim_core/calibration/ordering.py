"""Orders of a few places, by number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ordering(places: int, number: int) -> NDArray[np.int64]:
    """Give order `number` of 0, 1, ..., places - 1 in lexicographic order, int64 of shape (places,); 0 is ascending.

    The digits of the number in the factorial base say which of those left comes next (Lehmer 1960).
    """
    # Beyond the highest digit that is not zero, which comes after `settled` places, nothing is out of order.
    moving = 0
    while moving < places and math.factorial(moving) <= number:
        moving += 1
    settled = places - moving
    left = list(range(settled, places))
    order = list(range(settled))
    for remaining in range(moving - 1, -1, -1):
        digit, number = divmod(number, math.factorial(remaining))
        order.append(left.pop(digit))
    return np.array(order, np.int64)
