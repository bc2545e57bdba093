"""Drawings: well-formed, inside their frame, and true to their figures."""

from __future__ import annotations

import copy
import math
from typing import Any
from xml.etree import ElementTree

import pytest

from service.answers import Result
from service.drawings import axes, bars, contrast, deficits, grids, scores, shapes, style
from service.routes.pages import WEB
from tests.service.test_report import EXACT, SAMPLED

SVG = f"{{{shapes.NAMESPACE}}}"
PAIRS = ["a with c", "a with d", "b< with c", "b< with d", "b< with e"]
CALIBRATION = {"pValue": 0.005, "threshold": 0.52, "alpha": 0.05, "observed": 0.7}


def parsed(drawing: shapes.Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.file(style.ALONE))


def found(drawing: shapes.Drawing, tag: str, kind: str) -> list[ElementTree.Element]:
    return [one for one in parsed(drawing).iter(f"{SVG}{tag}") if one.get("class") == kind]


def words(drawing: shapes.Drawing) -> list[str]:
    return ["".join(one.itertext()) for one in parsed(drawing).iter(f"{SVG}text")]


def with_fields(result: dict[str, Any], **fields: Any) -> Result:
    return Result({**copy.deepcopy(result), **fields})


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.4971, 0.5069, ["0.498", "0.500", "0.502", "0.504", "0.506"]),
        (0.0, 1.4, ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]),
        (-3.0, 30.0, ["0", "10", "20", "30"]),
    ],
)
def test_ticks_are_round_and_told_apart(low: float, high: float, labels: list[str]) -> None:
    axis = axes.Axis(low, high, 0, 100)
    assert [label for _, label in axis.ticks()] == labels
    assert all(math.isclose(value, float(label), abs_tol=1e-12) for value, label in axis.ticks())
    assert axis.place(low) == 0
    assert axis.place(high) == 100
    assert axis.place(high + 1) == 100


def test_powers_of_ten() -> None:
    axis = axes.powers([1.0, 3e-13, 0.0, 2e-17], 0, 340)
    assert (axis.low, axis.high) == (-17, 0)
    assert axis.place(1e-17) == axis.place(0.0) == 0
    assert axis.place(1e-7) == pytest.approx(200)
    assert [label for _, label in axis.ticks()][:2] == ["10⁻¹⁷", "10⁻¹⁴"]


@pytest.mark.parametrize("values", [[], [0.7], [0.7, 0.7], [0.0], [math.nan], [1e-300, 2e-300]])
def test_axes_of_few_values_have_ends(values: list[float]) -> None:
    axis = axes.linear(values, 0, 100)
    assert axis.low < axis.high
    assert all(0 <= axis.place(value) <= 100 for value in values if math.isfinite(value))
    assert len(axis.ticks()) <= 12


def test_a_score_stands_where_it_is_among_its_intervals() -> None:
    drawing = scores.draw(with_fields(SAMPLED))
    (sampling, hoeffding) = found(drawing, "rect", "band")
    (dot,) = found(drawing, "circle", "score")
    for bar in (sampling, hoeffding):
        begin = float(bar.get("x", "nan"))
        assert begin < float(dot.get("cx", "nan")) < begin + float(bar.get("width", "nan"))
    assert float(hoeffding.get("width", 0)) > float(sampling.get("width", 0))
    assert len(found(drawing, "line", "baseline")) == 2  # on the axis, and in the legend
    assert {"baseline 0.45", "most possible 0.975", "0.712500"} <= set(words(drawing))
    assert drawing.title.startswith("QSI, quadruplet similarity, sampled: 0.7125; baseline 0.45")
    assert "0.712500" not in words(scores.draw(with_fields(SAMPLED), headed=False))


def test_what_is_not_rigorous_is_dashed() -> None:
    jackknife = {"low": 0.6, "high": 0.7, "method": "jackknife", "rigorous": False}
    drawing = scores.draw(with_fields(SAMPLED, intervals={"jackknife": jackknife}))
    assert (len(found(drawing, "rect", "loose")), found(drawing, "rect", "band")) == (1, [])


def test_a_null_is_drawn_with_its_threshold() -> None:
    null = [0.5 + place / 5000 for place in range(-100, 101)]
    drawing = scores.draw(with_fields(EXACT, calibration=CALIBRATION), null)
    counted = found(drawing, "rect", "null")
    tips = [int(one[0].text.split()[0]) for one in counted if one[0].text]
    assert sum(tips) == len(null)
    assert len(found(drawing, "line", "limit")) == 2
    without = scores.draw(with_fields(EXACT, calibration={"pValue": None, "reason": "one group"}), ())
    assert found(without, "rect", "null") == found(without, "line", "limit") == []
    assert without.height < drawing.height


def test_no_score_says_why() -> None:
    assert "no score: x is constant" in words(scores.draw(with_fields(EXACT, score=None, reason="x is constant")))


@pytest.mark.parametrize(
    ("values", "counts"),
    [([0.0, 0.1, 0.9, 1.0], (2, 0, 0, 2)), ([0.5, 0.5], (2,)), ([0.0, 0.25, 0.5, 0.75, 1.0], (1, 1, 1, 2))],
)
def test_bins_hold_every_value_once(values: list[float], counts: tuple[int, ...]) -> None:
    assert bars.count(values, 4, min(values), max(values)).counts == counts


