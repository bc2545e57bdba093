"""What came of jobs: their results, and the artifacts that are too large for them."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from service import artifacts, errors, findings, grid_findings
from service.errors import HttpProblem
from service.openapi import problems
from service.records import Job
from service.services import Injected, Seen
from service.states import JobStatus
from service.status import JSON, RETRY_SECONDS

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

ArtifactName = Annotated[str, Path(max_length=64, description="As the results name it, e.g. 0-per_anchor.")]


@router.get(
    "/{jobID}/results",
    operation_id="get_results",
    summary="Results of a job",
    response_model=findings.Results | grid_findings.LayersResults | grid_findings.MatrixResults,
    responses=problems(404, 409, 410, 422, 503, 507),
)
def get_results(services: Injected, request: Request, job: Seen) -> Response:
    """Answer with the scores; a failed job answers with its own problem."""
    if refused := without_results(request, job):
        return refused
    try:
        return Response(services.store.results(job.id), media_type=JSON)
    except LookupError:
        raise expired() from None  # just now


@router.get(
    "/{jobID}/artifacts/{name}.npy",
    operation_id="get_artifact_npy",
    summary="A large output, as a numpy file",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        **problems(404, 409, 410, 422, 503, 507),
    },
)
def get_artifact_npy(services: Injected, request: Request, job: Seen, name: ArtifactName) -> Response:
    """Send an artifact as it is stored."""
    if refused := without_results(request, job):
        return refused
    path = artifacts.find(services.settings.artifacts_directory, job.id, name)
    if path is None:
        raise _no_artifact()
    # Whole, or not at all: the library's errors about ranges are not problem documents.
    request.scope["headers"] = [header for header in request.scope["headers"] if header[0] != b"range"]
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


@router.get(
    "/{jobID}/artifacts/{name}.csv",
    operation_id="get_artifact_csv",
    summary="A large output, as text",
    response_class=Response,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problems(404, 409, 410, 422, 503, 507),
    },
)
def get_artifact_csv(services: Injected, request: Request, job: Seen, name: ArtifactName) -> Response:
    """Send an artifact with a header and, beside each value of a row, the number of the stored row, from 0.

    Where selected rows of x and y have different numbers, both stand there.
    """
    if refused := without_results(request, job):
        return refused
    path = artifacts.find(services.settings.artifacts_directory, job.id, name)
    if path is None:
        raise _no_artifact()
    return StreamingResponse(artifacts.as_csv(path, name), media_type="text/csv")


def expired() -> HttpProblem:
    """What is answered once retention has let go of a job's results."""
    detail = "The results were kept for their time and then removed. Submit the request again to compute them anew."
    return HttpProblem("gone", detail)


def _no_artifact() -> HttpProblem:
    return HttpProblem("not-found", "The job has no such artifact; its results name those it has.")


def without_results(request: Request, job: Job) -> Response | None:
    """Say why a job has no results; None if it has."""
    if job.expired and job.status is JobStatus.SUCCESSFUL:
        raise expired()
    if job.status is JobStatus.SUCCESSFUL:
        return None
    if job.status is JobStatus.FAILED:
        assert job.exception is not None
        where = {"instance": errors.instance(request.scope), "requestID": errors.request_id(request.scope)}
        return errors.respond({**job.exception, **where})
    if job.status is JobStatus.DISMISSED:
        raise HttpProblem("gone", "The job was cancelled, so there are no results.")
    raise HttpProblem(
        "result-not-ready",
        f"The job is {job.status}; ask again when it is successful.",
        headers={"Retry-After": RETRY_SECONDS},
    )
