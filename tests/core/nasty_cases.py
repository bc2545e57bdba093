"""Small arrays that rounded distances put into the wrong order: ties, near ties, offsets, outliers, extreme ranges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """Two arrays over the same rows, each with its distance."""

    name: str
    kind: str
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    x_distance: str
    y_distance: str


def gaussian(rng: Rng, rows: int, columns: int) -> Array:
    return rng.standard_normal((rows, columns)).astype(rng.choice(["f4", "f8"]))


def heavy_ties(rng: Rng, rows: int, columns: int) -> Array:
    return rng.integers(-2, 3, (rows, columns)).astype(rng.choice(["i1", "f4", "f8"]))


def some_duplicates(rng: Rng, rows: int, columns: int) -> Array:
    return gaussian(rng, rows, columns)[rng.integers(0, max(2, rows // 2), rows)]


def all_duplicates(rng: Rng, rows: int, columns: int) -> Array:
    return np.repeat(gaussian(rng, 1, columns), rows, axis=0)


def mostly_duplicates(rng: Rng, rows: int, columns: int) -> Array:
    values = gaussian(rng, rows, columns)
    return np.where(rng.random((rows, 1)) < 0.9, values[:1], values)


def scaled_lattice(rng: Rng, rows: int, columns: int) -> Array:
    return np.ldexp(rng.integers(-8, 9, (rows, columns)).astype("f8"), rng.integers(-300, 300))


def lattice_of_scaled_columns(rng: Rng, rows: int, columns: int) -> Array:
    """Exact ties as on any lattice, but over too many binades for short integers."""
    return np.ldexp(rng.integers(-2, 3, (rows, columns)).astype("f8"), rng.integers(-45, 45, columns))


def rows_of_many_lengths(rng: Rng, rows: int, columns: int) -> Array:
    return np.ldexp(rng.integers(-2, 3, (rows, columns)).astype("f8"), rng.integers(-30, 30, (rows, 1)))


def shifted_lattice(rng: Rng, rows: int, columns: int) -> Array:
    return (4096 + rng.integers(0, 1024, (rows, columns)) * 2.0**-10).astype("f4")


def offset(rng: Rng, rows: int, columns: int) -> Array:
    return (rng.standard_normal((rows, columns)) + 10.0 ** rng.integers(3, 7)).astype("f4")


def one_ulp_apart(rng: Rng, rows: int, columns: int) -> Array:
    values = np.repeat(gaussian(rng, 2, columns), (rows + 1) // 2, axis=0)[:rows]
    steps = rng.integers(-1, 2, values.shape)
    return np.where(steps == 0, values, np.nextafter(values, steps.astype(values.dtype) * values.dtype.type(1e9)))


def near_duplicates(rng: Rng, rows: int, columns: int) -> Array:
    values = gaussian(rng, max(2, rows // 3), columns)[rng.integers(0, max(2, rows // 3), rows)]
    return (values * (1 + rng.standard_normal((rows, columns)) * 1e-6)).astype(values.dtype)


def outlier(rng: Rng, rows: int, columns: int) -> Array:
    values = gaussian(rng, rows, columns)
    values[rng.integers(rows)] *= values.dtype.type(rng.choice([1e6, 1e30]))
    return values


def collinear(rng: Rng, rows: int, columns: int) -> Array:
    direction = rng.standard_normal(columns)
    if rng.random() < 0.5:  # all products exact
        direction = np.ldexp(direction.astype("f2").astype("f8"), rng.integers(-20, 20, columns))
    values = np.outer(rng.integers(1, 9, rows) * rng.choice([-1, 1], rows), direction)
    return values.astype(rng.choice(["f4", "f8"]))


def multiples(rng: Rng, rows: int, columns: int) -> Array:
    """Rows and their exact 2, 3, 5 and -1 fold: equal cosines, not all of which are equal in float64."""
    few = gaussian(rng, max(2, rows // 3), columns).astype("f2").astype("f4")
    return few[rng.integers(0, len(few), rows)] * rng.choice([1, 2, 3, 5, 0.5, -1], (rows, 1)).astype("f4")


def half_precision(rng: Rng, rows: int, columns: int) -> Array:
    return rng.standard_normal((rows, columns)).astype("f2")


def coarse_halves(rng: Rng, rows: int, columns: int) -> Array:
    return (rng.standard_normal((rows, columns)).round(1) * rng.choice([1.0, 1000.0])).astype("f2")


def wide(rng: Rng, rows: int, columns: int) -> Array:
    return np.ldexp(rng.standard_normal((rows, columns)), rng.integers(-60, 60, (rows, columns)))


def very_wide(rng: Rng, rows: int, columns: int) -> Array:
    return np.ldexp(rng.standard_normal((rows, columns)), rng.integers(-240, 240, (rows, columns)))


def huge_or_tiny(rng: Rng, rows: int, columns: int) -> Array:
    return np.ldexp(rng.standard_normal((rows, columns)), int(rng.choice([-1000, -600, 600, 1000])))


def squares_beyond_float32(rng: Rng, rows: int, columns: int) -> Array:
    """Products overflow in float32, and may cancel; beside them ordinary rows."""
    values = rng.choice([-1, 0, 1, 2, 1 - 2.0**-24], (rows, columns)) * 2.0 ** rng.choice([70, 126])
    return np.where(rng.random((rows, 1)) < 0.6, values, rng.integers(-3, 4, (rows, columns))).astype("f4")


def subnormal(rng: Rng, rows: int, columns: int) -> Array:
    dtype = rng.choice(["f4", "f8"])
    return rng.integers(-50, 51, (rows, columns)).astype(dtype) * np.finfo(dtype).smallest_subnormal


def partly_subnormal(rng: Rng, rows: int, columns: int) -> Array:
    values = subnormal(rng, rows, columns).astype("f4")
    return values * np.float32(2) ** rng.integers(0, 60, columns).astype("f4")


def two_clusters(rng: Rng, rows: int, columns: int) -> Array:
    values = rng.standard_normal((rows, columns))
    values[rng.random(rows) < 0.5] += 10.0 ** rng.integers(3, 6) * rng.standard_normal(columns)
    return values.astype("f4")


def constant_columns(rng: Rng, rows: int, columns: int) -> Array:
    values = gaussian(rng, rows, columns)
    values[:, rng.random(columns) < 0.6] = values.dtype.type(10.0 ** rng.integers(0, 6) / 3)
    return values


def negative_zeros(rng: Rng, rows: int, columns: int) -> Array:
    return rng.choice(np.array([-0.0, 0.0, 1.0, -1.0], rng.choice(["f4", "f8"])), (rows, columns))


def one_hot(rng: Rng, rows: int, columns: int) -> Array:
    return np.eye(columns, dtype="f4")[rng.integers(0, columns, rows)]


def binary(rng: Rng, rows: int, columns: int) -> Array:
    return rng.integers(0, 2, (rows, columns)).astype(rng.choice(["?", "u1"]))


def bytes_(rng: Rng, rows: int, columns: int) -> Array:
    return rng.integers(-128, 128, (rows, columns)).astype("i1")


def long_integers(rng: Rng, rows: int, columns: int) -> Array:
    bits = int(rng.choice([30, 40, 53]))
    return rng.integers(-(2**bits), 2**bits, (rows, columns)) >> rng.integers(0, 20, (rows, 1))


def signs(rng: Rng, rows: int, columns: int) -> Array:
    return rng.choice(np.array([-1, 1], "f4"), (rows, columns)) * np.float32(0.1)


def permuted_entries(rng: Rng, rows: int, columns: int) -> Array:
    """Rows of the same values in other orders, and constant rows to which all of those are equally near."""
    values = rng.permuted(np.repeat(gaussian(rng, 1, columns), rows, axis=0), axis=1)
    alike = rng.random(rows) < 0.3
    return np.where(alike[:, None], rng.standard_normal((rows, 1)).astype(values.dtype), values)


def mirrored(rng: Rng, rows: int, columns: int) -> Array:
    """Points and their reflections in the middle of the first row, over columns of many scales."""
    steps = rng.integers(-500, 501, (rows, columns))
    steps[rows // 2 :] = -steps[: rows - rows // 2]
    steps[0] = 0
    return np.ldexp(4000.0 + steps, rng.integers(-40, 40, columns))


def near_simplex(rng: Rng, rows: int, columns: int) -> Array:
    """All distances equal up to a few last bits."""
    bits = int(rng.choice([20, 26, 40, 50]))
    return np.eye(rows, max(rows, columns)) + np.ldexp(rng.integers(-2, 3, (rows, max(rows, columns))) * 1.0, -bits)


def unit_rows(rng: Rng, rows: int, columns: int) -> Array:
    values = rng.standard_normal((rows, columns))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(rng.choice(["f4", "f8"]))


KINDS: list[Callable[[Rng, int, int], Array]] = [
    gaussian,
    heavy_ties,
    some_duplicates,
    all_duplicates,
    mostly_duplicates,
    scaled_lattice,
    lattice_of_scaled_columns,
    rows_of_many_lengths,
    shifted_lattice,
    offset,
    one_ulp_apart,
    near_duplicates,
    outlier,
    collinear,
    multiples,
    half_precision,
    coarse_halves,
    wide,
    very_wide,
    huge_or_tiny,
    squares_beyond_float32,
    subnormal,
    partly_subnormal,
    two_clusters,
    constant_columns,
    negative_zeros,
    one_hot,
    binary,
    bytes_,
    long_integers,
    signs,
    permuted_entries,
    mirrored,
    near_simplex,
    unit_rows,
]


def _floating(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype("f8")


def _single(values: Array) -> Array:
    """Round to float32 what fits there."""
    with np.errstate(all="ignore"):
        rounded = values.astype("f4")
    return rounded if np.isfinite(rounded).all() and rounded.any() else values


def _rotated(rng: Rng, x: Array) -> Array:
    return _single(x.astype("f8") @ np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0])


def _nearby(rng: Rng, x: Array) -> Array:
    return np.nextafter(_floating(x), rng.choice([-1, 0, 1], x.shape).astype(_floating(x).dtype))


RELATIONS: dict[str, Callable[[Rng, Array], Array]] = {
    "equal": lambda _, x: x.copy(),
    "noisy": lambda rng, x: _floating(x) * (1 + rng.standard_normal(x.shape) * 10.0 ** rng.integers(-8, 0)),
    "tripled": lambda _, x: _single(x.astype("f8") * 3),
    "rotated": _rotated,
    "column order": lambda _, x: np.asfortranarray(x),
    "permuted columns": lambda rng, x: x[:, rng.permutation(x.shape[1])],
    "negated": lambda _, x: -_floating(x),
    "one ulp off": _nearby,
    "mixed": lambda rng, x: np.where(rng.random((len(x), 1)) < 0.5, x, x[rng.permutation(len(x))]),
}
"""How y comes from x. Beside these, y may be another draw of x's kind, or of any kind."""

