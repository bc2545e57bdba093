"""The results of a job, as models: they describe the answer in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.documents import Document


class Input(Document):
    """One array as it was compared."""

    root: str
    path: str
    shape: list[int] = Field(description="As stored, before rows were selected.")
    dtype: str
    distance: str
    rows: dict[str, int] | None
    fingerprint: str
    exactness: Literal["integer", "float"]
    missing_chunks_filled: int


class GroupsOfRows(Document):
    """How many groups the compared rows fall into."""

    count: int


class Inputs(Document):
    """Both arrays, and how many rows were compared."""

    x: Input
    y: Input
    n: int
    rows_dropped: dict[str, int]
    columns_dropped: dict[str, int]
    groups: GroupsOfRows | None


class Counts(Document):
    """Unordered comparisons, as decimal strings: there may be more than 2^53. The five kinds add up."""

    population: str
    comparisons: str
    agreeing: str
    concordant: str
    discordant: str
    tied_x: str
    tied_y: str
    tied_both: str


class Interval(Document):
    """An interval for the score."""

    low: float
    high: float
    method: str
    confidence: float
    rigorous: bool
    standard_error: float | None = Field(default=None, description="Of the jackknife.")
    unit: Literal["row", "group"] | None = Field(default=None, description="What the jackknife leaves out.")
    uncertified: str | None = Field(
        default=None, description="Comparisons that rounding may have changed, a decimal string."
    )


class Intervals(Document):
    """Intervals by what they speak of; null where there is none, with the reason."""

    sampling: Interval | None = Field(default=None, description="Of the score of all comparisons.")
    hoeffding: Interval | None = Field(default=None, description="The same, after Hoeffding.")
    population: Interval | None = Field(default=None, description="Of the score of the population that rows are from.")
    jackknife: Interval | None = Field(default=None, description="The same, not rigorous.")
    arithmetic: Interval | None = Field(default=None, description="Of the score in exact arithmetic.")
    reason: str | None = Field(default=None, description="Why one is null.")
    reasons: dict[str, str] | None = Field(default=None, description="The same, by what it would speak of.")


class Paths(Document):
    """How many elements took which path to their order."""

    chains: int = Field(description="In chains of neighbours that were too close to be certain.")
    direct: int = Field(description="By distances computed again in float64.")
    exact: int = Field(description="By distances in exact arithmetic.")


class Precision(Document):
    """With which distances were ordered."""

    used: Literal["exact", "float64", "float32"]
    paths: Paths


class Result(Document):
    """What one measure found."""

    measure: str
    method: str
    spec: dict[str, Any]
    score: float | None
    deficit: float | None
    reason: str | None = None
    counts: Counts
    baseline: float | None = None
    attainable_maximum: float | None = None
    precision: Precision
    intervals: Intervals
    artifacts: list[str]


class Warning(Document):
    """Something a reader of the scores should know."""

    code: str
    detail: str


class Provenance(Document):
    """What made the results."""

    versions: dict[str, str]
    seed: int
    plan: list[dict[str, Any]]
    timings: dict[str, float]
    workers: int


class Results(Document):
    """The results of a compare job, in the order of the request."""

    job_id: str = Field(alias="jobID")
    process: str
    inputs: Inputs
    results: list[Result]
    warnings: list[Warning]
    provenance: Provenance
