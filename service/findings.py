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
    rows: dict[str, Any] | None
    rows_dropped: int = Field(default=0, description="Of the rows that the request names, those not compared.")
    columns_dropped: int = 0
    fingerprint: str = Field(description="Of the values that were compared.")
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
    align: Literal["check", "join"] | None = Field(
        default=None, description="What was done with row identifiers, if there are such."
    )
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

    chains: int = Field(description="Sorted distances too close to a neighbour to be certain; samples are not sorted.")
    direct: int = Field(description="By distances computed again in float64.")
    exact: int = Field(description="By distances in exact arithmetic.")


class Precision(Document):
    """With which distances were ordered."""

    used: Literal["exact", "float64", "float32"]
    paths: Paths


class EffectivePrecision(Document):
    """The narrowest type that holds all values of an array."""

    x: str
    y: str


class Resolution(Document):
    """What a deficit can be trusted for."""

    method: str = Field(description="How the deficit was computed.")
    floor_arithmetic: float = Field(description="The largest that rounding in the computation can feign.")
    floor_storage: float | None = Field(description="What rounding the values for storage leaves; null if not known.")
    floor_rows: int | None = Field(description="On how many rows that was measured; null if a formula gave it.")
    storage_reason: str | None = Field(description="Why it is not known.")
    effective_precision: EffectivePrecision
    eta_equivalent: float | None = Field(description="Relative size of the random perturbation with this deficit.")
    participation: float | None = Field(description="Effective dimensions of x, as a share of its columns.")
    verdict: Literal["identical", "resolved", "marginal", "below-resolution"]
    question: str = Field(description="What the verdict answers.")
    verdict_stored: str = Field(description="Whether the stored arrays differ.")
    verdict_underlying: str | None = Field(description="Whether the values before they were stored differ.")
    sentence: str


class PValueInterval(Document):
    """Where the p-value would come to with any number of permutations."""

    low: float
    high: float
    method: str
    confidence: float
    rigorous: bool


class CalibratedScore(Document):
    """How the score stands against permutations of rows."""

    permutations: int
    exceedances: int = Field(description="Permutations that give at least as much; ties count.")
    p_value: float
    p_value_interval: PValueInterval
    threshold: float
    score: float = Field(description="0 at the threshold, 1 at smax; without smax, what is above the threshold.")
    alpha: float
    scheme: Literal["rows", "within-groups", "between-groups"]
    smax: float | None
    enumerated: bool = Field(description="All permutations there are were tried.")
    stopped_early: bool
    null_mean: float
    null_std: float
    null_quantiles: dict[str, float]
    observed: float = Field(description="The statistic that is compared: the score, or a quicker one of the same kind.")
    statistic: dict[str, Any] = Field(description="What is computed for every permutation, and of how many rows.")


class NoCalibration(Document):
    """Why there is none."""

    p_value: None
    reason: str


class Result(Document):
    """What one measure found."""

    measure: str
    method: str
    spec: dict[str, Any]
    score: float | None
    deficit: float | None
    reason: str | None = None
    naive_deficit: float | None = Field(default=None, description="1 - score as floats give it, for comparison.")
    counts: Counts | None = Field(default=None, description="Of measures that count comparisons.")
    baseline: float | None = None
    attainable_maximum: float | None = None
    precision: Precision | None = Field(default=None, description="Of measures that order distances.")
    intervals: Intervals
    resolution: Resolution | None = None
    figures: dict[str, Any] | None = Field(default=None, description="What is known of this measure alone.")
    calibration: CalibratedScore | NoCalibration | None = None
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
    reused_from: str | None = Field(default=None, description="The job that computed this, if it was another one.")


class Results(Document):
    """The results of a compare job, in the order of the request."""

    job_id: str = Field(alias="jobID")
    process: str
    inputs: Inputs
    results: list[Result]
    warnings: list[Warning]
    provenance: Provenance
