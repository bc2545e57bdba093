"""TSI and QSI of two arrays in one call, for notebooks: `ordsim_core.tsi` and `ordsim_core.qsi`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import betting, intervals, jackknife, population, quadruplets, sampling, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import Space, check_pair, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ordsim_core.counts import AgreementCounts
    from ordsim_core.intervals import Interval
    from ordsim_core.jackknife import JackknifeInterval

MEMBERS, TRIPLET, QUADRUPLET = 32, 3, 4  # pairs or targets of a unit; rows in a comparison


@dataclass(frozen=True, slots=True, repr=False)
class Score:
    """How far two arrays agree.

    Attributes
    ----------
    counts : AgreementCounts
        What was compared, by kind.
    interval : Interval
        Bounds on the score of all comparisons between these rows; a point where all were made.
    population : Interval or None
        Bounds on that of the population the rows are from; None where half of the rows or more are equal to others.
    jackknife : JackknifeInterval or None
        The same from a standard error, for exact TSI alone.
    precision : Precision
        What order means, of the weaker side.
    uncertified : int
        Comparisons in doubt, for float32 only; see `ordsim_core.intervals.arithmetic`.
    anchors, per_anchor : ndarray of int64 and of float64, shape (anchors,), or None
        Rows that were anchors, and the TSI of each, where TSI was counted by anchors.
    """

    counts: AgreementCounts
    interval: Interval
    population: Interval | None
    precision: Precision
    uncertified: int
    jackknife: JackknifeInterval | None = None
    anchors: NDArray[np.int64] | None = None
    per_anchor: NDArray[np.float64] | None = None

    @property
    def score(self) -> float:
        """Agreeing share of the comparisons."""
        return self.counts.score

    @property
    def deficit(self) -> float:
        """Disagreeing share, from its own integers: exactly 0 when nothing disagrees."""
        return self.counts.deficit

    def __repr__(self) -> str:
        found = f"score {self.score:.6g}, deficit {self.deficit:.6g}, {self.counts.comparisons:,} comparisons"
        return f"<{found}, {self.interval.low:.6g} to {self.interval.high:.6g}>"


def tsi(
    x: Any,
    y: Any,
    distance: str | tuple[str, str] = "euclidean",
    *,
    samples: int | None = None,
    units: int | None = None,
    targets: int = MEMBERS,
    anchors: int | None = None,
    precision: str = "exact",
    seed: int = 0,
    confidence: float = 0.99,
) -> Score:
    """Compute the Triplet Similarity Index of two arrays: over all triplets, or those of one of the designs.

    Parameters
    ----------
    x, y : ndarray, shapes (N, D) and (N, E)
        Row i of x and row i of y are the same input. Or spaces, from `ordsim_core.spaces.prepare`.
    distance : str or (str, str)
        Of both sides, or of x and of y: see `ordsim_core.distances.Distance`. Of spaces it is their own.
    samples : int, optional
        Draw so many independent triplets; `ordsim_core.intervals.samples_for` says how many.
    units, targets : int, optional
        Draw so many anchors, each with so many targets, all of whose pairs are compared.
    anchors : int, optional
        Draw so many rows without replacement, and compare all triplets of which one is the anchor.
    precision : str
        "exact" or "float32".
    seed : int
        Of whatever is drawn: a job with the same seed and options draws the same.
    confidence : float

    Raises
    ------
    TypeError
        If x or y is neither an array nor a space.
    ValueError
        If more than one design is asked for, the arrays differ in rows, only one is in float32, or as `prepare`.
    """
    _one_of(samples=samples, units=units, anchors=anchors)
    one, other = _pair(x, y, distance, precision, TRIPLET)
    if samples is not None or units is not None:
        return _drawn(one, other, triplets, samples, units, targets, seed, confidence)
    if anchors is not None and not 1 <= anchors <= one.rows:
        raise ValueError(f"anchors must lie between 1 and the {one.rows} rows, not at {anchors}")
    chosen = np.arange(one.rows) if anchors is None else sampling.permutation(seed, one.rows)[:anchors]
    block, each, errors = triplets.exact_anchors(one, other, chosen, anchors is None), comb(one.rows - 1, 2), None
    bounds = partial(betting.without_replacement, block.agreeing, each, one.rows)
    if block.targets is not None:
        bounds = partial(intervals.exact, block.counts)
        if one.rows < 2 * min(one.distinct, other.distinct):
            errors = jackknife.interval(block.agreeing, block.targets, block.counts, confidence)
    found = _score(one, other, TRIPLET, block, confidence, bounds)
    return replace(found, anchors=chosen, per_anchor=block.agreeing / each, jackknife=errors)


def qsi(
    x: Any,
    y: Any,
    distance: str | tuple[str, str] = "euclidean",
    *,
    samples: int | None = None,
    units: int | None = None,
    pairs: int = MEMBERS,
    precision: str = "exact",
    seed: int = 0,
    confidence: float = 0.99,
) -> Score:
    """Compute the Quadruplet Similarity Index of two arrays: over all quadruplets, or those of one of the designs.

    Parameters and errors are those of `tsi`; a unit is so many `pairs` that share no row, each compared with each.
    All quadruplets take memory for all N (N - 1) / 2 pairs of rows.
    """
    _one_of(samples=samples, units=units)
    one, other = _pair(x, y, distance, precision, QUADRUPLET)
    if samples is not None or units is not None:
        return _drawn(one, other, quadruplets, samples, units, pairs, seed, confidence)
    found = quadruplets.exact_counts(one, other)
    return _score(one, other, QUADRUPLET, found, confidence, partial(intervals.exact, found.counts))


def _drawn(
    x: Space, y: Space, kind: Any, samples: int | None, units: int | None, members: int, seed: int, confidence: float
) -> Score:
    order = TRIPLET if kind is triplets else QUADRUPLET
    if units is None:
        found = kind.sampled_range(x, y, seed, 0, samples)
        return _score(x, y, order, found, confidence, partial(intervals.clopper_pearson, found.counts))
    found = kind.units_range(x, y, seed, 0, units, members)
    return _score(x, y, order, found, confidence, partial(betting.interval, found.agreeing, comb(members, 2)))


def _score(
    x: Space, y: Space, order: int, counted: Any, confidence: float, bounds: Callable[[float], Interval]
) -> Score:
    rest = None
    if x.rows < 2 * min(x.distinct, y.distinct):  # half of what may be missed is spent on the drawing, as in a job
        rest = population.around(bounds((1 + confidence) / 2), x.rows, order, confidence)
    weaker = max((x.precision, y.precision), key=list(Precision).index)
    return Score(counted.counts, bounds(confidence), rest, weaker, counted.uncertified)


def _pair(x: Any, y: Any, distance: str | tuple[str, str], precision: str, needed: int) -> tuple[Space, Space]:
    of_x, of_y = (distance, distance) if isinstance(distance, str) else distance
    spaces = []
    for name, side, measured in (("x", x, of_x), ("y", y, of_y)):
        if not isinstance(side, np.ndarray | Space):
            raise TypeError(f"{name} is a {type(side).__name__}; give an array, np.asarray({name}), one row an input")
        spaces.append(side if isinstance(side, Space) else prepare(side, Distance(measured), Precision(precision)))
    one, other = spaces
    check_pair(one, other, needed)
    # What is exact at no cost is so whatever was asked for.
    rough = {space.precision is Precision.FLOAT32 for space in spaces if not space.packing.certain}
    if len(rough) > 1:
        raise ValueError("one of x and y was prepared in float32 and the other was not; prepare both alike")
    return one, other


def _one_of(**designs: int | None) -> None:
    asked = [name for name, number in designs.items() if number is not None]
    if len(asked) > 1:
        raise ValueError(f"{' and '.join(asked)} are different designs; ask for one of them")
