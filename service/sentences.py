"""What a score says, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import numerals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    "sequential": "sequential, valid whenever one stops",
    "kl-u-statistic": "Kullback-Leibler, for a U-statistic",
    "hoeffding-u-statistic": "Hoeffding, for a U-statistic",
    "jackknife": "jackknife, right for many rows",
    "float32-bound": "bound on rounding in float32",
}
SPEAKS_OF = {
    "population": "of the population that the rows are from",
    "jackknife": "of the population that the rows are from",
    "arithmetic": "of the score in exact arithmetic",
}
"""What an interval encloses, where that is not the score of all comparisons between these rows."""
PRECISIONS = {
    "exact": "exact: order and ties are those of exact arithmetic on the stored values",
    "float64": "float64: order and ties are those of distances rounded to float64",
    "float32": "float32: order and ties are those of distances rounded to float32",
}
PATHS = {
    "chains": "too close to a neighbour to be certain at once",
    "direct": "put into order by float64 distances",
    "exact": "by exact arithmetic",
}
CHANCE = "No permutation test was made, so whether chance alone brings scores like these was not assessed."
"""For reports with baselines: an interval speaks of which comparisons were drawn, not of what chance can do."""
ROUNDING = 1e-12
NO_OPTIONS = frozenset({"measure", "method", "confidence"})
"""Parts of a specification that are told elsewhere in a report."""


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
    return counts.get("comparisons", 0) < counts.get("population", 0) or result.method not in (None, "exact")


def paths(result: Result) -> str:
    """Say in a line how distances came to their order; an empty string if nothing is known of it."""
    found = (result.json.get("precision") or {}).get("paths")
    if not found:
        return ""
    if not any(found.get(name) for name in PATHS):
        return "no distances were too close to tell apart at once"
    said = [f"{numerals.grouped(found.get(name, 0))} {words}" for name, words in PATHS.items()]
    return f"distances: {', '.join(said)}"


def interval(kind: str, found: Mapping[str, Any]) -> str:
    """Say of an interval how it was found, how sure it is, and what it encloses."""
    method = str(found.get("method") or kind)
    said = [METHODS.get(method, method)]
    if found.get("standardError") is not None:
        said.append(f"standard error {found['standardError']:.3g} over {found.get('unit', 'row')}s")
    if found.get("uncertified") is not None:
        said.append(f"{numerals.grouped(int(found['uncertified']))} comparisons in doubt")
    elif found.get("confidence") is not None:
        said.append(f"{numerals.share(found['confidence'])} confidence")
    if found.get("rigorous") is False:
        said.append("not rigorous")
    if kind in SPEAKS_OF:
        said.append(SPEAKS_OF[kind])
    return ", ".join(said)


def no_interval(kind: str, reason: str) -> str:
    """Say that an interval does not exist, and why."""
    which = f" {SPEAKS_OF[kind]}" if kind in SPEAKS_OF else ""
    return f"no {kind} interval{which}: {reason}"


def options(result: Result) -> str:
    """List what tells this measure from others of its name: every option that was chosen or stands by default."""
    said = []
    for name, value in (result.json.get("spec") or {}).items():
        if name in NO_OPTIONS or value is False or value == result.method:
            continue
        words = name.replace("_", " ")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        said.append(f"{words} {value:g}" if number else words if value is True else f"{words} {value}")
    return ", ".join(said)


def figures(result: Result) -> Iterator[tuple[str, str]]:
    """Label and text of what is known of this measure alone, and of what its deficit can be trusted for."""
    resolution = result.json.get("resolution") or {}
    if sentence := resolution.get("sentence"):
        yield "resolution", f"{str(resolution.get('verdict')).replace('-', ' ')}: {sentence}"
    if (naive := result.json.get("naiveDeficit")) is not None:
        yield "by subtraction", f"{naive:.6g}, what 1 - score in floating point would have given as the deficit"
    for name, value in (result.json.get("figures") or {}).items():
        if isinstance(value, str | int | float):
            yield _words(name), value if isinstance(value, str) else f"{value:.6g}"
        elif isinstance(value, dict) and all(part is None or isinstance(part, int | float) for part in value.values()):
            parts = (f"{part} {'unknown' if size is None else f'{size:.6g}'}" for part, size in value.items())
            yield _words(name), ", ".join(parts)


def _words(name: str) -> str:
    """Take a name of the contract apart: conditionNumbers is condition numbers."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)


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
