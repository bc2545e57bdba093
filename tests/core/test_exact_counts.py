"""Counts equal exact rational arithmetic: published and tabulated cases, every dtype and layout, and larger arrays."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rational
from against_oracle import check, exact_quadruplets, exact_triplets, expected, in_triplets, lattice, observed, spaces
from nasty_cases import bytes_, fit, gaussian, mirrored, multiples, permuted_entries

from ordsim_core import triplets
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

CASES = json.loads((Path(__file__).parent.parent / "data" / "oracle" / "cases.json").read_text())["cases"]

SIGNED = ["i1", "i2", "i4", "i8", "f2", "f4", "f8", ">f4", ">f8", ">i2"]
UNSIGNED = ["?", "u1", "u2", "u4", "u8", ">u4"]

CLUSTERS = [[0, 0], [1, 0], [3, 0], [7, 0], [15, 0], [1000, 0], [1001, 0], [1003, 0], [1007, 0], [1015, 0]]
SQUARES = [[0, 0], [1, 0], [0, 2], [3, 1]]
PUBLISHED: list[tuple[Any, Any, str, str | None]] = [
    *(([[0], [1], [far], [far + 2]], [[0], [1], [far], [far + 1]], "1", "1/3") for far in (10, 1000, 10**9)),
    ([[0, 0], [1, 0], [0, 1]], [[0, 0], [1, 0], [1, 1]], "0", None),
    ([[0, 0], [2, 0], [3, 0]], [[0, 0], [2, 0], [1, 0]], "1/3", None),
    ([[1, 1], [0, 1], [1, 0]], [[2, 1], [0, 1], [2, 0]], "2/3", None),
    ([[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 0], [1, 0], [0, 1], [2, 2]], "2/3", "0"),
    (CLUSTERS, [CLUSTERS[row] for row in (0, 2, 1, 4, 3, 5, 6, 7, 8, 9)], "14/15", "89/105"),
    (
        [[a + 10000 * far, b + 100 * up] for far, up in ((0, 0), (1, 0), (0, 1)) for a, b in SQUARES],
        [[a + 10000 * far, b + 100 * up] for far, up in ((0, 0), (1, 0), (1, 1)) for a, b in SQUARES],
        "39/55",
        "1007/1485",
    ),
    # The least that five and six distinct points on a line can score.
    ([[0], [1], [2], [3], [4]], [[1], [4], [0], [7], [2]], "4/30", None),
    ([[0], [1], [2], [3], [5], [10]], [[4], [6], [0], [7], [3], [5]], "10/60", None),
]
"""Soares et al. 2026, worked examples and bounds: x, y, TSI and QSI."""


@pytest.mark.parametrize(("x", "y", "tsi", "qsi"), PUBLISHED)
def test_published_worked_examples(x: Any, y: Any, tsi: str, qsi: str | None) -> None:
    x, y = np.array(x, "f8"), np.array(y, "f8")
    check(x, y)
    sides = spaces(x, y)
    assert rational.score(exact_triplets(*sides).counts) == Fraction(tsi)
    if qsi is not None:
        assert rational.score(exact_quadruplets(*sides)) == Fraction(qsi)


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_cases(case: dict[str, Any], distance: str) -> None:
    x, y = (np.array([[float.fromhex(value) for value in row] for row in case[side]], case["dtype"]) for side in "xy")
    tsi, qsi = case[f"tsi_{distance}"], case[f"qsi_{distance}"]
    if distance == "cosine" and not (x.any(axis=1).all() and y.any(axis=1).all()):
        assert tsi is None
        with pytest.raises(ValueError, match="all zeros"):
            spaces(x, y, distance, distance)
        return
    sides = spaces(x, y, distance, distance)
    if tsi is None:
        assert len(x) < 3
        with pytest.raises(ValueError, match="at least 3 rows"):
            exact_triplets(*sides)
        return
    assert exact_triplets(*sides) == (tuple(tsi), case[f"per_anchor_{distance}"], case[f"per_target_{distance}"])
    check(x, y, distance, distance)
    if qsi is not None:
        assert exact_quadruplets(*sides) == tuple(qsi)
        ranked = (rational.Ranked(side.tolist(), distance) for side in (x, y))
        assert rational.quadruplets(*ranked) == tuple(qsi)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("distance", Distance)
def test_every_dtype(dtype: str, distance: Distance) -> None:
    rng = np.random.default_rng(7)
    low, high = {"?": (0, 2)}.get(dtype, (0, 9) if dtype in UNSIGNED else (-4, 5))
    x = fit(rng.integers(low, high, (9, 5)).astype(dtype), distance)
    check(x, lattice(rng, 9, 3), distance)


NARROW = {
    "float16 squares overflow": np.array(
        [[60000, -60000], [59968, 3], [-59968, 8], [12, 60000], [0, 0], [40000, -40000], [7, 1]], "f2"
    ),
    "int8 differences wrap": np.array(
        [[-128, 127], [127, -128], [-128, -128], [127, 127], [0, 1], [-1, 0], [64, -64]], "i1"
    ),
    "uint8 differences wrap": np.array([[0, 255], [255, 0], [1, 1], [254, 254], [128, 127]], "u1"),
}


@pytest.mark.parametrize("distance", ["euclidean", "dot", "manhattan", "hamming"])
@pytest.mark.parametrize("x", NARROW.values(), ids=NARROW.keys())
def test_narrow_types_do_not_wrap_or_overflow(x: np.ndarray, distance: str) -> None:
    y = x.astype("f8") / 4096
    check(x, y, distance, distance)
    assert rational.score(exact_triplets(*spaces(x, y, distance, distance)).counts) == 1


def test_layout_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    y = prepare(lattice(rng, 40, 3), Distance.EUCLIDEAN)
    x = rng.standard_normal((40, 40))
    x = (x + x.T) / 2  # a table of distances as well
    read_only = x.copy()
    read_only.flags.writeable = False
    layouts = [np.asfortranarray(x), read_only, np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1], x.astype(">f8")]
    for distance in Distance:
        answers = observed(prepare(x, distance), y).answers
        for layout in layouts:
            assert observed(prepare(layout, distance), y).answers == answers


@pytest.mark.parametrize("key_bits", [None, 30, 16])
@pytest.mark.parametrize("rows", [64, 91, 257])
def test_arrays_of_more_than_one_block(rows: int, key_bits: int | None) -> None:
    rng = np.random.default_rng(rows)
    for columns in (1, 66):
        x = rng.standard_normal((rows, columns)).astype("f4")
        x[rng.integers(0, rows, rows // 8)] = x[0]
        for y in (lattice(rng, rows, 4), (x * 3).astype("f4")):
            sides = spaces(x, y, key_bits=key_bits)
            if rows < 100:
                assert observed(*sides).answers == expected(x, y)
            else:  # too many pairs of pairs for the oracle
                ranked = (rational.Ranked(side.tolist(), "euclidean") for side in (x, y))
                assert exact_triplets(*sides) == rational.triplets(*ranked)


@pytest.mark.parametrize("rows", [4095, 4097, 40000])
@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_anchors_of_large_arrays(rows: int, distance: str) -> None:
    rng = np.random.default_rng(rows)
    x, y = (rng.standard_normal((2500, 3)).astype("f4")[rng.integers(0, 2500, rows)] for _ in range(2))
    y = np.where(rng.random((rows, 1)) < 0.6, x, y)
    anchor = int(rng.integers(rows))
    block = triplets.exact_anchors(*spaces(x, y, distance, distance), np.array([anchor]), per_target=True)
    assert in_triplets(block) == rational.anchor_triplets(x.tolist(), y.tolist(), distance, distance, anchor)


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "dot", "manhattan", "hamming"])
@pytest.mark.parametrize("kind", [gaussian, multiples, permuted_entries, mirrored, bytes_])
def test_many_columns(kind: Any, distance: str) -> None:
    """Sums long enough for their rounding to matter, of values whose distances tie exactly."""
    rng = np.random.default_rng(10)
    for columns in (301, 2500):
        check(fit(kind(rng, 14, columns), distance), lattice(rng, 14, 3), distance)
