"""What the client gives back of layers and matrix jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class GridResults:
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
    def scores(self) -> NDArray[np.float64]:
        """All scores: layers of x by layers of y, or arrays by arrays; NaN where undefined."""
        return self._matrix("matrix" if self.process == "layers" else "scores")

    @property
    def p_values(self) -> NDArray[np.float64] | None:
        """Of a matrix job, adjusted for the number of pairs; of layers each on its own. None without a calibration."""
        if self.process == "matrix":
            return self._matrix("adjusted") if "adjusted" in self.json else None
        pairs = self.json.get("perPair")
        return None if pairs is None else np.array([[pair["pValue"] for pair in row] for row in pairs], np.float64)

    @property
    def calibration(self) -> dict[str, Any] | None:
        """Of the aggregate of layers, or of the largest score of a matrix."""
        found: dict[str, Any] | None = self.json.get("calibration")
        return found

    @property
    def warnings(self) -> list[dict[str, str]]:
        """What a reader should know: ``code`` and ``detail``."""
        return list(self.json.get("warnings") or [])

    def _matrix(self, name: str) -> NDArray[np.float64]:
        if self.json[name] is None:
            inputs = self.json["inputs"]
            return np.full((len(inputs["x"]["layers"]), len(inputs["y"]["layers"])), np.nan)
        return np.array(self.json[name], np.float64)
