"""Checks of what should change nothing; each is a failure only if the function promises it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.findings import Finding, Verdict
from ordsim_core.conformance.kinds import Kind
from ordsim_core.conformance.promises import Promise
from ordsim_core.conformance.settings import Pair, Setting, rotation

if TYPE_CHECKING:
    from collections.abc import Callable

_SEEDS = (11, 12, 13)
FACTOR, OFFSET = 7.3, 3.0
SMALL_FACTORS = (1e-2, 1e-4, 1e-6)
INDEPENDENT_PAIRS, INDEPENDENT_ROWS, INDEPENDENT_LIMIT = 40, 32, 0.03


def symmetry(setting: Setting) -> Finding:
    """Exchange x and y."""
    return _unchanged(setting, "symmetry", Promise.SYMMETRY, [lambda pair: Pair(pair.y, pair.x)])


def row_permutation(setting: Setting) -> Finding:
    """Put the rows of both into another order, the same one."""
    order = np.random.default_rng(5).permutation(len(setting.pair(0).x))
    return _unchanged(
        setting, "row permutation", Promise.ROW_PERMUTATION, [lambda pair: Pair(pair.x[order], pair.y[order])]
    )


def orthogonal(setting: Setting) -> Finding:
    """Rotate the columns of x, and of y."""
    turns = [rotation(seed, columns) for seed, columns in enumerate(setting.widths)]
    return _unchanged(
        setting,
        "rotation",
        Promise.ROTATION,
        [lambda pair: Pair(pair.x @ turns[0], pair.y), lambda pair: Pair(pair.x, pair.y @ turns[1])],
    )


def scale(setting: Setting) -> Finding:
    """Multiply x, and y, with 7.3."""
    return _unchanged(
        setting,
        "scale",
        Promise.SCALE,
        [lambda pair: Pair(pair.x * FACTOR, pair.y), lambda pair: Pair(pair.x, pair.y * FACTOR)],
    )


def shift(setting: Setting) -> Finding:
    """Add 3 to x, and to y."""
    return _unchanged(
        setting,
        "shift",
        Promise.SHIFT,
        [lambda pair: Pair(pair.x + OFFSET, pair.y), lambda pair: Pair(pair.x, pair.y + OFFSET)],
    )


def small_values(setting: Setting) -> Finding:
    """Make both arrays ever smaller: a constant that is added somewhere, say to a denominator, shows in the end."""
    pair, check, worst = setting.pair(14), "small values", 0.0
    for factor in SMALL_FACTORS:
        for name, other in (("x and y", pair.y), ("x and itself", pair.x)):
            before = setting.subject.value(pair.x, other)
            after = setting.subject(pair.x * factor, other * factor)
            moved = abs(after.value - before) / max(1.0, abs(before)) if after.finite else None
            if moved is None or moved > setting.tolerance:
                said = f"the value of {name} changed" if after.finite else f"of {name} it {after}"
                detail = f"times {factor:g}, {said}: is a constant added, say to a denominator?"
                return Finding(check, _verdict(setting, Promise.SCALE, moved), moved, detail)
            worst = max(worst, moved)
    said = f"down to times {SMALL_FACTORS[-1]:g}, {_stays(worst)}"
    return Finding(check, _verdict(setting, Promise.SCALE, worst), worst, said)


def independence(setting: Setting) -> Finding:
    """Score independent arrays: the mean is the bias of the estimator."""
    shorts = []
    for seed in range(INDEPENDENT_PAIRS):
        generator = np.random.default_rng([seed, 77])
        x, y = (generator.standard_normal((INDEPENDENT_ROWS, 8)) for _ in range(2))
        shorts.append(setting.subject.deficit(x, y))
    mean = float(np.mean(shorts))
    said = f"of {INDEPENDENT_ROWS} rows: {mean:.3f} apart on average"
    if setting.subject.kind is Kind.SIMILARITY:
        mean = 1 - mean
        said = f"of {INDEPENDENT_ROWS} rows: {mean:.3f} on average"
    if Promise.ZERO_IF_INDEPENDENT not in setting.promises:
        return Finding("independent arrays", Verdict.INFO, mean, said)
    good = abs(1 - float(np.mean(shorts))) <= INDEPENDENT_LIMIT
    return Finding("independent arrays", Verdict.PASS if good else Verdict.FAIL, mean, said)


def _verdict(setting: Setting, promise: Promise, moved: float | None) -> Verdict:
    """Judge how far a value moved that was promised to stay; None if there was no value any more."""
    if promise not in setting.promises:
        return Verdict.INFO
    if moved is None or moved > setting.tolerance:
        return Verdict.FAIL
    return Verdict.ROUNDING if moved else Verdict.PASS


def _stays(moved: float) -> str:
    return "the value stays" + (", to rounding" if moved else "")


def _unchanged(setting: Setting, check: str, promise: Promise, changes: list[Callable[[Pair], Pair]]) -> Finding:
    """Compare the value before and after each change, on several pairs."""
    worst = 0.0
    for seed in _SEEDS:
        pair = setting.pair(seed)
        before = setting.subject.value(pair.x, pair.y)
        for change in changes:
            changed = change(pair)
            after = setting.subject.value(changed.x, changed.y)
            worst = max(worst, abs(after - before) / max(1.0, abs(before)))
    said = _stays(worst) if worst <= setting.tolerance else f"the value changes by {worst:.2g}"
    return Finding(check, _verdict(setting, promise, worst), worst, said)
