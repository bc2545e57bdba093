"""CCA, SVCCA and PWCCA against 80-digit values, definitions, and what must not change them."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordsim_core.correlations import canonical, factors, pilots

if TYPE_CHECKING:
    from ordsim_core.correlations.canonical import Canonical

ORACLE = Path(__file__).parent.parent / "data" / "oracle"
CASES = {case["name"]: case for case in json.loads((ORACLE / "cases.json").read_text())["cases"]}
BASELINES = json.loads((ORACLE / "baselines.json").read_text())["cases"]
MEASURES = {"cca_mean": canonical.cca, "svcca_0.99": canonical.svcca, "pwcca_x_weighted": canonical.pwcca}
SCORED = [(name, measure) for name, values in BASELINES.items() for measure in MEASURES if values[measure]]
RNG = np.random.default_rng(5)


def compared(measure: Any, x: np.ndarray, y: np.ndarray, *arguments: Any) -> Canonical:
    pilot = pilots.survey(x, y)
    return measure(factors.factor(x, y, pilot), pilot.layout, *arguments)


def arrays(name: str) -> tuple[np.ndarray, np.ndarray]:
    return tuple(
        np.array([[float.fromhex(value) for value in row] for row in CASES[name][side]]).astype(CASES[name]["dtype"])
        for side in ("x", "y")
    )


@pytest.mark.parametrize(("name", "measure"), SCORED, ids=lambda value: value)
def test_small_cases(name: str, measure: str) -> None:
    """Deficits to 1e-13, as far as the digits of the score say what they are; a rotation has a floor."""
    found = compared(MEASURES[measure], *arrays(name))
    score, *rest = BASELINES[name][measure]
    with localcontext(prec=60):
        right = Decimal(score)
        assert abs(Decimal(found.score) - right) <= Decimal("1e-14") * right
        digits = Decimal("2e-32") if measure != "cca_mean" else 0
        deficit = Decimal(rest[0]) if measure == "cca_mean" else 1 - right
        floor = Decimal(found.floor) if name == "rot_scale_shift" else 0
        assert abs(Decimal(found.deficit) - deficit) <= Decimal("1e-13") * deficit + digits + floor
    assert found.floor < (1e-22 if name == "outlier" else 1e-27)
    if measure == "cca_mean":
        np.testing.assert_allclose(found.correlations, [float(value) for value in rest[1]], rtol=1e-13)
    if measure == "svcca_0.99":
        assert list(found.ranks) == rest[0]


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_small_cases_without_a_score(measure: Any) -> None:
    """Columns that are constant or dependent are told; too few rows, or no variance, leave nothing to compare."""
    for name in ("min_n2", "min_n3", "wide"):
        found = compared(measure, *arrays(name))
        assert (found.score, found.deficit, len(found.correlations)) == (None, None, 0)
        assert "span all" in found.reason
    found = compared(measure, *arrays("zero_variance"))
    assert found.score is None
    assert "All rows of x are equal" in found.reason
    assert compared(measure, *arrays("zero_variance")[::-1]).reason.startswith("All rows of y are equal")


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_constant_columns_count_for_nothing(measure: Any) -> None:
    x, y = arrays("const_column")
    keep = x.min(axis=0) < x.max(axis=0)
    found, without = compared(measure, x, y), compared(measure, x[:, keep], y)
    assert found.constant == (1, 0)
    assert found.ranks == without.ranks == (3, 3)
    assert found.score == pytest.approx(without.score, rel=1e-14)
    wide = np.concatenate([y, np.full((len(y), 1), 1 / 3)], axis=1)
    both = compared(measure, x, wide)
    assert both.constant == (1, 1)
    assert both.score == pytest.approx(without.score, rel=1e-14)


def direct(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlations and x's canonical variates, from bases of the centred columns."""
    bases = [np.linalg.svd(side - side.mean(axis=0), full_matrices=False)[0] for side in (x, y)]
    left, values, _ = np.linalg.svd(bases[0].T @ bases[1], full_matrices=False)
    return values, bases[0] @ left


