"""Small arrays that are rotations of each other but for the last digits, rotated onto each other without rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRODUCTS_LIMIT = 1 << 16
"""Most products of fractions, N D^2: about a second."""


def rotated_rows(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Give S and E of centred arrays of about unit norm, y rotated onto x.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Of any real type, neither constant; columns may differ in number.

    Returns
    -------
    ndarray of float64, shape (N, 2 D)
        [S E], each entry right to the last digits.
    """
    columns = max(x.shape[1], y.shape[1])
    of_x, of_y = _unit(x, columns), _unit(y, columns)
    left, _, right = np.linalg.svd(_rounded(of_y.T) @ _rounded(of_x))
    rotation = left @ right
    exact = np.array([[Fraction(value) for value in row] for row in rotation.tolist()], dtype=object)
    turned = of_y @ exact
    # The rotation is orthogonal but for rounding, which half of Q'Q - I takes away to the next order.
    defect = _rounded(turned) @ (_rounded(exact.T @ exact - np.eye(columns, dtype=np.int64).astype(object)) / 2)
    return np.hstack((_rounded(turned + of_x) - defect, _rounded(turned - of_x) - defect))


def _unit(values: NDArray[Any], columns: int) -> NDArray[np.object_]:
    """Centre in fractions, pad with zeros, and scale to unit norm by a rounded factor."""
    exact = np.full((len(values), columns), Fraction(0), dtype=object)
    exact[:, : values.shape[1]] = [[Fraction(value) for value in row] for row in values.tolist()]
    exact = exact - exact.sum(axis=0) / Fraction(len(values))
    largest = max(abs(value) for value in exact.ravel())
    exact = exact / largest
    return np.asarray(exact / Fraction(float(np.linalg.norm(_rounded(exact)))), dtype=object)


def _rounded(exact: NDArray[np.object_]) -> NDArray[np.float64]:
    return exact.astype(np.float64)
