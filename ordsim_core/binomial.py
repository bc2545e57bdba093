"""Exact tails of the binomial distribution, for trials beyond what the usual inverse beta functions are good for.

`scipy.special.betaincinv` errs by parts in 10^5 of the interval's width from 10^10 trials on, and for some arguments
(1000 successes in 10^9 trials) it returns the same quantile for every tail.
"""

from __future__ import annotations

import math

import numpy as np

TRIALS_LIMIT = 2**40
"""Up to which the bounds are verified; the work grows with the square root of the trials."""

_BLOCKS = (1 << 8, 1 << 16)
"""Terms of a tail that are added at once: first, and then."""


def log_lowest_share(successes: int, trials: int, tail: float) -> float:
    """Give the logarithm of the share of successes for which so many or more of them have the probability `tail`.

    Errors are on the low side: the tail at the result is at most `tail`, and less by no more than some parts in 10^8.

    Raises
    ------
    ValueError
        If there are more than `TRIALS_LIMIT` trials.
    """
    if trials > TRIALS_LIMIT:
        raise ValueError(f"bounds are verified for up to {TRIALS_LIMIT} comparisons, not {trials}")
    if successes == 0:
        return -math.inf
    # More than rounding can add to the logarithm of a tail: each of about sqrt(trials) terms adds some units in the
    # last place.
    target = math.log(tail) - 2.0**-44 - math.sqrt(trials) * 2.0**-46
    if successes == trials:
        return target / trials
    # The logarithm of the tail is a concave function of that of the share. So Newton's method, from wherever it
    # starts, is below the root after one step and then climbs towards it, never beyond.
    log_share = math.log(successes / trials)
    climbing = False
    while True:
        log_first, ratio = _tail(successes, trials, log_share)
        step = (target - log_first - math.log(ratio)) * ratio / successes
        if climbing and log_share + step <= log_share:
            return log_share
        log_share += step
        if climbing and step * successes / ratio < 2.0**-46:
            return log_share
        climbing = True


def _tail(successes: int, trials: int, log_share: float) -> tuple[float, float]:
    """Give the logarithm of the probability of exactly so many successes, and by how much more that of as many or more.

    The first as in Loader (2000), Fast and accurate computation of binomial probabilities.
    """
    failures = trials - successes
    share, other = math.exp(log_share), -math.expm1(log_share)
    log_first = (
        _stirling_error(trials)
        - _stirling_error(successes)
        - _stirling_error(failures)
        - _deviance(successes, trials * share)
        - _deviance(failures, trials * other)
        - math.log(2 * math.pi * successes * (failures / trials)) / 2
    )
    odds = share / other
    total = last = 1.0
    begin, size = 0, _BLOCKS[0]
    while begin < failures:
        places = np.arange(begin, min(begin + size, failures), dtype=np.float64)
        terms = last * np.cumprod((failures - places) / (successes + 1 + places) * odds)
        total += float(terms.sum())
        last = float(terms[-1])
        if last < total * 2.0**-70:  # terms only fall from here on, by a factor each
            break
        begin, size = begin + len(places), _BLOCKS[1]
    return log_first, total


def _stirling_error(number: int) -> float:
    """Logarithm of number!, less Stirling's approximation of it."""
    if number < 32:
        return math.lgamma(number + 1) - (number + 0.5) * math.log(number) + number - math.log(2 * math.pi) / 2
    inverse = 1 / number
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))


def _deviance(count: int, mean: float) -> float:
    """Give count log(count / mean) + mean - count, without the cancellation."""
    excess = (mean - count) / count
    if abs(excess) > 0.05:
        return count * math.log(count / mean) + (mean - count)
    total, power = 0.0, -excess
    for exponent in range(2, 16):
        power *= -excess
        total += power / exponent
    return count * total
