"""What calibrated-similarity 0.1.1 finds on the same permutations, and what is right where it is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from statistic_samples import exact_tsi, gram_cka, linear_cka

from ordsim_core import triplets
from ordsim_core.calibration.callables import calibrate, calibrate_layers
from ordsim_core.calibration.conclusions import conclude
from ordsim_core.calibration.errors import NonFiniteStatisticError
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "calibration" / "package.json").read_text(encoding="utf-8")
)
CLOSE = 1e-6
"""The package computes in float32."""

STATISTICS: dict[str, Callable[..., Any]] = {"cka": linear_cka, "tsi": exact_tsi}


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{case['name']}-{case['statistic']}" for case in cases]


def fed(case: dict[str, Any]) -> Callable[[int], np.ndarray]:
    return lambda number: np.array(case["permutations"][number - 1])


def mistaken_rank(alpha: float, draws: int) -> bool:
    """Whether the package rounds its rank to the next one up: (1 - 0.41) 100 is 59.00000000000001 in floats."""
    return (alpha, draws) == (0.41, 99)


@pytest.mark.parametrize("case", FOUND["scalar"], ids=names(FOUND["scalar"]))
def test_calibrate(case: dict[str, Any]) -> None:
    x, y, draws = np.array(case["x"]), np.array(case["y"]), len(case["permutations"])
    compared = 0
    for theirs in case["found"]:
        ours = calibrate(
            STATISTICS[case["statistic"]],
            x,
            y,
            permutations=draws,
            alpha=theirs["alpha"],
            smax=theirs["smax"],
            permute=fed(case),
        )
        assert ours.permutations == draws
        assert ours.p_value == pytest.approx(theirs["p_value"], abs=CLOSE)
        pool = sorted([ours.observed, *ours.null])
        if mistaken_rank(theirs["alpha"], draws):
            assert ours.threshold == pool[58]
            assert pool[59] == pytest.approx(theirs["threshold"], abs=CLOSE)
            continue
        assert ours.threshold == pytest.approx(theirs["threshold"], abs=CLOSE)
        assert ours.score == pytest.approx(theirs["score"], abs=CLOSE)
        compared += 1
    assert compared >= 4


@pytest.mark.parametrize("case", FOUND["layers"], ids=names(FOUND["layers"]))
def test_calibrate_layers(case: dict[str, Any]) -> None:
    xs, ys = [np.array(x) for x in case["xs"]], [np.array(y) for y in case["ys"]]
    assert {theirs["aggregate"] for theirs in case["found"]} == {"max", "mean", "row-max-mean", "column-max-mean"}
    for theirs in case["found"]:
        ours = calibrate_layers(
            STATISTICS[case["statistic"]],
            xs,
            ys,
            aggregate=theirs["aggregate"],
            permutations=len(case["permutations"]),
            alpha=theirs["alpha"],
            smax=theirs["smax"],
            permute=fed(case),
        )
        for name in ("score", "p_value", "threshold"):
            assert getattr(ours, name) == pytest.approx(theirs[name], abs=CLOSE)


@pytest.mark.parametrize("case", [case for case in FOUND["scalar"] if case["statistic"] == "tsi"])
def test_calibrate_with_our_own_triplets(case: dict[str, Any]) -> None:
    def agreeing(x: np.ndarray, y: np.ndarray) -> int:
        spaces = (prepare(values, Distance.EUCLIDEAN) for values in (x, y))
        return triplets.exact_block(*spaces, 0, len(x)).counts.agreeing

    x, y = np.array(case["x"]), np.array(case["y"])
    draws = len(case["permutations"])
    rows = len(x)
    observed = agreeing(x, y)
    null = [agreeing(x, y[np.array(index)]) for index in case["permutations"]]
    theirs = case["found"][0]
    ours = conclude(observed, null, denominator=rows * (rows - 1) * (rows - 2) // 2)
    assert (ours.permutations, ours.alpha, ours.smax) == (draws, theirs["alpha"], theirs["smax"])
    for name in ("score", "p_value", "threshold"):
        assert getattr(ours, name) == pytest.approx(theirs[name], abs=CLOSE)


# Where the package is wrong


def test_one_in_twenty_counts_as_a_twentieth() -> None:
    theirs = FOUND["mistaken"]["one_in_twenty"]
    assert theirs["score"] > 0
    assert not theirs["p_value"] <= 0.05
    ours = conclude(0.9, [0.1] * 19, alpha=0.05)
    assert ours.score == pytest.approx(theirs["score"], abs=CLOSE)
    assert ours.p_value <= 0.05


def test_nan_has_no_p_value() -> None:
    assert FOUND["mistaken"]["observed_is_nan"]["p_value"] == pytest.approx(1 / 20)  # the most significant there is
    with pytest.raises(NonFiniteStatisticError, match="the observed statistic is nan"):
        conclude(math.nan, [0.1] * 19)
    assert FOUND["mistaken"]["null_has_nan"]["p_value"] == pytest.approx(19 / 20)  # NaN passes for less
    with pytest.raises(NonFiniteStatisticError, match="the statistic of permutation 1 is nan"):
        conclude(0.5, [math.nan, *[0.6] * 18])
    constant = np.ones((20, 3))
    with np.errstate(invalid="ignore"), pytest.raises(NonFiniteStatisticError):
        calibrate(linear_cka, constant, np.random.default_rng(0).normal(size=(20, 3)))


def test_scores_near_one_are_told_apart() -> None:
    theirs = FOUND["mistaken"]["near_one"]
    assert (theirs["p_value"], theirs["score"]) == (1.0, 0.0)
    ours = conclude(1 - 1e-9, [1 - 2e-9] * 19)
    assert ours.p_value == 1 / 20
    assert ours.score == pytest.approx(0.5, rel=1e-6)


def test_statistics_that_are_equal_but_for_rounding_are_ties() -> None:
    case = FOUND["mistaken"]["duplicates_single"]
    assert case["p_value"] < 1
    x, y, groups = np.array(case["x"]), np.array(case["y"]), np.array(case["groups"])
    draws = len(case["permutations"])
    for dtype in (np.float64, np.float32):
        ours = calibrate(
            gram_cka, x.astype(dtype), y.astype(dtype), permutations=draws, permute=fed(case), tolerance=None
        )
        assert (ours.p_value, ours.score, ours.exceedances) == (1.0, 0.0, draws)
        assert len(set(ours.null)) > 1  # they are not the same floats
    # The same with a scheme that draws such permutations.
    for statistic in (gram_cka, linear_cka, exact_tsi):
        found = calibrate(statistic, x, y, permutations=50, scheme="within-groups", groups=groups)
        assert (found.p_value, found.score) == (1.0, 0.0)
