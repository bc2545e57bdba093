"""Which distances there are, and how exactly they can be put into order."""

from __future__ import annotations

from enum import StrEnum

from ordsim_core import pairs


class Distance(StrEnum):
    """How the distance between two rows is measured.

    Correlation is the cosine distance of rows minus their mean, dot the negative inner product, hamming the number
    of columns that differ; precomputed arrays hold the distances themselves.
    """

    EUCLIDEAN = "euclidean"
    COSINE = "cosine"
    CORRELATION = "correlation"
    DOT = "dot"
    MANHATTAN = "manhattan"
    HAMMING = "hamming"
    PRECOMPUTED = "precomputed"


class Exactness(StrEnum):
    """Whether stored values are integers on a common power-of-two grid, small enough for exact arithmetic."""

    INTEGER = "integer"
    FLOAT = "float"


class Precision(StrEnum):
    """What order and ties of distances mean.

    EXACT: those of exact arithmetic on the stored values. FLOAT64: those of distances computed in float64.
    FLOAT32: those of distances computed in float32, with a bound on how many comparisons that can have changed.
    """

    EXACT = "exact"
    FLOAT64 = "float64"
    FLOAT32 = "float32"


KINDS = {
    Distance.EUCLIDEAN: pairs.EUCLIDEAN,
    Distance.COSINE: pairs.COSINE,
    Distance.CORRELATION: pairs.COSINE,
    Distance.DOT: pairs.DOT,
    Distance.MANHATTAN: pairs.MANHATTAN,
    Distance.HAMMING: pairs.HAMMING,
    Distance.PRECOMPUTED: pairs.PRECOMPUTED,
}
"""What kernels compute for each distance."""

DIRECTIONAL = (Distance.COSINE, Distance.CORRELATION)
"""Distances that zero vectors do not have."""
