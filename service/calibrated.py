"""How a calibration reads in a report: what chance gives, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import numerals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEMES = {
    "rows": "all rows of one array",
    "within-groups": "rows within their groups",
    "between-groups": "whole groups",
}


def lines(calibration: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Label and text of each line that a report has on a calibration."""
    if calibration.get("pValue") is None:
        yield "calibration", f"none: {calibration.get('reason', 'no reason was given')}"
        return
    yield "p-value", _p_value(calibration)
    yield "", _null(calibration)
    yield "", _threshold(calibration)
    if statistic := calibration.get("statistic"):
        yield "", _statistic(statistic, calibration["observed"])


def _p_value(calibration: Mapping[str, Any]) -> str:
    draws, reached = calibration["permutations"], calibration["exceedances"]
    what = f"{numerals.grouped(reached)} of {numerals.grouped(draws)}"
    scheme = SCHEMES.get(calibration.get("scheme", ""), "rows")
    if calibration.get("enumerated"):
        how = f"{what} permutations of {scheme}, all there are, give at least as much"
    else:
        how = f"{what} permutations of {scheme} give at least as much"
    if calibration.get("stoppedEarly"):
        how += ", which was enough"
    interval = calibration.get("pValueInterval") or {}
    bounds = ""
    if interval and not calibration.get("enumerated"):
        bounds = f"; {interval['low']:.3g} to {interval['high']:.3g} with any number of them"
        bounds += f", {numerals.share(interval['confidence'])} confidence"
    return f"{calibration['pValue']:.4g}: {how}{bounds}"


def _null(calibration: Mapping[str, Any]) -> str:
    return f"chance gives {calibration['nullMean']:.4f} on average, with a deviation of {calibration['nullStd']:.2g}"


def _threshold(calibration: Mapping[str, Any]) -> str:
    level, threshold = calibration["alpha"], calibration["threshold"]
    said = f"threshold {threshold:.4f} at level {level:g}"
    scale = "above the threshold by" if calibration.get("smax") is None else "calibrated score"
    return f"{said}; {scale} {calibration['score']:.4f}"


def _statistic(statistic: Mapping[str, Any], observed: float) -> str:
    numbers = [f"{numerals.grouped(number)} {name}" for name, number in statistic.items() if isinstance(number, int)]
    name = " ".join(str(part) for part in (statistic.get("measure"), statistic.get("method")) if part)
    return f"of the statistic {name}{' with ' if numbers else ''}{', '.join(numbers)}: {observed:.6f}"
