"""What a function may promise; a suite fails it only for a promise it broke."""

from __future__ import annotations

from enum import StrEnum


class Promise(StrEnum):
    """A property that some measures have, and others need not have."""

    SYMMETRY = "symmetry"
    """x and y can be exchanged."""

    ROW_PERMUTATION = "row-permutation"
    """The order of the rows does not matter, if it is the same in x and y."""

    ROTATION = "rotation"
    """An orthogonal transformation of the columns of either array changes nothing."""

    SCALE = "scale"
    """A positive factor on either array changes nothing."""

    SHIFT = "shift"
    """A constant added to either array changes nothing."""

    NO_VARIANCE = "no-variance"
    """An array whose rows are all equal has no score: an error, or NaN."""

    NOT_FINITE = "not-finite"
    """An array that holds NaN or infinity has no score: an error, or NaN."""

    EXACT_IDENTITY = "exact-identity"
    """Equal arrays score exactly 1, or are exactly 0 apart, and nothing is beyond that, not even by rounding."""

    ZERO_IF_INDEPENDENT = "zero-if-independent"
    """Independent arrays score 0 on average, however few rows they have."""


DEFAULT = (
    Promise.SYMMETRY,
    Promise.ROW_PERMUTATION,
    Promise.ROTATION,
    Promise.SCALE,
    Promise.SHIFT,
    Promise.NO_VARIANCE,
    Promise.NOT_FINITE,
)
"""What is expected of a measure of how similar two representations are, such as CKA."""
