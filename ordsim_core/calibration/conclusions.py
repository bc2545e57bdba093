"""What a null says of an observed statistic: p-value, threshold and calibrated score.

All three come from one pool of values, the observed one among them, compared as integers or exact fractions. With n
values in the pool, of which e are at least as large as the observed statistic s (s itself is one of them),

    p = e / n,    tau = the r-th smallest value, r = n - floor(alpha n),    score = (s - tau) / (smax - tau)

cut off at 0 and 1 (Groger, Wen and Brbic 2026, algorithm 1). So the score is positive if and only if p <= alpha.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import intervals
from ordsim_core.calibration.stopping import stops_after
from ordsim_core.calibration.values import compare
from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ordsim_core.calibration.values import Values
    from ordsim_core.intervals import Interval

QUANTILES = ("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99")
"""Of the null, that a conclusion gives."""

MAXIMUM_ROUNDING = 1e-9
"""By so much a statistic may exceed its maximum, for it is rounded."""

_SMALLEST = math.nextafter(0.0, 1.0)


@dataclass(frozen=True)
class Conclusion:
    """A score set against what chance gives.

    Attributes
    ----------
    permutations, exceedances : int
        K draws, of which so many reach the observed statistic, ties included: p = (exceedances + 1)/(permutations + 1).
        `enumerated`: all permutations there are and those of them that reach it, the identity included in both;
        `stopped_early`: draws made, the last of which reached it. Then p = exceedances / permutations.
    p_value : float
        Correctly rounded, never 0.
    p_value_interval : Interval
        Clopper-Pearson, on the share of all permutations that reach the observed statistic: the p-value that more and
        more draws would lead to. Where it stopped early, exact for that way of stopping.
    threshold : float
        tau, of the pool from which p is: where it stopped early, the observed statistic and all draws but the last.
    score : float
        Calibrated: 0 up to the threshold, 1 at `smax`, linear in between; without `smax` the excess over the threshold.
        Positive if and only if `p_value` is at most `alpha`.
    alpha : float
    smax : float or None
        Largest value that the statistic can have.
    enumerated, stopped_early : bool
    null_mean, null_std : float
        Mean and root mean square deviation of the draws made, or of all permutations where `enumerated`.
    null_quantiles : mapping of str to float
        Of the same values: for "0.95", the smallest that at least 95 % of them do not exceed.
    observed : float
    """

    permutations: int
    exceedances: int
    p_value: float
    p_value_interval: Interval
    threshold: float
    score: float
    alpha: float
    smax: float | None
    enumerated: bool
    stopped_early: bool
    null_mean: float
    null_std: float
    null_quantiles: Mapping[str, float]
    observed: float

    @property
    def above_maximum(self) -> bool:
        """Whether the observed statistic exceeds `smax`, which is too small then."""
        return self.smax is not None and self.observed > self.smax + MAXIMUM_ROUNDING * max(1.0, abs(self.smax))


def conclude(
    observed: Any,
    null: NDArray[Any] | Sequence[Any],
    *,
    alpha: float = 0.05,
    smax: float | None = 1.0,
    denominator: int = 1,
    tolerance: float | None = None,
    size: float = 0.0,
    enumerated: bool = False,
    early_stop: int | None = None,
    confidence: float = 0.99,
) -> Conclusion:
    """Set an observed statistic against its null; larger is more similar.

    Parameters
    ----------
    observed : int, Fraction or float
    null : array or sequence of the same, shape (K,)
        Statistics of permutations, in the order of the draws, without that of the identity. Integers and fractions are
        compared exactly.
    alpha : float
        Level of the threshold: the decimal number that was written, so 0.05 is a twentieth.
    smax : float or None
        Largest value that the statistic can have.
    denominator : int
        Divides all values (not `smax`), for counts out of a population.
    tolerance : float, optional
        Share of the observed statistic within which floats count as equal to it; 100 machine epsilons by default.
    size : float
        What floats were rounded at, if that is more than the observed statistic: see `values.compare`.
    enumerated : bool
        Whether `null` has all other permutations of the scheme rather than independent draws.
    early_stop : int, optional
        Use no draws beyond that of the so-many-th exceedance.
    confidence : float
        Of the interval on the p-value.

    Raises
    ------
    ValueError
        If an argument is out of bounds, or early stopping is asked for where permutations are enumerated: p-values
        then need draws in random order.
    NonFiniteStatisticError
        If a value is NaN or infinite.
    """
    alpha = float(alpha)
    check_level(alpha, smax)
    intervals.check_confidence(confidence)
    if enumerated and early_stop is not None:
        raise ValueError("early stopping needs random draws; permutations that are enumerated have a fixed order")
    values = compare(observed, null, denominator, tolerance, size)
    stop = None if early_stop is None else stops_after(values.reached, early_stop)
    made = values if stop is None else values.first(stop)
    # The observed statistic takes the place of the exceedance at which the draws end.
    placed = place(values if stop is None else values.first(stop - 1), alpha, smax)
    exceedances, permutations = placed.exceedances, placed.size
    if not enumerated and stop is None:
        exceedances, permutations = exceedances - 1, permutations - 1
    mean, deviation, quantiles = _describe(made, enumerated)
    return Conclusion(
        permutations=permutations,
        exceedances=exceedances,
        p_value=placed.p_value,
        p_value_interval=_interval(exceedances, permutations, confidence, enumerated, stop is not None),
        threshold=placed.threshold,
        score=placed.score,
        alpha=alpha,
        smax=None if smax is None else float(smax),
        enumerated=enumerated,
        stopped_early=stop is not None,
        null_mean=mean,
        null_std=deviation,
        null_quantiles=quantiles,
        observed=float(Fraction(values.observed) * values.scale),
    )


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the observed statistic stands among `size` values; it is itself one of the `exceedances`."""

    size: int
    exceedances: int
    p_value: float
    threshold: float
    score: float


