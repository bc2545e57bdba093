"""The report, its scale and its numbers, on fixed results."""

from __future__ import annotations

import copy
import io
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console
from rich.segment import Segment

from ordsim_core import betting, intervals, jackknife, population
from ordsim_core.counts import AgreementCounts
from ordsim_core.distances import Precision
from service import listing, numerals, sentences
from service.answers import Results
from service.importing import import_with_progress
from service.progress import PHASES, STATES, JobProgress, Speed, percent
from service.report import WIDEST, print_report, render
from service.scale import Scale
from service.states import JobStatus, Phase
from workers.partials import PATHS

if TYPE_CHECKING:
    from pathlib import Path

EXACT: dict[str, Any] = {
    "measure": "tsi",
    "method": "exact",
    "spec": {"measure": "tsi", "method": "exact", "per_anchor": True},
    "score": 2628617812 / 3994002000,
    "deficit": 1365384188 / 3994002000,
    "counts": {
        "population": "3994002000",
        "comparisons": "3994002000",
        "agreeing": "2628617812",
        "concordant": "2628617812",
        "discordant": "1365384188",
        "tiedX": "0",
        "tiedY": "0",
        "tiedBoth": "0",
    },
    "baseline": 0.5,
    "attainableMaximum": 1.0,
    "precision": {"used": "float64"},
    "intervals": {"sampling": {"low": 0.65814, "high": 0.65814, "method": "none-exact", "confidence": 0.99}},
    "artifacts": ["0-per_anchor"],
}
SAMPLED: dict[str, Any] = {
    "measure": "qsi",
    "method": "sampled",
    "spec": {"measure": "qsi", "method": "sampled", "samples": 800},
    "score": 0.7125,
    "deficit": 0.2875,
    "counts": {
        "population": "1994005498500",
        "comparisons": "800",
        "agreeing": "570",
        "concordant": "500",
        "discordant": "130",
        "tiedX": "40",
        "tiedY": "60",
        "tiedBoth": "70",
    },
    "baseline": 0.45,
    "attainableMaximum": 0.975,
    "precision": {"used": "exact"},
    "intervals": {
        "sampling": {"low": 0.66, "high": 0.753, "method": "clopper-pearson", "confidence": 0.99, "rigorous": True},
        "hoeffding": {"low": 0.655, "high": 0.77, "method": "hoeffding", "confidence": 0.99, "rigorous": True},
    },
    "artifacts": [],
}


def document(*results: dict[str, Any], **members: Any) -> dict[str, Any]:
    side = {"root": "demo", "shape": [2000, 384], "distance": "euclidean", "exactness": "float"}
    made: dict[str, Any] = {
        "jobID": "job-1",
        "process": "compare",
        "inputs": {
            "x": {**side, "path": "layer6", "dtype": "float32", "fingerprint": "sha256:3fa9c2d41b8e77aa01"},
            "y": {**side, "path": "layer3", "dtype": "float16", "fingerprint": "sha256:0b77e0c1d2aa44bb02"},
            "n": 2000,
            "rowsDropped": {"x": 0, "y": 0},
            "columnsDropped": {"x": 0, "y": 0},
            "groups": None,
        },
        "results": list(results),
        "warnings": [],
        "provenance": {
            "versions": {"numpy": "2.4.6", "ordsim": "0.1.0", "python": "3.11.7"},
            "seed": 7,
            "plan": [],
            "timings": {"stage": 0.21, "count": 201.4},
            "workers": 2,
        },
    }
    return copy.deepcopy({**made, **members})


def printed(json: dict[str, Any], width: int = 100, names: dict[str, str] | None = None) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False, markup=False)
    console.print(render(Results(json), names), width=min(width, WIDEST))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= width
    return text


def flat(text: str) -> str:
    """Text without its line breaks."""
    return " ".join(text.split())


