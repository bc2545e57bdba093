"""What the client gives back of layers and matrix jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from service import flattened
from service.named import Best, Calibration, Difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class GridResults(ABC):
    """Scores between all arrays of a job.

    Attributes
    ----------
    json : dict
        The answer of the service, untouched.
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json

    def __repr__(self) -> str:
        rows, columns = self.scores.shape
        return f"<{self.process} results of {self.job}: {rows} x {columns} scores>"

    @property
    def job(self) -> str:
        """Id of the job."""
        return str(self.json["jobID"])

    @property
    def process(self) -> str:
        """Either "layers" or "matrix"."""
        return str(self.json["process"])

    @property
    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """All scores, NaN where undefined."""

    @property
    @abstractmethod
    def p_values(self) -> NDArray[np.float64] | None:
        """P-values of the pairs; None without a calibration."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary for each pair, all with the same keys: what ``pandas.DataFrame`` takes."""

    def to_csv(self) -> str:
        """The records as CSV, with a line of headings."""
        return flattened.to_csv(self.records())

    @property
    def calibration(self) -> Calibration | None:
        """Of the aggregate of layers, or of the largest score of a matrix."""
        found = self.json.get("calibration")
        return None if found is None else Calibration(found)

    @property
    def warnings(self) -> list[dict[str, str]]:
        """What a reader should know: ``code`` and ``detail``."""
        return list(self.json.get("warnings") or [])


class LayersResults(GridResults):
    """Scores of all layers of x with all layers of y."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """Layers of x by layers of y; NaN where undefined."""
        if self.json["matrix"] is None:
            return np.full([len(names) for names in self.labels], np.nan)
        return _table(self.json["matrix"])

    @property
    def p_values(self) -> NDArray[np.float64] | None:
        """Of each pair on its own, not corrected for there being many; None without a calibration."""
        pairs = self.json.get("perPair")
        return None if pairs is None else _table([[pair["pValue"] for pair in row] for row in pairs])

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """Names of the layers of x, and of y."""
        x, y = ([name(one) for one in self.json["inputs"][side]["layers"]] for side in ("x", "y"))
        return x, y

    @property
    def best(self) -> Best | None:
        """The pair with the largest score."""
        found = self.json.get("best")
        return None if found is None else Best(found)

    @property
    def aggregate(self) -> float | None:
        """What the scores of all pairs come to, by the aggregate that was asked for."""
        score: float | None = self.json["aggregate"]["score"]
        return score

    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary for each pair of layers, all with the same keys."""
        return flattened.layers(self.json)


class MatrixResults(GridResults):
    """Scores of all arrays with one another."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """Arrays by arrays."""
        return _table(self.json["scores"])

    @property
    def low(self) -> NDArray[np.float64]:
        """Low ends of the intervals."""
        return _table(self.json["low"])

    @property
    def high(self) -> NDArray[np.float64]:
        """High ends of the intervals."""
        return _table(self.json["high"])

    @property
    def p_values(self) -> NDArray[np.float64] | None:
        """Adjusted for the number of pairs; None without a calibration."""
        return _table(self.json["adjusted"]) if "adjusted" in self.json else None

    @property
    def labels(self) -> list[str]:
        """Names of the arrays."""
        return list(self.json["labels"])

    @property
    def order(self) -> list[int]:
        """Positions of the arrays, similar ones side by side."""
        return list(self.json["order"])

    @property
    def differences(self) -> list[Difference]:
        """What was asked for; empty if nothing was."""
        return [Difference(one) for one in self.json.get("differences") or ()]

    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary for each pair of arrays, all with the same keys."""
        return flattened.matrix(self.json)


def read(json: dict[str, Any]) -> LayersResults | MatrixResults:
    """Results of a layers or matrix job, by the process in the service's answer."""
    return LayersResults(json) if json["process"] == "layers" else MatrixResults(json)


def name(array: Mapping[str, Any]) -> str:
    """What an array is called: root:path."""
    return f"{array['root']}:{array['path']}"


def _table(values: Sequence[Sequence[float | None]]) -> NDArray[np.float64]:
    return np.array(values, np.float64)