PAIRINGS = [
    ("cosine", "cosine"),
    ("euclidean", "cosine"),
    ("dot", "dot"),
    ("hamming", "hamming"),
    ("precomputed", "precomputed"),
    ("correlation", "correlation"),
    ("manhattan", "manhattan"),
    ("cosine", "euclidean"),
    ("precomputed", "euclidean"),
    ("dot", "hamming"),
    ("manhattan", "dot"),
    ("cosine", "correlation"),
    ("hamming", "precomputed"),
]
"""Distances of the half of the cases that is not Euclidean on both sides; as many as no number of relations."""


def fit(values: Array, distance: str) -> Array:
    """Turn any (N, D) array into one that the distance is defined for: a table of N x N, or rows with an angle."""
    if distance == "precomputed":
        table = np.resize(values, (len(values), len(values)))
        table = np.where(np.tri(len(table), dtype=bool), table.T, table)
        np.fill_diagonal(table, 0)
        return table
    if distance in ("cosine", "correlation"):
        flat = ~values.any(axis=1) if distance == "cosine" else (values == values[:, :1]).all(axis=1)
        values = values.copy(order="K")
        values[flat, 0] = values[flat, 0] == 0
    return values


def build(kind: Callable[[Rng, int, int], Array], relation: str, number: int, pairing: tuple[str, str]) -> Case:
    rng = np.random.default_rng(number)
    rows = int(rng.choice([3, 4, 5, *range(6, 25)]))
    # An angle needs two columns to be more than a sign.
    columns = rng.integers(1 if pairing == ("euclidean", "euclidean") else 2, 13, 2).tolist()
    x = kind(rng, rows, columns[0])
    if relation in RELATIONS:
        y = RELATIONS[relation](rng, x)
    else:
        other = kind if relation == "independent" else KINDS[rng.integers(len(KINDS))]
        y = other(rng, rows, columns[1])
    x, y = (fit(side, distance) for side, distance in zip((x, y), pairing, strict=True))
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()
    return Case(f"{number}: {kind.__name__}, {relation}, {'-'.join(pairing)}", kind.__name__, x, y, *pairing)


def cases() -> list[Case]:
    """Every kind with every relation: under the Euclidean distance, and again under one of the other pairings."""
    relations = [*RELATIONS, "independent", "of any kind"]
    crossed = [(kind, relation) for kind in KINDS for relation in relations]
    euclidean = [build(*one, number, ("euclidean", "euclidean")) for number, one in enumerate(crossed)]
    others = [
        build(*one, len(crossed) + number, PAIRINGS[number % len(PAIRINGS)]) for number, one in enumerate(crossed)
    ]
    return euclidean + others
