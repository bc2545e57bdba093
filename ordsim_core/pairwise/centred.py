"""CKA from tiles of two kernel matrices: sums and row sums are all that centring takes.

Biased: <HAH, HBH> of the centred matrices (Gretton et al. 2005; Cortes et al. 2012). Debiased: <UA, UB> of the
U-centred ones, n (n - 3) times HSIC1 (Song et al. 2012; Szekely and Rizzo 2014). With row sums a, b and totals TA, TB
of n rows,

    <HAH, HBH> = <A, B> - (2 / n) a.b + TA TB / n^2
    <UA, UB>   = <A, B> - 2 / (n - 2) a.b + TA TB / ((n - 1)(n - 2)),   of A and B with zero diagonals.

Neither changes when a number is added to all entries (off the diagonal): an estimate of their mean is taken off first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.cosine.cosine_form import CosineSums
from ordsim_core.pairwise import tile_sums
from ordsim_core.pairwise.rdm import Sizes, without_noise
from ordsim_core.pairwise.tiles import TileGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.pairwise.entries import Entries
    from ordsim_core.pairwise.pilot import Pilot
    from ordsim_core.pairwise.tiles import Tile


@dataclass(frozen=True, eq=False)
class KernelSums:
    """Sums over all entries of M = (A + B) / 2 and D = B - A, less the pilot.

    Attributes
    ----------
    products : tuple of float
        <M, M>, <M, D> and <D, D> over the entries off the diagonal.
    rows : ndarray of float64, shape (2, N)
        Sums of M and of D along rows, off the diagonal.
    diagonal : ndarray of float64, shape (2, N)
        M and D on the diagonal.
    """

    products: tuple[float, float, float]
    rows: NDArray[np.float64]
    diagonal: NDArray[np.float64]


def sums_of(tile: Tile, entries: Entries, pilot: Pilot) -> NDArray[np.float64]:
    """Sum over one tile: float64 of shape (`size_of(tile)`,), in the order of `total`."""
    found = np.empty(size_of(tile))
    rows = found[3 : 3 + 2 * tile.height].reshape(2, tile.height)
    columns = found[3 + 2 * tile.height :].reshape(2, tile.width)
    tile_sums.sums_of_kernels(
        entries.of_x, entries.changes, pilot.mean, pilot.change, found[:3], rows, columns, tile.diagonal
    )
    return found


def size_of(tile: Tile) -> int:
    """Count the numbers that are kept of a tile: three sums, and sums along rows and columns."""
    return 3 + 2 * tile.height + 2 * tile.width


def total(rows: int, parts: NDArray[np.float64]) -> KernelSums:
    """Add up what `sums_of` gave, for all tiles in order, joined.

    Raises
    ------
    ValueError
        If there are too many numbers or too few.
    """
    grid = TileGrid(rows)
    sums, diagonal = np.zeros((2, rows)), np.zeros((2, rows))
    products = []
    begin = 0
    for tile in grid.tiles(0, len(grid)):
        part = parts[begin : begin + size_of(tile)]
        begin += size_of(tile)
        if len(part) != size_of(tile):
            raise ValueError(f"tile {tile.index} has {len(part)} sums instead of {size_of(tile)}")
        along = part[3 : 3 + 2 * tile.height].reshape(2, tile.height)
        across = part[3 + 2 * tile.height :].reshape(2, tile.width)
        sums[:, tile.top : tile.bottom] += along
        if tile.diagonal:
            diagonal[:, tile.left : tile.right] = across
        else:
            sums[:, tile.left : tile.right] += across
        # The tile below the diagonal is the same turned round.
        products.append(part[:3] * (1 if tile.diagonal else 2))
    if begin != len(parts):
        raise ValueError(f"there are {len(parts)} sums instead of {begin}")
    return KernelSums(_columns(products), sums, diagonal)


def _columns(products: list[NDArray[np.float64]]) -> tuple[float, float, float]:
    mm, md, dd = np.array(products).reshape(-1, 3).T.tolist()
    return math.fsum(mm), math.fsum(md), math.fsum(dd)


def biased(sums: KernelSums, pilot: Pilot, sizes: Sizes) -> CosineSums:
    """Give the sums of the centred kernel matrices."""
    rows = sums.rows.shape[1]
    along = sums.rows + sums.diagonal
    raw = [
        math.fsum((value, _product(*sums.diagonal[list(which)])))
        for value, which in zip(sums.products, ((0, 0), (0, 1), (1, 1)), strict=True)
    ]
    return _centred(raw, along, 2 / rows, 1 / rows**2, pilot, sizes)


def debiased(sums: KernelSums, pilot: Pilot, sizes: Sizes) -> CosineSums:
    """Give the sums of the U-centred kernel matrices, of at least 4 rows."""
    rows = sums.rows.shape[1]
    return _centred(list(sums.products), sums.rows, 2 / (rows - 2), 1 / ((rows - 1) * (rows - 2)), pilot, sizes)


def _centred(
    raw: list[float], along: NDArray[np.float64], of_rows: float, of_totals: float, pilot: Pilot, sizes: Sizes
) -> CosineSums:
    totals = [math.fsum(part.tolist()) for part in along]
    found = [
        math.fsum((value, -of_rows * _product(along[one], along[other]), of_totals * totals[one] * totals[other]))
        for value, (one, other) in zip(raw, ((0, 0), (0, 1), (1, 1)), strict=True)
    ]
    # Against what was there before centring: all entries, and what was taken off them.
    entries = along.shape[1] ** 2
    size_x, size_y = (
        math.sqrt(max(raw[0] + sign * raw[1] + raw[2] / 4, 0.0) / entries) + abs(pilot.mean + sign * pilot.change / 2)
        for sign in (-1, 1)
    )
    sizes = Sizes(max(size_x, sizes.x), max(size_y, sizes.y))
    return without_noise(CosineSums(found[0], found[1], max(found[2], 0.0)), entries, sizes, raw[0] + raw[2] / 4)


def _product(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return math.fsum((one * other).tolist())
