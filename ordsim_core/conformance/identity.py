"""Checks on equal arrays, on the range of the values, and on repeated calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.findings import Finding, Verdict, judged
from ordsim_core.conformance.kinds import Kind
from ordsim_core.conformance.promises import Promise
from ordsim_core.conformance.settings import EXACT_TOLERANCE, SEEDS, Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AS_ROUNDING = f"no more than {EXACT_TOLERANCE} units of rounding"


def widths(setting: Setting) -> Finding:
    """Whether x and y may have different numbers of columns."""
    one, other = setting.widths
    said = "x and y may differ in columns" if one != other else "x and y must have as many columns"
    return Finding("widths", Verdict.INFO, None, said)


def equal_arrays(setting: Setting) -> Finding:
    """An array and itself, or a copy in fresh memory: no deficit at all."""
    short = []
    for seed in SEEDS:
        x = setting.pair(seed, 30 + 2 * seed).x
        short += [setting.subject.deficit(x, x), setting.subject.deficit(x, x.copy())]
    return _no_deficit("identity", short, setting)


def another_layout(setting: Setting) -> Finding:
    """An array and a copy whose columns are contiguous, or that is a view with gaps: no deficit at all."""
    short = []
    for seed in SEEDS:
        x = setting.pair(seed, 30 + 2 * seed).x
        short += [setting.subject.deficit(x, other) for other in (np.asfortranarray(x), _with_gaps(x))]
    return _no_deficit("identity, other layout", short, setting)


def _with_gaps(x: NDArray[np.float64]) -> NDArray[np.float64]:
    wide = np.zeros((x.shape[0], x.shape[1] + 3))
    view = wide[:, 1 : 1 + x.shape[1]]
    view[:] = x
    return view


def _no_deficit(check: str, short: list[float], setting: Setting) -> Finding:
    worst = max(short, key=abs)
    wrong = sum(value != 0 for value in short)
    if not wrong:
        return judged(check, True, 0.0, f"exactly no deficit in {len(short)} calls")
    small = abs(worst) <= setting.exact_tolerance
    cause = _AS_ROUNDING if small else "more than rounding"
    return Finding(check, _off(setting, small), worst, f"a deficit in {wrong} of {len(short)} calls, {cause}")


def _off(setting: Setting, small: bool) -> Verdict:
    """Judge a value that is not quite what it should be."""
    return Verdict.ROUNDING if small and Promise.EXACT_IDENTITY not in setting.promises else Verdict.FAIL


def limits(setting: Setting) -> Finding:
    """No value beyond that of equal arrays: similarities are at most 1, distances at least 0."""
    subject = setting.subject
    short = []
    for seed in SEEDS:
        pair = setting.pair(seed, 30 + 2 * seed)
        near = pair.x + 1e-9 * np.random.default_rng(seed).standard_normal(pair.x.shape)
        short += [subject.deficit(pair.x, pair.y), subject.deficit(pair.x, pair.x), subject.deficit(pair.x, near)]
    limit = "at most 1" if subject.kind is Kind.SIMILARITY else "at least 0"
    beyond = sum(value < 0 for value in short)
    worst = min(short)
    if not beyond:
        return judged("limits", True, worst, f"{limit}: all {len(short)} values")
    small = -worst <= setting.exact_tolerance
    said = f"{limit}: {beyond} of {len(short)} values are beyond" + (f", {_AS_ROUNDING}" if small else "")
    return Finding("limits", _off(setting, small), worst, said)


def repeated_calls(setting: Setting) -> Finding:
    """The same call twice."""
    pair = setting.pair(1)
    values = [setting.subject.value(pair.x, pair.y) for _ in range(3)]
    moved = max(values) - min(values)
    if moved == 0:
        return Finding("repeated calls", Verdict.PASS, 0.0, "the same value each time")
    return Finding("repeated calls", Verdict.INFO, moved, "the value changes from call to call")


def inputs_left_alone(setting: Setting) -> Finding:
    """The arrays after a call."""
    pair = setting.pair(2)
    x, y = pair.x.copy(), pair.y.copy()
    setting.subject.value(x, y)
    changed = [name for name, now, before in (("x", x, pair.x), ("y", y, pair.y)) if not np.array_equal(now, before)]
    said = f"the call overwrites {' and '.join(changed)}" if changed else "the call changes neither array"
    return judged("inputs left alone", not changed, None, said)