def test_scores_of_single_rows() -> None:
    drawing = bars.per_anchor([0.5, 0.75, math.nan, 1.0])
    assert "3 rows, 0.5000 to 1.0000, 0.7500 on average" in words(drawing)
    assert "no row has a score" in words(bars.per_anchor([math.nan]))


def test_a_deficit_among_its_floors() -> None:
    resolution = {"floorArithmetic": 1e-16, "floorStorage": None, "verdict": "below-resolution"}
    result = with_fields(EXACT, deficit=0.0, naiveDeficit=-2.2e-16, resolution=resolution)
    drawing = deficits.draw(result)
    assert drawing is not None
    assert {"below resolution", "0, exactly", "2.200e-16", "1.000e-16"} <= set(words(drawing))
    assert "storage" not in words(drawing)
    assert deficits.draw(with_fields(EXACT)) is None


def test_a_heat_map_frames_the_best_and_says_everything() -> None:
    values = [[0.1, 0.2, math.nan], [0.3, 0.9, 0.5]]
    drawing = grids.draw(grids.Grid("t", ["a", "b<"], ["c", "d", "e"], values, [["t"] * 3] * 2, (1, 1)))
    cells = [one for one in found(drawing, "rect", "cell") if len(one)]
    assert [one[0].text for one in cells] == [f"{pair}: t" for pair in PAIRS]
    strengths = [float(one.get("fill-opacity", "nan")) for one in cells]
    assert sorted(range(5), key=strengths.__getitem__) == [0, 1, 2, 4, 3]
    (best,) = found(drawing, "rect", "best")
    assert (best.get("x"), best.get("y")) == (cells[3].get("x"), cells[3].get("y"))
    assert len(found(drawing, "rect", "undefined")) == 1
    assert "0.900" in words(drawing)


def test_figures_can_be_read_on_every_cell() -> None:
    inks = {"b": contrast.BLACK, "w": contrast.WHITE}
    for step in range(101):
        letters = style.ink(step / 100).removeprefix("on-")
        for letter, palette in zip(letters, (style.LIGHT, style.DARK), strict=True):
            found = contrast.ratio(inks[letter], style.ground(palette, step / 100))
            assert found >= contrast.ENOUGH, (step, palette)
    assert {style.ink(strength) for strength in (0.1, 1.0)} == {"on-bw", "on-wb"}
    values = [[0.0, 0.5, 1.0]]
    drawing = grids.draw(grids.Grid("t", ["a"], ["c", "d", "e"], values, [["t"] * 3]))
    written = [(one.text, one.get("class")) for one in parsed(drawing).iter(f"{SVG}text")]
    assert {("0.000", style.ink(0.06)), ("0.500", style.ink(0.53)), ("1.000", style.ink(1.0))} <= set(written)


def test_the_page_writes_on_its_heat_maps_in_inks_that_can_be_read() -> None:
    tokens = (WEB / "tokens.css").read_text("utf-8")
    for theme in tokens.split("@media (prefers-color-scheme: dark)"):
        low, high = (contrast.colour(_token(theme, f"heat-{side}-ink")) for side in ("low", "high"))
        for step in range(9):
            found = contrast.ratio(high if step > 4 else low, contrast.colour(_token(theme, f"heat-{step}")))
            assert found >= contrast.ENOUGH, (step, found)


def _token(theme: str, name: str) -> str:
    return theme.partition(f"--{name}: ")[2][:7]


def test_each_array_with_itself_does_not_set_the_colours() -> None:
    values = [[1.0, 0.5, 0.6], [0.5, 1.0, 0.55], [0.6, 0.55, 1.0]]
    grid = grids.Grid("t", ["a", "b", "c"], ["0", "1", "2"], values, [["t"] * 3] * 3, symmetric=True)
    turned = grids.ordered(grid, [0, 2, 1])
    assert (turned.rows, turned.scores[0]) == (["a", "c", "b"], [1.0, 0.6, 0.5])
    assert {"0.5000", "0.6000"} <= set(words(grids.draw(turned)))


@pytest.mark.parametrize("size", [1, 12, 128])
def test_heat_maps_of_any_size_stay_in_their_frame(size: int) -> None:
    names = [f"model/layer{place}" for place in range(size)]
    values = [[(row * column % 7) / 7 for column in range(size)] for row in range(size)]
    drawing = grids.draw(grids.Grid("t", names, names, values, [["t"] * size] * size))
    assert drawing.width <= 1000
    for one in found(drawing, "rect", "cell"):
        assert float(one.get("x", 0)) + float(one.get("width", 0)) <= drawing.width


def test_a_stack_is_as_high_as_its_parts() -> None:
    parts = [scores.draw(with_fields(EXACT)), bars.per_anchor([0.5, 0.6])]
    stacked = shapes.stack(parts, "both & more", gap=10)
    assert stacked.height == parts[0].height + parts[1].height + 10
    assert parsed(stacked)[0].text == "both & more"
