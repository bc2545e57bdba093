"""The results of layers and matrix jobs, as models: they describe the answer in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.documents import Document
from service.findings import CalibratedScore, GroupsOfRows, Input, NoCalibration, Provenance, Warning


class Compared(Document):
    """Rows that took part."""

    n: int
    align: Literal["check", "join"] | None = Field(
        default=None, description="What was done with row identifiers, if there are such."
    )
    rows_dropped: dict[str, int]
    columns_dropped: dict[str, int]
    groups: GroupsOfRows | None


class LayersOfModel(Document):
    """Arrays of the layers of one model."""

    layers: list[Input]


class LayersInputs(Compared):
    """All layers as they were compared."""

    x: LayersOfModel
    y: LayersOfModel


class Best(Document):
    """The pair of layers with the largest score; positions from 0."""

    x: int
    y: int
    score: float


class Aggregate(Document):
    """What the scores of all pairs come to."""

    kind: Literal["max", "mean", "row-max-mean", "column-max-mean"]
    score: float | None


class PairOfLayers(Document):
    """One pair's own calibration, not corrected for there being many."""

    score: float
    p_value: float
    corrected: Literal[False]


class GridDocument(Document):
    """What results of layers and of matrices have in common."""

    job_id: str = Field(alias="jobID")
    process: str
    spec: dict[str, Any]
    calibration: CalibratedScore | NoCalibration | None = None
    artifacts: list[str]
    warnings: list[Warning]
    provenance: Provenance


class LayersResults(GridDocument):
    """The results of a layers job."""

    inputs: LayersInputs
    matrix: list[list[float]] | None = Field(description="Layers of x by layers of y; null with a reason.")
    best: Best | None
    aggregate: Aggregate
    reason: str | None = None
    per_pair: list[list[PairOfLayers]] | None = None


class MatrixInputs(Compared):
    """All arrays as they were compared."""

    arrays: list[Input]


class DifferenceInterval(Document):
    """Where a difference lies."""

    low: float
    high: float
    method: str
    confidence: float
    rigorous: bool
    standard_error: float | None = None
    unit: Literal["row", "group"] | None = None


class Difference(Document):
    """The score of one array with x, less that of the reference with x."""

    array: int
    x: int
    reference: int
    difference: float
    sampling: DifferenceInterval
    jackknife: DifferenceInterval | None
    p_value: float | None
    reason: str | None = None


class MatrixResults(GridDocument):
    """The results of a matrix job."""

    inputs: MatrixInputs
    labels: list[str]
    scores: list[list[float]]
    low: list[list[float]]
    high: list[list[float]]
    order: list[int] = Field(description="Positions of the arrays, similar ones side by side.")
    p_values: list[list[float | None]] | None = Field(default=None, description="Of each pair on its own.")
    adjusted: list[list[float | None]] | None = Field(
        default=None, description="For the number of pairs, after Westfall and Young."
    )
    holm: list[list[float | None]] | None = Field(
        default=None, description="The same after Holm, which holds whatever has to do with what."
    )
    differences: list[Difference] | None = None
