"""Measures over all pairs of rows: RSA and RBF CKA, nanoseconds for a pair of rows.

* over floor: the floor of the work is, tile by tile, a float64 product of the block's rows in x and in y; for the RBF
  kernel also the exponentials of both; for ranks also numpy's sort of all that comes out, on both sides.
* near: y is x with a little noise, so that changes come from the differences of rows, which takes a third product.
* with medians: RBF CKA with the pass over all tiles that finds its bandwidths.
* textbook over ours: the distances of all pairs by scipy, and what numpy and scipy make of them as whole matrices, for
  fewer rows.

Medians are not in the floor: any way to find them takes all distances first.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import data
import numpy as np
from figures import Figure, at_least, at_most
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata
from timing import NANOSECONDS, in_turns

from ordsim_core.distances import Distance
from ordsim_core.pairwise import bandwidth, centred, kernel_matrices, pair_ranking, rdm, relation, spearman
from ordsim_core.pairwise.pairing import Pairing
from ordsim_core.pairwise.tiles import TileGrid
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from figures import Options
    from numpy.typing import NDArray
    from timing import Contender, Series

    from ordsim_core.pairwise.bandwidth import Bandwidths

ROWS, FEW_ROWS, QUICK_ROWS = 5_000, 2_000, 300
COLUMNS = 384
NEAR = 1e-5
TOLERANCE = 1e-9

Sides = tuple["NDArray[Any]", "NDArray[Any]"]


def measure(options: Options) -> Iterator[Figure]:
    """Measure against the floor, then against textbook code."""
    rows, few = (QUICK_ROWS, QUICK_ROWS) if options.quick else (ROWS, FEW_ROWS)
    case = f"Gaussian, {data.size(rows)} x {COLUMNS}"
    contenders = {
        "tiles": on(rows, _tiles),
        "tiles, exp": on(rows, _exponentials),
        "tiles, sorts": on(rows, _sorted_tiles),
        "pearson": on(rows, pearson),
        "spearman": on(rows, spearman_of),
        "rbf": _with_bandwidths(rows, _rbf),
        "rbf, medians": on(rows, rbf_with_medians),
        "near pearson": on(rows, pearson, near=True),
        "near rbf": _with_bandwidths(rows, _rbf, near=True),
    }
    seconds = in_turns(contenders, options.repetitions)
    each = {name: series * (NANOSECONDS / comb(rows, 2)) for name, series in seconds.items()}
    medians = {name: series.median for name, series in each.items()}
    for name, floor, bound in (
        ("pearson", "tiles", 2.0),
        ("near pearson", "tiles", 2.0),
        ("spearman", "tiles, sorts", 3.0),
        ("rbf", "tiles, exp", 1.5),
        ("near rbf", "tiles, exp", None),
        ("rbf, medians", "tiles, exp", None),
    ):
        target = None if bound is None else at_most(bound)
        ratio = each[name] / each[floor]
        yield Figure(case, f"{name} / {floor}", ratio, target=target, measured=medians, measured_unit="ns")
    yield from _against_textbook(few, options.repetitions)


def _against_textbook(rows: int, repetitions: int) -> Iterator[Figure]:
    case = f"Gaussian, {data.size(rows)} x {COLUMNS}"
    pairs: dict[str, tuple[Callable[[Sides], float], Callable[[Sides], float]]] = {
        "pearson": (pearson, _textbook_pearson),
        "spearman": (spearman_of, _textbook_spearman),
        "rbf": (rbf_with_medians, _textbook_rbf),
    }
    sides = _arrays(rows, 0)
    for name, (ours, textbook) in pairs.items():
        if abs(ours(sides) - textbook(sides)) > TOLERANCE:
            raise AssertionError(f"{name}: {ours(sides)} is not {textbook(sides)}")
    contenders = {name: on(rows, ours) for name, (ours, _) in pairs.items()}
    contenders |= {f"textbook {name}": on(rows, textbook) for name, (_, textbook) in pairs.items()}
    seconds = in_turns(contenders, repetitions)
    for name in pairs:
        ratio: Series = seconds[f"textbook {name}"] / seconds[name]
        yield Figure(case, f"textbook / {name}", ratio, target=at_least(1.0))


def on(rows: int, work: Callable[[Sides], object], *, near: bool = False) -> Contender:
    """Run some work on arrays of each repetition's own."""

    def make(repetition: int) -> Callable[[], object]:
        sides = _arrays(rows, repetition, near=near)
        return lambda: work(sides)

    return make


