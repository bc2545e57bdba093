"""Checks on nearly equal arrays: down to which difference the deficit still tells something."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.findings import Finding, Verdict
from ordsim_core.conformance.references import Deficit, recognise

if TYPE_CHECKING:
    from ordsim_core.conformance.settings import Pair, Setting

DELTAS = (1e-4, 1e-8)
CHECKS = ("near identity, 1e-4", "near identity, 1e-8")
_SEED = 31
_CLOSE = 1e-2
_CLEAR_ORDER = 0.05


def near_identity(setting: Setting) -> list[Finding]:
    """Perturb x by 1e-4 and by 1e-8 of its size, and look at the deficits.

    Against exact ones where the function is linear CKA; else against each other: a deficit of a smooth measure falls
    with the square of the difference.
    """
    x = setting.pair(_SEED).x
    noise = np.random.default_rng(_SEED).standard_normal(x.shape)
    deficits = [setting.subject.deficit(x, x + delta * noise) for delta in DELTAS]
    known = _known(setting)
    if known is None:
        said = ("nothing known to compare with", _order(deficits))
        return [Finding(*one) for one in zip(CHECKS, [Verdict.INFO] * len(CHECKS), deficits, said, strict=True)]
    name, exact = known
    return [
        _against(check, deficit, exact(x, x + delta * noise), name)
        for check, delta, deficit in zip(CHECKS, DELTAS, deficits, strict=True)
    ]


def _known(setting: Setting) -> tuple[str, Deficit] | None:
    pairs: list[Pair] = [setting.pair(seed) for seed in (32, 33, 34)]
    values = [1 - setting.subject.deficit(pair.x, pair.y) for pair in pairs]
    return recognise(values, [(pair.x, pair.y) for pair in pairs], setting.tolerance)


def _against(check: str, deficit: float, exact: float, name: str) -> Finding:
    wrong = abs(deficit - exact) / exact
    if wrong <= _CLOSE:
        said = f"resolves: relative error {wrong:.1e} ({name})"
    else:
        said = f"does not resolve: {exact:.2e} is right ({name})"
    return Finding(check, Verdict.INFO, deficit, said)


def _order(deficits: list[float]) -> str:
    """Say how the deficit falls with the difference."""
    first, second = deficits
    if first <= 0:
        return "neither difference is seen"
    if second <= 0:
        return "the smaller difference is not seen"
    order = math.log(first / second) / math.log(DELTAS[0] / DELTAS[1])
    smooth = min(abs(order - 1), abs(order - 2)) < _CLEAR_ORDER
    said = "resolves" if smooth else "does not resolve"
    return f"{said}: the deficit fell as the difference to the power of {order:.2f}"
