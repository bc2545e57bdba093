"""Exact QSI with its TSI: seconds, against a textbook, and bytes of private memory for a pair of rows.

The textbook takes `pdist` and scipy's Kendall over all pairs, and off that exact TSI by the textbook of
`exact_triplets`. Memory is the most that a fresh process holds while it counts, less what it held with both arrays
prepared; the bound is what a worker is asked for (`workers.costs.all_pairs_bytes`).
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import data
import memory
import textbook
from compiling import compile_strips
from figures import Figure, at_least, at_most
from timing import in_turns

from ordsim_core import quadruplets
from ordsim_core.distances import Precision
from workers import costs
from workers.measures.protocol import PairShape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data import Arrays
    from figures import Options
    from timing import Call

SIZES = (2_000, 5_000)
QUICK_SIZES = (300, 600)
COLUMNS = 64
REPEATED_ROWS = 2_000
"""Beyond so many rows the textbook is too slow to be run more than once."""

SEED = 40
TOLERANCE = 1e-6
"""By how much the textbook's score may differ, whose distances are rounded."""
TEXTBOOK = at_least(8)


def measure(options: Options) -> Iterator[Figure]:
    """Measure time in both precisions, then memory."""
    sizes = QUICK_SIZES if options.quick else SIZES
    compile_strips()
    for rows in sizes:
        yield from _times(rows, options)
    for rows in sizes:
        for precision in (Precision.EXACT, Precision.FLOAT32):
            yield _bytes(rows, precision)


def _times(rows: int, options: Options) -> Iterator[Figure]:
    found: dict[str, list[int]] = {"exact": [], "float32": [], "textbook": []}
    warm, repetitions = (1, min(3, options.repetitions)) if rows <= REPEATED_ROWS else (0, 1)

    def arrays(repetition: int) -> Arrays:
        return data.gaussian(rows, COLUMNS, SEED + 7 * repetition)

    def count(repetition: int, precision: Precision) -> Call:
        x, y = arrays(repetition).spaces(precision)
        return lambda: found[precision.value].append(quadruplets.exact_counts(x, y).counts.agreeing)

    def book(repetition: int) -> Call:
        made = arrays(repetition)
        return lambda: found["textbook"].append(textbook.quadruplets(made.x, made.y))

    contenders = {
        "exact": lambda repetition: count(repetition, Precision.EXACT),
        "float32": lambda repetition: count(repetition, Precision.FLOAT32),
        "textbook": book,
    }
    seconds = in_turns(contenders, repetitions, warm)
    for counts in zip(*found.values(), strict=True):
        if (max(counts) - min(counts)) / (3 * comb(rows, 4)) > TOLERANCE:
            raise AssertionError(f"QSI of {rows} rows: exact, float32 and textbook count {counts}")
    case = arrays(0).case
    measured = {name: series.median for name, series in seconds.items()}
    yield Figure(case, "textbook / exact", seconds["textbook"] / seconds["exact"], "", TEXTBOOK, measured, "s")
    yield Figure(case, "textbook / float32", seconds["textbook"] / seconds["float32"], target=TEXTBOOK)


def _bytes(rows: int, precision: Precision) -> Figure:
    pairs = comb(rows, 2)
    peak = memory.of_quadruplets(data.gaussian(rows, COLUMNS), precision)
    bound = costs.all_pairs_bytes(PairShape(rows, COLUMNS, COLUMNS, precision=precision.value)) / pairs
    measured = {"peak MiB": peak.above / memory.MEBIBYTE}
    case = f"memory, {precision.value}, {data.size(rows)} rows"
    return Figure(case, "bytes for a pair", peak.above / pairs, "bytes", at_most(bound), measured)
