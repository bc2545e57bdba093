"""When to stop drawing permutations (Besag and Clifford 1991): at the h-th that does as well as what was observed.

Then p = h / l after l draws: a valid p-value, because l has the distribution that the rank of the observed statistic
gives it. An unremarkable score is known to be one after some tens of draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def stops_after(
    reached: NDArray[np.bool_], exceedances: int, *, draws_before: int = 0, exceedances_before: int = 0
) -> int | None:
    """Say after which draw the sequence stops, counted from 1, or None if it has not come to that.

    Parameters
    ----------
    reached : ndarray of bool, shape (draws,)
        Of each draw in order, whether its statistic reaches the observed one (see `reaches`).
    exceedances : int
        h, at which to stop.
    draws_before, exceedances_before : int
        What came before `reached`, without a stop: a long sequence can be followed piece by piece.

    Raises
    ------
    ValueError
        If `exceedances` is not positive, or they were reached before.
    """
    if exceedances < 1:
        raise ValueError(f"early stopping needs at least 1 exceedance, not {exceedances}")
    if not 0 <= exceedances_before < exceedances or draws_before < exceedances_before:
        raise ValueError(
            f"{exceedances_before} exceedances in {draws_before} draws cannot come before the sequence stops at "
            f"{exceedances}"
        )
    places = np.flatnonzero(reached)
    needed = exceedances - exceedances_before
    return None if len(places) < needed else draws_before + int(places[needed - 1]) + 1
