"""Single comparisons, for samplers: keys of one pair of rows at a time, and the tally of what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core._numba import Int, kernel
from ordsim_core.counts import AgreementCounts
from ordsim_core.distances import Distance, cosine_key, inner_product, squared_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.distances import Space

Keyed = tuple["NDArray[np.float64]", "NDArray[np.float64]", bool]


def keys_of(space: Space) -> Keyed:
    """Give what `pair_key` needs of a space: values, squared norms, and whether the distance is cosine."""
    return space.values, space.squared_norms, space.distance is Distance.COSINE


def to_counts(counts: NDArray[np.int64]) -> AgreementCounts:
    """Turn a tally (concordant, discordant, tied in x, in y, in both) into counts."""
    return AgreementCounts(*(int(count) for count in counts))


def check_pair(x: Space, y: Space, needed: int) -> None:
    """Raise ValueError unless both spaces have the same rows, and at least `needed`."""
    if x.rows != y.rows:
        raise ValueError(f"x has {x.rows} rows and y has {y.rows}: they must describe the same inputs")
    if x.rows < needed:
        raise ValueError(f"at least {needed} rows are needed, there are {x.rows}")


@kernel
def pair_key(values: NDArray[np.float64], squared_norms: NDArray[np.float64], cosine: bool, i: Int, j: Int) -> float:
    """Key of one pair of rows, bitwise that of the block kernels."""
    if cosine:
        return cosine_key(inner_product(values, i, j), squared_norms[i], squared_norms[j])
    return squared_distance(values, i, j)


@kernel
def tally(x_one: float, x_other: float, y_one: float, y_other: float, counts: NDArray[np.int64]) -> None:
    """Count one comparison of two keys in each space."""
    in_x = np.int64(x_one > x_other) - np.int64(x_one < x_other)
    in_y = np.int64(y_one > y_other) - np.int64(y_one < y_other)
    if in_x == 0:
        counts[4 if in_y == 0 else 2] += 1
    elif in_y == 0:
        counts[3] += 1
    else:
        counts[0 if in_x == in_y else 1] += 1
