"""Comparing the core with the oracle, in the oracle's own terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import rational

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core.counts import Paths
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import Space, prepare

if TYPE_CHECKING:
    import numpy as np

    from ordsim_core.counts import AgreementCounts

SEED, SAMPLES, UNITS = 5, 60, 9


class Answers(NamedTuple):
    """What is computed of two arrays; of quadruplets, None with fewer than 4 rows."""

    triplets: rational.Triplets
    sampled_triplets: rational.Counts
    triplet_units: tuple[rational.Counts, list[int]]
    quadruplets: rational.Counts | None
    sampled_quadruplets: rational.Counts | None
    quadruplet_units: tuple[rational.Counts, list[int]] | None

    @property
    def counts(self) -> list[rational.Counts]:
        """All counts there are, in the order of `Observed.uncertified`."""
        counts = [self.triplets.counts, self.sampled_triplets, self.triplet_units[0]]
        if self.quadruplets is not None:
            counts += [self.quadruplets, self.sampled_quadruplets, self.quadruplet_units[0]]
        return counts


class Observed(NamedTuple):
    """The core's answers, how it found them, and how many comparisons of each it left in doubt."""

    answers: Answers
    paths: Paths
    uncertified: list[int]


def spaces(
    x: np.ndarray,
    y: np.ndarray,
    x_distance: str = "euclidean",
    y_distance: str = "euclidean",
    precision: Precision = Precision.EXACT,
    key_bits: int | None = None,
) -> tuple[Space, Space]:
    return tuple(
        prepare(side, Distance(distance), precision, key_bits=key_bits)
        for side, distance in ((x, x_distance), (y, y_distance))
    )


def five(counts: AgreementCounts) -> rational.Counts:
    return counts.concordant, counts.discordant, counts.tied_x, counts.tied_y, counts.tied_both


def in_triplets(block: triplets.AnchorBlock) -> rational.Triplets:
    return rational.Triplets(five(block.counts), block.agreeing.tolist(), block.targets.tolist())


def exact_triplets(x: Space, y: Space) -> rational.Triplets:
    return in_triplets(triplets.exact_block(x, y, 0, x.rows, per_target=True))


def exact_quadruplets(x: Space, y: Space) -> rational.Counts:
    return five(quadruplets.exact_counts(x, y).counts)


def sizes(rows: int) -> tuple[int, int]:
    """How many targets, and how many pairs, a unit has."""
    return min(5, rows - 1), min(4, rows // 2)


def expected(x: np.ndarray, y: np.ndarray, x_distance: str = "euclidean", y_distance: str = "euclidean") -> Answers:
    """What fractions say."""
    sides = rational.Ranked(x.tolist(), x_distance), rational.Ranked(y.tolist(), y_distance)
    rows = len(x)
    targets, pairs = sizes(rows)

    def sampled(unit: Any, drawn: np.ndarray) -> tuple[rational.Counts, list[int]]:
        counts = [unit(*sides, *row) for row in drawn.tolist()]
        return tuple(map(sum, zip(*counts, strict=True))), [one[0] + one[4] for one in counts]

    of_three = (
        rational.triplets(*sides),
        sampled(rational.triplet_unit, sampling.triplets(SEED, 0, SAMPLES, rows))[0],
        sampled(rational.triplet_unit, sampling.triplet_units(SEED, 0, UNITS, rows, targets)),
    )
    if rows < 4:
        return Answers(*of_three, None, None, None)
    return Answers(
        *of_three,
        rational.quadruplets(*sides),
        sampled(rational.quadruplet_unit, sampling.quadruplets(SEED, 0, SAMPLES, rows))[0],
        sampled(rational.quadruplet_unit, sampling.quadruplet_units(SEED, 0, UNITS, rows, pairs)),
    )


def observed(x: Space, y: Space) -> Observed:
    """What the core says."""
    targets, pairs = sizes(x.rows)
    parts: list[Any] = [
        triplets.exact_block(x, y, 0, x.rows, per_target=True),
        triplets.sampled_range(x, y, SEED, 0, SAMPLES),
        triplets.units_range(x, y, SEED, 0, UNITS, targets),
    ]
    if x.rows >= 4:
        parts += [
            quadruplets.exact_counts(x, y),
            quadruplets.sampled_range(x, y, SEED, 0, SAMPLES),
            quadruplets.units_range(x, y, SEED, 0, UNITS, pairs),
        ]
    answers: list[Any] = [five(part.counts) for part in parts]
    answers[0] = in_triplets(parts[0])
    for place in range(2, len(parts), 3):
        answers[place] = answers[place], parts[place].agreeing.tolist()
    return Observed(
        Answers(*answers, *[None] * (6 - len(answers))),
        sum((part.paths for part in parts), Paths()),
        [part.uncertified for part in parts],
    )


def check(x: np.ndarray, y: np.ndarray, x_distance: str = "euclidean", y_distance: str = "euclidean") -> None:
    """All that is computed of arrays x and y must be what fractions say."""
    assert observed(*spaces(x, y, x_distance, y_distance)).answers == expected(x, y, x_distance, y_distance)


def lattice(rng: np.random.Generator, rows: int, columns: int, spread: int = 3) -> np.ndarray:
    """Small integers as float64: heavy ties, and often equal rows."""
    return rng.integers(-spread, spread + 1, (rows, columns)).astype("f8")
