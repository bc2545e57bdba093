"""Numbers and durations as a person reads them."""

from __future__ import annotations

import math

SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
FEWEST_DECIMALS = 6
MOST_DECIMALS = 15


def grouped(number: int) -> str:
    """Write every digit: 3,994,002,000."""
    return f"{number:,}"


def rounded(number: float) -> str:
    """Write the size of a count: 4.0 billion; below a million every digit, beyond trillions a power of ten."""
    if number >= 10**15:
        return f"{number:.1e}"
    for scale, name in SCALES:
        # From 999.95 on, one decimal would read 1000.0 of the smaller name.
        if number >= 0.99995 * scale:
            return f"{number / scale:.1f} {name}"
    return f"{number:,.0f}"


def percent(share: float, beside: float | None = None) -> str:
    """Write a share as a percentage; never 0% or 100% for what is only near.

    With as many digits as tell it from another that stands `beside` it.
    """
    if beside is not None and beside != share and percent(share) == percent(beside):
        decimals = next((count for count in range(1, 12) if _fixed(share, count) != _fixed(beside, count)), 12)
        return f"{_fixed(share, decimals)}%"
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0005:
        return "< 0.05%"
    if share >= 0.9995:
        return "> 99.95%"
    return f"{100 * share:.1f}%"


def _fixed(share: float, decimals: int) -> str:
    return f"{100 * share:.{decimals}f}"


def score(value: float, deficit: float | None) -> str:
    """Write a score with as many digits as tell it from 1, by its deficit."""
    if deficit is None or not 0 < deficit < 1:
        return f"{value:.{FEWEST_DECIMALS}f}"
    decimals = max(FEWEST_DECIMALS, 1 - math.floor(math.log10(deficit)))
    return f"{value:.{min(decimals, MOST_DECIMALS)}f}"


def deficit(value: float) -> str:
    """Write what is missing to 1: plainly, in powers of ten when it is small, and a true zero as 0."""
    if value == 0:
        return "0"
    return f"{value:.{FEWEST_DECIMALS}f}" if abs(value) >= 0.001 else f"{value:.3e}"


def number(value: float) -> str:
    """Write a figure beside a score, without trailing zeros but never as a bare integer, and never 1.0 below 1."""
    text = score(value, 1 - value).rstrip("0")
    return text + "0" if text.endswith(".") else text


def size(count: int) -> str:
    """Write a number of bytes: 9.4 GiB, 312.0 MiB, 64 bytes."""
    for name, unit in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def duration(seconds: float) -> str:
    """Write a duration: 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def share(value: float) -> str:
    """Write a chosen share, e.g. a confidence, with the digits it was chosen with: 99%, 99.9%."""
    return f"{100 * value:.10g}%"


def span(low: float, high: float) -> str:
    """Write two ends of a range as percentages, with as many digits as tell them apart."""
    width = 100 * (high - low)
    decimals = 1 if width <= 0 else min(8, max(1, 1 - math.floor(math.log10(width))))
    return f"{100 * low:.{decimals}f}% to {100 * high:.{decimals}f}%"
