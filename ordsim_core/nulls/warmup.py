"""Compile the kernels of this folder before the first real call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.nulls import exact, profiles, rank_tables, sampled
from ordsim_core.nulls.designs import Design, Stream, draw

if TYPE_CHECKING:
    from ordsim_core.spaces import Space


def warm(space: Space) -> None:
    """Run every kernel once on a tiny space of at least 4 rows."""
    orders = [np.arange(space.rows)]
    of_pairs = rank_tables.of_pairs(space)
    # Ranks of more pairs than 16 bits can number.
    long = rank_tables.RankTable(of_pairs.ranks.astype(np.uint32), of_pairs.number, True)
    for stream in (Stream.TRIPLETS, Stream.QUADRUPLETS):
        drawn = draw(Design(stream, 0, space.rows, 2, 0, 3))
        profile = profiles.of_space(space, drawn)
        profiles.agreeing_by_unit(profile, profile)
        for table in (of_pairs, long):
            profiles.of_table(table, drawn)
            sampled.agreeing(profile, table, drawn, orders)
    for table in (of_pairs, long):
        exact.agreeing_quadruplets(table, table, orders)
