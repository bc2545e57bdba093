"""Checks on arrays at the edge of what has a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.findings import Finding, Verdict, judged
from ordsim_core.conformance.promises import Promise

if TYPE_CHECKING:
    from ordsim_core.conformance.settings import Pair, Setting
    from ordsim_core.conformance.subjects import Answer

SINGLE_TOLERANCE = 1e3 * 2.0**-24


def constant_column(setting: Setting) -> Finding:
    """Let one column of x hold one number."""
    pair = setting.pair(21)
    x = pair.x.copy()
    x[:, 0] = 3.0
    return _ordinary("constant column", setting, setting.subject(x, pair.y))


def duplicate_rows(setting: Setting) -> Finding:
    """Let a third of the rows occur twice, in both arrays."""
    pair = setting.pair(22)
    third = len(pair.x) // 3
    x, y = (side[np.r_[0 : len(side) - third, 0:third]] for side in (pair.x, pair.y))
    finding = _ordinary("duplicate rows", setting, setting.subject(x, y))
    if finding.verdict is Verdict.PASS:
        itself = setting.subject(x, x)
        short = setting.subject.short(itself.value)
        if not itself.finite or abs(short) > setting.tolerance:
            return judged("duplicate rows", False, short if itself.finite else None, f"of x and itself, it {itself}")
    return finding


def no_variance(setting: Setting) -> Finding:
    """Let all rows of x be equal, then of y, then of both: whatever number came out would mean nothing."""
    pair, answers = setting.pair(23), []
    flat = [np.repeat(side[:1], len(side), axis=0) for side in (pair.x, pair.y)]
    for name, x, y in (("x", flat[0], pair.y), ("y", pair.x, flat[1]), ("both", flat[0], flat[1])):
        answer = setting.subject(x, y)
        if answer.number:
            answers.append((name, answer))
    if not answers:
        verdict = Verdict.PASS if Promise.NO_VARIANCE in setting.promises else Verdict.INFO
        return Finding("no variance", verdict, None, "an error, or NaN")
    name, answer = answers[0]
    verdict = Verdict.FAIL if Promise.NO_VARIANCE in setting.promises else Verdict.INFO
    said = f"all rows of {name} equal: {answer.value:.3g}, {_why_a_number(setting, pair, name)}"
    return Finding("no variance", verdict, answer.value, said)


def _why_a_number(setting: Setting, pair: Pair, name: str) -> str:
    """Say where a score without variance comes from: rows of zeros, which are centred without rounding, tell."""
    x, y = (np.zeros_like(side) if name in (of, "both") else side for of, side in (("x", pair.x), ("y", pair.y)))
    if setting.subject(x, y).number:
        return "though there is nothing to compare"
    return "rounding noise over rounding noise"


def few_rows(setting: Setting, rows: int) -> Finding:
    """Give very few rows: a number, or a ValueError or an error of its own that says what is missing."""
    pair, check = setting.pair(24, rows), f"{rows} rows"
    answers = [setting.subject(pair.x, pair.x), setting.subject(pair.x, pair.y)]
    for answer in answers:
        if answer.error is not None:
            return judged(check, _explained(answer.error), None, f"it {answer}")
        if not answer.finite:
            return judged(check, False, None, f"it {answer}; an error should say how many rows are needed")
    beyond = min(setting.subject.short(answer.value) for answer in answers)
    if beyond < -setting.tolerance:
        return judged(check, False, beyond, f"it {max(answers, key=lambda answer: abs(answer.value))}")
    return judged(check, True, answers[1].value, "a number within the limits")


def _explained(error: BaseException) -> bool:
    """Whether an error was meant for the caller: not one that arithmetic or an index happened to raise."""
    own = type(error).__module__ not in ("builtins", "torch")
    return (isinstance(error, ValueError) or own) and bool(str(error).strip())


def single_precision(setting: Setting) -> Finding:
    """Give the same values as float32 and as float64."""
    pair, check = setting.pair(25), "float32 arrays"
    x, y = pair.x.astype(np.float32), pair.y.astype(np.float32)
    answer = setting.subject(x, y)
    if not answer.finite:
        return judged(check, False, None, f"it {answer}")
    exact = setting.subject.value(x.astype(np.float64), y.astype(np.float64))
    moved = abs(answer.value - exact) / max(1.0, abs(exact))
    said = "the same as of float64 arrays" if moved == 0 else f"{moved:.1e} from the value of float64 arrays"
    return judged(check, moved <= SINGLE_TOLERANCE, moved, said)


def not_finite(setting: Setting) -> Finding:
    """Put a NaN, then an infinity, into x, then into y: no score can be right."""
    pair = setting.pair(26)
    silent = []
    for value in (np.nan, np.inf):
        for name in ("x", "y"):
            sides = {"x": pair.x.copy(), "y": pair.y.copy()}
            sides[name][3, 1] = value
            answer = setting.subject(sides["x"], sides["y"])
            if answer.number:
                silent.append(f"with {value} in {name} it {answer}")
    said = silent[0] + f" ({len(silent)} of 4 cases)" if silent else "an error, or NaN, in each of 4 cases"
    if Promise.NOT_FINITE not in setting.promises:
        return Finding("not finite", Verdict.INFO, None, said)
    return judged("not finite", not silent, None, said)


def _ordinary(check: str, setting: Setting, answer: Answer) -> Finding:
    """Judge an answer that should be a number like any other; an error that explains itself is a fact."""
    if answer.error is not None:
        return Finding(check, Verdict.INFO if _explained(answer.error) else Verdict.FAIL, None, f"it {answer}")
    good = answer.finite and setting.subject.short(answer.value) >= 0
    return judged(check, good, answer.value if answer.finite else None, "a number" if good else f"it {answer}")
