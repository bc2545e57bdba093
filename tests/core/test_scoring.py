"""The two calls of a notebook: the same figures as the parts they are made of, and errors that say what to do."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ordsim_core
from ordsim_core import betting, intervals, jackknife, population, quadruplets, sampling, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare

GENERATOR = np.random.default_rng(5)
X = GENERATOR.standard_normal((60, 5)).astype("f4")
Y = X + GENERATOR.standard_normal((60, 5)).astype("f4") / 2
A, B = prepare(X, Distance.EUCLIDEAN), prepare(Y, Distance.EUCLIDEAN)


def test_all_triplets() -> None:
    block = triplets.exact_block(A, B, 0, 60, per_target=True)
    found = ordsim_core.tsi(X, Y)
    assert (found.score, found.deficit, found.counts) == (block.counts.score, block.counts.deficit, block.counts)
    assert block.targets is not None
    assert found.jackknife == jackknife.interval(block.agreeing, block.targets, block.counts, 0.99)
    assert found.interval.low == found.interval.high == found.score
    assert found.population == population.around(found.interval, 60, 3, 0.99)
    assert found.per_anchor is not None
    assert found.per_anchor.mean() == pytest.approx(found.score)
    assert repr(found).startswith(f"<score {found.score:.6g}, deficit")


def test_some_triplets() -> None:
    samples = ordsim_core.tsi(X, Y, samples=500, seed=3, confidence=0.9)
    assert samples.counts == triplets.sampled_range(A, B, 3, 0, 500).counts
    assert samples.interval == intervals.clopper_pearson(samples.counts, 0.9)
    units = ordsim_core.tsi(X, Y, units=40, targets=6)
    expected = triplets.units_range(A, B, 0, 0, 40, 6)
    assert (units.counts, units.interval) == (expected.counts, betting.interval(expected.agreeing, 15, 0.99))
    assert units.population is not None
    assert units.population.low <= units.interval.low < units.interval.high <= units.population.high
    anchors = ordsim_core.tsi(X, Y, anchors=10, seed=1)
    every = ordsim_core.tsi(X, Y)
    assert anchors.anchors is not None
    assert anchors.anchors.tolist() == sampling.permutation(1, 60)[:10].tolist()
    assert every.per_anchor is not None
    assert np.array_equal(anchors.per_anchor, every.per_anchor[anchors.anchors])
    assert anchors.interval.low <= every.score <= anchors.interval.high


def test_quadruplets() -> None:
    assert ordsim_core.qsi(X, Y).counts == quadruplets.exact_counts(A, B).counts
    assert ordsim_core.qsi(X, Y, samples=300).counts == quadruplets.sampled_range(A, B, 0, 0, 300).counts
    units = ordsim_core.qsi(X, Y, units=20, pairs=5)
    assert units.counts == quadruplets.units_range(A, B, 0, 0, 20, 5).counts
    assert ordsim_core.qsi(X, X).deficit == 0


def test_sides_may_have_their_own_distances_and_may_be_spaces() -> None:
    between = np.abs(X[:, None] - X[None]).sum(axis=2)
    found = ordsim_core.tsi(between, Y, ("precomputed", "cosine"))
    x, y = prepare(between, Distance.PRECOMPUTED), prepare(Y, Distance.COSINE)
    assert found.counts == ordsim_core.tsi(x, y).counts == triplets.exact_block(x, y, 0, 60).counts
    rough = ordsim_core.tsi(X, Y, precision="float32")
    assert rough.precision is Precision.FLOAT32
    bound = intervals.arithmetic(rough.counts, rough.uncertified)
    assert bound.low <= ordsim_core.tsi(X, Y).score <= bound.high


def test_repeated_rows_say_nothing_of_a_population() -> None:
    found = ordsim_core.tsi(np.repeat(X[:20], 2, axis=0), Y[:40])
    assert (found.population, found.jackknife) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        ((X.tolist(), Y), {}, TypeError, r"x is a list; give an array, np.asarray\(x\)"),
        ((X, Y[:, 0]), {}, ValueError, "an \\(N, D\\) array is needed, this one has 1 dimensions"),
        ((X, Y[:-1]), {}, ValueError, "x has 60 rows and y has 59"),
        ((X, Y), {"samples": 5, "units": 5}, ValueError, "samples and units are different designs"),
        ((X, Y), {"anchors": 61}, ValueError, "between 1 and the 60 rows, not at 61"),
        ((X, Y), {"distance": "euclid"}, ValueError, "euclid"),
        ((prepare(X, Distance.EUCLIDEAN, Precision.FLOAT32), B), {}, ValueError, "prepare both alike"),
    ],
)
def test_what_cannot_be_compared_says_what_to_do(
    arguments: tuple[Any, Any], options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ordsim_core.tsi(*arguments, **options)


def test_arrays_in_place_of_spaces_and_lists_in_place_of_arrays_are_named() -> None:
    with pytest.raises(TypeError, match=r"an array is needed, not a list: np\.asarray"):
        prepare(X.tolist(), Distance.EUCLIDEAN)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"spaces\.prepare"):
        triplets.exact_block(X, Y, 0, 60)  # type: ignore[arg-type]


def test_the_package_alone_imports_nothing_that_takes_a_while() -> None:
    program = "import sys, ordsim_core; print(dir(ordsim_core), 'numpy' in sys.modules, 'numba' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert "'qsi'" in said
    assert "'tsi'" in said
    assert said.strip().endswith("False False")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="kendall"):
        _ = ordsim_core.kendall  # type: ignore[attr-defined]
