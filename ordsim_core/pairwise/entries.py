"""Entries of both pair matrices, of one tile or of a list of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.pairwise import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Entries(NamedTuple):
    """Distances in x and in y.

    Attributes
    ----------
    of_x : ndarray of float64
        Distances in x, or their squares.
    changes : ndarray of float64
        By how much those in y are larger; of squares, if the sides are separate, those in y themselves.
    """

    of_x: NDArray[np.float64]
    changes: NDArray[np.float64]


def of_squares(distance: Distance, squares: Entries) -> Entries:
    """Turn squared distances of prepared rows and their changes into distances and theirs, in place."""
    if distance is Distance.EUCLIDEAN:
        kernels.rooted_changes(np.atleast_2d(squares.of_x), np.atleast_2d(squares.changes))
    else:
        for part in squares:
            np.multiply(part, 0.5, out=part)
    return squares


def of_products(products: NDArray[np.float64], cross: NDArray[np.float64]) -> Entries:
    """Turn x_i . x_j and s_i . e_j + e_i . s_j into distances that are minus the product, in place."""
    np.negative(products, out=products)
    np.multiply(cross, -0.5, out=cross)
    return Entries(products, cross)
