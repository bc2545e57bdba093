"""Whether the process is alive, whether it can work, and what its problems mean."""

import sqlite3
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from service import documents, errors
from service.errors import HttpProblem
from service.openapi import problems
from service.services import Injected

router = APIRouter(tags=["health"])


@router.get(
    "/livez",
    operation_id="is_alive",
    summary="Whether the process answers",
    response_model=documents.Health,
    responses=problems(),
)
async def is_alive() -> JSONResponse:
    """Answer; nothing else is looked at."""
    return JSONResponse({"status": "alive"})


@router.get(
    "/readyz",
    operation_id="is_ready",
    summary="Whether jobs would run now",
    response_model=documents.Health,
    responses=problems(503),
)
async def is_ready(services: Injected) -> JSONResponse:
    """Look at the job store, the cluster, its workers and their versions."""
    reasons = await services.cluster.readiness()
    slug, waiting = "cluster-unavailable", " Jobs are accepted and wait."
    try:
        await run_in_threadpool(services.store.check)
    except sqlite3.Error:
        slug, waiting = "storage-unavailable", ""
        reasons = ["the job store cannot be written", *reasons]
    if without := services.runner.without_room:
        slug, waiting = "storage-unavailable", ""
        reasons = [
            f"the disk that holds the state directory is full; jobs that wait for room there: {without}",
            *reasons,
        ]
    if reasons:
        detail = f"Not ready: {'; '.join(reasons)}.{waiting}"
        raise HttpProblem(slug, detail, headers={"Retry-After": "1"}, more={"reasons": reasons})
    return JSONResponse({"status": "ready"})


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
)
def get_metrics(services: Injected) -> Response:
    """Answer with all figures of the service, in the text format of Prometheus."""
    return Response(generate_latest(services.metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get(
    "/problems/{slug}",
    operation_id="describe_problem",
    summary="What a problem's type stands for",
    response_model=documents.ProblemKind,
    responses=problems(404, 422),
)
async def describe_problem(slug: Annotated[str, Path(max_length=64)]) -> JSONResponse:
    """Describe one type of problem."""
    found = errors.describe(slug)
    if found is None:
        raise HttpProblem("not-found", "There is no problem of this name.")
    return JSONResponse(found)
