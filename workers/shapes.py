"""Shapes of what is compared, from what is known of single arrays: before they are staged, and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance
from workers.measures.protocol import PairShape
from workers.writing import staged_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of an array: columns and type as stored, and how distance is measured in it."""

    columns: int
    dtype: str
    distance: Distance


def pair_shape(rows: int, x: Sequence[Described], y: Sequence[Described], precision: str) -> PairShape:
    """Give the shape for costs: of several arrays on one side the most columns and the largest values.

    Parameters
    ----------
    rows : int
        Rows that are compared.
    x, y : sequence of Described
        One each where two arrays are compared. The distance of a side is that of its first.
    precision : str
        As it was asked for.
    """
    found: dict[str, Any] = {"rows": rows, "precision": precision}
    for side, arrays in (("x", x), ("y", y)):
        dtypes = [staged_dtype(np.dtype(one.dtype)) for one in arrays]
        # Of precomputed distances, the columns of the selected rows are taken.
        columns = [rows if one.distance is Distance.PRECOMPUTED else one.columns for one in arrays]
        found |= {
            f"{side}_columns": max(columns),
            f"{side}_distance": arrays[0].distance,
            f"{side}_itemsize": max(dtype.itemsize for dtype in dtypes),
            f"{side}_float": all(dtype.kind == "f" for dtype in dtypes),
        }
    return PairShape(**found)
