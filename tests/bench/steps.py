"""Two steps of exact TSI alone, compiled loops over many anchors: counting, and sorting.

* Counting: `concordance.inversions` against the merge sort in scipy's `kendalltau`, on the same ranks: those of
  Gaussian rows' distances in y, in the order of those in x.
* Sorting: `sorting.sort_words` against numpy's sort of the same words: keys of exact precision with row numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import data
import numpy as np
from figures import Figure, at_least
from machine import has_avx512
from scipy.stats._stats import _kendall_dis
from timing import NANOSECONDS, in_turns

from ordsim_core import anchors, concordance, ranking, sorting
from ordsim_core._numba import Int, kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from data import Arrays
    from figures import Options
    from numpy.typing import NDArray
    from timing import Call, Series

    from ordsim_core.spaces import Space

SIZES = (2_000, 10_000, 50_000)
QUICK_SIZES = (600, 2_000)
COLUMNS = 64
ELEMENTS = 500_000
"""Elements that are counted or sorted in a repetition, in many lists."""

COUNTING = at_least(8)
SORTING = {True: at_least(1), False: at_least(2)}
"""By whether numpy sorts with AVX-512."""


def counting(options: Options) -> Iterator[Figure]:
    """Measure the counting of inversions."""
    for rows in _sizes(options):
        yield _count(data.gaussian(rows, COLUMNS), options)


def sorting_words(options: Options) -> Iterator[Figure]:
    """Measure the sorting of words."""
    for rows in _sizes(options):
        for kind in (data.gaussian, data.clustered, data.outlying):
            yield _sort(kind(rows, COLUMNS), options)


def _count(arrays: Arrays, options: Options) -> Figure:
    lists, elements = _lists(arrays.rows, options.repetitions), arrays.rows - 1
    in_order = np.arange(1, arrays.rows, dtype=np.intp)
    counter, nobody = concordance.new_counter(elements), np.zeros(0, np.int64)
    found: dict[str, list[int]] = {"ordsim": [], "scipy": []}

    def ours(repetition: int) -> Call:
        ranks = _ranks(arrays, repetition * lists, lists).astype(np.int32)
        return lambda: found["ordsim"].append(int(_count_all(ranks, counter, nobody)))

    def scipys(repetition: int) -> Call:
        ranks = _ranks(arrays, repetition * lists, lists) + 1
        return lambda: found["scipy"].append(sum(int(_kendall_dis(in_order, one)) for one in ranks))

    seconds = in_turns({"ordsim": ours, "scipy": scipys}, options.repetitions)
    if found["ordsim"] != found["scipy"]:
        raise AssertionError(f"{arrays.case}: ordsim and scipy count different inversions")
    measured = _per_element(seconds, lists * elements)
    return Figure(arrays.case, "scipy / ordsim", seconds["scipy"] / seconds["ordsim"], "", COUNTING, measured, "ns")


def _sort(arrays: Arrays, options: Options) -> Figure:
    space = arrays.spaces()[0]
    lists = _lists(arrays.rows, options.repetitions)
    digits = sorting.counters()
    sorted_words: dict[str, list[NDArray[np.uint64]]] = {"ordsim": [], "numpy": []}

    def ours(repetition: int) -> Call:
        words, bounds = _words(space, repetition * lists, lists)
        spare = np.empty(words.shape[1], np.uint64)
        sorted_words["ordsim"].append(words)
        return lambda: _sort_all(words, spare, bounds, digits)

    def numpys(repetition: int) -> Call:
        words, _ = _words(space, repetition * lists, lists)
        sorted_words["numpy"].append(words)
        return lambda: words.sort(axis=1)

    seconds = in_turns({"ordsim": ours, "numpy": numpys}, options.repetitions)
    for one, other in zip(*sorted_words.values(), strict=True):
        if not np.array_equal(one, other):
            raise AssertionError(f"{arrays.case}: ordsim and numpy sort differently")
    measured = _per_element(seconds, lists * (arrays.rows - 1))
    target = SORTING[has_avx512()]
    return Figure(arrays.case, "numpy / ordsim", seconds["numpy"] / seconds["ordsim"], "", target, measured, "ns")


def _per_element(seconds: Mapping[str, Series], elements: int) -> dict[str, float]:
    return {name: series.median * NANOSECONDS / elements for name, series in seconds.items()}


def _sizes(options: Options) -> tuple[int, ...]:
    return QUICK_SIZES if options.quick else SIZES


def _lists(rows: int, repetitions: int) -> int:
    return max(1, min(ELEMENTS // rows, rows // (repetitions + 1)))


def _ranks(arrays: Arrays, start: int, count: int) -> NDArray[np.int64]:
    """Ranks in y by order in x of the other rows, for some anchors: shape (count, N - 1)."""
    found = np.empty((count, arrays.rows - 1), np.int64)
    for place, anchor in enumerate(range(start, start + count)):
        order_x, order_y = (
            np.argsort(np.delete(np.square(values - values[anchor]).sum(axis=1), anchor))
            for values in (arrays.x, arrays.y)
        )
        rank_y = np.empty_like(order_y)
        rank_y[order_y] = np.arange(len(order_y))
        found[place] = rank_y[order_x]
    return found


def _words(space: Space, start: int, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Words of some anchors as they are before sorting, and their bounds; no row of the space is repeated."""
    chosen = np.arange(start, start + count)
    words, bounds = np.empty((count, space.rows), np.uint64), np.empty((count, 2), np.uint64)
    ranking.pack_rows(anchors.products(space, chosen), chosen, space.packing, words, bounds)
    return np.ascontiguousarray(words[:, :-1]), bounds


@kernel
def _count_all(sequences: NDArray[np.int32], counter: NDArray[np.uint64], nobody: NDArray[np.int64]) -> Int:
    total = np.int64(0)
    for row in range(sequences.shape[0]):
        total += concordance.inversions(sequences[row], sequences[row], counter, nobody)
    return total


@kernel
def _sort_all(
    words: NDArray[np.uint64], spare: NDArray[np.uint64], bounds: NDArray[np.uint64], digits: NDArray[np.int32]
) -> None:
    for row in range(words.shape[0]):
        sorting.sort_words(words[row], spare, bounds[row, 0], bounds[row, 1], digits)
