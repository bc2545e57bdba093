"""Spans of leading singular vectors, as SVCCA compares them (Raghu et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.correlations.spans import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.correlations.spans import Columns

CLOSE = 2.0**-10
"""Arrays whose difference is below this share of the gap between singular values are compared to first order in it."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The singular value decomposition of centred columns, of which some components are kept.

    Attributes
    ----------
    left, values, right : ndarray of float64
        As of `numpy.linalg.svd`; rows of `right` are directions.
    kept : int
        The smallest number of components that hold the wanted share of the squared length.
    """

    left: NDArray[np.float64]
    values: NDArray[np.float64]
    right: NDArray[np.float64]
    kept: int

    @property
    def gap(self) -> float:
        """The last singular value that is kept less the first that is not."""
        return float(self.values[self.kept - 1]) - float(self.values[self.kept : self.kept + 1].sum())

    @property
    def span(self) -> Span:
        """What the components that are kept span."""
        kept = self.kept
        values = self.values[:kept]
        condition = float(values[0] / values[-1]) if kept else float("inf")
        return Span(self.left[:, :kept], self.left[:, kept:], self.right[:kept].T / values, kept, condition)


def decompose(matrix: NDArray[np.float64], threshold: float) -> Decomposition:
    """Keep the fewest components whose squared singular values add up to `threshold` of all of them."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    energy = np.cumsum(values**2)
    total = float(energy[-1]) if len(energy) else 0.0
    kept = 0 if total == 0 else int(np.searchsorted(energy, threshold * total)) + 1
    return Decomposition(left, values, right, min(kept, len(values)))


def sines_and_cosines(
    columns: Columns, x: Decomposition, y: Decomposition
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the part of y's leading components that is outside those of x, and that inside: see `angles`."""
    of_x, of_y, top = x.span, y.span, len(columns.x)
    inside = of_x.left.T @ of_y.left[:top]
    outside = _outside_if_close(columns, x, y)
    if outside is None:
        outside = np.concatenate([of_x.rest.T @ of_y.left[:top], of_y.left[top:]])
    return outside, inside


def _outside_if_close(columns: Columns, x: Decomposition, y: Decomposition) -> NDArray[np.float64] | None:
    """Give the part of y's leading components that is outside those of x, without losing digits; None if not close.

    The components V that are kept of y make (I - P) Y V = (I - P) X V + (I - P) Z V, P the projection on those kept of
    x. In the first term stands W'V, W the components that x leaves out: small, and found from how the squares of both
    arrays differ, for W'(Y'Y - X'X) V = W'V L - M W'V, L and M the squared singular values on both sides.
    """
    if not columns.near or x.kept != y.kept:
        return None
    size = float(np.linalg.norm(columns.z_above)) + float(np.linalg.norm(columns.z_below))
    if size > CLOSE * min(x.gap, y.gap):
        return None
    kept, above = x.kept, columns.z_above
    mixed = columns.x.T @ above
    squares = mixed + mixed.T + above.T @ above + columns.z_below.T @ columns.z_below
    of_y = y.right[:kept].T
    gaps = y.values[:kept] ** 2 - (x.values[kept:] ** 2)[:, None]
    turned = (x.right[kept:] @ squares @ of_y) / gaps
    inner = x.values[kept:, None] * turned + x.left[:, kept:].T @ above @ of_y
    found: NDArray[np.float64] = np.concatenate([inner, columns.z_below @ of_y]) / y.values[:kept]
    return found
