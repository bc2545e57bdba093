"""What the statistics of permutations say: of one score, or of a matrix of scores between layers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic.alias_generators import to_camel

from ordsim_core.calibration.adjusted import holm, westfall_young
from ordsim_core.calibration.aggregates import aggregate
from ordsim_core.calibration.conclusions import Conclusion
from ordsim_core.calibration.conclusions import conclude as conclude_one
from ordsim_core.calibration.layers import conclude_layers
from workers.measures.protocol import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.calibration.aggregates import Kind
    from ordsim_core.calibration.layers import PairConclusions
    from workers.measures.calibration import Calibration
    from workers.measures.given import NullStatistic

NULL = "null"


@dataclass(frozen=True, slots=True)
class Basis:
    """What the statistics are of: `rows` of the `all_rows` that are compared."""

    statistic: NullStatistic
    rows: int
    all_rows: int

    @property
    def about(self) -> dict[str, Any]:
        """As it is shown."""
        return {**self.statistic.about, "rows": self.rows}


def undefined(reason: str) -> Outcome:
    """Say that there are no statistics, and hence no calibration."""
    return Outcome(None, None, reason=reason, calibration={"pValue": None, "reason": reason})


def conclude(
    statistics: NDArray[Any],
    basis: Basis,
    calibration: Calibration | None,
    kind: Kind,
    *,
    enumerated: bool,
    confidence: float,
) -> Outcome:
    """Set the observed statistics, which stand first, against the others.

    Parameters
    ----------
    statistics : ndarray of int64 or float64, shape (1 + K, LA, LB)
    kind : str
        Aggregate over the pairs of arrays.

    Returns
    -------
    Outcome
        Score and deficit of the aggregate; figures "matrix" and "best" and, with a calibration that does not stop
        early, "perPair"; the null as an artifact.
    """
    unit = basis.statistic.unit or 1
    if not np.isfinite(statistics[0]).all():
        row, column = np.argwhere(~np.isfinite(statistics[0]))[0].tolist()
        where = f"x {row} and y {column}"
        return undefined(f"The statistic of {where} is not a number: look for rows of zeros, or for overflow.")
    sums, terms = aggregate(kind, statistics)
    score, deficit = _score(sums[0], terms * unit, exact=basis.statistic.unit is not None)
    figures: dict[str, Any] = {"matrix": _scores(statistics[0], unit), "best": _best(statistics[0], unit)}
    if calibration is None:
        return Outcome(score, deficit, figures=figures)
    settings = _settings(basis, calibration, confidence, enumerated=enumerated)
    found = conclude_layers(statistics[0], statistics[1:], aggregate=kind, denominator=unit, **settings)
    if found.pairs is not None and calibration.early_stop is None:
        figures["perPair"] = _pairs(found.pairs)
    return Outcome(
        score,
        deficit,
        figures=figures,
        calibration={**_shown(found), "scheme": calibration.scheme, "statistic": basis.about},
        artifacts={NULL: _null(sums, terms * unit, found)},
        cautions=_cautions(basis, found),
    )


def conclude_pairs(
    statistics: NDArray[Any], basis: Basis, calibration: Calibration, *, enumerated: bool, confidence: float
) -> Outcome:
    """Set the scores of all pairs of several arrays against their nulls, which share permutations.

    Parameters
    ----------
    statistics : ndarray of int64 or float64, shape (1 + K, M, M)
        Above the diagonal.

    Returns
    -------
    Outcome
        Figures "pValues" of each pair on its own, "adjusted" for their number after Westfall and Young and "holm"
        after Holm; the calibration is that of the largest score of all.
    """
    number, unit = statistics.shape[1], basis.statistic.unit or 1
    above = np.triu_indices(number, 1)
    flat = np.ascontiguousarray(statistics[:, above[0], above[1]])
    settings = _settings(basis, calibration, confidence, enumerated=enumerated)
    largest = flat.max(axis=1)
    whole = conclude_one(largest[0], largest[1:], denominator=unit, **settings)
    alone = [conclude_one(column[0], column[1:], denominator=unit, **settings).p_value for column in flat.T]
    adjusted = {"adjusted": westfall_young(flat).tolist(), "holm": holm(alone).tolist()}
    figures = {}
    for name, values in {"pValues": alone, **adjusted}.items():
        matrix: list[list[float | None]] = [[None] * number for _ in range(number)]
        for i, j, value in zip(*(axis.tolist() for axis in above), values, strict=True):
            matrix[i][j] = matrix[j][i] = value
        figures[name] = matrix
    return Outcome(
        None,
        None,
        figures=figures,
        calibration={**_shown(whole), "scheme": calibration.scheme, "statistic": basis.about},
        artifacts={NULL: _null(largest, unit, whole)},
        cautions=_cautions(basis, whole),
    )


def _null(values: NDArray[Any], denominator: int, conclusion: Conclusion) -> NDArray[np.float64]:
    """The statistics of all permutations that the conclusion rests on."""
    drawn = conclusion.permutations if conclusion.stopped_early else len(values) - 1
    return np.array([value / denominator for value in values[1 : drawn + 1].tolist()])


def rounded_at(rows: int) -> float:
    """Size of the terms of a score, which may cancel: it is rounded as they are, and the more there are the more."""
    return math.sqrt(rows)


def _settings(basis: Basis, calibration: Calibration, confidence: float, *, enumerated: bool) -> dict[str, Any]:
    """What every conclusion of a job has in common."""
    stop = calibration.early_stop
    return {
        "alpha": calibration.alpha,
        "smax": calibration.smax,
        "enumerated": enumerated,
        "early_stop": None if stop is None or enumerated else stop.exceedances,
        "confidence": confidence,
        "size": rounded_at(basis.rows),
    }


def _score(value: Any, denominator: int, *, exact: bool) -> tuple[float, float | None]:
    if not exact:
        return float(value) / denominator, None
    score = Fraction(int(value), denominator)
    return float(score), float(1 - score)


def _scores(statistics: NDArray[Any], unit: int) -> list[list[float]]:
    return [[value / unit for value in row] for row in statistics.tolist()]


def _best(statistics: NDArray[Any], unit: int) -> dict[str, Any]:
    row, column = (int(place) for place in np.unravel_index(np.argmax(statistics), statistics.shape))
    return {"x": row, "y": column, "score": statistics[row, column].item() / unit}


def _pairs(found: PairConclusions) -> list[list[dict[str, Any]]]:
    """Each pair's own calibration: as good as chance makes the best of many look."""
    return [
        [{"score": score, "pValue": p_value, "corrected": found.corrected} for score, p_value in zip(*row, strict=True)]
        for row in zip(found.scores.tolist(), found.p_values.tolist(), strict=True)
    ]


def _shown(conclusion: Conclusion) -> dict[str, Any]:
    """What every conclusion says, under the contract's names."""
    found = {field.name: getattr(conclusion, field.name) for field in fields(Conclusion)}
    found["p_value_interval"] = _camel(asdict(conclusion.p_value_interval))
    return _camel(found)


def _camel(found: dict[str, Any]) -> dict[str, Any]:
    return {to_camel(name): part for name, part in found.items()}


def _cautions(basis: Basis, conclusion: Conclusion) -> list[tuple[str, str]]:
    found = []
    if basis.rows < basis.all_rows:
        found.append(
            (
                "null-on-subset",
                f"The calibration, observed statistic and null alike, is of {basis.rows} of the {basis.all_rows} rows, "
                "drawn at random.",
            )
        )
    if conclusion.above_maximum:
        found.append(
            (
                "above-smax",
                f"The statistic, {conclusion.observed:.6g}, is larger than smax, {conclusion.smax:.6g}: say what the "
                "measure's maximum is, or null.",
            )
        )
    return found
