"""Jobs: submitting, watching, cancelling, and what came of them."""

import asyncio
import base64
import binascii
import contextlib
import hashlib
import json
import re
import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse

from service import artifacts, checks, documents, errors, findings, grid_findings, schemas
from service.errors import HttpProblem
from service.openapi import problems
from service.planning import Workplace
from service.processes import AnyRequest
from service.records import Job
from service.services import Injected, Services
from service.states import JobStatus
from service.status import JSON, status_document
from service.store import Filters
from service.submissions import NewJob

RETRY_SECONDS = "1"
WAIT_LIMIT = 30
PAGE_LIMIT = 200
PREFER_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?", re.IGNORECASE)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobName = Annotated[str, Path(alias="jobID", max_length=64, description="As the submission answered it.")]
ArtifactName = Annotated[str, Path(max_length=64, description="As the results name it, e.g. 0-per_anchor.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="A name for this submission: sent again with the same body, it answers with the same job.",
    ),
]
Prefer = Annotated[str | None, Header(description="wait=N: answer when the job is done, if within N <= 30 seconds.")]


@router.post(
    "",
    operation_id="submit_job",
    summary="Submit a job",
    status_code=202,
    response_model=documents.Job,
    responses={
        200: {"model": documents.Job, "description": "Prefer: wait was sent, and the job has finished"},
        **problems(400, 413, 422, 503),
    },
)
async def submit_job(
    services: Injected,
    request: Request,
    body: Annotated[AnyRequest, Body()],
    idempotency_key: Key = None,
    prefer: Prefer = None,  # noqa: ARG001 - documents the header
) -> JSONResponse:
    """Accept a job. What its metadata shows to be impossible is refused here; the rest fails the job."""
    new = NewJob(
        id=uuid.uuid4().hex,
        process=body.process,
        request=body.as_sent(),
        label=body.label,
        tags=body.tags,
        request_id=errors.request_id(request.scope),
        key=idempotency_key,
        body=body.digest(),
    )
    job = await run_in_threadpool(_submit, services, body, new, await services.workplace())
    services.runner.wake()
    headers = {"Location": f"/v1/jobs/{job.id}"}
    # All lines of the header: several mean the same as one that lists them.
    wanted = PREFER_WAIT.search(", ".join(request.headers.getlist("prefer")))
    if wanted:
        job = await _final(services, job, min(int(wanted[1]), WAIT_LIMIT))
        headers["Preference-Applied"] = "wait"
    if wanted and job.status.final:
        return _status(services, job, 200, headers)
    return _status(services, job, 202, headers)


def _submit(services: Services, body: schemas.Request, new: NewJob, place: Workplace) -> Job:
    """Check and accept; a key that is known answers at once, whatever became of the arrays since."""
    if known := services.store.find_known(new):
        return known
    checked = checks.check(body, services.roots, place)
    return services.store.submit(new.with_arrays(checked.arrays))[0]


