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
    "kl-u-statistic": "Kullback-Leibler for a U-statistic, a bound for the worst case",
    "hoeffding-u-statistic": "Hoeffding, for a U-statistic",
    "jackknife": "jackknife, right for many {unit}s",
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
    "chains": "too close to a neighbour",
    "direct": "computed again with a tighter bound",
    "exact": "compared in exact arithmetic",
}
"""What it took to be certain of an order; what is compared in exact arithmetic was often computed again before."""
ENOUGH = 0.9995
"""A maximum beyond it is no news."""
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
    said = [f"{numerals.grouped(found[name])} {words}" for name, words in PATHS.items() if found.get(name)]
    if said:
        return f"distances not certain at once: {', '.join(said)}"
    if (result.json.get("precision") or {}).get("used") == "float32":
        return ""  # what is in doubt stands beside the interval
    return "no distances were too close to tell apart at once"


def interval(kind: str, found: Mapping[str, Any]) -> str:
    """Say of an interval how it was found, how sure it is, and what it encloses."""
    method = str(found.get("method") or kind)
    unit = found.get("unit", "row")
    said = [METHODS.get(method, method).format(unit=unit)]
    if kind == "jackknife" and method != "jackknife":
        said = [f"in place of a jackknife over {unit}s, whose standard error would be 0: {said[0]}"]
    elif found.get("standardError") is not None:
        said.append(f"standard error {found['standardError']:.3g} over {unit}s")
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
    if kind == "population":
        return f"no interval {SPEAKS_OF[kind]}: {reason}"
    which = f" {SPEAKS_OF[kind]}" if kind in SPEAKS_OF else ""
    return f"no {kind} interval{which}: {reason}"


def options(result: Result) -> str:
    """List what tells this measure from others of its name: every option that was chosen or stands by default."""
    said = []
    for name, value in (result.json.get("spec") or {}).items():
        if name in NO_OPTIONS or value is False or value == result.method:
            continue
        words = name.replace("_", " ")
        said.append(words if value is True else f"{words} {_option(value)}")
    return ", ".join(said)


def _option(value: Any) -> str:
    if not isinstance(value, int | float):
        return str(value)
    return numerals.grouped(int(value)) if value == int(value) else f"{value:g}"


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
    share = numerals.percent(result.score, result.json.get("baseline"))
    return f"In {share} of the {drawn}, x and y agree on {question}."


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
    """Say on which side of the baseline the score lies, where an interval says so, and nothing of what that proves."""
    baseline, maximum = result.json.get("baseline"), result.json.get("attainableMaximum")
    if baseline is None or maximum is None or result.score is None:
        return ""
    told = f"what unrelated arrays{' with the same ties' if has_ties(result) else ''} would score on average"
    line = f"the baseline of {numerals.percent(baseline, result.score)}, {told}"
    most = f"; {numerals.percent(maximum)} is the most that these ties allow" if maximum < ENOUGH else ""
    return f"{_side(result, baseline, line)}{most}."


def _side(result: Result, baseline: float, line: str) -> str:
    """Of a sample, its interval decides; of all comparisons, what is known of other rows of the same population."""
    assert result.score is not None  # `_place` asked
    bounds = result.interval("sampling")
    if bounds is not None and bounds[0] < bounds[1]:
        if _holds(bounds, baseline):
            return f"Within that range lies {line}"
        return f"This is {_above(result.score, baseline)} {line}"
    if result.score == baseline:
        return f"This is at {line}"
    known = {kind: bounds for kind in ("population", "jackknife") if (bounds := result.interval(kind)) is not None}
    for kind, ends in known.items():
        if not _holds(ends, baseline):
            by = "By the jackknife, this" if kind == "jackknife" else "This"
            return f"{by} is {_above(result.score, baseline)} {line}"
    if known:
        return f"Within the interval of the population lies {line}"
    return f"Beside it stands {line}, and nothing here tells how sure the difference is"


def _holds(bounds: tuple[float, float], baseline: float) -> bool:
    return bounds[0] <= baseline + ROUNDING and baseline <= bounds[1] + ROUNDING


def _above(score: float, baseline: float) -> str:
    return "above" if score > baseline else "below"