def test_an_exact_result() -> None:
    text = flat(printed(document(EXACT)))
    for expected in (
        "job-1",
        "demo:layer6 2,000 x 384 float32 euclidean 3fa9c2d41b8e",
        "demo:layer3 2,000 x 384 float16 euclidean 0b77e0c1d2aa",
        "All 2,000 rows were compared",
        "TSI, triplet similarity, exact",
        "0.658141 deficit 0.341859",
        "In 65.8% of the 4.0 billion triplets, x and y agree on which of two rows lies nearer to a third.",
        "Beside it stands the baseline of 50.0%, what unrelated arrays would score on average, and nothing here tells "
        "how sure the difference is.",
        "No permutation test was made, so whether chance alone brings scores like these was not assessed.",
        "nothing was sampled",
        "3,994,002,000, all there are (4.0 billion)",
        "same order 2,628,617,812 65.8%",
        "opposite order 1,365,384,188 34.2%",
        "tied none",
        "float64: order and ties",
        "artifacts 0-per_anchor",
        "seed 7, 2 workers, stage 210 ms, count 3 min 21 s, ordsim 0.1.0, python 3.11.7, numpy 2.4.6",
    ):
        assert expected in text
    assert "Worth knowing" not in text
    assert "bit for bit" not in text


def test_a_sampled_result_with_ties() -> None:
    text = flat(printed(document(SAMPLED)))
    for expected in (
        "QSI, quadruplet similarity, sampled",
        "In 71.2% of the 800 quadruplets drawn, x and y agree on which of two pairs of rows lies closer together.",
        "Of all 2.0 trillion, they agree in 66.0% to 75.3%, with 99% confidence.",
        "This is above the baseline of 45.0%, what unrelated arrays with the same ties would score on average; "
        "97.5% is the most that these ties allow.",
        "intervals 0.660000 to 0.753000 Clopper-Pearson, 99% confidence 0.655000 to 0.770000 Hoeffding, 99% confidence",
        "800 drawn of 1,994,005,498,500 (2.0 trillion)",
        "tied in both 70 8.8%",
        "tied in x only 40 5.0%",
        "tied in y only 60 7.5%",
        "exact: order and ties",
    ):
        assert expected in text


def test_a_score_of_one() -> None:
    counts = {**EXACT["counts"], "concordant": "3994002000", "agreeing": "3994002000", "discordant": "0"}
    json = document({**EXACT, "score": 1.0, "deficit": 0.0, "counts": counts})
    json["inputs"]["y"]["fingerprint"] = json["inputs"]["x"]["fingerprint"]
    text = flat(printed(json))
    assert "1.000000 deficit 0 " in text
    assert "In every one of the 4.0 billion triplets, x and y agree" in text
    assert "bit for bit" in text
    assert "opposite order 0 0%" in text


def test_units_and_what_their_intervals_speak_of() -> None:
    sampling = {"low": 0.66, "high": 0.753, "method": "betting", "confidence": 0.99, "rigorous": True}
    found = {
        "sampling": sampling,
        "population": {**sampling, "low": 0.5, "high": 0.9, "method": "kl-u-statistic"},
        "jackknife": {
            **sampling,
            "method": "jackknife",
            "standardError": 0.01234,
            "unit": "group",
            "rigorous": False,
        },
        "arithmetic": {**sampling, "method": "float32-bound", "confidence": 1.0, "uncertified": "1234"},
    }
    spec = {"measure": "tsi", "method": "units", "units": 20, "targets": 5, "width": 0.1}
    precision = {"used": "float32", "paths": {"chains": 1200, "direct": 3, "exact": 0}}
    result = {
        **SAMPLED,
        "measure": "tsi",
        "method": "units",
        "spec": spec,
        "intervals": found,
        "precision": precision,
    }
    json = document(result)
    json["inputs"]["groups"] = {"count": 1500}
    text = flat(printed(json))
    for expected in (
        "TSI, triplet similarity, units",
        "They fall into 1,500 groups.",
        "In 71.2% of the 800 triplets drawn",
        "Of all 2.0 trillion, they agree in 66.0% to 75.3%, with 99% confidence.",
        "0.660000 to 0.753000 betting, 99% confidence 0.5",
        "Kullback-Leibler for a U-statistic, a bound for the worst case, 99% confidence, of the population that the "
        "rows are from",
        "jackknife, right for many groups, standard error 0.0123 over groups, 99% confidence, not rigorous, of the",
        "bound on rounding in float32, 1,234 comparisons in doubt, of the score in exact arithmetic",
        "width 0.093; 0.1 was asked for",
        "float32: order and ties are those of distances rounded to float32",
        "distances not certain at once: 1,200 too close to a neighbour, 3 computed again with a tighter bound",
    ):
        assert expected in text, expected