async def _final(services: Services, job: Job, seconds: float) -> Job:
    """Wait until a job is final, but not longer than `seconds`, and return it as it is then."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), contextlib.aclosing(services.feeds.follow(job.id)) as batches:
            async for _ in batches:
                pass  # up to the final event
    return await run_in_threadpool(services.store.get, job.id)


@router.get(
    "",
    operation_id="list_jobs",
    summary="List jobs, newest first",
    response_model=documents.Jobs,
    responses=problems(422),
)
def list_jobs(
    services: Injected,
    request: Request,
    status: Annotated[JobStatus | None, Query()] = None,
    process: Annotated[Literal["compare", "layers", "matrix"] | None, Query()] = None,
    label: Annotated[str | None, Query(max_length=256)] = None,
    tag: Annotated[
        list[str] | None, Query(description="key:value; given several times, all must match.", max_length=32)
    ] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
    cursor: Annotated[str | None, Query(description="From the link to the next page.")] = None,
) -> JSONResponse:
    """List the jobs that match every filter."""
    tags = tuple(_tag(text) for text in tag or ())
    before = None if cursor is None else _read_cursor(cursor)
    jobs, following = services.store.list(Filters(status, process, label, tags), limit, before)
    links = [{"rel": "self", "href": _address(request, cursor), "type": JSON}]
    if following is not None:
        links.append({"rel": "next", "href": _address(request, _cursor(following)), "type": JSON})
    crew = services.runner.crew
    return JSONResponse({"jobs": [status_document(job, crew) for job in jobs], "links": links})


def _tag(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not colon:
        raise _wrong("tag", f"{text[:60]!r} is not of the form key:value")
    return key, value


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(str(number).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise _wrong("cursor", "this is not a cursor; take the link to the next page as it is")
    return int(text)


def _wrong(parameter: str, detail: str) -> HttpProblem:
    detail = f"query parameter {parameter}: {detail}"
    return HttpProblem("invalid-request", detail, errors=[{"pointer": "", "parameter": parameter, "detail": detail}])


def _address(request: Request, cursor: str | None) -> str:
    """The address of a page of this list, as a relative reference."""
    url = request.url if cursor is None else request.url.include_query_params(cursor=cursor)
    return f"{url.path}?{url.query}" if url.query else url.path


@router.get(
    "/{jobID}",
    operation_id="get_job",
    summary="Status of a job",
    response_model=documents.Job,
    responses={304: {"description": "As it was when it had this ETag"}, **problems(404, 422)},
)
def get_job(
    services: Injected,
    job_id: JobName,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Answer how a job is doing."""
    response = _status(services, services.store.get(job_id), 200)
    sent = {tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")}
    if response.headers["ETag"].removeprefix("W/") in sent or "*" in sent:
        kept = {name: value for name, value in response.headers.items() if name in ("etag", "retry-after")}
        return Response(status_code=304, headers=kept)
    return response


@router.get(
    "/{jobID}/results",
    operation_id="get_results",
    summary="Results of a job",
    response_model=findings.Results | grid_findings.LayersResults | grid_findings.MatrixResults,
    responses=problems(404, 409, 410, 422, 503, 507),
)
def get_results(services: Injected, request: Request, job_id: JobName) -> Response:
    """Answer with the scores; a failed job answers with its own problem."""
    job = services.store.get(job_id)
    if refused := _without_results(request, job):
        return refused
    try:
        return Response(services.store.results(job_id), media_type=JSON)
    except LookupError:
        raise _expired() from None  # just now


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
def get_artifact_npy(services: Injected, request: Request, job_id: JobName, name: ArtifactName) -> Response:
    """Send an artifact as it is stored."""
    job = services.store.get(job_id)
    if refused := _without_results(request, job):
        return refused
    path = artifacts.find(services.settings.artifacts_directory, job_id, name)
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
def get_artifact_csv(services: Injected, request: Request, job_id: JobName, name: ArtifactName) -> Response:
    """Send an artifact with a header and, beside each value of a row, the number of the stored row, from 0.

    Where selected rows of x and y have different numbers, both stand there.
    """
    job = services.store.get(job_id)
    if refused := _without_results(request, job):
        return refused
    path = artifacts.find(services.settings.artifacts_directory, job_id, name)
    if path is None:
        raise _no_artifact()
    return StreamingResponse(artifacts.as_csv(path, name), media_type="text/csv")


def _expired() -> HttpProblem:
    detail = "The results were kept for their time and then removed. Submit the request again to compute them anew."
    return HttpProblem("gone", detail)


def _no_artifact() -> HttpProblem:
    return HttpProblem("not-found", "The job has no such artifact; its results name those it has.")


@router.delete(
    "/{jobID}",
    operation_id="cancel_job",
    summary="Cancel a job",
    response_model=documents.Job,
    responses={
        202: {"model": documents.Job, "description": "Workers still drain"},
        **problems(404, 409, 422),
    },
)
def cancel_job(services: Injected, job_id: JobName) -> JSONResponse:
    """Dismiss a job; nothing is removed. A job that finishes first has finished."""
    job = services.store.cancel(job_id)
    services.runner.wake()
    return _status(services, job, 200 if job.status.final else 202)


def _status(services: Services, job: Job, code: int, headers: dict[str, str] | None = None) -> JSONResponse:
    document: dict[str, Any] = status_document(job, services.runner.crew)
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    headers = {**(headers or {}), "ETag": f'"{digest[:32]}"'}
    if not job.status.final:
        headers["Retry-After"] = RETRY_SECONDS
    return JSONResponse(document, code, headers)


def _without_results(request: Request, job: Job) -> Response | None:
    """Say why a job has no results; None if it has."""
    if job.expired and job.status is JobStatus.SUCCESSFUL:
        raise _expired()
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
