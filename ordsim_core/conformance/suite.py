"""All checks, in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ordsim_core.conformance import degenerate, identity, invariances, nearness, promises, settings
from ordsim_core.conformance.findings import Finding, Report, Verdict
from ordsim_core.conformance.kinds import Arrays, Kind
from ordsim_core.conformance.subjects import CallFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.conformance.promises import Promise
    from ordsim_core.conformance.settings import Setting

_CHECKS: dict[str, Callable[[Setting], Finding]] = {
    "widths": identity.widths,
    "identity": identity.equal_arrays,
    "identity, other layout": identity.another_layout,
    "limits": identity.limits,
    "repeated calls": identity.repeated_calls,
    "inputs left alone": identity.inputs_left_alone,
    "symmetry": invariances.symmetry,
    "row permutation": invariances.row_permutation,
    "rotation": invariances.orthogonal,
    "scale": invariances.scale,
    "shift": invariances.shift,
    "small values": invariances.small_values,
    "independent arrays": invariances.independence,
    "constant column": degenerate.constant_column,
    "duplicate rows": degenerate.duplicate_rows,
    "no variance": degenerate.no_variance,
    **{f"{rows} rows": partial(degenerate.few_rows, rows=rows) for rows in (4, 3, 2)},
    "float32 arrays": degenerate.single_precision,
    "not finite": degenerate.not_finite,
}


def examine(
    function: Callable[[Any, Any], Any],
    kind: Kind = Kind.SIMILARITY,
    *,
    promised: tuple[Promise, ...] = promises.DEFAULT,
    arrays: Arrays | None = None,
    name: str | None = None,
) -> Report:
    """Run all checks on a function of two arrays.

    Parameters
    ----------
    function : callable
        Takes x of shape (N, DX) and y of shape (N, DY), float64 or float32, and returns one number.
    kind : Kind
        Whether equal arrays have the value 1 or 0.
    promised : tuple of Promise
        What the function is held to; all else that may vary between measures is reported as a fact.
    arrays : Arrays or None
        What it takes; None tries numpy arrays, then torch tensors if torch is installed.
    name : str or None
        What the report calls it.

    Returns
    -------
    Report
        With one finding for each check.

    Raises
    ------
    UnusableError
        If the function cannot be called with two arrays, or does not return a number.
    """
    setting = settings.prepare(function, kind, promised, arrays)
    findings: list[Finding] = []
    for check, run in _CHECKS.items():
        findings.append(_found(check, run, setting))
        if check == "limits":
            findings += _near(setting)
    return Report(
        name or str(getattr(function, "__name__", type(function).__name__)),
        kind,
        setting.subject.arrays,
        "float32" if setting.single else "float64",
        promised,
        tuple(findings),
    )


def _found(check: str, run: Callable[[Setting], Finding], setting: Setting) -> Finding:
    try:
        return run(setting)
    except CallFailedError as error:
        return Finding(check, Verdict.FAIL, None, f"on ordinary arrays it {error}")


def _near(setting: Setting) -> list[Finding]:
    try:
        return nearness.near_identity(setting)
    except CallFailedError as error:
        return [Finding("near identity", Verdict.FAIL, None, f"on ordinary arrays it {error}")]
