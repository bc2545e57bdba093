"""Compile every kernel before the first real call."""

from __future__ import annotations

from itertools import product

import numpy as np

from ordsim_core import betting, quadruplets, sampling, strips, triplets
from ordsim_core.cosine.linear import linear_cka
from ordsim_core.cosine.rsa_moments import correlation_rsa
from ordsim_core.distances import Distance, Precision
from ordsim_core.neighbours import warmup as neighbours
from ordsim_core.nulls import matrices
from ordsim_core.nulls import warmup as nulls
from ordsim_core.pairwise import warmup as pairwise
from ordsim_core.spaces import prepare


def warm() -> None:
    """Run every kernel once on tiny arrays, so that it is compiled, or loaded from numba's cache."""
    whole = np.arange(24.0).reshape(6, 4) % 5
    whole[0] = whole[1]  # ties, so that the branches for them run too
    fractions = whole / 7
    sides = [
        prepare(values.astype(dtype), Distance.EUCLIDEAN, precision)
        for values in (whole, fractions)
        for dtype in (np.float32, np.float64)
        for precision in (Precision.EXACT, Precision.FLOAT32)
    ]
    for space in sides:
        triplets.exact_block(space, space, 0, 2, per_target=True)
        quadruplets.exact_counts(space, space)
        cut = strips.StripPlan(space.rows, 2, 2)
        strips.x_strips(space, space, cut, 0, 2)
        strips.y_strips(space, space, cut, 0, 2)
        triplets.sampled_range(space, space, 0, 0, 2)
        triplets.units_range(space, space, 0, 0, 2, 2)
        neighbours.warm(space)
    for distance, dtype in product((Distance.MANHATTAN, Distance.HAMMING, Distance.COSINE), (np.float32, np.float64)):
        space = prepare(fractions.astype(dtype), distance)
        triplets.exact_block(space, space, 0, 2)
        quadruplets.exact_counts(space, space)
        neighbours.warm(space)
    for dtype in (np.float32, np.float64):
        table = prepare((fractions @ fractions.T).astype(dtype), Distance.PRECOMPUTED)
        triplets.exact_block(table, table, 0, 2)
        strips.x_strips(table, table, strips.StripPlan(table.rows, 2, 2), 0, 2)
    sampling.triplets(0, 0, 2, 6)
    sampling.quadruplets(0, 0, 2, 6)
    sampling.triplet_units(0, 0, 2, 6, 2)
    sampling.permutation(0, 6)
    agreeing = np.array([0, 1, 1], np.int64)
    betting.interval(agreeing, 1, 0.9)
    betting.sequential(agreeing, 1, 0.9)
    betting.without_replacement(agreeing, 1, 6, 0.9)
    nulls.warm(sides[0])
    pairwise.warm()
    linear_cka(fractions, fractions[::-1])
    correlation_rsa(fractions + np.eye(6, 4), fractions[::-1] + np.eye(6, 4))
    matrices.inner_products([np.eye(3)], np.eye(3), [np.arange(3)])
