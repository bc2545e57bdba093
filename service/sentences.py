"""What a score says, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service import numerals

if TYPE_CHECKING:
    from service.answers import Result

TITLES = {"tsi": "triplet similarity", "qsi": "quadruplet similarity"}
QUESTIONS = {
    "tsi": "which of two rows lies nearer to a third",
    "qsi": "which of two pairs of rows lies closer together",
}
TUPLES = {"tsi": "triplets", "qsi": "quadruplets"}

METHODS = {
    "none-exact": "every comparison was made",
    "clopper-pearson": "Clopper-Pearson",
    "hoeffding": "Hoeffding",
}
PRECISIONS = {
    "exact": "exact: order and ties are those of exact arithmetic on the stored values",
    "float64": "float64: order and ties are those of distances rounded to float64",
}
CHANCE = "No permutation test was made, so whether chance alone brings scores like these was not assessed."
"""For reports with baselines: an interval speaks of which comparisons were drawn, not of what chance can do."""
ROUNDING = 1e-12


def title(result: Result) -> str:
    """Name a measure: TSI, triplet similarity, exact."""
    parts = [result.measure.upper(), TITLES.get(result.measure), result.method]
    return ", ".join(part for part in parts if part)


def meaning(result: Result) -> str:
    """Say what the score means; an empty string for a measure of which nothing is known here."""
    question = QUESTIONS.get(result.measure)
    if question is None or result.score is None or result.deficit is None:
        return ""
    return " ".join(
        sentence for sentence in (_agreement(result, question), _certainty(result), _place(result)) if sentence
    )


def is_sampled(result: Result) -> bool:
    """Whether only some of all comparisons were made."""
    counts = result.counts
    return counts.get("comparisons", 0) < counts.get("population", 0) or result.method == "sampled"


def has_ties(result: Result) -> bool:
    """Whether any comparison was tied in x or in y."""
    return any(result.counts.get(kind) for kind in ("tiedX", "tiedY", "tiedBoth"))


def _agreement(result: Result, question: str) -> str:
    comparisons = numerals.rounded(result.counts.get("comparisons", 0))
    tuples = TUPLES[result.measure]
    drawn = f"{comparisons} {tuples} drawn" if is_sampled(result) else f"{comparisons} {tuples}"
    if result.deficit == 0:
        return f"In every one of the {drawn}, x and y agree on {question}."
    assert result.score is not None  # `meaning` asked
    return f"In {numerals.percent(result.score)} of the {drawn}, x and y agree on {question}."


def _certainty(result: Result) -> str:
    bounds = result.interval("sampling")
    if bounds is None or not is_sampled(result):
        return ""
    low, high = bounds
    confidence = result.json["intervals"]["sampling"].get("confidence")
    trust = "" if confidence is None else f", with {numerals.share(confidence)} confidence"
    everything = numerals.rounded(result.counts.get("population", 0))
    return f"Of all {everything}, they agree in {numerals.span(low, high)}{trust}."


def _place(result: Result) -> str:
    """Say on which side of the baseline the score lies, and nothing of what that proves."""
    baseline, maximum = result.json.get("baseline"), result.json.get("attainableMaximum")
    if baseline is None or maximum is None or result.score is None:
        return ""
    ties = has_ties(result)
    unrelated = f"unrelated arrays{' with the same ties' if ties else ''} would score on average"
    low, high = (result.interval("sampling") if is_sampled(result) else None) or (result.score, result.score)
    if low <= baseline + ROUNDING and baseline <= high + ROUNDING:
        side = "Within that range lies" if low < high else "This is at"
    else:
        side = "This is above" if result.score > baseline else "This is below"
    most = f"; {numerals.percent(maximum)} is the most that these ties allow" if maximum < 1 - ROUNDING else ""
    return f"{side} the baseline of {numerals.percent(baseline)}, what {unrelated}{most}."