def place(values: Values, alpha: float, smax: float | None) -> Placed:
    """Rank the observed statistic in the pool of all values, itself included."""
    pool = _pooled(values.compared, values.observed)
    exceedances = int(np.count_nonzero(values.reached)) + 1
    rank = len(pool) - most_rejected(alpha, len(pool))
    threshold = Fraction(_python(np.sort(pool)[rank - 1])) * values.scale
    observed = Fraction(values.observed) * values.scale
    score = _score(observed, threshold, smax)
    return Placed(len(pool), exceedances, exceedances / len(pool), float(threshold), score)


def most_rejected(alpha: float, size: int) -> int:
    """Give floor(alpha size), the most exceedances, the observed one included, for which p is at most alpha.

    Alpha is the number that was written: 1 of 20 is 0.05, though the float is more, and 41 of 100 are 0.41, though the
    float is less. Both are the floats nearest to what they stand for, as p-values are.
    """
    rejected = math.floor(Fraction(alpha) * size)
    return rejected + 1 if (rejected + 1) / size <= alpha else rejected


def check_level(alpha: float, smax: float | None) -> None:
    """Raise ValueError unless `alpha` is between 0 and 1, and `smax` finite or None."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    if smax is not None and not math.isfinite(smax):
        raise ValueError(f"smax must be finite, or None for the excess over the threshold, not {smax}")


def _score(observed: Fraction, threshold: Fraction, smax: float | None) -> float:
    if observed <= threshold:
        return 0.0
    if smax is None:
        return max(_SMALLEST, float(observed - threshold))
    largest = Fraction(float(smax))
    if observed >= largest:
        return 1.0
    return max(_SMALLEST, float((observed - threshold) / (largest - threshold)))


def _interval(exceedances: int, permutations: int, confidence: float, enumerated: bool, stopped: bool) -> Interval:
    """Bound the share of permutations that reach the observed statistic."""
    counts = AgreementCounts(concordant=exceedances, discordant=permutations - exceedances)
    if enumerated:
        return intervals.exact(counts, confidence)
    bounds = intervals.clopper_pearson(counts, confidence)
    if not stopped:
        return bounds
    # To have gone on for so long, there were fewer exceedances in all draws but the last.
    if permutations == 1:
        return replace(bounds, high=1.0)
    before = AgreementCounts(concordant=exceedances - 1, discordant=permutations - exceedances)
    return replace(bounds, high=intervals.clopper_pearson(before, confidence).high)


def _describe(values: Values, enumerated: bool) -> tuple[float, float, dict[str, float]]:
    """Give mean, deviation and quantiles of the null, rounded once."""
    null = np.sort(_pooled(values.null, values.observed) if enumerated else values.null).tolist()
    ranks = {name: math.ceil(Fraction(name) * len(null)) for name in QUANTILES}
    quantiles = {name: float(Fraction(null[rank - 1]) * values.scale) for name, rank in ranks.items()}
    mean = statistics.mean([Fraction(value) for value in null])
    return float(mean * values.scale), float(statistics.pstdev(null) * values.scale), quantiles


def _pooled(null: NDArray[Any], observed: int | float) -> NDArray[Any]:
    return np.append(null, np.array([observed], null.dtype))


def _python(value: Any) -> int | float:
    number: int | float = value.item() if isinstance(value, np.generic) else value
    return number