def test_an_interval_that_does_not_exist_says_why() -> None:
    reasons = {"sampling": "batches give no guarantee"}
    absent = {"sampling": None, "reason": reasons["sampling"], "reasons": reasons}
    result = {**SAMPLED, "method": "batched", "intervals": absent}
    text = flat(printed(document(result)))
    assert "interval no sampling interval: batches give no guarantee" in text
    assert "they agree in" not in text
    (found,) = Results(document(result))
    assert (found.intervals, found.interval()) == ({}, None)
    bound = {"low": 0.7, "high": 0.72, "method": "float32-bound", "uncertified": "7"}
    both = flat(printed(document({**result, "intervals": {**absent, "arithmetic": bound}})))
    assert "bound on rounding in float32, 7 comparisons in doubt" in both
    assert "no sampling interval: batches" in both
    few = {"jackknife": None, "reason": "too few", "reasons": {"jackknife": "too few"}}
    assert "no jackknife interval of the population that the rows are from: too few" in flat(
        printed(document({**EXACT, "intervals": {**EXACT["intervals"], **few}}))
    )


def test_distances_that_were_all_certain() -> None:
    precision = {"used": "exact", "paths": {"chains": 0, "direct": 0, "exact": 0}}
    assert "no distances were too close to tell apart" in flat(printed(document({**EXACT, "precision": precision})))
    assert "too close" not in flat(printed(document(EXACT)))


def test_no_score_says_why() -> None:
    text = flat(printed(document({"measure": "cka", "spec": {}, "score": None, "reason": "x is constant"}, EXACT)))
    assert "CKA" in text
    assert "no score: x is constant" in text
    assert "0.658141" in text


@pytest.mark.parametrize("missing", [{}, None, {"sampling": None}])
def test_without_intervals(missing: Any) -> None:
    text = printed(document({**SAMPLED, "intervals": missing}))
    assert "interval" not in text
    assert "0.712500" in text


def test_a_measure_of_which_only_a_score_is_known() -> None:
    text = flat(printed(document({"measure": "procrustes", "spec": {}, "score": 0.25, "deficit": 0.75})))
    assert "PROCRUSTES" in text
    assert "0.250000 deficit 0.750000" in text


@pytest.mark.parametrize(
    ("score", "interval", "baseline", "maximum", "said"),
    [
        (0.4, (0.38, 0.42), 0.5, 1.0, "This is below the baseline of 50.0%, what"),
        (0.6, (0.58, 0.62), 0.5, 0.7, "above the baseline of 50.0%, what"),
        (0.49, (0.48, 0.52), 0.5, 1.0, "Within that range lies the baseline of 50.0%, what"),
        (0.5, (0.5, 0.5), 0.5, 1.0, "This is at the baseline of 50.0%, what"),
        (0.4998, (0.49, 0.51), 0.5, 1.0, "Within that range lies the baseline of 50.00%, what"),
        (
            0.6,
            (0.58, 0.62),
            0.5,
            0.99999999,
            "above the baseline of 50.0%, what unrelated arrays with the same ties would score on average. ",
        ),
        (1.0, (0.9, 1.0), 1.0, 1.0, "Within that range lies the baseline of 100%, what"),
    ],
)
def test_a_score_is_placed_by_its_baseline_and_nothing_is_claimed_of_chance(
    score: float, interval: Any, baseline: float, maximum: float, said: str
) -> None:
    low, high = interval
    result = {**SAMPLED, "score": score, "deficit": 1 - score, "baseline": baseline, "attainableMaximum": maximum}
    result["intervals"] = {"sampling": {"low": low, "high": high, "method": "clopper-pearson", "confidence": 0.9}}
    text = flat(printed(document(result)))
    assert said in text
    assert text.count(sentences.CHANCE) == 1
    (meant,) = Results(document(result)).results
    for claim in ("chance", "significan", "of the way", "told from"):
        assert claim not in sentences.meaning(meant)


