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
    "maurer-pontil": "Maurer-Pontil",
    "betting": "betting",
    "sequential": "sequential",
    "kl-u-statistic": "KL bound of a U-statistic",
}
PRECISIONS = {
    "exact": "exact: order and ties are those of exact arithmetic on the stored values",
    "float64": "float64: order and ties are those of distances rounded to float64",
    "float32": "float32: distances were rounded to float32",
}


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
    baseline, maximum = result.json.get("baseline"), result.json.get("attainableMaximum")
    if baseline is None or maximum is None or result.score is None:
        return ""
    if maximum - baseline < 1e-12:
        return "Ties leave no room: unrelated arrays would agree as often."
    ties = "" if maximum == 1 else ", the most that the ties allow"
    unrelated = f"Unrelated arrays would agree in {numerals.percent(baseline)}"
    bounds = result.interval("sampling")
    if bounds is not None and bounds[0] <= baseline <= bounds[1]:
        return (
            f"{unrelated}, so this cannot be told from chance." if is_sampled(result) else f"{unrelated}, as these do."
        )
    if result.score < baseline:
        return f"{unrelated}: these agree less than chance."
    way = (result.score - baseline) / (maximum - baseline)
    if result.deficit == 0:
        return f"{unrelated}."
    return f"{unrelated}; this is {numerals.percent(way)} of the way from there to {numerals.percent(maximum)}{ties}."
