"""Statistics in plain numpy that calibration is tested with. Imports nothing that it is used to check."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from simulated import agreement

if TYPE_CHECKING:
    from numpy.typing import NDArray


def linear_cka(x: NDArray[np.floating], y: NDArray[np.floating]) -> np.floating:
    """Kornblith et al. 2019, over matrices of features."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    cross, own_x, own_y = x.T @ y, x.T @ x, y.T @ y
    return np.vdot(cross, cross) / np.sqrt(np.vdot(own_x, own_x) * np.vdot(own_y, own_y))


def gram_cka(x: NDArray[np.floating], y: NDArray[np.floating]) -> np.floating:
    """The same over N x N matrices, with other roundings."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    gram_x, gram_y = x @ x.T, y @ y.T
    return (gram_x * gram_y).sum() / np.sqrt((gram_x * gram_x).sum() * (gram_y * gram_y).sum())


def exact_tsi(x: NDArray[np.floating], y: NDArray[np.floating]) -> Fraction:
    """Soares et al. 2026, definition 1, where distances have no rounding errors."""
    rows = len(x)
    return Fraction(int(agreement(x, y).sum()) // 2, rows * comb(rows - 1, 2))
