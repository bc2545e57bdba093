"""Counts equal exact rational arithmetic: hand-made, published, tabulated and random cases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rational
from against_oracle import all_quadruplets, check, exact_triplets, lattice

from ordsim_core.distances import Distance, prepare

CASES = json.loads((Path(__file__).parent.parent / "data" / "oracle" / "cases.json").read_text())["cases"]

SIGNED = ["i1", "i2", "i4", "i8", "f2", "f4", "f8", ">f4", ">f8", ">i2"]
UNSIGNED = ["?", "u1", "u2", "u4", "u8", ">u4"]


def array(*rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize(
    ("x", "y", "tsi", "qsi"),
    [
        (array([0], [1], [100], [102]), array([0], [1], [100], [101]), Fraction(1), Fraction(1, 3)),
        (array([0, 0], [1, 0], [0, 1]), array([0, 0], [1, 0], [1, 1]), Fraction(0), None),
        (array([0, 0], [2, 0], [3, 0]), array([0, 0], [2, 0], [1, 0]), Fraction(1, 3), None),
    ],
)
def test_published_worked_examples(x: np.ndarray, y: np.ndarray, tsi: Fraction, qsi: Fraction | None) -> None:
    spaces = prepare(x, Distance.EUCLIDEAN), prepare(y, Distance.EUCLIDEAN)
    assert rational.score(exact_triplets(*spaces)[0]) == tsi
    if qsi is not None:
        assert rational.score(all_quadruplets(*spaces)) == qsi
    check(x, y)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tabulated_cases(case: dict[str, Any], distance: str) -> None:
    x, y = (np.array([[float.fromhex(value) for value in row] for row in case[side]], case["dtype"]) for side in "xy")
    tsi, qsi = case[f"tsi_{distance}"], case[f"qsi_{distance}"]
    if distance == "cosine" and not (x.any(axis=1).all() and y.any(axis=1).all()):
        assert tsi is None
        with pytest.raises(ValueError, match="all zeros"):
            [prepare(side, Distance.COSINE) for side in (x, y)]
        return
    spaces = prepare(x, Distance(distance)), prepare(y, Distance(distance))
    if tsi is None:
        assert len(x) < 3
        with pytest.raises(ValueError, match="at least 3 rows"):
            exact_triplets(*spaces)
        return
    assert exact_triplets(*spaces) == (tuple(tsi), case[f"per_anchor_{distance}"])
    if qsi is not None:
        assert all_quadruplets(*spaces) == tuple(qsi)


@pytest.mark.parametrize("seed", range(120))
def test_random_lattices_with_heavy_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, spread = int(rng.integers(3, 11)), int(rng.integers(1, 4))
    x = lattice(rng, rows, int(rng.integers(1, 7)), spread)
    y = lattice(rng, rows, int(rng.integers(1, 7)), spread)
    if seed % 3 == 0:  # repeated rows on one side or on both
        x[rng.integers(rows, size=2)] = x[0]
    if seed % 4 == 0:
        y[rng.integers(rows, size=3)] = y[-1]
    if seed % 5 == 0:  # another grid, far from the origin
        x = x * 2.0**-10 + 4096
    check(x, y)


@pytest.mark.parametrize("seed", range(60))
def test_random_lattices_under_cosine(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    rows = int(rng.integers(3, 10))
    x, y = (lattice(rng, rows, int(rng.integers(1, 6)), 2) for _ in range(2))
    for side in (x, y):
        side[~side.any(axis=1)] = 1
    # A row's length does not matter; powers of two change it exactly.
    x *= 2.0 ** rng.integers(-30, 30, (rows, 1))
    assert prepare(x, Distance.COSINE).exact_order
    check(x, y, "cosine", "cosine" if seed % 2 else "euclidean")


@pytest.mark.parametrize("seed", range(60))
def test_random_floats(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    rows = int(rng.integers(3, 10))
    # Two columns at least: on a line, all cosines are 1 or -1, ties that float64 does not promise to keep.
    x = rng.standard_normal((rows, int(rng.integers(2, 6))))
    y = rng.standard_normal((rows, int(rng.integers(2, 6)))).astype(["f2", "f4", "f8"][seed % 3])
    if seed % 4 == 0:
        x[1] = x[0]
    check(x, y, *(["euclidean", "cosine"] if seed % 2 else ["cosine", "euclidean"]))


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_every_dtype(dtype: str, distance: str) -> None:
    rng = np.random.default_rng(7)
    low, high = {"?": (0, 2)}.get(dtype, (0, 9) if dtype in UNSIGNED else (-4, 5))
    x = rng.integers(low, high, (9, 5))
    x[:, 0] = 1  # no row of zeros
    y = lattice(rng, 9, 3)
    check(x.astype(dtype), y, distance)


def test_layout_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    y = prepare(lattice(rng, 40, 3), Distance.EUCLIDEAN)
    x = rng.standard_normal((40, 13))
    read_only = x.copy()
    read_only.flags.writeable = False
    wide = np.repeat(x, 2, axis=1)
    layouts = [np.asfortranarray(x), read_only, wide[:, ::2], x[::-1][::-1], x.astype(">f8")]
    for distance in Distance:
        expected = exact_triplets(prepare(x, distance), y)
        for layout in layouts:
            assert exact_triplets(prepare(layout, distance), y) == expected


def test_a_bitwise_copy_disagrees_nowhere() -> None:
    x = np.random.default_rng(9).standard_normal((150, 33)).astype("f4")
    for distance in Distance:
        space, copy = prepare(x, distance), prepare(np.asfortranarray(x.copy()), distance)
        (concordant, discordant, tied_x, tied_y, tied_both), _ = exact_triplets(space, copy)
        assert (concordant + tied_both, discordant, tied_x, tied_y) == (150 * 149 * 148 // 2, 0, 0, 0)


NARROW = {
    "float16 squares overflow": np.array(
        [[60000, -60000], [59968, 3], [-59968, 8], [12, 60000], [0, 0], [40000, -40000], [7, 1]], "f2"
    ),
    "int8 differences wrap": np.array(
        [[-128, 127], [127, -128], [-128, -128], [127, 127], [0, 1], [-1, 0], [64, -64]], "i1"
    ),
    "uint8 differences wrap": np.array([[0, 255], [255, 0], [1, 1], [254, 254], [128, 127]], "u1"),
}


@pytest.mark.parametrize("x", NARROW.values(), ids=NARROW.keys())
def test_narrow_types_do_not_wrap_or_overflow(x: np.ndarray) -> None:
    y = x.astype("f8") / 4096
    check(x, y)
    spaces = prepare(x, Distance.EUCLIDEAN), prepare(y, Distance.EUCLIDEAN)
    assert rational.score(exact_triplets(*spaces)[0]) == 1
    assert rational.score(all_quadruplets(*spaces)) == 1


def test_an_offset_does_not_scramble_float32() -> None:
    k = np.random.default_rng(3).integers(0, 1024, (7, 3))
    x = (4096 + k * 2.0**-10).astype("f4")
    assert (x.astype("f8") == 4096 + k * 2.0**-10).all()
    check(x, k.astype("f4"))
    spaces = prepare(x, Distance.EUCLIDEAN), prepare(k, Distance.EUCLIDEAN)
    assert rational.score(exact_triplets(*spaces)[0]) == 1


def test_collinear_rows_tie_under_cosine() -> None:
    x = np.outer(2.0 ** np.arange(8), [3.0, -1.0, 2.0, 5.0])
    y = np.random.default_rng(4).integers(-9, 10, (8, 4)).astype("f8")
    check(x, y, "cosine", "cosine")
    counts, _ = exact_triplets(prepare(x, Distance.COSINE), prepare(y, Distance.COSINE))
    assert counts[:2] == (0, 0)
    assert counts[3] == 0


def test_binary_features_tie_in_both_spaces() -> None:
    rng = np.random.default_rng(5)
    check(*(rng.integers(0, 2, (10, 6)).astype("u1") for _ in range(2)))


def test_near_duplicate_rows_keep_their_order() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((10, 48)).astype("f4")
    x[5:] = x[:5] + (rng.standard_normal((5, 48)) * 1e-6).astype("f4")
    check(x, x.astype("f8"))


def test_constant_arrays_tie_everywhere() -> None:
    spaces = (prepare(np.full((6, columns), 2, "f4"), Distance.EUCLIDEAN) for columns in (3, 2))
    assert exact_triplets(*spaces)[0] == (0, 0, 0, 0, 60)


def test_counts_beyond_32_bits_against_a_mirror_image() -> None:
    line = np.arange(1300, dtype="f4")[:, None]
    counts, _ = exact_triplets(prepare(line, Distance.EUCLIDEAN), prepare(line[::-1], Distance.EUCLIDEAN))
    assert counts[1:4] == (0, 0, 0)
    assert sum(counts) == 1300 * 1299 * 1298 // 2 > 2**30


def test_counts_of_two_values_against_none() -> None:
    rows = 3000
    x = prepare((np.arange(rows, dtype="i4") % 2)[:, None], Distance.EUCLIDEAN)
    y = prepare(np.ones((rows, 1), "i4"), Distance.EUCLIDEAN)
    counts, agreeing = exact_triplets(x, y)
    same, other = rows // 2 - 1, rows // 2
    tied = same * (same - 1) // 2 + other * (other - 1) // 2
    assert agreeing == [tied] * rows
    assert counts == (0, 0, 0, rows * same * other, rows * tied)