@pytest.mark.parametrize(
    ("score", "population", "jackknife", "said"),
    [
        (0.3, (0.2, 0.4), None, "This is below the baseline of 50.0%"),
        (0.50001, (0.5000001, 0.51), None, "In 50.001% of the 4.0 billion triplets"),
        (0.50001, (0.5000001, 0.51), None, "This is above the baseline of 50.000%"),
        (0.52, (0.4, 0.6), (0.51, 0.53), "By the jackknife, this is above the baseline of 50.0%"),
        (0.49974, (0.4, 0.6), (0.48, 0.51), "Within the interval of the population lies the baseline of 50.00%"),
        (0.6, None, None, "Beside it stands the baseline of 50.0%"),
        (0.5, None, None, "This is at the baseline"),
    ],
)
def test_an_exact_score_has_a_side_of_its_baseline_where_an_interval_says_so(
    score: float, population: tuple[float, float] | None, jackknife: tuple[float, float] | None, said: str
) -> None:
    found: dict[str, Any] = {"sampling": {"low": score, "high": score, "method": "none-exact", "confidence": 0.99}}
    for kind, bounds in (("population", population), ("jackknife", jackknife)):
        if bounds is not None:
            found[kind] = {"low": bounds[0], "high": bounds[1], "method": kind, "confidence": 0.99}
    text = flat(printed(document({**EXACT, "score": score, "deficit": 1 - score, "intervals": found})))
    assert said in text


def test_a_score_of_batches_has_no_side_of_its_baseline() -> None:
    result = {**SAMPLED, "method": "batched", "intervals": {"sampling": None, "reason": "no guarantee"}}
    text = flat(printed(document(result)))
    assert "Beside it stands the baseline of 45.0%" in text
    assert "This is" not in text


def test_a_jackknife_without_an_error_says_what_stands_for_it() -> None:
    bound = {"low": 0.95, "high": 1.0, "method": "kl-u-statistic", "confidence": 0.99, "rigorous": False}
    fallen = {**bound, "standardError": 0.0, "unit": "row"}
    text = flat(printed(document({**EXACT, "intervals": {"jackknife": fallen}})))
    assert "in place of a jackknife over rows, whose standard error would be 0: Kullback-Leibler" in text


def test_whole_options_are_written_out() -> None:
    spec = {**SAMPLED["spec"], "samples": 2649159, "epsilon": 0.001, "method": "sampled"}
    assert "samples 2,649,159, epsilon 0.001" in flat(printed(document({**SAMPLED, "spec": spec})))


def test_of_chance_is_spoken_once_and_only_with_baselines() -> None:
    assert flat(printed(document(EXACT, SAMPLED))).count(sentences.CHANCE) == 1
    assert sentences.CHANCE not in flat(printed(document({"measure": "cka", "spec": {}, "score": 0.5})))


def test_the_report_knows_only_what_a_service_sends() -> None:
    counts = AgreementCounts(concordant=3, discordant=1)
    units = np.array([3, 1, 2], np.int64)
    made = [
        *(make(counts, 0.9) for make in (intervals.exact, intervals.clopper_pearson, intervals.hoeffding)),
        *(make(units, 4, 0.9) for make in (intervals.maurer_pontil, betting.interval, betting.sequential)),
        intervals.sequential(counts, 0.9),
        population.kl(0.75, 0.25, 8, 3, 0.9),
        population.hoeffding(0.75, 8, 3, 0.9),
        intervals.arithmetic(counts, 1),
    ]
    assert sentences.METHODS.keys() == {*(interval.method for interval in made), jackknife.METHOD}
    assert sentences.PRECISIONS.keys() == set(Precision)
    assert tuple(sentences.PATHS) == PATHS
    assert PHASES.keys() == set(Phase)
    assert STATES.keys() == set(JobStatus)


def test_warnings_and_chosen_rows() -> None:
    json = document(EXACT, warnings=[{"code": "no-row-ids", "detail": "Rows [bold]are[/bold] taken in order."}])
    json["inputs"]["n"] = 1000
    json["inputs"]["x"]["rows"] = json["inputs"]["y"]["rows"] = {"start": 5, "stop": 1005}
    text = flat(printed(json))
    assert "Worth knowing" in text
    assert "Rows [bold]are[/bold] taken in order. (no-row-ids)" in text  # a service's text is never markup
    assert "1,000 of 2,000 rows were compared, 5:1005, in order." in text
    json["inputs"]["align"] = "check"
    assert "5:1005, in order; their identifiers were checked and are equal." in flat(printed(json))


