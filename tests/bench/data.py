"""The arrays that benchmarks run on: made up, of many kinds, and real embeddings as they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space

FOLDER = Path(__file__).resolve().parents[1] / "data"
NOISE = 0.7
SEED = 20

REAL = (
    ("real, layer 6 and 3", "sample/text_L6_f32", "sample/text_L3_f16"),
    ("real, two models", "sample/text_L6_f32", "controls/text_para_f16"),
    ("real and its int8", "sample/text_L6_f32", "controls/ctl_L6_int8"),
)


@dataclass(frozen=True, eq=False)
class Arrays:
    """A pair of arrays over the same rows."""

    kind: str
    x: NDArray[Any]
    y: NDArray[Any]

    @property
    def rows(self) -> int:
        """N."""
        return len(self.x)

    @property
    def case(self) -> str:
        """What the table calls it."""
        return f"{self.kind}, {size(self.rows)} x {self.x.shape[1]}"

    def spaces(self, precision: Precision = Precision.EXACT) -> tuple[Space, Space]:
        """Prepare both for Euclidean distances."""
        return prepare(self.x, Distance.EUCLIDEAN, precision), prepare(self.y, Distance.EUCLIDEAN, precision)


def size(rows: int) -> str:
    """Write thousands as k."""
    return f"{rows // 1000}k" if rows % 1000 == 0 else str(rows)


def gaussian(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Independent standard normal values; y is x with noise."""
    x = _normal(rows, columns, seed)
    return Arrays("Gaussian", x, _noisy(x, seed))


def correlated(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Mixed columns: the variance of principal components falls with their number."""
    spectrum = np.arange(1, columns + 1, dtype=np.float32) ** -0.5
    rotation = np.linalg.qr(_normal(columns, columns, seed + 1))[0]
    x = (_normal(rows, columns, seed) * spectrum) @ rotation
    return Arrays("correlated", x, _noisy(x, seed))


def clustered(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """A hundred clusters, whose centres are about ten times as far apart as the rows in one of them."""
    rng = np.random.default_rng(seed + 2)
    centres = 10 * _normal(100, columns, seed + 3)
    x = centres[rng.integers(0, len(centres), rows)] + _normal(rows, columns, seed)
    return Arrays("clustered", x, x + NOISE * _normal(rows, columns, seed + 100))


def repeated(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Gaussian, of which every tenth row is a copy of another, in both arrays."""
    original = gaussian(rows, columns, seed)
    rng = np.random.default_rng(seed + 2)
    copies = rng.choice(rows, rows // 10, replace=False)
    sources = np.setdiff1d(np.arange(rows), copies)
    chosen = rng.choice(sources, len(copies))
    for values in (original.x, original.y):
        values[copies] = values[chosen]
    return Arrays("10 % repeated", original.x, original.y)


def few_distinct(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Gaussian x; y has a thousand distinct rows, as embeddings of prompts for many images have."""
    distinct = max(2, min(1000, rows // 50))
    classes = np.random.default_rng(seed + 2).integers(0, distinct, rows)
    prompts = _normal(distinct, columns, seed + 3)
    return Arrays(f"y of {size(distinct)} rows", prompts[classes] + _normal(rows, columns, seed), prompts[classes])


def small_integers(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Gaussian, quantised to int8."""
    original = gaussian(rows, columns, seed)
    x, y = (np.rint(np.clip(values * 32, -127, 127)).astype(np.int8) for values in (original.x, original.y))
    return Arrays("int8", x, y)


def binary(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Signs of Gaussian values."""
    original = gaussian(rows, columns, seed)
    return Arrays("binary", (original.x > 0).astype(np.uint8), (original.y > 0).astype(np.uint8))


def outlying(rows: int, columns: int, seed: int = SEED) -> Arrays:
    """Gaussian, the last row times a million in both arrays."""
    original = gaussian(rows, columns, seed)
    for values in (original.x, original.y):
        values[-1] *= 1e6
    return Arrays("one row times 1e6", original.x, original.y)


KINDS: tuple[Callable[[int, int], Arrays], ...] = (
    gaussian,
    correlated,
    clustered,
    repeated,
    few_distinct,
    small_integers,
    binary,
    outlying,
)


def real() -> Iterator[Arrays]:
    """Real embeddings of the repository, as many rows as both arrays have."""
    for kind, name_x, name_y in REAL:
        x, y = (np.load(FOLDER / f"{name}.npy") for name in (name_x, name_y))
        rows = min(len(x), len(y))
        yield Arrays(kind, x[:rows], y[:rows])


def _normal(rows: int, columns: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32)


def _noisy(x: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    rows, columns = x.shape
    noise = _normal(rows, columns, seed + 100)
    noise *= NOISE * float(x[:1000].std())
    return x + noise
