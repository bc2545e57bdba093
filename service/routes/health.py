"""Whether the process is alive, whether it can work, and what its problems mean."""

import sqlite3
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from service import documents, kinds
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
    try:
        await run_in_threadpool(services.store.check)
    except sqlite3.Error:
        detail = "The job store cannot be written."
        raise HttpProblem("storage-unavailable", detail, more={"reasons": [detail]}) from None
    if waiting := services.runner.without_room:
        detail = f"The disk that holds the state directory is full; jobs that wait for room there: {waiting}."
        raise HttpProblem("storage-unavailable", detail, headers={"Retry-After": "5"}, more={"reasons": [detail]})
    reasons = await services.cluster.readiness()
    if reasons:
        detail = f"Not ready: {'; '.join(reasons)}. Jobs are accepted and wait."
        raise HttpProblem("cluster-unavailable", detail, headers={"Retry-After": "1"}, more={"reasons": reasons})
    return JSONResponse({"status": "ready"})


@router.get(
    "/problems/{slug}",
    operation_id="describe_problem",
    summary="What a problem's type stands for",
    response_model=documents.ProblemKind,
    responses=problems(404, 422),
)
async def describe_problem(slug: Annotated[str, Path(max_length=64)]) -> JSONResponse:
    """Describe one type of problem."""
    found = kinds.describe(slug)
    if found is None:
        raise HttpProblem("not-found", "There is no problem of this name.")
    return JSONResponse(found)
