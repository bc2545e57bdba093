"""What callers hand in that is almost what is needed: taken for what it is, or refused with the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ordsim_core import quadruplets, sampling, triplets
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import Space, prepare

ROWS = 12


@pytest.fixture(scope="module")
def pair() -> tuple[Space, Space]:
    rng = np.random.default_rng(0)
    return prepare(rng.random((ROWS, 3)), Distance.EUCLIDEAN), prepare(rng.random((ROWS, 3)), Distance.COSINE)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32, np.uint8])
def test_integers_of_numpy_draw_what_those_of_python_do(pair: tuple[Space, Space], kind: type) -> None:
    seed, start, stop = (kind(number) for number in (7, 3, 40))
    for draw in (triplets.sampled_range, quadruplets.sampled_range):
        assert draw(*pair, seed, start, stop).counts == draw(*pair, 7, 3, 40).counts
    for draw_units in (triplets.units_range, quadruplets.units_range):
        found, wanted = draw_units(*pair, seed, start, stop, 3), draw_units(*pair, 7, 3, 40, 3)
        assert (found.agreeing == wanted.agreeing).all()
    assert (sampling.permutation(seed, ROWS) == sampling.permutation(7, ROWS)).all()
    assert (sampling.batch(seed, start, 4, ROWS) == sampling.batch(7, 3, 4, ROWS)).all()
    assert triplets.exact_block(*pair, kind(2), kind(9)).counts == triplets.exact_block(*pair, 2, 9).counts


@pytest.mark.parametrize("wrong", [7.0, np.float64(7), "7", None])
def test_what_is_no_integer_is_refused(pair: tuple[Space, Space], wrong: Any) -> None:
    for arguments in ((wrong, 0, 9), (0, wrong, 9), (0, 0, wrong)):
        with pytest.raises(ValueError, match="must be an integer, not"):
            triplets.sampled_range(*pair, *arguments)
    for block in ((wrong, 9), (0, wrong)):
        with pytest.raises(ValueError, match=r"anchors? must be an integer, not"):
            triplets.exact_block(*pair, *block)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda rows: np.array(rows, np.uint8)])
def test_anchors_may_be_any_row_numbers(pair: tuple[Space, Space], kind: Any) -> None:
    wanted = triplets.exact_block(*pair, 0, ROWS).agreeing
    assert triplets.exact_anchors(*pair, kind([5, 2, 2])).agreeing.tolist() == wanted[[5, 2, 2]].tolist()
    assert len(triplets.exact_anchors(*pair, kind([])).agreeing) == 0


@pytest.mark.parametrize(
    ("anchors", "says"),
    [
        (np.arange(ROWS) < 3, r"not a mask: give np.flatnonzero\(mask\)"),
        ([True, False], "not a mask"),
        ([1.0, 2.0], "1-D array of integers, not 1-D of type float64"),
        (np.zeros((2, 2), int), "1-D array of integers, not 2-D"),
        (3, "1-D array of integers, not 0-D"),
        ([ROWS], "not within"),
        ([-1], "not within"),
    ],
)
def test_what_is_no_anchor_is_refused(pair: tuple[Space, Space], anchors: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        triplets.exact_anchors(*pair, anchors)


@pytest.mark.parametrize("distance", Distance)
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("columns", [0, 3])
def test_arrays_without_rows_are_refused(distance: Distance, precision: Precision, columns: int) -> None:
    for dtype in ("f4", "f8", "i8", "?"):
        with pytest.raises(ValueError, match="no rows"):
            prepare(np.zeros((0, columns), dtype), distance, precision)


@pytest.mark.parametrize("distance", Distance)
def test_masked_arrays_are_refused(distance: Distance) -> None:
    for mask in (np.ma.nomask, np.eye(3, dtype=bool)):
        with pytest.raises(ValueError, match=r"masked.*values\.filled"):
            prepare(np.ma.masked_array(np.eye(3) + 1, mask), distance)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
@pytest.mark.parametrize("distance", Distance)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_of_numpy_are_arrays(distance: Distance, dtype: str) -> None:
    values = np.add.outer(np.arange(9), np.arange(9)) ** 2 % 5
    plain, matrix = prepare(values.astype(dtype), distance), prepare(np.matrix(values.astype(dtype)), distance)
    assert type(matrix.pairs.values) is np.ndarray
    found, wanted = (quadruplets.exact_counts(space, space) for space in (matrix, plain))
    assert found.counts == wanted.counts
