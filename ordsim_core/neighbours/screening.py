"""Float32 products to find the few rows about a border, which are then compared as exactly as ever.

Of keys from float32 products only those within their error of the border's are in doubt, and these are settled anyway.
The error is bounded as `packing` bounds it for float32; products cost half. Where rows crowd so much that float32
leaves many in doubt, the space is used as it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.chains import CERTIFY
from ordsim_core.packing import LARGEST_SLACK, NO_SHIFT
from ordsim_core.pairs import DOT, EUCLIDEAN, FLOAT32_ROUNDOFF, gamma

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

FEW_ROWS = 256
"""Up to so many rows products cost nothing."""
LARGEST_SQUARE = 2.0**100
"""Products of larger rows might overflow."""
PROBES = 16
"""Anchors by which it is judged whether float32 is fine enough: of the whole space, whichever anchors are asked for."""
CROWDED = 64
"""One row of so many may be in doubt."""


def screened(space: Space) -> Space:
    """Give the same space with keys from float32 products, and doubts accordingly; itself where that cannot be."""
    packing, operand = space.packing, space.operand
    if packing.mode != CERTIFY or operand is None or operand.dtype != np.float64:
        return space
    bound = gamma(operand.shape[1] + 8, FLOAT32_ROUNDOFF)
    # Offsets are squared lengths, or constants as large as any product.
    slack, shift = 1 + 2.1 * bound * packing.offset, NO_SHIFT
    if space.pairs.kind == EUCLIDEAN:
        slack, shift = 1 + 16 * bound * packing.offset, max(0, math.floor(-math.log2(4.1 * bound)))
    if space.pairs.kind in (EUCLIDEAN, DOT) and not float(packing.offset.max()) <= LARGEST_SQUARE:
        return space
    wide = (np.floor(np.minimum(slack, LARGEST_SLACK)) + 1).astype(np.int64)
    return replace(space, operand=operand.astype(np.float32), packing=packing._replace(slack=wide, shift=shift))


def probes(rows: int) -> NDArray[np.int64]:
    """Give a few anchors from all over the space."""
    return np.unique(np.linspace(0, rows - 1, PROBES).astype(np.int64))
