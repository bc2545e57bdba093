"""Representational similarity analysis without the N (N - 1) / 2 distances, where these factor.

Squared Euclidean distances are n_i + n_j - 2 K_ij for the Gram matrix K and squared norms n, so that inner products of
all distances come from D x D moments and sums over rows. Correlation distances are half the squared Euclidean distances
of the rows' directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import LinearResult, result, statistic_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.cosine.gram_sums import StatisticSums


def squared_euclidean_rsa_sums(x: NDArray[Any], y: NDArray[Any], centred: bool = True) -> StatisticSums:
    """Sum over squared Euclidean distances of rows i < j.

    Parameters
    ----------
    x, y : ndarray, shape (N, D)
        Finite values of any real type and in any layout; columns may differ in number.
    centred : bool
        Whether each side's distances are taken less their mean: the cosine is their Pearson correlation then.

    Raises
    ------
    ValueError
        If the arrays are not two-dimensional with equally many rows, at least 2, or 3 if centred.
    """
    return statistic_sums(x, y, _statistic(centred))[1]


def correlation_rsa_sums(x: NDArray[Any], y: NDArray[Any], centred: bool = True) -> StatisticSums:
    """Sum over correlation distances of rows i < j, in units of one half; parameters as above.

    Raises
    ------
    ValueError
        As `squared_euclidean_rsa_sums`.
    ZeroVectorError
        If a row is constant.
    """
    return statistic_sums(x, y, _statistic(centred), unit_rows=True)[1]


def squared_euclidean_rsa(x: NDArray[Any], y: NDArray[Any], centred: bool = True) -> LinearResult:
    """Correlate squared Euclidean distances; parameters and errors as of `squared_euclidean_rsa_sums`."""
    return _rsa(x, y, centred, unit_rows=False)


def correlation_rsa(x: NDArray[Any], y: NDArray[Any], centred: bool = True) -> LinearResult:
    """Correlate correlation distances; parameters and errors as of `correlation_rsa_sums`."""
    return _rsa(x, y, centred, unit_rows=True)


def _rsa(x: NDArray[Any], y: NDArray[Any], centred: bool, unit_rows: bool) -> LinearResult:
    plan, sums = statistic_sums(x, y, _statistic(centred), unit_rows=unit_rows)
    return result(plan.route, plan.survey.constant, plan.survey.equal, sums)


def _statistic(centred: bool) -> Statistic:
    return Statistic.CENTRED_DISTANCES if centred else Statistic.DISTANCES