def _with_bandwidths(rows: int, work: Callable[[Sides, Bandwidths], object], *, near: bool = False) -> Contender:
    def make(repetition: int) -> Callable[[], object]:
        sides = _arrays(rows, repetition, near=near)
        widths = _bandwidths(_pairing(sides))
        return lambda: work(sides, widths)

    return make


def _arrays(rows: int, repetition: int, *, near: bool = False) -> Sides:
    arrays = data.gaussian(rows, COLUMNS, data.SEED + repetition)
    if near:
        return arrays.x, arrays.x + np.float32(NEAR) * (arrays.y - arrays.x)
    return arrays.x, arrays.y


def _products(sides: Sides) -> Iterator[tuple[int, bool, NDArray[np.float64]]]:
    """Yield side, whether the tile is on the diagonal, and products of its rows."""
    wide = [side.astype(np.float64) for side in sides]
    grid = TileGrid(len(wide[0]))
    for tile in grid.tiles(0, len(grid)):
        for place, side in enumerate(wide):
            yield place, tile.diagonal, side[tile.top : tile.bottom] @ side[tile.left : tile.right].T


def _tiles(sides: Sides) -> None:
    for _ in _products(sides):
        pass


def _exponentials(sides: Sides) -> None:
    for _, _, products in _products(sides):
        products *= -1 / COLUMNS
        np.exp(products, out=products)


def _sorted_tiles(sides: Sides) -> None:
    found: tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]] = ([], [])
    for place, diagonal, products in _products(sides):
        found[place].append(products[np.triu_indices(len(products), 1)] if diagonal else products.ravel())
    for parts in found:
        np.concatenate(parts).sort()


def _pairing(sides: Sides) -> Pairing:
    x, y = relation.sides(*sides, Distance.EUCLIDEAN, Distance.EUCLIDEAN)
    return Pairing(x, y, relation.find(x, y, centred=True, scalable=True))


def _bandwidths(pairing: Pairing) -> Bandwidths:
    middle_x, middle_y = (bandwidth.middle(side, relation.stored_centre(side)) for side in (pairing.x, pairing.y))
    return bandwidth.of(pairing.x, pairing.y, middle_x, middle_y, pairing.relation.scale)


def pearson(sides: Sides) -> float:
    plan, rows = rdm.plan(_pairing(sides), centred=True), len(sides[0])
    sums = rdm.sums_of(plan, TileGrid(rows).tiles(0, len(TileGrid(rows))))
    return float(rdm.combine(sums, rows, plan.pilot, True, rdm.Sizes()).cosine().score or 0)


def spearman_of(sides: Sides) -> float:
    ranks = [pair_ranking.doubled_ranks(prepare(side, Distance.EUCLIDEAN)) for side in sides]
    return float(spearman.sums(*ranks).cosine().score or 0)


def _rbf(sides: Sides, widths: Bandwidths) -> float:
    plan, rows = kernel_matrices.plan(_pairing(sides), widths), len(sides[0])
    sums = kernel_matrices.sums_of(plan, TileGrid(rows).tiles(0, len(TileGrid(rows))))
    return float(centred.biased(centred.total(rows, sums), plan.pilot, kernel_matrices.sizes(plan)).cosine().score or 0)


def rbf_with_medians(sides: Sides) -> float:
    return _rbf(sides, _bandwidths(_pairing(sides)))


def _condensed(sides: Sides) -> list[NDArray[np.float64]]:
    return [pdist(side.astype(np.float64)) for side in sides]


def _textbook_pearson(sides: Sides) -> float:
    return float(np.corrcoef(*_condensed(sides))[0, 1])


def _textbook_spearman(sides: Sides) -> float:
    return float(np.corrcoef(*(rankdata(distances) for distances in _condensed(sides)))[0, 1])


def _textbook_rbf(sides: Sides) -> float:
    found = []
    for distances in _condensed(sides):
        kernel = np.exp(-(squareform(distances) ** 2) / (2 * np.median(distances) ** 2))
        kernel -= kernel.mean(axis=0)
        found.append(kernel - kernel.mean(axis=1, keepdims=True))
    one, other = found
    return float(np.vdot(one, other) / np.sqrt(np.vdot(one, one) * np.vdot(other, other)))
