"""The resolution of real embeddings against copies of themselves: what each must say was written down first."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ordsim_core.cosine.linear import LinearResult, linear_cka
from ordsim_core.resolution.resolving import Resolution, resolve
from ordsim_core.resolution.sides import linear_cka_side
from ordsim_core.resolution.verdicts import EXPLAINED, Question, Verdict

DATA = Path(__file__).parent.parent / "data"
ROWS = 1000
INT8_STEP = 0.014268097

RESOLVED, BELOW, IDENTICAL = Verdict.RESOLVED, Verdict.BELOW_RESOLUTION, Verdict.IDENTICAL


class Expected(NamedTuple):
    """What must be said of layer 6 in float32 against another array."""

    precision: str
    stored: Verdict
    underlying: Verdict | None
    verdict: Verdict


EXPECTED = {
    # The same numbers: nothing differs, and nothing can be said of what float32 hid.
    "copy": Expected("float32", IDENTICAL, IDENTICAL, IDENTICAL),
    # Another batch size: differences of up to 1.4e-6, typically a tenth of that, where float32 rounds values of about
    # 0.4 by 1e-8. The deficit goes with the square: about a hundred times the floor or more.
    "batch1": Expected("float32", RESOLVED, RESOLVED, RESOLVED),
    # Only rounded: the stored arrays differ, the values behind them are the same. The deficit is the floor of the
    # copy, give or take the spread of a sum of 384,000 rounding errors, well below a tenth.
    "f16": Expected("float16", RESOLVED, BELOW, BELOW),
    "bf16": Expected("bfloat16", RESOLVED, BELOW, BELOW),
    "int8": Expected("int8", RESOLVED, BELOW, BELOW),
    "int8 times its scale": Expected("int8", RESOLVED, BELOW, BELOW),
    # Signs: two values do not tell how large those before them were, so there is no floor; the arrays do differ.
    "sign": Expected("binary", RESOLVED, None, RESOLVED),
    # The model itself in int8, then float16: its weights and activations were rounded to 8 bits, which is far coarser
    # than the float16 in which the outcome is stored.
    "int8onnx": Expected("float16", RESOLVED, RESOLVED, RESOLVED),
}
ONLY_ROUNDED = ("f16", "bf16", "int8", "int8 times its scale")


@cache
def layer() -> np.ndarray:
    return np.load(DATA / "sample" / "text_L6_f32.npy")[:ROWS]


def bfloat16(values: np.ndarray) -> np.ndarray:
    """Round float32 to the nearest bfloat16, ties to even, and store that as float32."""
    bits = values.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return rounded.astype(np.uint32).view(np.float32)


@cache
def control(name: str) -> np.ndarray:
    match name:
        case "copy":
            return layer().copy(order="F")
        case "bf16":
            return bfloat16(layer())
        case "sign":
            return (layer() > 0).astype(np.uint8)
        case "int8 times its scale":
            return control("int8").astype(np.float32) * np.float32(INT8_STEP)
    file = {"batch1": "ctl_L6_batch1_f32", "int8onnx": "ctl_L6_int8onnx_f16"}.get(name, f"ctl_L6_{name}")
    return np.load(DATA / "controls" / f"{file}.npy")


@cache
def limbs(name: str) -> tuple[np.ndarray, ...]:
    """The values, times a power of two, as whole numbers of base 2^21: products of two digits add up exactly."""
    left = (layer() if name == "layer" else control(name)).astype(np.float64)
    unit = 2.0 ** (np.frexp(np.abs(left).max())[1] - 20)
    digits = []
    while left.any():
        digits.append(np.rint(left / unit))
        left = left - digits[-1] * unit
        unit /= 2**21
    return tuple(reversed(digits))


@cache
def squared_norm(one: str, other: str) -> int:
    """|Xc^T Yc|^2 in whole numbers, times a power of two and N^2."""
    left, right = limbs(one), limbs(other)
    weights = [np.zeros((384, 384), np.int64) for _ in range(len(left) + len(right) - 1)]
    for i, digits in enumerate(left):
        for j, others in enumerate(right):
            weights[i + j] += (digits.T @ others).astype(np.int64)
    total = sum(weight.astype(object) << (21 * place) for place, weight in enumerate(weights))
    sums = [
        sum(digits.sum(axis=0).astype(np.int64).astype(object) << (21 * place) for place, digits in enumerate(side))
        for side in (left, right)
    ]
    centred = ROWS * total - np.outer(*sums)
    return int((centred * centred).sum())


def exact_deficit(name: str) -> Decimal:
    """Linear CKA deficit to 60 digits: the squares are exact, only the root and the quotient are rounded."""
    if name == "copy":
        return Decimal(0)
    both, one, other = squared_norm("layer", name), squared_norm("layer", "layer"), squared_norm(name, name)
    with localcontext(prec=60):
        norms = Decimal(one * other).sqrt()
        return Decimal(one * other - both * both) / (norms * (norms + both))


@cache
def compared(name: str) -> LinearResult:
    return linear_cka(layer(), control(name))


@cache
def resolution(name: str) -> Resolution:
    found = compared(name)
    assert found.deficit is not None
    sides = linear_cka_side(layer()), linear_cka_side(control(name))
    identical = bool(np.array_equal(layer(), control(name)))
    return resolve(found.deficit, found.route, *sides, identical=identical, relative_error=found.relative_error)


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts(name: str) -> None:
    found = resolution(name)
    assert EXPECTED[name] == (
        found.effective_precision.y,
        found.verdict_stored,
        found.verdict_underlying,
        found.verdict,
    )
    assert found.effective_precision.x == "float32"
    assert (found.question is Question.UNDERLYING) == (found.verdict_underlying is not None)


@pytest.mark.parametrize("name", EXPECTED)
def test_deficits_agree_with_whole_numbers(name: str) -> None:
    exact = exact_deficit(name)
    found = compared(name).deficit
    assert found is not None
    assert abs(Decimal(found) - exact) <= Decimal("1e-10") * exact
    assert (found == 0.0) == (name == "copy")


@pytest.mark.parametrize("name", ONLY_ROUNDED)
def test_the_floor_is_the_deficit_where_only_rounding_differs(name: str) -> None:
    found = resolution(name)
    assert found.floor_storage == pytest.approx(float(exact_deficit(name)), rel=0.05)
    # The deficit may be above the floor, so a limit of 1 would call one rounding a difference and the next one none.
    assert EXPLAINED > 1.05


def test_both_sides_rounded_alike_is_said_to_be_no_estimate() -> None:
    near = (layer() + np.float32(1e-5) * np.random.default_rng(3).standard_normal(layer().shape)).astype("f2")
    copy = layer().astype("f2")
    deficit = linear_cka(copy, near).deficit
    assert deficit is not None
    found = resolve(deficit, "moments", linear_cka_side(copy), linear_cka_side(near))
    assert (found.verdict_stored, found.verdict) == (RESOLVED, BELOW)
    assert "neither an upper nor a lower estimate" in found.sentence


SENTENCES = {
    "copy": ("The stored arrays hold the same values.", "rounding to float32 hides", "3.9e-16"),
    "batch1": ("The stored arrays differ: the deficit, 1.8e-13,", "So do the values before", "3.9e-16", "8.2e-07"),
    "f16": ("It says nothing about the values before", "float32 (x) and float16 (y)", "1.3e-08"),
    "int8": ("It says nothing", "equally spaced values of y are the data themselves"),
    "sign": ("cannot be said", "y: two values only"),
    "int8onnx": ("So do the values before", "3.3% of the size of x"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences(name: str) -> None:
    sentence = resolution(name).sentence
    assert [part for part in SENTENCES[name] if part not in sentence] == [], sentence
