"""Inversion of the Kullback-Leibler divergence between two coins: how far a share may be from an observed one."""

from __future__ import annotations

import math

_ROUNDING = 2.0**-46
"""Relative; more than the rounding of a divergence amounts to."""


def lowest_share(share: float, complement: float, bound: float) -> float:
    """Give the lowest share t whose divergence kl(share, t) is at most `bound`.

    kl(p, t) = p ln(p / t) + (1 - p) ln((1 - p) / (1 - t)). The error is on the low side, some units in the last place
    of `share`. The highest such share is 1 less the lowest one with `share` and `complement` exchanged.

    Parameters
    ----------
    share, complement : float
        The observed share and 1 less it, each correctly rounded, so that either may be tiny.
    bound : float
        At least 0.

    Raises
    ------
    ValueError
        If the two shares are not within [0, 1] or do not add up to 1, or the bound is negative.
    """
    if not (0 <= share <= 1 and 0 <= complement <= 1 and abs(share + complement - 1) <= 2.0**-50):
        raise ValueError(f"a share and its complement must add up to 1, not {share} and {complement}")
    if not bound >= 0:
        raise ValueError(f"a divergence is bounded by at least 0, not {bound}")
    bound *= 1 + _ROUNDING
    if complement == 0:
        return math.nextafter(math.exp(-bound), 0.0)
    # The divergence grows with the distance from the share. Pinsker's inequality says how far away is too far.
    near, far = 0.0, min(share, math.sqrt(bound / 2) * (1 + _ROUNDING))
    while True:
        middle = (near + far) / 2
        if not near < middle < far or far - near <= far * 2.0**-50:
            break
        if _divergence(share, complement, middle) <= bound:
            near = middle
        else:
            far = middle
    # From the smaller of the two, whose digits are the finer ones.
    lowest = share - far if share < complement else 1 - (complement + far)
    return max(0.0, min(share, lowest) - share * 2.0**-52)


def _divergence(share: float, complement: float, distance: float) -> float:
    """Give kl(share, share - distance) as a sum of two positive terms, neither with any cancellation."""
    if distance >= share:
        return math.inf
    return share * _excess(-distance / share) + complement * _excess(distance / complement)


def _excess(value: float) -> float:
    """Give value - ln(1 + value), which is not negative."""
    if abs(value) > 0.05:
        return value - math.log1p(value)
    total, power = 0.0, -value
    for exponent in range(2, 16):
        power *= -value
        total += power / exponent
    return total