@pytest.mark.parametrize("width", [32, 40, 60, 80, 100, 200])
def test_long_paths_on_any_terminal(width: int) -> None:
    json = document(EXACT, SAMPLED, warnings=[{"code": "small-sample", "detail": "There are few rows."}])
    json["inputs"]["x"]["path"] = "/".join(["experiment-with-a-long-name"] * 9)
    text = printed(json, width)
    assert "…" not in text.partition("TSI")[0]  # folded, never cut off
    assert "0.658141" in text
    assert "small-sample" in re.sub(r"\s", "", text)


def test_names_replace_references() -> None:
    text = printed(document(EXACT), names={"x": "mine/layer6.npy"})
    assert "mine/layer6.npy" in text
    assert "demo:layer6" not in text
    assert "demo:layer3" in text


def test_print_report_is_plain_when_it_is_no_terminal() -> None:
    stream = io.StringIO()
    print_report(Results(document(EXACT)), stream=stream)
    assert "\x1b" not in stream.getvalue()
    assert "0.658141" in stream.getvalue()


def test_print_report_survives_a_narrow_encoding() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    print_report(Results(document(EXACT, SAMPLED)), stream=stream)
    stream.flush()
    assert "|====" in raw.getvalue().decode("ascii")


# The scale


def test_the_scale_places_the_score_between_its_ends() -> None:
    kinds = Scale(0.75, 0.5, 1.0).kinds(41)
    assert (kinds[0], kinds[20], kinds[40]) == ("start", "score", "end")
    assert set(kinds[1:20]) == {"done"}
    assert set(kinds[21:40]) == {"rest"}


def test_a_maximum_next_to_1_is_not_spelt_out() -> None:
    text = flat(printed(document({**EXACT, "attainableMaximum": 0.99999999973})))
    assert "> 0.9995" in text
    assert "0.99999" not in text


def test_one_group_is_one_group() -> None:
    json = document(EXACT)
    json["inputs"]["groups"] = {"count": 1}
    assert "They fall into 1 group." in flat(printed(json))


def test_the_scale_shows_a_wide_interval_and_a_score_below_its_baseline() -> None:
    kinds = Scale(0.75, 0.5, 1.0, (0.65, 0.85)).kinds(41)
    assert [kinds.index("band"), 40 - kinds[::-1].index("band")] == [12, 28]
    below = Scale(0.25, 0.5, 1.0).kinds(31)
    assert (below[0], below[10], below[30]) == ("score", "start", "end")


@pytest.mark.parametrize(("score", "baseline", "maximum"), [(0.5, 0.5, 1.0), (1.0, 0.5, 1.0), (0.9, 0.5, 0.8)])
def test_the_scale_never_leaves_its_width(score: float, baseline: float, maximum: float) -> None:
    console = Console(width=40, file=io.StringIO())
    lines = Segment.split_lines(console.render(Scale(score, baseline, maximum)))
    assert [sum(segment.cell_length for segment in line) <= 40 for line in lines] == [True, True, True]
    assert Scale(score, baseline, maximum).kinds(40).count("score") == 1


# Numbers


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (26492, "26,492"),
        (999_900, "999,900"),
        (999_950, "1.0 million"),
        (3994002000, "4.0 billion"),
        (1994005498500, "2.0 trillion"),
        (10**16, "1.0e+16"),
    ],
)
def test_rounded_counts(count: int, text: str) -> None:
    assert numerals.rounded(count) == text


