"""Measures of values under permutations: what each array gives is computed once, see `ordsim_core.nulls`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordsim_core.distances import Distance
from ordsim_core.nulls import features, matrices
from ordsim_core.nulls.features import Features, UndefinedError
from workers.measures.given import Kept, UndefinedStatistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ordsim_core.nulls.features import Kind
    from workers.measures.given import Operand
    from workers.measures.protocol import Checkpoint, PairShape

MATRIX_ROWS = 4096
"""Rows whose pairs are held all at once: 128 MB for each array."""
FLOP = 0.1e-9
"""Seconds for one multiplication and addition of a product."""
GATHER = 1e-9
"""Seconds to bring one value to its new row."""
ENTRY = 1.5e-9
"""Seconds for one entry of a matrix of pairs that is looked up."""


@dataclass(frozen=True)
class FeatureStatistic:
    """A measure made of products of columns.

    Attributes
    ----------
    shape : PairShape
    kind : Kind
    about : mapping of str to JSON values
        What is computed.
    threshold : float or None
        Of SVCCA.
    """

    shape: PairShape
    kind: Kind
    about: Mapping[str, Any]
    threshold: float | None = None
    unit: int | None = None
    rows_limit: int | None = None

    @property
    def symmetric(self) -> bool:
        """All but PWCCA, whose weights are those of x."""
        return self.kind is not features.Kind.PWCCA

    @property
    def fixed_bytes(self) -> int:
        """Centred columns in float64, and what making them takes."""
        return 32 * self.shape.rows * max(self.shape.x_columns, self.shape.y_columns)

    permutable_bytes = fixed_bytes

    @property
    def once_seconds(self) -> float:
        """Products of the columns of each array with themselves."""
        return 10 * FLOP * self.shape.rows * (self.shape.x_columns**2 + self.shape.y_columns**2)

    @property
    def permuted_seconds(self) -> float:
        """Bringing rows into order."""
        return GATHER * self.shape.rows * self.shape.y_columns

    @property
    def statistic_seconds(self) -> float:
        """One product."""
        return FLOP * self.shape.rows * self.shape.x_columns * self.shape.y_columns

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> Features:
        """Centre x, and so on."""
        checkpoint()
        return _defined(features.features, x.values(), self.kind, self.threshold)

    permutable = fixed

    def statistics(
        self,
        fixed: Sequence[Features],
        permutable: Features,
        orders: Sequence[NDArray[np.int64]],
        checkpoint: Checkpoint,
    ) -> NDArray[np.float64]:
        """Scores, shape (orders, fixed)."""
        return _defined(features.scores, fixed, permutable, orders, checkpoint)


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """Entries for all pairs of rows, and the same as they are compared, with norm 1."""

    entries: NDArray[np.float64]
    compared: NDArray[np.float64]


@dataclass(frozen=True)
class MatrixStatistic:
    """A measure made of matrices of all pairs of rows.

    Attributes
    ----------
    shape : PairShape
    about : mapping of str to JSON values
        What is computed.
    entries : callable
        From an array to the entries of its matrix.
    compared : callable
        From entries to a matrix of norm 1.
    """

    shape: PairShape
    about: Mapping[str, Any]
    entries: Callable[[Operand], NDArray[np.float64]] = field(repr=False)
    compared: Callable[[NDArray[np.float64]], NDArray[np.float64]] = field(repr=False)
    unit: int | None = None
    rows_limit: int | None = MATRIX_ROWS
    symmetric: bool = True

    @property
    def fixed_bytes(self) -> int:
        """The matrices, and copies while they are made."""
        return 40 * self.shape.rows**2

    permutable_bytes = fixed_bytes

    @property
    def once_seconds(self) -> float:
        """Distances of both arrays."""
        return self.shape.rows**2 * (20e-9 + 1e-9 * (self.shape.x_columns + self.shape.y_columns))

    @property
    def permuted_seconds(self) -> float:
        """Nothing by itself."""
        return 0.0

    @property
    def statistic_seconds(self) -> float:
        """All entries."""
        return ENTRY * self.shape.rows**2

    def fixed(self, x: Operand, checkpoint: Checkpoint) -> PairMatrix:
        """Measure distances, and so on."""
        checkpoint()
        entries = self.entries(x)
        return PairMatrix(entries, _defined(self.compared, entries))

    permutable = fixed

    def statistics(
        self,
        fixed: Sequence[PairMatrix],
        permutable: PairMatrix,
        orders: Sequence[NDArray[np.int64]],
        checkpoint: Checkpoint,
    ) -> NDArray[np.float64]:
        """Scores, shape (orders, fixed)."""
        xs, rows = [one.compared for one in fixed], np.arange(self.shape.rows)
        found = np.empty((len(orders), len(xs)))
        for place, order in enumerate(orders):
            y, moved = permutable.compared, order
            if not np.array_equal(np.sort(order), rows):  # of rows that repeat, means and norms change too
                y, moved = _defined(self.compared, permutable.entries[np.ix_(order, order)]), rows
            found[place] = matrices.inner_products(xs, y, [moved], checkpoint)[0]
        return found


def _defined(compute: Callable[..., Kept], *arguments: Any) -> Kept:
    try:
        return compute(*arguments)
    except UndefinedError as error:
        raise UndefinedStatistic(str(error)) from None


def of_kernel(
    shape: PairShape,
    about: Mapping[str, Any],
    *,
    radial: bool,
    bandwidth: float | None = None,
    debiased: bool = False,
) -> MatrixStatistic:
    """CKA of RBF kernels, or of minus the distance asked for.

    `bandwidth` : of both RBF kernels; None for the median distance of each.
    """
    if not radial:
        return MatrixStatistic(shape, about, _distances, lambda entries: matrices.centred(-entries, debiased=debiased))

    def compared(entries: NDArray[np.float64]) -> NDArray[np.float64]:
        return matrices.centred(matrices.radial(entries, bandwidth), debiased=debiased)

    scaled = bandwidth is None
    return MatrixStatistic(shape, about, lambda one: _euclidean(one, scaled=scaled), compared)


def of_dissimilarities(
    shape: PairShape, about: Mapping[str, Any], correlation: Literal["pearson", "spearman", "cosine"]
) -> MatrixStatistic:
    """RSA over all pairs of rows."""
    return MatrixStatistic(shape, about, _distances, lambda entries: matrices.dissimilarities(entries, correlation))


def _distances(one: Operand) -> NDArray[np.float64]:
    return matrices.distances(one.values(), one.distance, scaled=True)


def _euclidean(one: Operand, *, scaled: bool) -> NDArray[np.float64]:
    return matrices.distances(one.values(), Distance.EUCLIDEAN, scaled=scaled)
