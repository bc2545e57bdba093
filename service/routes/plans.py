"""Plans: what a job would cost."""

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from service import checks, documents, planning
from service.bodies import StrictRoute
from service.openapi import problems
from service.planning import Workplace
from service.processes import AnyRequest
from service.schemas import Request
from service.services import Injected, Services

router = APIRouter(prefix="/v1/plans", tags=["jobs"], route_class=StrictRoute)


@router.post(
    "",
    operation_id="plan_job",
    summary="What a job would cost",
    response_model=documents.Plan,
    responses=problems(400, 413, 422, 503),
)
async def plan_job(services: Injected, body: Annotated[AnyRequest, Body()]) -> JSONResponse:
    """Check a request as a submission does, and estimate what it takes; nothing is computed or stored."""
    place = await services.workplace()
    return JSONResponse(await run_in_threadpool(_plan, services, body, place))


def _plan(services: Services, body: Request, place: Workplace) -> dict[str, Any]:
    checked = checks.check(body, services.roots, place)
    return planning.plan(body, checked.shape, checked.arrays, place)