@pytest.mark.parametrize(
    ("deficit", "score", "deficit_text"),
    [
        (0.0, "1.000000", "0"),
        (0.25, "0.750000", "0.250000"),
        (1.234e-9, "0.9999999988", "1.234e-09"),
        (1.0, "0.000000", "1.000000"),
    ],
)
def test_a_score_has_the_digits_that_tell_it_from_one(deficit: float, score: str, deficit_text: str) -> None:
    assert numerals.score(1 - deficit, deficit) == score
    assert numerals.deficit(deficit) == deficit_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.0001, "< 0.05%"),
        (0.99999, "> 99.95%"),
        (0.9995, "> 99.95%"),
        (0.6581, "65.8%"),
        (0.9994, "99.9%"),
    ],
)
def test_percentages_do_not_claim_what_is_only_near(share: float, text: str) -> None:
    assert numerals.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0 ms"),
        (0.34, "340 ms"),
        (4.2, "4.2 s"),
        (59.97, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert numerals.duration(seconds) == text


def test_a_figure_beside_a_score_is_never_a_round_1_below_1() -> None:
    assert [numerals.number(value) for value in (0.0, 0.5, 0.658141, 0.9999999, 1.0)] == [
        "0.0",
        "0.5",
        "0.658141",
        "0.9999999",
        "1.0",
    ]


def test_a_range_has_the_digits_that_tell_its_ends_apart() -> None:
    assert numerals.span(0.6568, 0.6584) == "65.68% to 65.84%"
    assert numerals.span(0.3, 0.7) == "30.0% to 70.0%"
    assert numerals.span(0.99998, 1.0) == "99.9980% to 100.0000%"


# Progress


def running(done: int, phase: str = "count", eta: float | None = None) -> dict[str, Any]:
    details = {"phase": phase, "comparisonsDone": done, "comparisonsTotal": 4_000_000_000, "etaSeconds": eta}
    return {"jobID": "j", "status": "running", "progress": 0, "ordsim": details}


def test_progress_without_a_terminal_is_a_line_each_phase_and_each_tenth() -> None:
    clock = iter(range(100))
    console = Console(file=io.StringIO(), width=120, highlight=False)
    with JobProgress(console, now=lambda: float(next(clock))) as progress:
        progress.update({"jobID": "j", "status": "accepted", "progress": 0, "ordsim": {"phase": None}})
        progress.update(running(0, "stage"))
        for percent in (0, 2, 5, 9, 11, 12, 19, 55, 100):
            progress.update(running(percent * 40_000_000, eta=30.0 if percent == 55 else None))
        progress.update({"jobID": "j", "status": "successful", "progress": 100, "ordsim": {}})
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines == [
        "waiting in the queue: 0%",
        "reading the arrays: 0%",
        "comparing: 0%",
        "comparing: 11%, 110.0 million/s, 32.4 s left",
        "comparing: 55%, 314.3 million/s, 30.0 s left",
        "comparing: 99%, 500.0 million/s, 1.0 s left",
        "done: 100%",
    ]


@pytest.mark.parametrize("state", ["accepted", "running", "failed", "dismissed"])
@pytest.mark.parametrize(
    "told",
    [
        {"progress": 100, "ordsim": {"phase": "finish"}},
        {"progress": 99.9, "ordsim": {"phase": "count", "comparisonsTotal": 0}},
        {"progress": 100, "ordsim": {"phase": "count", "comparisonsDone": 999, "comparisonsTotal": 1000}},
        {"progress": 99, "ordsim": {"phase": "finish", "comparisonsDone": 1000, "comparisonsTotal": 1000}},
    ],
)
def test_nothing_shows_100_percent_before_the_end(state: str, told: dict[str, Any]) -> None:
    status = {"jobID": "j", "status": state, **told}
    assert percent(status) <= 99
    shown = []
    for terminal in (False, True):
        console = Console(file=io.StringIO(), width=100, force_terminal=terminal, legacy_windows=False)
        with JobProgress(console) as progress:
            progress.update(status)
        shown.append(console.file.getvalue())  # type: ignore[attr-defined]
    table = io.StringIO()
    listing.print_jobs([status], table)
    for text in (*shown, table.getvalue()):
        assert "100" not in text
    assert "99%" in shown[0]
    assert percent({**status, "status": "successful"}) == 100


def test_an_import_shows_bytes_because_bytes_are_what_it_counts(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(500, dtype="f4"))
    console = Console(file=io.StringIO(), width=100, force_terminal=True, legacy_windows=False)
    import_with_progress(tmp_path / "a.npy", {"lab": tmp_path}, "lab", "a", console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1.0/1.0 MB" in text
    assert "rows" not in text


def test_progress_on_a_terminal_is_one_bar() -> None:
    clock = iter(range(100))
    console = Console(file=io.StringIO(), width=100, force_terminal=True, legacy_windows=False)
    with JobProgress(console, now=lambda: float(next(clock))) as progress:
        progress.update(running(0))
        progress.update(running(1_000_000_000))
        progress._bar.refresh()
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for expected in ("comparing", "25%", "1.0 billion/s", "3.0 s left", "━"):
        assert expected in text


def test_speed_forgets_what_is_long_ago() -> None:
    now = 0.0
    speed = Speed(lambda: now)
    assert speed.rate is None
    for second, done in ((0, 0), (5, 0), (10, 100), (20, 300), (25, 400)):
        now = float(second)
        speed.add(done)
    assert speed.rate == pytest.approx(20)


# The list of jobs


def test_the_list_of_jobs() -> None:
    stream = io.StringIO()
    request = {"x": {"root": "lab", "path": "a"}, "y": {"root": "lab", "path": "b"}, "measures": [EXACT["spec"]]}
    listing.print_jobs(
        [
            {**running(1_000_000_000), "created": "2026-01-01T10:00:00Z", "request": request, "label": "[red]e12"},
            {"jobID": "k", "status": "failed", "created": "2026-01-01T09:00:00Z", "request": request},
        ],
        stream,
    )
    text = flat(stream.getvalue())
    assert "running 25.0%" in text
    for word in ("tsi:exact", "[red]e12", "lab:a lab:b", "k failed"):
        assert word in text
    empty = io.StringIO()
    listing.print_jobs([], empty)
    assert empty.getvalue() == "There are no jobs.\n"


def test_the_list_of_jobs_names_the_other_processes_and_their_arrays() -> None:
    arrays = [{"root": "lab", "path": path} for path in ("a", "b", "c")]
    listed = {"status": "successful", "created": "2026-01-01T10:00:00Z"}
    layers = {"process": "layers", "x": {"layers": arrays[1:]}, "y": {"layers": arrays[:1]}, "measure": EXACT["spec"]}
    matrix = {"process": "matrix", "arrays": arrays, "measure": {"measure": "qsi", "method": "units"}}
    stream = io.StringIO()
    requests = {"l": layers, "m": matrix}
    listing.print_jobs([{**listed, "jobID": job, "request": request} for job, request in requests.items()], stream)
    text = flat(stream.getvalue())
    for words in ("layers lab:b and 1 more lab:a m", "matrix lab:a and 2 more", "tsi:exact", "qsi:units"):
        assert words in text
    assert "?" not in text


def test_the_list_of_jobs_is_readable_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    measures = [{"measure": "tsi", "method": "exact"}, {"measure": "qsi", "method": "sampled"}]
    request = {
        "x": {"root": "lab", "path": "minilm/layer6"},
        "y": {"root": "lab", "path": "p" * 60},
        "measures": measures,
        "label": "a label of several words",
    }
    identifier = "0123456789abcdef" * 2
    listed = {**running(1_000_000_000), "jobID": identifier, "created": "2026-01-01T10:00:00Z", "request": request}
    stream = io.StringIO()
    listing.print_jobs([listed], stream)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for word in (
        identifier,
        "lab:minilm/layer6",
        "running 25.0%",
        "2026-01-01",
        "tsi:exact",
        "qsi:sampled",
        "of several words",
    ):
        assert any(word in line for line in lines), (word, lines)
    assert len(lines) <= 6


@pytest.mark.parametrize(
    ("created", "text"),
    [
        ("2026-03-31T11:59:30Z", "30 s ago"),
        ("2026-03-31T11:30:00.123Z", "29 min ago"),
        ("2026-03-30T12:00:00Z", "24 h ago"),
        ("2026-03-25T12:00:00Z", "6 days ago"),
        ("2025-03-25T12:00:00Z", "2025-03-25"),
        ("2027-01-01T00:00:00Z", "0 s ago"),
        ("unknown", "unknown"),
    ],
)
def test_ages(created: str, text: str) -> None:
    assert listing.age(created, datetime(2026, 3, 31, 12, tzinfo=UTC)) == text


def test_titles_name_what_is_known() -> None:
    (result,) = Results(document({"measure": "rsa", "spec": {}, "score": 0.5})).results
    assert sentences.title(result) == "RSA"
    assert sentences.meaning(result) == ""
