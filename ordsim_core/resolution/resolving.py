"""The resolution of a deficit: the floors beside it, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ordsim_core.resolution import sentences
from ordsim_core.resolution.floors import arithmetic_floor
from ordsim_core.resolution.verdicts import Question, Verdict, judge

if TYPE_CHECKING:
    from ordsim_core.resolution.sides import Side


@dataclass(frozen=True)
class EffectivePrecision:
    """What the values of each array were rounded to."""

    x: str
    y: str


@dataclass(frozen=True)
class Resolution:
    """What a deficit can tell.

    Attributes
    ----------
    method : str
        How the deficit was computed.
    floor_arithmetic : float
        Largest deficit that rounding in the computation can feign.
    floor_storage : float or None
        Expected deficit that rounding the values for storage leaves, of both arrays; None if it is not known.
    floor_rows : int or None
        On how many rows of each array it was measured; None where it comes from a formula, or there is none.
    storage_reason : str or None
        Why it is not known.
    effective_precision : EffectivePrecision
    eta_equivalent : float or None
        Size, relative to x, of the random perturbation that has this deficit. Linear CKA only.
    participation : float or None
        Effective number of dimensions of x over its columns. Linear CKA only.
    verdict : Verdict
        The answer to `question`.
    question : Question
        The underlying values, or, where the storage floor is not known, the stored arrays.
    verdict_stored : Verdict
        Do the stored arrays differ, in what the measure sees?
    verdict_underlying : Verdict or None
        Did the values before they were rounded for storage? None if that cannot be said.
    sentence : str
        All that in plain words.
    """

    method: str
    floor_arithmetic: float
    floor_storage: float | None
    floor_rows: int | None
    storage_reason: str | None
    effective_precision: EffectivePrecision
    eta_equivalent: float | None
    participation: float | None
    verdict: Verdict
    question: Question
    verdict_stored: Verdict
    verdict_underlying: Verdict | None
    sentence: str


def resolve(
    deficit: float,
    method: str,
    x: Side,
    y: Side,
    *,
    identical: bool = False,
    relative_error: float = 0.0,
    uncertain: float = 0.0,
) -> Resolution:
    """Judge a deficit by what rounding alone would leave.

    Parameters
    ----------
    deficit : float
        1 - s, finite and not negative.
    method : str
        How it was computed, see `floors.arithmetic_floor`.
    x, y : Side
        The arrays, examined for this measure.
    identical : bool
        Whether the arrays hold the same values, entry by entry.
    relative_error : float
        How far rounding in the computation can have moved the deficit, relative to it.
    uncertain : float
        Further doubt about the deficit, in its own unit: for counts of comparisons made in floating point, the share
        of those that rounding may have turned.

    Returns
    -------
    Resolution

    Raises
    ------
    ValueError
        If the deficit is negative, NaN or infinite; an undefined one has no resolution.
    """
    if not 0 <= deficit < math.inf:
        raise ValueError(f"the deficit is {deficit}, and a resolution can be given of finite, non-negative ones only")
    arithmetic = max(arithmetic_floor(method, deficit, relative_error), uncertain)
    storage, reason = _storage(x, y)
    stored = Verdict.IDENTICAL if identical else judge(deficit, arithmetic)
    underlying = None
    if identical:
        underlying = Verdict.IDENTICAL
    elif storage is not None:
        underlying = judge(deficit, arithmetic + storage)
    participation = x.participation
    eta = None if participation is None else math.sqrt(deficit / participation)
    names = EffectivePrecision(x.precision.name, y.precision.name)
    return Resolution(
        method=method,
        floor_arithmetic=arithmetic,
        floor_storage=storage,
        floor_rows=None if storage is None else x.floor_rows,
        storage_reason=reason,
        effective_precision=names,
        eta_equivalent=eta,
        participation=participation,
        verdict=stored if underlying is None else underlying,
        question=Question.STORED if underlying is None else Question.UNDERLYING,
        verdict_stored=stored,
        verdict_underlying=underlying,
        sentence=sentences.sentence(
            sentences.Facts(deficit, stored, underlying, arithmetic, storage, reason, names.x, names.y, eta)
        ),
    )


def _storage(x: Side, y: Side) -> tuple[float | None, str | None]:
    """The storage floor of both sides, or why there is none."""
    if x.storage_floor is not None and y.storage_floor is not None:
        return x.storage_floor + y.storage_floor, None
    if x.storage_floor is None and y.storage_floor is None and x.reason == y.reason:
        return None, f"x and y: {x.reason}"
    name, side = ("x", x) if x.storage_floor is None else ("y", y)
    return None, f"{name}: {side.reason}"
