"""Measures from D x D moments against the least that they need: the three Gram products X'X, Y'Y and X'Y.

Real embeddings of two layers (D = 384), repeated with noise to more rows, in float32 as they are stored. The floor
multiplies centred float64 arrays as a whole, already widened. Ours reads float32, takes means, chooses a route, and
gives a deficit of full precision: linear CKA biased and debiased, and Pearson RSA on squared Euclidean and on
correlation distances, which others compute from N x N matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from data import FOLDER, SEED, Arrays
from figures import Figure, at_most
from timing import in_turns

from ordsim_core.cosine import rsa_moments
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from figures import Options
    from numpy.typing import NDArray
    from timing import Call

SIZES = (10_000, 50_000)
QUICK_SIZES = (1_000,)
NOISE = 1e-2

MEASURES: tuple[tuple[str, Callable[[Any, Any], object], float], ...] = (
    ("linear CKA", linear_cka, 1.3),
    ("debiased CKA", lambda x, y: linear_cka(x, y, Statistic.DEBIASED), 1.3),
    ("RSA squared Euclidean", rsa_moments.squared_euclidean_rsa, 1.5),
    ("RSA correlation", rsa_moments.correlation_rsa, 1.5),
)


def measure(options: Options) -> Iterator[Figure]:
    """Measure all of them at each size, with the floor in the same turns."""
    for rows in QUICK_SIZES if options.quick else SIZES:
        yield from _compare(_repeated(rows), options)


def _compare(arrays: Arrays, options: Options) -> Iterator[Figure]:
    x, y = (values - values.mean(axis=0, dtype=np.float64) for values in (arrays.x, arrays.y))
    # Every repetition on the same rows: nothing here branches on values.
    contenders: dict[str, Callable[[int], Call]] = {"floor": lambda _: lambda: (x.T @ x, y.T @ y, x.T @ y)}
    for name, function, _ in MEASURES:
        contenders[name] = lambda _, function=function: lambda: function(arrays.x, arrays.y)  # type: ignore[misc]
    seconds = in_turns(contenders, options.repetitions)
    for name, _, bound in MEASURES:
        measured = {"floor": seconds["floor"].median, "ordsim": seconds[name].median}
        ratio = seconds[name] / seconds["floor"]
        yield Figure(arrays.case, f"{name} / three Gram products", ratio, "", at_most(bound), measured, "s")


def _repeated(rows: int) -> Arrays:
    """Real embeddings over and over, each time with other noise."""
    rng, sides = np.random.default_rng(SEED), []
    for name in ("sample/text_L6_f32", "sample/text_L3_f16"):
        values: NDArray[np.float32] = np.load(FOLDER / f"{name}.npy").astype(np.float32)
        several = np.resize(values, (rows, values.shape[1]))
        several += np.float32(NOISE * values.std()) * rng.standard_normal(several.shape, dtype=np.float32)
        sides.append(several)
    return Arrays("real, repeated", *sides)
