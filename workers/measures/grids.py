"""What the statistics of permutations say: of one score, or of a matrix of scores between layers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic.alias_generators import to_camel

from ordsim_core.calibration.aggregates import aggregate
from ordsim_core.calibration.conclusions import conclude as conclude_one
from workers.measures.protocol import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ordsim_core.calibration.aggregates import Kind
    from ordsim_core.calibration.conclusions import Conclusion
    from workers.measures.calibration import Calibration
    from workers.measures.protocol import NullStatistic

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
        Score and deficit of the aggregate; figures "matrix", "best" and, with a calibration, "perPair"; the null as an
        artifact.
    """
    unit = basis.statistic.unit
    sums, terms = aggregate(kind, statistics)
    denominator = terms * (unit or 1)
    score, deficit = _score(sums[0], denominator, exact=unit is not None)
    figures: dict[str, Any] = {"matrix": _scores(statistics[0], unit), "best": _best(statistics[0], unit)}
    if calibration is None:
        return Outcome(score, deficit, figures=figures)
    concluding = _Concluding(calibration, enumerated, confidence)
    whole = concluding.of(sums, denominator)
    figures["perPair"] = [
        [_pair(concluding.of(statistics[:, row, column], unit or 1)) for column in range(statistics.shape[2])]
        for row in range(statistics.shape[1])
    ]
    drawn = whole.permutations if whole.stopped_early else len(sums) - 1
    return Outcome(
        score,
        deficit,
        figures=figures,
        calibration={**_shown(whole), "scheme": calibration.scheme, "statistic": basis.about},
        artifacts={NULL: np.array([value / denominator for value in sums[1 : drawn + 1].tolist()])},
        cautions=_cautions(basis, whole),
    )


@dataclass(frozen=True, slots=True)
class _Concluding:
    calibration: Calibration
    enumerated: bool
    confidence: float

    def of(self, values: NDArray[Any], denominator: int) -> Conclusion:
        stop = self.calibration.early_stop
        return conclude_one(
            values[0].item() if isinstance(values[0], np.generic) else values[0],
            values[1:],
            alpha=self.calibration.alpha,
            smax=self.calibration.smax,
            denominator=denominator,
            enumerated=self.enumerated,
            early_stop=None if stop is None or self.enumerated else stop.exceedances,
            confidence=self.confidence,
        )


def _score(value: Any, denominator: int, *, exact: bool) -> tuple[float, float | None]:
    if not exact:
        return float(value) / denominator, None
    score = Fraction(int(value), denominator)
    return float(score), float(1 - score)


def _scores(statistics: NDArray[Any], unit: int | None) -> list[list[float]]:
    return [[value / (unit or 1) for value in row] for row in statistics.tolist()]


def _best(statistics: NDArray[Any], unit: int | None) -> dict[str, Any]:
    row, column = (int(place) for place in np.unravel_index(np.argmax(statistics), statistics.shape))
    return {"x": row, "y": column, "score": statistics[row, column].item() / (unit or 1)}


def _pair(conclusion: Conclusion) -> dict[str, float]:
    return {"score": conclusion.score, "pValue": conclusion.p_value}


def _shown(conclusion: Conclusion) -> dict[str, Any]:
    """The conclusion under the contract's names."""
    return {to_camel(name): _camel(value) for name, value in asdict(conclusion).items()}


def _camel(value: Any) -> Any:
    return {to_camel(name): part for name, part in value.items()} if isinstance(value, dict) else value


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
