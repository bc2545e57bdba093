"""The results document: what measures find, under the names of the contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ordsim_core.counts import AgreementCounts
from ordsim_core.intervals import Interval
from ordsim_core.jackknife import JackknifeInterval
from service import cautions, findings, results
from service.preparing import Prepared
from service.results import Finished
from service.schemas import JobRequest
from tests.service.conftest import request
from workers.groups import Groups
from workers.measures.protocol import MeasureOptions, NoInterval, Outcome
from workers.staging import StagedArray

STAGED = StagedArray("file", 80, 3, "float32", "sha256:00", "float", 0, 0, 80)
COUNTS = AgreementCounts(2**70, 2**69, 5, 6, 7)
SAMPLING = Interval(0.25, 0.75, "betting", 0.99, True)
OUTCOME = Outcome(COUNTS.score, COUNTS.deficit, COUNTS, 2**72, "exact", {"sampling": SAMPLING})
UNITS = {"measure": "tsi", "method": "units", "width": 0.125}
SAMPLED = {"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05}


def finished(outcome: Outcome, measure: dict[str, Any] | None = None, **fields: Any) -> Finished:
    """A job with one measure."""
    asked = JobRequest.model_validate(request(measures=[measure or UNITS], **fields))
    ((_, options),) = asked.options()
    return Finished(
        job="a",
        request=asked,
        arrays={name: {"shape": [80, 3], "dtype": "float32"} for name in "xy"},
        staged={"x": STAGED, "y": STAGED},
        groups=None,
        choice=None,
        outcomes=[(options, outcome)],
        unsettled=[],
        plan=[],
        timings={},
        workers=1,
    )


def result(outcome: Outcome, measure: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the document says of it; it must be as the OpenAPI document promises."""
    document = results.build(finished(outcome, measure))
    findings.Results.model_validate(document)
    found: dict[str, Any] = document["results"][0]
    return found


def codes(found: Finished) -> list[str]:
    return [warning["code"] for warning in cautions.warnings(found)]


def test_precision_tells_the_paths_to_it() -> None:
    assert result(OUTCOME)["precision"] == {"used": "exact", "paths": {"chains": 0, "direct": 0, "exact": 0}}
    paths = {"chains": 12, "direct": 3}
    assert result(replace(OUTCOME, paths=paths))["precision"]["paths"] == {"chains": 12, "direct": 3, "exact": 0}


def test_intervals_have_their_figures_under_the_names_of_the_contract() -> None:
    found = result(
        replace(
            OUTCOME,
            intervals={
                "sampling": SAMPLING,
                "jackknife": JackknifeInterval(0.25, 0.5, "jackknife", 0.99, False, 0.125, "group"),
                "arithmetic": Interval(0.5, 0.75, "float32-bound", 1.0, True),
            },
            uncertified=2**64,
        )
    )["intervals"]
    sampling = {"low": 0.25, "high": 0.75, "method": "betting", "confidence": 0.99, "rigorous": True}
    assert found["sampling"] == sampling
    assert found["jackknife"] == {
        **sampling,
        "high": 0.5,
        "method": "jackknife",
        "rigorous": False,
        "standardError": 0.125,
        "unit": "group",
    }
    assert found["arithmetic"]["uncertified"] == str(2**64)
    assert "reason" not in found


def test_an_interval_that_does_not_exist_is_null_with_a_reason() -> None:
    absent = {"sampling": NoInterval("no guarantee."), "jackknife": NoInterval("too few.")}
    found = result(replace(OUTCOME, intervals={**absent, "population": SAMPLING}))["intervals"]
    assert found["sampling"] is None
    assert found["jackknife"] is None
    assert found["population"]["low"] == 0.25
    assert found["reason"] == "no guarantee. too few."
    assert found["reasons"] == {"sampling": "no guarantee.", "jackknife": "too few."}


def test_a_spec_echoes_what_was_asked_and_what_follows_from_it() -> None:
    spec = result(OUTCOME)["spec"]
    assert spec == {**UNITS, "targets": 32, "per_anchor": False, "confidence": 0.99}
    assert result(OUTCOME, SAMPLED)["spec"]["samples"] == 185
    assert "samples" not in result(OUTCOME, {"measure": "tsi", "method": "sampled", "width": 0.5})["spec"]
    assert result(OUTCOME, {"measure": "tsi", "method": "sampled", "samples": 7})["spec"]["samples"] == 7


def test_a_width_that_was_not_reached_is_a_warning() -> None:
    job = finished(OUTCOME)
    assert "width-not-reached" not in codes(job)
    (warning,) = [one for one in cautions.warnings(replace(job, unsettled=[0])) if one["code"] == "width-not-reached"]
    for words in ("tsi (units)", "a width of 0.125", str(COUNTS.comparisons)):
        assert words in warning["detail"]


@pytest.mark.parametrize(
    ("asked", "used", "warned"),
    [
        ("exact", "exact", False),
        ("exact", "float64", True),
        ("float32", "float32", False),
        ("float32", "exact", False),
        ("float32", "float64", False),
    ],
)
def test_a_weaker_precision_than_was_asked_for_is_a_warning(asked: str, used: str, warned: bool) -> None:
    job = finished(replace(OUTCOME, precision=used), precision=asked)
    assert ("precision-fell-back" in codes(job)) == warned
    assert ("precision-exceeded" in codes(job)) == (asked == "float32" and used != "float32")


def test_repeated_rows_are_a_warning_unless_groups_say_which() -> None:
    job = finished(OUTCOME)
    repeated = replace(job, staged={"x": replace(STAGED, distinct_rows=40), "y": STAGED})
    assert "repeated-rows" not in codes(job)
    assert "repeated-rows" in codes(repeated)
    grouped = replace(repeated, groups=Groups(np.zeros(80, np.int64), 1, "digest"))
    assert "repeated-rows" not in codes(grouped)
    assert results.build(grouped)["inputs"]["groups"] == {"count": 1}


@pytest.mark.parametrize(("distance", "warned"), [("dot", True), ("precomputed", False)])
def test_constant_columns_mean_nothing_among_distances(distance: str, warned: bool) -> None:
    job = finished(OUTCOME)
    array = job.request.x.model_copy(update={"distance": distance})
    staged = {"x": replace(STAGED, constant_columns=2), "y": STAGED}
    constant = replace(job, staged=staged, request=job.request.model_copy(update={"x": array}))
    assert ("constant-columns" in codes(constant)) == warned


def test_few_draws_are_a_warning_and_few_comparisons_in_all_are_none() -> None:
    few = replace(OUTCOME, counts=AgreementCounts(50, 40), population=90)
    assert "small-sample" in codes(finished(few))
    assert "small-sample" not in codes(finished(few, {"measure": "tsi", "method": "exact"}))
    assert "small-sample" not in codes(finished(OUTCOME))


def test_facts_of_earlier_versions_claim_no_more_than_is_known() -> None:
    asked = JobRequest.model_validate(request())
    whole = replace(STAGED, exactness="integer")
    assert results.facts(asked, Prepared({"x": whole, "y": whole})).precision == "exact"
    assert results.facts(asked, Prepared({"x": whole, "y": STAGED})).precision == "float64"


def test_options_without_numbers_of_draws_have_a_spec() -> None:
    class Plain(MeasureOptions):
        """A measure without anything to choose."""

    job = finished(OUTCOME)
    plain = replace(job, outcomes=[(Plain(measure="cka", method="linear"), OUTCOME)])
    assert results.build(plain)["results"][0]["spec"] == {"measure": "cka", "method": "linear", "confidence": 0.99}
