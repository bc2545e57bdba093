"""The catalogue: what can be computed, with which options and limits."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from service import catalogue, documents, grids, schemas
from service.errors import HttpProblem
from service.grids import LayersRequest, MatrixRequest
from service.middleware import BODY_LIMIT
from service.openapi import VERSION, problems
from service.schemas import JobRequest
from workers.measures import registry
from workers.measures.plugins import Plugin

router = APIRouter(prefix="/v1/processes", tags=["processes"])

REQUESTS: dict[str, type[schemas.Request]] = {"compare": JobRequest, "layers": LayersRequest, "matrix": MatrixRequest}

PROCESSES = {
    "compare": (
        "Compare two representations",
        "How alike two arrays of embeddings of the same inputs are, by any of the measures.",
    ),
    "layers": (
        "Compare all layers of two models",
        "The scores of every layer of one model with every layer of another, and what the best of them is worth.",
    ),
    "matrix": (
        "Compare several models with one another",
        "The scores of all pairs of several arrays, from one ordinal profile of each.",
    ),
}
"""Title and description by process."""


def _summary(process: str) -> dict[str, Any]:
    title, description = PROCESSES[process]
    return {
        "id": process,
        "title": title,
        "description": description,
        "version": VERSION,
        "jobControlOptions": ["async-execute", "dismiss"],
        "links": [{"rel": "self", "href": f"/v1/processes/{process}", "type": "application/json"}],
    }


@router.get(
    "",
    operation_id="list_processes",
    summary="List what can be computed",
    response_model=documents.Processes,
    responses=problems(),
)
async def list_processes() -> JSONResponse:
    """List the processes."""
    link = {"rel": "self", "href": "/v1/processes", "type": "application/json"}
    return JSONResponse({"processes": [_summary(process) for process in PROCESSES], "links": [link]})


@router.get(
    "/{process}",
    operation_id="describe_process",
    summary="Describe one process",
    response_model=documents.Process,
    responses=problems(404, 422),
)
async def describe_process(process: Annotated[str, Path(max_length=64)]) -> JSONResponse:
    """Describe a process: the schema of its request, its measures with their options, its limits."""
    if process not in REQUESTS:
        raise HttpProblem("not-found", "There is no process of this name. GET /v1/processes lists them.")
    return JSONResponse(
        {
            **_summary(process),
            "inputs": REQUESTS[process].model_json_schema(),
            "measures": catalogue.entries(),
            "limits": {
                "measures": schemas.MEASURES_LIMIT,
                "layers": grids.LAYERS_LIMIT,
                "arrays": grids.ARRAYS_LIMIT,
                "bodyBytes": BODY_LIMIT,
                "seed": schemas.SEED_LIMIT - 1,
            },
            "plugins": [_plugin(plugin) for plugin in registry.PLUGINS],
        }
    )


def _plugin(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "measures": [f"{measure.measure} {measure.method}" for measure in plugin.measures],
        "refused": plugin.refused,
    }