@pytest.mark.parametrize(("columns", "others"), [(3, 3), (2, 5), (6, 2), (1, 1)])
@pytest.mark.parametrize("noise", [1e-3, 0.3, 30.0])
def test_definitions(columns: int, others: int, noise: float) -> None:
    x = RNG.standard_normal((60, columns)) * 3.0 ** -np.arange(columns)
    y = x @ RNG.standard_normal((columns, others)) + noise * RNG.standard_normal((60, others))
    y[:, : min(columns, others)] += x[:, : min(columns, others)]
    values, variates = direct(x, y)
    found = compared(canonical.cca, x, y)
    assert found.score == pytest.approx(values.mean(), rel=1e-12)
    assert found.deficit == pytest.approx((1 - values).mean(), rel=1e-9)
    weights = np.abs(variates.T @ (x - x.mean(axis=0))).sum(axis=1)[: len(values)]
    found = compared(canonical.pwcca, x, y)
    assert found.score == pytest.approx(np.average(values, weights=weights), rel=1e-10)
    for threshold in (0.5, 0.9, 1.0):
        parts, kept = [], []
        for side in (x, y):
            left, size, _ = np.linalg.svd(side - side.mean(axis=0), full_matrices=False)
            share = np.cumsum(size**2) / (size**2).sum()
            kept.append(int((share < threshold * (1 - 1e-14)).sum()) + 1)
            parts.append(left[:, : kept[-1]])
        values = np.linalg.svd(parts[0].T @ parts[1], compute_uv=False)
        found = compared(canonical.svcca, x, y, threshold)
        assert list(found.ranks) == kept
        assert found.score == pytest.approx(values.mean(), rel=1e-11)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_equal_arrays_score_one_exactly(measure: Any) -> None:
    x = (RNG.standard_normal((50, 6)) + 100).astype("f4")
    for other in (x.copy(order="F"), x.astype("f8"), x * np.float32(0.25)):
        found = compared(measure, x, other)
        assert (found.score, found.deficit, found.floor) == (1.0, 0.0, 0.0)
        assert (found.correlations == 1).all()
    moved = compared(measure, x, x.astype("f8") + 2.0**20)
    assert moved.score == 1
    assert moved.deficit < 1e-40


