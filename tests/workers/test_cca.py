"""CCA, SVCCA and PWCCA as measures: factors of blocks of rows, cautions, and what has no score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from ordsim_core.correlations import canonical, factors, pilots
from ordsim_core.distances import Distance
from workers.measures import cca
from workers.measures.cca import CANONICAL, CCA, SVCCA, CcaOptions, PwccaOptions, SvccaOptions
from workers.measures.given import Values
from workers.measures.protocol import Budget, PairFacts, PairShape
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable

    from workers.measures.cca import CanonicalCorrelation

RNG = np.random.default_rng(2)
OPTIONS = {
    "cca": CcaOptions(measure="cca"),
    "svcca": SvccaOptions(measure="svcca"),
    "pwcca": PwccaOptions(measure="pwcca"),
}
BUDGET = Budget(1.0, 2**30)
MEASURES = pytest.mark.parametrize("measure", CANONICAL, ids=lambda measure: measure.measure)


@dataclass(frozen=True)
class Held:
    """An array of a grid, held by the test."""

    array: np.ndarray

    def values(self) -> np.ndarray:
        return self.array


def values(x: np.ndarray, y: np.ndarray) -> Values:
    kept: dict[str, Any] = {}

    def memo(name: str, compute: Callable[[], Any]) -> Any:
        if name not in kept:
            kept[name] = compute()
        return kept[name]

    return Values(x, y, Distance.COSINE, Distance.EUCLIDEAN, None, memo)


def run(measure: CanonicalCorrelation, x: np.ndarray, y: np.ndarray, options: Any = None) -> Any:
    """The outcome of all shards, which went through bytes and came back in another order."""
    options = options or OPTIONS[measure.measure]
    given = values(x, y)
    shards = measure.shards(given.shape, options, BUDGET)
    parts = [measure.partial(given, shard, options, 0, lambda: None) for shard in reversed(shards)]
    total = Partial.total(Partial.from_bytes(part.to_bytes()) for part in parts)
    return measure.finish(total, PairFacts(given.shape), options, 0.99)


@cache
def arrays() -> tuple[np.ndarray, np.ndarray]:
    x = RNG.standard_normal((900, 6)).astype("f4")
    return x, (x[:, :5] + RNG.standard_normal((900, 5))).astype("f4")


@MEASURES
def test_shards_add_up_to_the_score_of_all_rows(measure: CanonicalCorrelation) -> None:
    x, y = arrays()
    shards = measure.shards(values(x, y).shape, OPTIONS[measure.measure], BUDGET)
    assert len(shards) == 8
    assert [shard.index for shard in shards] == list(range(8))
    assert all(one.stop == other.start for one, other in pairwise(shards))
    assert sum(shard.comparisons for shard in shards) == measure.comparisons(values(x, y).shape, None) == 900 * 899 // 2
    assert shards == measure.shards(values(x, y).shape, OPTIONS[measure.measure], Budget(1e-9, 0))
    pilot = pilots.survey(x, y)
    whole = getattr(canonical, measure.measure)(factors.factor(x, y, pilot), pilot.layout)
    outcome = run(measure, x, y)
    assert outcome.score == pytest.approx(whole.score, rel=1e-13)
    assert outcome.deficit == pytest.approx(whole.deficit, rel=1e-13)
    assert outcome.naive_deficit == 1 - outcome.score
    assert (outcome.counts, outcome.population, outcome.precision, list(outcome.cautions)) == (None, None, None, [])
    assert len(outcome.artifacts["correlations"]) == outcome.figures["correlations"]


@MEASURES
def test_equal_arrays_score_one_exactly(measure: CanonicalCorrelation) -> None:
    x, _ = arrays()
    outcome = run(measure, x, x.astype("f8"))
    assert (outcome.score, outcome.deficit) == (1.0, 0.0)
    assert outcome.figures["deficitFloor"] == 0.0


@MEASURES
def test_a_constant_array_has_no_score(measure: CanonicalCorrelation) -> None:
    x, y = arrays()
    outcome = run(measure, np.full_like(x, 3), y)
    assert (outcome.score, outcome.deficit, dict(outcome.artifacts)) == (None, None, {})
    assert "All rows of x are equal" in outcome.reason
    assert outcome.figures["conditionNumbers"]["x"] is None
    assert ("constant-columns", "6 of 6 columns of x are constant and count for nothing.") in outcome.cautions


@MEASURES
def test_more_columns_than_rows_have_no_score(measure: CanonicalCorrelation) -> None:
    outcome = run(measure, RNG.standard_normal((12, 30)), RNG.standard_normal((12, 3)), None)
    if measure is SVCCA:
        assert outcome.figures["components"]["x"] <= 11
    else:
        assert outcome.score is None
        assert "more rows than columns" in outcome.reason


def codes(outcome: Any) -> list[str]:
    return [code for code, _ in outcome.cautions]


def test_what_is_told_about_columns() -> None:
    x, y = arrays()
    dependent = np.concatenate([x, x[:, :1] + x[:, 1:2].astype("f8")], axis=1)
    outcome = run(CCA, dependent, y)
    assert codes(outcome) == ["ill-conditioned"]
    assert "7 columns of x have rank 6" in outcome.cautions[0][1]
    assert outcome.figures["ranks"] == {"x": 6, "y": 5}
    near = np.concatenate([x, x[:, :1] + 1e-12 * RNG.standard_normal((900, 1))], axis=1)
    outcome = run(CCA, y, near)
    assert codes(outcome) == ["ill-conditioned"]
    assert "condition number of y" in outcome.cautions[0][1]
    outcome = run(CCA, x[:9], y[:9])
    assert codes(outcome) == ["small-sample"]
    assert outcome.figures["correlationsOneByNecessity"] == 3
    assert codes(run(SVCCA, dependent, y)) == []


def test_components_of_svcca() -> None:
    x, y = arrays()
    outcome = run(SVCCA, x, y, SvccaOptions(measure="svcca", threshold=0.5))
    assert outcome.figures["components"] == {"x": 3, "y": 3}
    assert len(outcome.artifacts["correlations"]) == 3


@MEASURES
def test_the_null_is_the_score_of_permuted_rows(measure: CanonicalCorrelation) -> None:
    x, y = arrays()
    order = RNG.permutation(len(x))
    options = OPTIONS[measure.measure]
    statistic = measure.null(values(x, y).shape, options, 0, own=True)
    fixed, permutable = (statistic.fixed(Held(side), lambda: None) for side in (x, y))
    found = statistic.statistics([fixed], permutable, [np.arange(len(x)), order], lambda: None)
    assert found[:, 0] == pytest.approx([run(measure, x, y).score, run(measure, x, y[order]).score], rel=1e-9)
    assert statistic.about["measure"] == measure.measure


def test_wide_arrays_have_few_shards_and_a_bound_on_memory() -> None:
    narrow, wide = PairShape(10**6, 32, 32), PairShape(10**6, 4000, 4000)
    assert len(CCA.shards(narrow, OPTIONS["cca"], BUDGET)) == 8
    assert len(CCA.shards(wide, OPTIONS["cca"], BUDGET)) == 1
    assert CCA.memory(wide, OPTIONS["cca"], BUDGET) > 8 * 8001**2
    assert CCA.seconds(wide, OPTIONS["cca"]) > 1000 * CCA.seconds(narrow, OPTIONS["cca"]) > 0
    assert len(CCA.shards(PairShape(5, 3, 3), OPTIONS["cca"], BUDGET)) == 1


def test_a_missing_factor_is_no_score() -> None:
    x, y = arrays()
    given = values(x, y)
    shards = CCA.shards(given.shape, OPTIONS["cca"], BUDGET)
    total = Partial.total(CCA.partial(given, shard, OPTIONS["cca"], 0, lambda: None) for shard in shards[:-1])
    with pytest.raises(RuntimeError, match="factor of a shard is missing"):
        CCA.finish(total, PairFacts(given.shape), OPTIONS["cca"], 0.99)


@pytest.mark.parametrize("threshold", [0, 1.01, "0.9x", float("nan")])
def test_impossible_thresholds_are_refused(threshold: Any) -> None:
    with pytest.raises(ValidationError, match="threshold"):
        SvccaOptions(measure="svcca", threshold=threshold)


def test_shards_are_cut_where_the_module_says(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = arrays()
    expected = run(CCA, x, y).score
    monkeypatch.setattr(cca, "SHARDS_LIMIT", 3)
    assert len(CCA.shards(values(x, y).shape, OPTIONS["cca"], BUDGET)) == 3
    assert run(CCA, x, y).score == pytest.approx(expected, rel=1e-13)
