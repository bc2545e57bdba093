"""What values were rounded to is read from the values, whatever they are stored in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ordsim_core.errors import NonFiniteError, NotRepresentableError
from ordsim_core.resolution.formats import BFLOAT16, FLOAT16, FLOAT32, FORMATS, Format
from ordsim_core.resolution.precision import precision_of

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(20270101)
NORMAL = RNG.standard_normal((300, 40))
QUANTISED = RNG.integers(-127, 128, (200, 30))
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def rounded(values: np.ndarray, form: Format) -> np.ndarray:
    """Round to a format by its definition; within its range."""
    steps = np.ldexp(1.0, form.step_exponents(values))
    return np.rint(values / steps) * steps


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
def test_rounded_values_are_recognised_in_any_container(form: Format, dtype: str) -> None:
    values = rounded(NORMAL, form).astype(dtype)
    name = "float32" if dtype == "f4" and form.name == "float64" else form.name
    found = precision_of(values)
    assert (found.name, found.grid) == (name, None)
    assert found.unit_roundoff == {"float32": 2.0**-24}.get(name, form.unit_roundoff)


def test_numpy_agrees_on_its_own_formats() -> None:
    for dtype, name in (("f2", "float16"), ("f4", "float32"), ("f8", "float64")):
        values = NORMAL.astype(dtype)
        assert precision_of(values).name == precision_of(values.astype("f8")).name == name


@given(arrays.arrays(np.float32, (3, 4), elements=FLOATS))
def test_a_format_holds_what_conversion_does_not_change(values: np.ndarray) -> None:
    wide = values.astype("f8")
    with np.errstate(over="ignore"):
        assert FLOAT16.holds(wide) == bool((values.astype("f2") == values).all())
    assert BFLOAT16.holds(wide) == bool((values.view("u4") & 0xFFFF == 0).all())
    assert FLOAT32.holds(wide)


@given(arrays.arrays(np.float32, 6, elements=st.floats(-(2.0**126), 2.0**126, width=32)))
def test_steps_are_the_spacing_of_the_format(values: np.ndarray) -> None:
    spacing = np.spacing(np.abs(values)).astype("f8")
    assert np.array_equal(np.ldexp(1.0, FLOAT32.step_exponents(values.astype("f8"))), spacing)


@pytest.mark.parametrize(
    ("values", "name", "step"),
    [
        (QUANTISED, "int8", 1.0),
        (QUANTISED.astype("i1"), "int8", 1.0),
        (QUANTISED.astype("f4"), "int8", 1.0),
        (QUANTISED.astype("f2"), "int8", 1.0),
        (QUANTISED + 128, "int8", 1.0),  # 1 to 255, which bfloat16 holds too
        (QUANTISED * 2.0**-7, "int8", 2.0**-7),
        (QUANTISED.astype("f4") * np.float32(0.0137), "int8", 0.0137),
        (QUANTISED.astype("f4") * np.float32(0.0137) + np.float32(0.4), "int8", 0.0137),
        ((QUANTISED.astype("f4") * np.float32(0.0137)).astype("f2"), "int8", 0.0137),
        (QUANTISED % 16, "int4", 1.0),
        (np.sign(QUANTISED + 0.5), "binary", 2.0),
        (QUANTISED > 0, "binary", 1.0),
        (QUANTISED * 31, "int8", 31.0),
        (RNG.integers(-4000, 4000, (50, 30)), "int16", 1.0),
        (RNG.integers(0, 10**6, (50, 30)).astype("f4"), "integer", 1.0),
    ],
)
def test_equally_spaced_values(values: np.ndarray, name: str, step: float) -> None:
    found = precision_of(values)
    assert found.name == name
    assert found.grid is not None
    assert found.grid.step == pytest.approx(step, rel=1e-3)
    variances = found.variances(values.astype("f8"))
    assert variances.min() == variances.max() == pytest.approx(found.grid.step**2 / 12)
    assert found.unit_roundoff == pytest.approx(found.grid.step / 2 / np.abs(values.astype("f8")).max())


def test_a_few_real_values_are_no_grid() -> None:
    # As few different values as 8 bits have, but hardly repeated, or not equally spaced.
    assert precision_of(RNG.standard_normal((10, 4))).name == "float64"
    assert precision_of(RNG.choice(RNG.standard_normal(40), (200, 30))).name == "float64"
    assert precision_of((1 + RNG.random((50, 4))).astype("f4")).name == "float32"  # all in one binade


def test_what_a_late_block_holds_counts(tmp_path: Path) -> None:
    values = np.zeros((1 << 12, 600), "f4")
    values[:, 0] = RNG.standard_normal(1 << 12).astype("f2")
    values[-1, -1] = np.float32(1) / 3
    np.save(tmp_path / "x.npy", values)
    assert precision_of(values[:-1]).name == "float16"
    assert precision_of(np.load(tmp_path / "x.npy", mmap_mode="r")).name == "float32"


@pytest.mark.parametrize("values", [np.zeros((4, 3), "f4"), np.full((4, 3), 2.5, "f2"), np.zeros((0, 3), "f8")])
def test_one_value_tells_nothing(values: np.ndarray) -> None:
    assert precision_of(values).name == values.dtype.name


def test_zero_has_the_step_of_the_smallest_value() -> None:
    values = np.maximum(NORMAL.astype("f2"), 0)  # as a rectifier leaves them
    found = precision_of(values)
    assert found.name == "float16"
    assert found.steps(np.zeros(1)) == 2.0**-24


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(NonFiniteError, match="row 1, column 2"):
        precision_of(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan]]))
    with pytest.raises(NotRepresentableError):
        precision_of(np.array([[2**53 + 1, 0]]))
