"""What a report says of results line by line, as text: for a terminal, a page or a table alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import calibrated, numerals, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.answers import Result

KINDS = {
    "concordant": "same order",
    "discordant": "opposite order",
    "tiedBoth": "tied in both",
    "tiedX": "tied in x only",
    "tiedY": "tied in y only",
}
PACKAGES_FIRST = ("ordsim", "python")
FINGERPRINT_DIGITS = 12


def rows(inputs: Mapping[str, Any]) -> str:
    """Say which rows took part in a comparison, and how they were paired."""
    number = inputs["n"]
    lengths = {inputs[name]["shape"][0] for name in ("x", "y") if inputs[name].get("shape")}
    if inputs.get("align") == "join":
        said = [f"{numerals.grouped(number)} rows were compared, joined by their identifiers."]
    elif lengths <= {number}:
        said = [f"All {numerals.grouped(number)} rows were compared, row i of x with row i of y{_checked(inputs)}."]
    else:
        of = " and ".join(numerals.grouped(length) for length in sorted(lengths))
        chosen = [inputs[name].get("rows") or {} for name in ("x", "y")]
        ranges = [f"{part['start']}:{part['stop']}" for part in chosen if {"start", "stop"} <= part.keys()]
        which = f", {' with '.join(dict.fromkeys(ranges))}" if ranges else ""
        said = [f"{numerals.grouped(number)} of {of} rows were compared{which}, in order{_checked(inputs)}."]
    said += _left_out(inputs)
    prints = [inputs[name].get("fingerprint") for name in ("x", "y")]
    if prints[0] and prints[0] == prints[1]:
        said.append("x and y hold the same values, bit for bit.")
    return " ".join([*said, *_groups(inputs)])


def rows_of_each(inputs: Mapping[str, Any]) -> str:
    """Say the same of the many arrays of a grid, which may have lost different rows."""
    paired = "joined by their identifiers" if inputs.get("align") == "join" else f"in order{_checked(inputs)}"
    most = {what: max((inputs.get(f"{what}Dropped") or {}).values(), default=0) for what in ("rows", "columns")}
    left = [f"Left out: at most {numerals.grouped(most[what])} {what} of one array." for what in most if most[what]]
    said = f"{numerals.grouped(inputs['n'])} rows of each were compared, {paired}."
    return " ".join([said, *left, *_groups(inputs)])


def _checked(inputs: Mapping[str, Any]) -> str:
    return "; their identifiers were checked and are equal" if inputs.get("align") == "check" else ""


def _groups(inputs: Mapping[str, Any]) -> list[str]:
    if not (groups := inputs.get("groups")):
        return []
    number = groups["count"]
    return [f"They fall into {'1 group' if number == 1 else f'{numerals.grouped(number)} groups'}."]


def _left_out(inputs: Mapping[str, Any]) -> list[str]:
    """Say how many of the named rows and columns were not compared."""
    found = []
    for what in ("rows", "columns"):
        dropped = inputs.get(f"{what}Dropped") or {}
        parts = [f"{numerals.grouped(number)} {what} of {side}" for side, number in dropped.items() if number]
        if parts:
            found.append(f"Left out: {' and '.join(parts)}.")
    return found


def array(side: Mapping[str, Any], name: str | None = None) -> tuple[str, str, str, str, str]:
    """Name, shape, type of the values, distance and fingerprint of an array that was compared."""
    values = str(side.get("dtype", ""))
    if side.get("exactness") == "integer" and values.startswith("float"):
        values += ", whole"
    return (
        name or f"{side.get('root')}:{side.get('path')}",
        " x ".join(numerals.grouped(length) for length in side.get("shape", ())),
        values,
        str(side.get("distance", "")),
        str(side.get("fingerprint", "")).rpartition(":")[2][:FINGERPRINT_DIGITS],
    )


def intervals(result: Result) -> list[tuple[str, str]]:
    """Ends of each interval, with as many digits as the score has, and what it is."""
    decimals = 0 if result.score is None else len(numerals.score(result.score, result.deficit).partition(".")[2])
    found = []
    for kind, interval in result.intervals.items():
        low, high = interval["low"], interval["high"]
        if interval.get("method") == "none-exact":
            found.append((f"{low:.{decimals}f}", f"{sentences.METHODS['none-exact']}; nothing was sampled"))
        else:
            found.append((f"{low:.{decimals}f} to {high:.{decimals}f}", sentences.interval(kind, interval)))
    return found


def comparisons(counts: Mapping[str, int]) -> str:
    """Say how many comparisons were made."""
    made, population = counts.get("comparisons", 0), counts.get("population")
    if population is None:
        return numerals.grouped(made)
    if made == population:
        return f"{numerals.grouped(made)}, all there are ({numerals.rounded(made)})"
    return f"{numerals.grouped(made)} drawn of {numerals.grouped(population)} ({numerals.rounded(population)})"


def kinds(counts: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """Name, number and share of each kind of comparison."""
    found = []
    for kind, label in KINDS.items():
        number = counts.get(kind, 0)
        if number or not kind.startswith("tied"):
            found.append((label, numerals.grouped(number), numerals.percent(number / counts["comparisons"])))
    if not any(counts.get(kind) for kind in KINDS if kind.startswith("tied")):
        found.append(("tied", "none", ""))
    return found


def before_counts(result: Result) -> Iterator[tuple[str, str]]:
    """Label and text of what stands between the intervals and the counts."""
    known = bool(result.intervals)
    for place, (kind, reason) in enumerate((result.json.get("intervals") or {}).get("reasons", {}).items()):
        yield "" if known or place else "interval", sentences.no_interval(kind, reason)
    wanted, bounds = (result.json.get("spec") or {}).get("width"), result.interval("sampling")
    if wanted is not None and bounds is not None:
        yield "width", f"{bounds[1] - bounds[0]:.4g}; {wanted:g} was asked for"


def after_counts(result: Result) -> Iterator[tuple[str, str]]:
    """Label and text of what stands behind the counts."""
    precision = (result.json.get("precision") or {}).get("used")
    if precision:
        yield "precision", sentences.PRECISIONS.get(precision, precision)
    if paths := sentences.paths(result):
        yield "", paths
    yield from sentences.figures(result)
    if "calibration" in result.json:
        yield from calibrated.lines(result.json["calibration"] or {})
    if result.json.get("artifacts"):
        yield "artifacts", ", ".join(result.json["artifacts"])


def lines(result: Result) -> Iterator[tuple[str, str]]:
    """Label and text of every line; a line without a label goes on with what the one before speaks of."""
    if options := sentences.options(result):
        yield "options", options
    for place, (ends, what) in enumerate(intervals(result)):
        yield "" if place else "interval" if len(result.intervals) == 1 else "intervals", f"{ends}: {what}"
    yield from before_counts(result)
    if counts := result.counts:
        yield "comparisons", comparisons(counts)
        if counts.get("comparisons"):
            said = [f"{label} {number}{f' ({share})' if share else ''}" for label, number, share in kinds(counts)]
            yield "", ", ".join(said)
    yield from after_counts(result)


def provenance(found: Mapping[str, Any]) -> str:
    """What is needed to get the same again: seed, workers, times, versions."""
    said = []
    if found.get("seed") is not None:
        said.append(f"seed {found['seed']}")
    workers = found.get("workers")
    if workers is not None:
        said.append("1 worker" if workers == 1 else f"{workers} workers")
    said += [
        f"{name} {numerals.duration(seconds)}"
        for name, seconds in (found.get("timings") or {}).items()
        if isinstance(seconds, int | float)
    ]
    versions = found.get("versions") or {}
    names = sorted(versions, key=lambda name: (name not in PACKAGES_FIRST, name))
    return ", ".join([*said, *(f"{name} {versions[name]}" for name in names)])
