"""What a client gets back, as models: they describe the answers in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Origin = Literal["request", "data", "system"]


class Document(BaseModel):
    """Base of the answers: camel case outside, underscores inside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class ProblemPart(Document):
    """One thing that is wrong: a JSON pointer into the request's body, or the name of a parameter."""

    pointer: str
    detail: str
    parameter: str | None = None


class Problem(Document):
    """A problem document (RFC 9457)."""

    type: str = Field(examples=["/problems/unknown-array"])
    title: str
    status: int
    detail: str
    instance: str
    request_id: str = Field(alias="requestID")
    origin: Origin = Field(description="Who must act.")
    errors: list[ProblemPart]
    reasons: list[str] | None = Field(default=None, description="What is missing, where the service is not ready.")


class Link(Document):
    """Where to go from here."""

    rel: str
    href: str
    type: str


class Workings(Document):
    """What a running job is doing."""

    phase: Literal["stage", "count", "finish"] | None
    shards_done: int
    shards_total: int
    comparisons_done: int
    comparisons_total: int
    eta_seconds: float | None = Field(description="Null until a shard has finished.")
    attempt: int = Field(description="Grows by one when a restarted service takes the job up again.")
    workers: int = Field(description="Connected now, while the job runs; otherwise 0.")
    reused_from: None = Field(description="For answers taken from another job; there are none yet.")


class Job(Document):
    """The status of a job."""

    job_id: str = Field(alias="jobID")
    process: str
    type: Literal["process"]
    status: Literal["accepted", "running", "successful", "failed", "dismissed"]
    progress: int = Field(ge=0, le=100, description="Percent of the comparisons; 100 only when successful.")
    message: str
    created: str
    started: str | None
    finished: str | None
    updated: str
    exception: Problem | None
    request: dict[str, Any]
    label: str | None
    tags: dict[str, str]
    ordsim: Workings
    links: list[Link]


class Jobs(Document):
    """A page of jobs, newest first."""

    jobs: list[Job]
    links: list[Link]


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


class Inputs(Document):
    """Both arrays, and how many rows were compared."""

    x: Input
    y: Input
    n: int
    rows_dropped: dict[str, int]
    columns_dropped: dict[str, int]
    groups: None


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
    precision: dict[str, Any]
    intervals: dict[str, Interval]
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


class ProcessSummary(Document):
    """One entry of the catalogue."""

    id: str
    title: str
    description: str
    version: str
    job_control_options: list[str]
    links: list[Link]


class Processes(Document):
    """The catalogue."""

    processes: list[ProcessSummary]
    links: list[Link]


class Process(ProcessSummary):
    """One process in full: the JSON schema of its request, its measures and limits."""

    inputs: dict[str, Any]
    measures: list[dict[str, Any]]
    limits: dict[str, int]


class Root(Document):
    """A data root; its address stays with the operator."""

    name: str
    kind: Literal["directory"]


class Roots(Document):
    """The data roots that requests may name."""

    roots: list[Root]


class ArrayEntry(Document):
    """An array below a root."""

    path: str
    shape: list[int]
    dtype: str
    chunks: list[int]
    shards: list[int] | None
    zarr_format: int


class Arrays(Document):
    """The arrays below a root, sorted by path."""

    root: str
    arrays: list[ArrayEntry]


class Health(Document):
    """The service is alive, or ready."""

    status: Literal["alive", "ready"]


class ProblemKind(Document):
    """What a problem's type stands for."""

    type: str
    title: str
    status: int
    status_phrase: str
    origin: Origin
