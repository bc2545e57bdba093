"""Reports of jobs as files to take away: the same that `ordsim report` writes."""

import json
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from service import artifacts, composing
from service.openapi import problems
from service.records import Job
from service.routes.results import expired, without_results
from service.services import Injected, Seen, Services
from service.status import Crew, status_document

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

POLICY = {
    # The report has no script, and asks for nothing; whoever opens it in place of saving it gets no more than that.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


@router.get(
    "/{jobID}/report.html",
    operation_id="get_report_html",
    summary="Report of a job, as one page",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **problems(404, 409, 410, 422)},
)
def get_report_html(services: Injected, request: Request, job: Seen) -> Response:
    """Send one page with drawings, light, dark and fit for paper, that needs no other file and no network."""
    if refused := without_results(request, job):
        return refused
    found = _results(services, job)
    text = composing.as_html(found, status_document(job, Crew()), lambda name: _values(services, job, name))
    return HTMLResponse(text, headers=_saved(job, "html"))


@router.get(
    "/{jobID}/report.csv",
    operation_id="get_report_csv",
    summary="Results of a job, as a table",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **problems(404, 409, 410, 422)},
)
def get_report_csv(services: Injected, request: Request, job: Seen) -> Response:
    """Send a line for each measure, or for each pair of arrays, below a line of headings."""
    if refused := without_results(request, job):
        return refused
    return Response(composing.as_csv(_results(services, job)), media_type="text/csv", headers=_saved(job, "csv"))


def _results(services: Services, job: Job) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(services.store.results(job.id))
    except LookupError:
        raise expired() from None  # just now
    return found


def _values(services: Services, job: Job, name: str) -> list[Any]:
    path = artifacts.find(services.settings.artifacts_directory, job.id, name)
    if path is None:
        raise expired()  # just now: results name only what was written before them
    values: list[Any] = np.load(path, allow_pickle=False).tolist()
    return values


def _saved(job: Job, suffix: str) -> dict[str, str]:
    """Have a browser save the file, under a name that says whose report it is."""
    return {**POLICY, "Content-Disposition": f'attachment; filename="ordsim-{job.id}.{suffix}"'}
