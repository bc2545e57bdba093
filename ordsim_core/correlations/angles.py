"""Angles between two subspaces, small ones from their sines and large ones from their cosines (Bjorck and Golub 1973).

A correlation is the cosine of an angle. Its deficit is sin^2 / (1 + cos), which keeps those digits of small angles that
1 - cos would lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.correlations.spans import Columns, Span

HALF = 0.5
"""Angles whose squared sine is at most this are found from their sines."""


@dataclass(frozen=True, eq=False)
class Angles:
    """Correlations in descending order.

    Attributes
    ----------
    cosines, deficits : ndarray of float64, shape (M,)
        The correlations, from 0 to 1, and 1 minus them.
    directions : ndarray of float64, shape (rows, M)
        Of the first subspace, unit vectors in its coordinates.
    """

    cosines: NDArray[np.float64]
    deficits: NDArray[np.float64]
    directions: NDArray[np.float64]


def sines_and_cosines(columns: Columns, x: Span, y: Span) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the part of y's basis that is outside the span of x, and that inside, in coordinates of x's basis."""
    top = len(columns.x)
    inside = x.left.T @ y.left[:top]
    if not columns.near:
        return np.concatenate([x.rest.T @ y.left[:top], y.left[top:]]), inside
    # What x spans of y is the same with and without x itself, so only the difference can stick out.
    outside = np.concatenate([x.rest.T @ columns.z_above, columns.z_below])
    return outside @ y.right, inside


def angles(outside: NDArray[np.float64], inside: NDArray[np.float64]) -> Angles:
    """Find the angles of a subspace with another one.

    Parameters
    ----------
    outside : ndarray of float64, shape (..., R)
        An orthonormal basis of the first, projected out of the other.
    inside : ndarray of float64, shape (S, R)
        Its coordinates in an orthonormal basis of the other.
    """
    number = min(inside.shape)
    _, sines, right = np.linalg.svd(outside, full_matrices=outside.shape[0] < outside.shape[1])
    sines = np.concatenate([sines, np.zeros(inside.shape[1] - len(sines))])
    order = np.argsort(sines, kind="stable")
    sines, right = sines[order], right[order]
    small = min(number, int((sines**2 <= HALF).sum()))
    squares = sines[:small] ** 2
    near = inside @ right[:small].T
    with np.errstate(invalid="ignore"):
        near /= np.linalg.norm(near, axis=0)
    left, cosines, _ = np.linalg.svd(inside @ right[small:].T, full_matrices=False)
    cosines = np.minimum(cosines[: number - small], 1.0)
    deficits = squares / (1 + np.sqrt(1 - squares))
    return Angles(
        np.concatenate([1 - deficits, cosines]),
        np.concatenate([deficits, 1 - cosines]),
        np.concatenate([near, left[:, : number - small]], axis=1),
    )


def weighted(found: Angles, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Give the weighted mean of correlations, and its deficit: not one minus it, but the mean of the deficits."""
    total = math.fsum(weights)
    deficit = math.fsum(weights * found.deficits) / total
    return (1 - deficit if deficit < HALF else math.fsum(weights * found.cosines) / total), deficit
