"""Which ink can be read on a colour: contrast as WCAG 2 has it."""

from __future__ import annotations

Colour = tuple[float, float, float]
"""Red, green and blue, each 0 to 255."""

ENOUGH = 4.5
"""Least contrast of small text, by level AA. On any colour black or white has at least 4.58."""

BLACK: Colour = (0.0, 0.0, 0.0)
WHITE: Colour = (255.0, 255.0, 255.0)


def colour(name: str) -> Colour:
    """Read #rrggbb."""
    red, green, blue = bytes.fromhex(name.removeprefix("#"))
    return float(red), float(green), float(blue)


def over(below: Colour, above: Colour, opacity: float) -> Colour:
    """Lay one colour over another."""
    red, green, blue = (low + opacity * (high - low) for low, high in zip(below, above, strict=True))
    return red, green, blue


def ratio(one: Colour, other: Colour) -> float:
    """Contrast of two colours, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def dark_ink(ground: Colour) -> bool:
    """Whether black reads better than white here."""
    return ratio(BLACK, ground) >= ratio(WHITE, ground)


def _luminance(parts: Colour) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
