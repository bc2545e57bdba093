"""Checks on nearly equal arrays: down to which difference the deficit still tells something."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.conformance.findings import Finding, Verdict
from ordsim_core.conformance.references import Deficit, recognise
from ordsim_core.conformance.settings import SEEDS

if TYPE_CHECKING:
    from ordsim_core.conformance.settings import Pair, Setting

DELTAS = (1e-4, 1e-8)
CHECKS = ("near identity, 1e-4", "near identity, 1e-8")
_SEED = 31
_CLOSE = 1e-2
"""Share of a deficit that may be wrong if it resolves, or be there of equal arrays too."""

_NOT = "does not resolve"
_ORDERS = ((0.9, 1.1), (1.8, 2.2))
"""Powers of the difference with which the deficit of a measure falls: of a distance, and of a smooth similarity."""


def near_identity(setting: Setting) -> list[Finding]:
    """Perturb x by 1e-4 and by 1e-8 of its size, and look at the deficits.

    They are set against those of equal arrays, and against exact ones where the function is linear CKA; else against
    each other.
    """
    x = setting.pair(_SEED).x
    noise = np.random.default_rng(_SEED).standard_normal(x.shape)
    deficits = [setting.subject.deficit(x, x + delta * noise) for delta in DELTAS]
    known = _known(setting)
    said = ["nothing known to compare with", _order(deficits)]
    if known is not None:
        name, exact = known
        rights = [exact(x, x + delta * noise) for delta in DELTAS]
        said = [_against(deficit, right, name) for deficit, right in zip(deficits, rights, strict=True)]
    feigned = _of_equal_arrays(setting)
    return [
        Finding(check, Verdict.INFO, deficit, _drowned(deficit, feigned, words) or words)
        for check, deficit, words in zip(CHECKS, deficits, said, strict=True)
    ]


def _of_equal_arrays(setting: Setting) -> float:
    """Give the largest deficit, or value beyond the limit, of an array and itself."""
    arrays = [setting.pair(seed).x for seed in (_SEED, *SEEDS)]
    return max(abs(setting.subject.deficit(x, x.copy())) for x in arrays)


def _drowned(deficit: float, feigned: float, said: str) -> str | None:
    """Say so if equal arrays have a deficit that is not far below this one."""
    if feigned <= _CLOSE * abs(deficit) or said.startswith(_NOT):
        return None
    return f"{_NOT}: equal arrays have a deficit of up to {feigned:.1e}"


def _known(setting: Setting) -> tuple[str, Deficit] | None:
    pairs: list[Pair] = [setting.pair(seed) for seed in (32, 33, 34)]
    values = [1 - setting.subject.deficit(pair.x, pair.y) for pair in pairs]
    return recognise(values, [(pair.x, pair.y) for pair in pairs], setting.tolerance)


def _against(deficit: float, exact: float, name: str) -> str:
    wrong = abs(deficit - exact) / exact
    if not wrong <= _CLOSE:
        return f"{_NOT}: {exact:.2e} is right ({name})"
    return f"resolves: relative error {wrong:.1e} ({name})"


def _order(deficits: list[float]) -> str:
    """Say how the deficit falls with the difference."""
    first, second = deficits
    if first <= 0:
        return f"{_NOT}: neither difference is seen"
    if second <= 0:
        return f"{_NOT}: the smaller difference is not seen"
    order = math.log(first / second) / math.log(DELTAS[0] / DELTAS[1])
    said = "resolves" if any(low <= order <= high for low, high in _ORDERS) else _NOT
    return f"{said}: the deficit fell as the difference to the power of {order:.2f}"
