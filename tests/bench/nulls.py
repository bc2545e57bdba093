"""Permutations of rows: the statistic of each from stored ranks, against computing it anew.

* Computed anew: what a comparison counts of the same design, with the rows of y permuted before; that, and preparing
  them for their distance, is left out of the time. Units of one anchor and 32 targets, and independent triplets.
* Exact: all triplets of some anchors from stored ranks, many permutations at a time, against exact TSI.
* A grid of layers: one permutation of all of them, against the statistic of each pair on its own, both looked up.
* The same with 200 permutations, against calibrations of all pairs that each prepare profile and ranks anew.
* Profiles: agreement of two, each of 131,072 independent triplets.
* Linear CKA of permuted rows, 2,000 x 384, against as many products of the columns of both arrays.

Targets are what prototypes reached. Tables of ranks, once a test, are measured beside the exact statistic.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_least, at_most
from timing import Series, in_turns

from ordsim_core import triplets
from ordsim_core.nulls import exact, features, profiles, rank_tables, sampled
from ordsim_core.nulls.designs import Design, Stream, draw
from ordsim_core.spaces import select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data import Arrays
    from figures import Options
    from numpy.typing import NDArray
    from timing import Call

    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.profiles import Profile
    from ordsim_core.spaces import Space

SIZES, QUICK_SIZES = ((2_000, 512), (10_000, 512)), ((600, 64),)
UNITS, TARGETS, SINGLE = 4_096, 32, 131_072
PERMUTATIONS = 20
"""In a repetition, of those that are looked up."""
ANCHORS = 64
LAYERS, QUICK_LAYERS = 24, 3
SEED = 5
MILLISECONDS, MICROSECONDS = 1e3, 1e6

LOOKED_UP, LOOKED_UP_SINGLE = at_least(30), at_least(7)
EXACT = at_least(3.5)
GRID = at_least(15)
CALIBRATIONS = at_least(25)
CKA = at_most(1.5)
CKA_SIZE = (2_000, 384)
GRID_PERMUTATIONS = 200
PROFILES = at_most(1.5)


def measure(options: Options) -> Iterator[Figure]:
    """Measure Gaussian rows, tables of which are kept for one size at a time."""
    for rows, columns in QUICK_SIZES if options.quick else SIZES:
        case = _Case(data.gaussian(rows, columns), options)
        yield from case.designs()
        yield case.exact()
        if rows <= 2_000:
            yield case.grid()
            yield case.calibrations()
            yield case.pair_of_profiles()
    yield linear_cka(options)


def linear_cka(options: Options) -> Figure:
    """Compute linear CKA for many orders of rows."""
    rows, columns = CKA_SIZE
    rng = np.random.default_rng(SEED)
    x, y = (features.features(rng.standard_normal((rows, columns)), features.Kind.CKA) for _ in range(2))

    def permuted(turn: int) -> Call:
        rng = np.random.default_rng(turn)
        orders = [rng.permutation(rows) for _ in range(PERMUTATIONS)]
        return lambda: features.scores([x], y, orders)

    def products(_: int) -> Call:
        return lambda: [x.columns.T @ y.columns for _ in range(PERMUTATIONS)]

    seconds = in_turns({"permuted": permuted, "products": products}, options.repetitions)
    measured = {name: seconds[name].median / PERMUTATIONS * MILLISECONDS for name in ("permuted", "products")}
    case = f"linear CKA, {rows} x {columns}"
    return Figure(case, "permuted / product", seconds["permuted"] / seconds["products"], "", CKA, measured, "ms")


class _Case:
    """One pair of arrays, with the ranks of both."""

    def __init__(self, arrays: Arrays, options: Options) -> None:
        self.name, self.rows, self.repetitions = arrays.case, arrays.rows, options.repetitions
        self.layers = QUICK_LAYERS if options.quick else LAYERS
        self.x, self.y = arrays.spaces()
        begin = time.perf_counter()
        self.tables = rank_tables.of_targets(self.x), rank_tables.of_targets(self.y)
        self.building = time.perf_counter() - begin

    def designs(self) -> Iterator[Figure]:
        """Look up designs of units and of single triplets, or count them anew."""
        for stream, units, target in (
            (Stream.TRIPLET_UNITS, UNITS, LOOKED_UP),
            (Stream.TRIPLETS, SINGLE, LOOKED_UP_SINGLE),
        ):
            drawn = draw(Design(stream, SEED, self.rows, TARGETS if stream is Stream.TRIPLET_UNITS else 2, 0, units))
            profile = profiles.of_space(self.x, drawn)
            self._check(profile, drawn)
            seconds = in_turns(
                {
                    "looked up": lambda turn, p=profile, d=drawn: self._look_up(p, d, turn),
                    "anew": lambda turn, d=drawn: self._recount(d, turn),
                },
                self.repetitions,
            )
            each = seconds["looked up"] / PERMUTATIONS
            measured = {"looked up": each.median * MILLISECONDS, "anew": seconds["anew"].median * MILLISECONDS}
            case = f"{stream}, {self.name}"
            yield Figure(case, "anew / looked up", seconds["anew"] / each, "", target, measured, "ms")

    def exact(self) -> Figure:
        """Count all triplets of some anchors from stored ranks, or from distances."""
        x, y = self.tables

        def stored(turn: int) -> Call:
            orders = self._orders(turn)
            start = turn % (self.rows // ANCHORS) * ANCHORS
            return lambda: exact.agreeing_triplets(x, y, orders, start, start + ANCHORS)

        def anew(turn: int) -> Call:
            start = turn % (self.rows // ANCHORS) * ANCHORS
            return lambda: triplets.exact_block(self.x, self.y, start, start + ANCHORS)

        seconds = in_turns({"stored": stored, "anew": anew}, self.repetitions)
        each = seconds["stored"] / PERMUTATIONS
        whole = MILLISECONDS * self.rows / ANCHORS
        measured = {
            "all anchors, stored": each.median * whole,
            "anew": seconds["anew"].median * whole,
            "both tables": self.building * MILLISECONDS,
        }
        return Figure(f"exact TSI, {self.name}", "anew / stored", seconds["anew"] / each, "", EXACT, measured, "ms")

    def grid(self) -> Figure:
        """Permute a grid of layers at once, or each of its pairs."""
        drawn = draw(Design(Stream.TRIPLET_UNITS, SEED, self.rows, TARGETS, 0, UNITS))
        profile = profiles.of_space(self.x, drawn)
        # Copies, as each layer has memory of its own.
        xs = [profiles.Profile(drawn.design, profile.planes.copy()) for _ in range(self.layers)]
        table = self.tables[1]
        ys = [rank_tables.RankTable(table.ranks.copy(), table.number, False) for _ in range(self.layers)]

        def together(turn: int) -> Call:
            orders = self._orders(turn)[:2]
            return lambda: sampled.agreeing_grids(xs, ys, drawn, orders)

        def apart(turn: int) -> Call:
            orders = self._orders(turn)[:2]
            return lambda: [sampled.agreeing(xs[0], y, drawn, orders) for y in ys]

        seconds = in_turns({"together": together, "apart": apart}, self.repetitions)
        # One row of the grid was counted pair by pair.
        alone = seconds["apart"] * self.layers
        measured = {"a permutation": seconds["together"].median / 2 * MILLISECONDS}
        case = f"{self.layers} x {self.layers} layers, {self.name}"
        return Figure(case, "apart / together", alone / seconds["together"], "", GRID, measured, "ms")

    def calibrations(self) -> Figure:
        """Calibrate a grid at once, or each of its pairs from the beginning."""
        drawn = draw(Design(Stream.TRIPLET_UNITS, SEED, self.rows, TARGETS, 0, UNITS))
        profile, table, layers = profiles.of_space(self.x, drawn), self.tables[1], self.layers
        xs, ys = [profile] * layers, [table] * layers

        def beginning(_: int) -> Call:
            return lambda: (profiles.of_space(self.x, drawn), rank_tables.of_targets(self.y))

        def looking_up(turn: int) -> Call:
            orders = self._orders(turn)[:2]
            return lambda: sampled.agreeing(profile, table, drawn, orders)

        def together(turn: int) -> Call:
            orders = self._orders(turn)[:2]
            return lambda: sampled.agreeing_grids(xs, ys, drawn, orders)

        seconds = in_turns({"begin": beginning, "one": looking_up, "grid": together}, self.repetitions)
        begin, one, grid = (seconds[name].values for name in ("begin", "one", "grid"))
        apart = layers**2 * (begin + GRID_PERMUTATIONS / 2 * one)
        at_once = Series(apart / (layers * begin + GRID_PERMUTATIONS / 2 * grid))
        measured = {"beginning": seconds["begin"].median * MILLISECONDS}
        case = f"{layers} x {layers} calibrations, {self.name}"
        return Figure(case, "apart / together", at_once, "", CALIBRATIONS, measured, "ms")

    def pair_of_profiles(self) -> Figure:
        """Compare two profiles of single triplets: as many pairs as a matrix of models has."""
        drawn = draw(Design(Stream.TRIPLETS, SEED, self.rows, 2, 0, SINGLE))
        ones, others = ([profiles.of_table(table, drawn) for _ in range(self.layers)] for table in self.tables)
        seconds = in_turns({"grid": lambda _: lambda: profiles.grid(ones, others)}, self.repetitions)
        each = Series(seconds["grid"].values / self.layers**2 * MICROSECONDS)
        return Figure(f"two profiles, {self.name}", "131,072 triplets", each, "us", PROFILES)

    def _look_up(self, profile: Profile, drawn: Drawn, turn: int) -> Call:
        orders = self._orders(turn)
        return lambda: sampled.agreeing(profile, self.tables[1], drawn, orders)

    def _recount(self, drawn: Drawn, turn: int) -> Call:
        permuted = select(self.y, self._orders(turn)[0])
        return lambda: _counted(self.x, permuted, drawn)

    def _orders(self, turn: int) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng(turn)
        return [rng.permutation(self.rows) for _ in range(PERMUTATIONS)]

    def _check(self, profile: Profile, drawn: Drawn) -> None:
        order = self._orders(0)[0]
        looked_up = int(sampled.agreeing(profile, self.tables[1], drawn, [order])[0])
        counted = _counted(self.x, select(self.y, order), drawn)
        if looked_up != counted:
            raise AssertionError(f"{self.name}: {looked_up} comparisons agree when looked up, {counted} when counted")


def _counted(x: Space, y: Space, drawn: Drawn) -> int:
    design = drawn.design
    if design.stream.single:
        return triplets.sampled_range(x, y, design.seed, design.start, design.stop).counts.agreeing
    return triplets.units_range(x, y, design.seed, design.start, design.stop, design.members).counts.agreeing
