"""What a function returns, and what it takes."""

from enum import StrEnum


class Kind(StrEnum):
    """What the function returns."""

    SIMILARITY = "similarity"
    """1 for equal arrays, at most 1."""

    DISTANCE = "distance"
    """0 for equal arrays, at least 0: a distance, or the deficit of a similarity."""


class Arrays(StrEnum):
    """What the function takes."""

    NUMPY = "numpy"
    TORCH = "torch"