@given(st.integers(0, 2**32), st.floats(-14, -1), st.sampled_from(["f4", "f8"]))
@settings(max_examples=25, deadline=None)
def test_small_differences_keep_their_digits(seed: int, size: float, dtype: str) -> None:
    """Deficits fall with the square of what is added, down to where float64 has no digits of 1 - s."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (40, 3)).astype("f8") / 8
    noise = rng.integers(-8, 9, (40, 3)) * 2.0 ** round(size / np.log10(2))
    for measure in (canonical.cca, canonical.pwcca):
        one, other = (compared(measure, x, x + factor * noise).deficit for factor in (1.0, 2.0))
        assert other / one == pytest.approx(4, rel=10.0 ** (size + 1.5) + 1e-3)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_rotation_scale_and_shift_leave_nothing_but_rounding(measure: Any) -> None:
    x = RNG.standard_normal((80, 5))
    rotation = np.linalg.qr(RNG.standard_normal((5, 5)))[0]
    found = compared(measure, x, 7.3 * x @ rotation + 3)
    assert 0 <= found.deficit <= found.floor < 1e-27
    assert found.score == 1.0


def test_any_combination_of_columns_is_the_same_to_cca() -> None:
    x, y = RNG.standard_normal((80, 5)), RNG.standard_normal((80, 4))
    mixed = x @ RNG.standard_normal((5, 5)) * 10.0 ** np.array([-100, 0, 3, 100, 8])
    assert compared(canonical.cca, mixed, y).score == pytest.approx(compared(canonical.cca, x, y).score, rel=1e-11)


@pytest.mark.parametrize("exponent", [-900, 700])
def test_extreme_sizes(exponent: int) -> None:
    x, y = RNG.standard_normal((30, 3)), RNG.standard_normal((30, 3))
    for measure in MEASURES.values():
        assert compared(measure, np.ldexp(x, exponent), y).score == compared(measure, x, y).score


def test_a_large_offset_is_taken_off_first() -> None:
    x = RNG.integers(-64, 65, (50, 4)) / 64.0
    y = x + RNG.integers(-64, 65, (50, 4)) * 2.0**-20
    for measure in MEASURES.values():
        plain, moved = compared(measure, x, y), compared(measure, x + 2.0**20, y - 2.0**21)
        assert moved.deficit == pytest.approx(plain.deficit, rel=1e-10)


def test_dependent_columns_are_reported() -> None:
    x, y = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 4))
    found = compared(canonical.cca, np.concatenate([x, x @ RNG.standard_normal((3, 2))], axis=1), y)
    assert found.ranks == (3, 4)
    assert found.columns == (5, 4)
    assert found.score == pytest.approx(compared(canonical.cca, x, y).score, rel=1e-11)
    near = np.concatenate([x, x[:, :1] + 1e-9 * RNG.standard_normal((40, 1))], axis=1)
    assert 1e8 < compared(canonical.cca, near, y).conditions[0] < 1e10


def test_correlations_that_rows_are_too_few_for() -> None:
    found = compared(canonical.cca, RNG.standard_normal((10, 6)), RNG.standard_normal((10, 5)))
    assert found.necessary == 2
    assert found.correlations[:2] == pytest.approx([1, 1], abs=1e-14)
    assert found.correlations[2] < 1


def test_blocks_of_rows_give_the_factor_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RNG.standard_normal((97, 4)), RNG.standard_normal((97, 4))
    y[:, 2] = x[:, 2]
    pilot = pilots.survey(x, y)
    whole = factors.factor(x, y, pilot)
    monkeypatch.setattr(factors, "BLOCK_VALUES", 1)
    assert factors.block_rows(9) == 9
    parts = [factors.factor(x[start : start + 31], y[start : start + 31], pilot) for start in range(0, 97, 31)]
    joined = factors.fold_all(parts, 9)
    np.testing.assert_allclose(joined.T @ joined, whole.T @ whole, atol=1e-12)
    assert np.array_equal(joined, np.triu(joined))
    assert not joined[:, 7].any()  # a column that does not differ stays zero
    found = [canonical.cca(upper, pilot.layout).deficit for upper in (whole, joined)]
    assert found[0] == pytest.approx(found[1], rel=1e-13)


def test_more_columns_than_rows_in_a_block() -> None:
    x, y = RNG.standard_normal((30, 40)), RNG.standard_normal((30, 50))
    pilot = pilots.survey(x, y)
    assert factors.factor(x, y, pilot).shape == (30, 91)
    found = compared(canonical.svcca, x, y, 0.5)
    assert found.score is not None
    assert max(found.ranks) < 15


@pytest.mark.parametrize("threshold", [0.0, 1.5, -1.0])
def test_impossible_thresholds_are_refused(threshold: float) -> None:
    x = RNG.standard_normal((10, 2))
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        compared(canonical.svcca, x, x, threshold)


def test_different_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="x has 4 rows and y has 5"):
        pilots.survey(np.ones((4, 2)), np.ones((5, 2)))
    with pytest.raises(ValueError, match="at least one"):
        pilots.survey(np.ones((0, 2)), np.ones((0, 2)))


@pytest.mark.parametrize("dtype", ["u1", "i4", "f2", ">f4"])
def test_any_real_type(dtype: str) -> None:
    x, y = RNG.integers(0, 9, (30, 3)), RNG.integers(0, 9, (30, 3))
    for measure in MEASURES.values():
        assert compared(measure, x.astype(dtype), y.astype("f8")).score == compared(measure, x.astype("f8"), y).score
