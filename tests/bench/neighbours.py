"""Measures of neighbours and of canonical correlations against the floor of their work, on one thread.

* mutual kNN over floor: for a block of anchors, in each space, a float32 product with all rows and numpy's partition
  of what comes out.
* CKNNA over floor: the same of all rows; kernels and the criterion come on top.
* permutations over pass: mutual kNN of 200 permutations from neighbours that are kept, over finding them once.
* SVCCA and PWCCA over floor: three D x D products in float64, two eigendecompositions and one decomposition into
  singular values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_most
from timing import NANOSECONDS, in_turns

from ordsim_core.correlations import canonical, factors, pilots
from ordsim_core.neighbours import kernels
from ordsim_core.neighbours.cknna import cknna
from ordsim_core.neighbours.hsic import Estimator
from ordsim_core.neighbours.lists import nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.neighbours.permuted import permuted_overlaps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data import Arrays
    from figures import Options
    from numpy.typing import NDArray
    from timing import Call, Contender

    from ordsim_core.neighbours.lists import Neighbours

COLUMNS, QUICK_COLUMNS = 384, 32
SIZES, QUICK_SIZES = (10_000, 50_000), (600,)
WHOLE, QUICK_WHOLE = 10_000, 600
"""Rows where all of them are anchors."""
PLACES = 10
ANCHORS = 256
PERMUTATIONS, QUICK_PERMUTATIONS = 200, 5

MUTUAL = at_most(1.8)
CKNNA = at_most(2)
PERMUTED = at_most(5)
CANONICAL = at_most(1.5)


def measure(options: Options) -> Iterator[Figure]:
    """Measure all of it on correlated columns, as embeddings have them."""
    columns = QUICK_COLUMNS if options.quick else COLUMNS
    for rows in QUICK_SIZES if options.quick else SIZES:
        yield _mutual(data.correlated(rows, columns), options)
    arrays = data.correlated(QUICK_WHOLE if options.quick else WHOLE, columns)
    yield from _whole(arrays, options)
    yield from _canonical(arrays, options)


def _mutual(arrays: Arrays, options: Options) -> Figure:
    spaces = arrays.spaces()
    block = min(ANCHORS, arrays.rows // (options.repetitions + 2))

    def chosen(repetition: int) -> NDArray[np.int64]:
        return np.arange(repetition * block, (repetition + 1) * block)

    def ours(repetition: int) -> Call:
        return lambda: overlaps(*(nearest(space, chosen(repetition), PLACES) for space in spaces))

    def floor(repetition: int) -> Call:
        return lambda: _floor(arrays, chosen(repetition))

    seconds = in_turns({"ordsim": ours, "floor": floor}, options.repetitions)
    each = NANOSECONDS / (block * arrays.rows)
    measured = {name: series.median * each for name, series in seconds.items()}
    ratio = seconds["ordsim"] / seconds["floor"]
    return Figure(arrays.case, "mutual kNN / floor", ratio, "", MUTUAL, measured, "ns")


def _floor(arrays: Arrays, chosen: NDArray[np.int64]) -> None:
    for values in (arrays.x, arrays.y):
        np.argpartition(values[chosen] @ values.T, PLACES, axis=1)


def _whole(arrays: Arrays, options: Options) -> Iterator[Figure]:
    spaces, everyone = arrays.spaces(), np.arange(arrays.rows)
    near: list[Neighbours] = [nearest(space, everyone, PLACES) for space in spaces]
    permutations = QUICK_PERMUTATIONS if options.quick else PERMUTATIONS

    def passed(_: int) -> Call:
        return lambda: [nearest(space, everyone, PLACES) for space in spaces]

    def aligned(_: int) -> Call:
        return lambda: _cknna(arrays, [nearest(space, everyone, PLACES) for space in spaces])

    def floor(_: int) -> Call:
        def run() -> None:
            for begin in range(0, arrays.rows, ANCHORS):
                _floor(arrays, everyone[begin : begin + ANCHORS])

        return run

    def permuted(repetition: int) -> Call:
        rng = np.random.default_rng(repetition)
        orders = [rng.permutation(arrays.rows) for _ in range(permutations)]
        return lambda: [found.total() for found in permuted_overlaps(*near, orders)]

    contenders: dict[str, Contender] = {"pass": passed, "cknna": aligned, "floor": floor, "permutations": permuted}
    seconds = in_turns(contenders, min(options.repetitions, 3))
    measured = {name: series.median for name, series in seconds.items()}
    yield Figure(arrays.case, "CKNNA / floor", seconds["cknna"] / seconds["floor"], "", CKNNA, measured, "s")
    name = f"{permutations} permutations / pass"
    yield Figure(arrays.case, name, seconds["permutations"] / seconds["pass"], "", PERMUTED, measured, "s")


def _cknna(arrays: Arrays, near: list[Neighbours]) -> None:
    everyone = np.arange(arrays.rows)
    entries = [
        kernels.linear_entries(values, kernels.exponent_of(values), everyone, found)
        for values, found in zip((arrays.x, arrays.y), near, strict=True)
    ]
    cknna(near[0], entries[0], near[1], entries[1], Estimator.UNBIASED)


def _canonical(arrays: Arrays, options: Options) -> Iterator[Figure]:
    def ours(compare: object) -> Contender:
        def run() -> None:
            pilot = pilots.survey(arrays.x, arrays.y)
            compare(factors.factor(arrays.x, arrays.y, pilot), pilot.layout)  # type: ignore[operator]

        return lambda _: run

    contenders = {"svcca": ours(canonical.svcca), "pwcca": ours(canonical.pwcca), "floor": lambda _: _products(arrays)}
    seconds = in_turns(contenders, min(options.repetitions, 3))
    measured = {name: series.median for name, series in seconds.items()}
    for name in ("svcca", "pwcca"):
        yield Figure(
            arrays.case, f"{name.upper()} / floor", seconds[name] / seconds["floor"], "", CANONICAL, measured, "s"
        )


def _products(arrays: Arrays) -> Call:
    x, y = (values.astype(np.float64) for values in (arrays.x, arrays.y))

    def run() -> None:
        squares = x.T @ x, y.T @ y
        mixed = x.T @ y
        for square in squares:
            np.linalg.eigh(square)
        np.linalg.svd(mixed)

    return run
