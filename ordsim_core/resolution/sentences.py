"""A resolution in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from ordsim_core.resolution.verdicts import Verdict

_SPACED = {"int4", "int8", "int16", "integer"}
_SMALL = 0.3
"""Beyond this relative size, a perturbation is not small, and the equivalent size says little."""


@dataclass(frozen=True)
class Facts:
    """What a sentence is made of; the fields are those of `resolving.Resolution`."""

    deficit: float
    stored: Verdict
    underlying: Verdict | None
    arithmetic: float
    storage: float | None
    reason: str | None
    x: str
    y: str
    eta: float | None


def sentence(facts: Facts) -> str:
    """Answer both questions: do the stored arrays differ, and did the values before they were stored?"""
    said = [_of_stored(facts), _of_underlying(facts)]
    if _SPACED & {facts.x, facts.y} and facts.underlying is not Verdict.IDENTICAL and facts.storage is not None:
        spaced = " and ".join(name for name, form in (("x", facts.x), ("y", facts.y)) if form in _SPACED)
        said.append(
            f"If the equally spaced values of {spaced} are the data themselves, such as counts, nothing was rounded: "
            "read the first sentence."
        )
    return " ".join(said)


def _of_stored(facts: Facts) -> str:
    deficit, floor = _figure(facts.deficit), _figure(facts.arithmetic)
    if facts.stored is Verdict.IDENTICAL:
        return "The stored arrays hold the same values."
    if facts.stored is Verdict.RESOLVED:
        why = f"is far above rounding in the arithmetic ({floor})" if facts.arithmetic else "cannot come from rounding"
        return f"The stored arrays differ: the deficit, {deficit}, {why}."
    if facts.stored is Verdict.MARGINAL:
        return (
            f"The stored arrays seem to differ, but the deficit, {deficit}, is not far above rounding in the "
            f"arithmetic ({floor})."
        )
    if facts.deficit == 0:
        return "The stored arrays differ in nothing that this measure sees."
    return (
        f"The deficit, {deficit}, does not show that the stored arrays differ: rounding in the arithmetic alone can "
        f"reach {floor}."
    )


def _of_underlying(facts: Facts) -> str:
    if facts.storage is None:
        if facts.stored is Verdict.IDENTICAL:
            return "What rounding hid when they were stored cannot be said: the storage floor is not known."
        return (
            "Whether the values before they were stored differ cannot be said, for lack of a storage floor "
            f"({facts.reason})."
        )
    floor = f"about {_figure(facts.storage)}" if facts.storage else "exactly 0"
    rounding = f"rounding to {_formats(facts)}"
    if facts.underlying is Verdict.IDENTICAL:
        return f"The values before they were stored may differ by what {rounding} hides: a deficit of {floor}."
    if facts.underlying is Verdict.RESOLVED:
        small = facts.eta is not None and facts.eta < _SMALL
        size = f", as much as random changes of {_share(facts.eta or 0.0)} of the size of x" if small else ""
        return f"So do the values before they were stored{size}: {rounding} alone would leave a deficit of {floor}."
    if facts.underlying is Verdict.MARGINAL:
        times = facts.deficit / (facts.storage + facts.arithmetic)
        return (
            f"The values before they were stored seem to differ too, but part of the deficit is {rounding}: that alone "
            f"would leave {floor}, and the deficit is {times:.1f} times the floors."
        )
    if facts.deficit == 0:
        return f"What it sees of the values before they were stored may differ by what {rounding} hides: {floor}."
    said = (
        f"It says nothing about the values before they were stored: {rounding} alone would leave a deficit of {floor}."
    )
    if facts.x == facts.y and facts.deficit > 0:
        said += " It is neither an upper nor a lower estimate of theirs."
    return said


def _formats(facts: Facts) -> str:
    return facts.x if facts.x == facts.y else f"{facts.x} (x) and {facts.y} (y)"


def _figure(number: float) -> str:
    return "0" if number == 0 else f"{number:.2g}"


def _share(eta: float) -> str:
    """Write a relative size as a percentage while that is readable."""
    return f"{100 * eta:.2g}%" if eta >= 1e-5 else f"{eta:.1e}"
