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


class PlannedMeasure(Document):
    """What one measure would take."""

    measure: str
    method: str
    shards: int = Field(description="Pieces of work.")
    comparisons: str = Field(description="To be made, a decimal string.")
    at_most: bool = Field(description="Whether it may stop before all of them are made: the figures are the most.")
    bytes_to_read: int = Field(description="Of both arrays, as stored.")
    peak_worker_bytes: int = Field(description="Private memory of a worker, itself and both arrays included.")
    seconds: float


class Plan(Document):
    """What a job would take, estimated from the shapes of its arrays."""

    seconds: float = Field(
        description="Until the results, with the workers of now; of one worker where there are none."
    )
    workers: int = Field(description="Shards that run at once now.")
    peak_worker_bytes: int = Field(description="The most of all measures.")
    worker_memory_bytes: int = Field(description="What a worker may use; a job that needs more is refused.")
    stage_bytes: int = Field(description="Local copies of the arrays, on each machine with workers.")
    measures: list[PlannedMeasure]


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
    reused_from: str | None = Field(description="The job whose results these are, where they were not computed anew.")


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
    request: dict[str, Any] = Field(title="Submitted", description="As it was sent, without the defaults.")
    label: str | None
    tags: dict[str, str]
    ordsim: Workings
    links: list[Link]


class Jobs(Document):
    """A page of jobs, newest first."""

    jobs: list[Job]
    links: list[Link]


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


class MeasurePlugin(Document):
    """What another package offers in the entry point group ordsim.measures."""

    name: str
    distribution: str
    version: str
    measures: list[str]
    refused: str | None = Field(description="Why its measures are left out.")


class Process(ProcessSummary):
    """One process in full: the JSON schema of its request, its measures and limits."""

    inputs: dict[str, Any]
    measures: list[dict[str, Any]]
    limits: dict[str, int]
    plugins: list[MeasurePlugin]


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
