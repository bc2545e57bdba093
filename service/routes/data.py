"""The data roots, and the arrays below them."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse

from service import documents
from service.errors import HttpProblem
from service.openapi import problems
from service.services import Injected
from workers import references
from workers.errors import ProblemError
from workers.references import ArrayDescription

LISTED = 1000
"""Most arrays in one answer; a longer prefix narrows the list."""

IN_ADDRESS = {"unknown-root": 404, "unknown-array": 404}
"""Problems that have another status when it is the address that names the data."""

router = APIRouter(prefix="/v1/roots", tags=["data"])


@router.get(
    "",
    operation_id="list_roots",
    summary="List the data roots",
    response_model=documents.Roots,
    responses=problems(),
)
async def list_roots(services: Injected) -> JSONResponse:
    """List the roots that requests may name; where they are stays with the operator."""
    return JSONResponse({"roots": [{"name": name, "kind": "directory"} for name in sorted(services.roots)]})


@router.get(
    "/{root}/arrays",
    operation_id="list_arrays",
    summary="List the arrays below a root",
    response_model=documents.Arrays,
    responses=problems(404, 422),
)
def list_arrays(
    services: Injected,
    root: Annotated[str, Path(max_length=64)],
    prefix: Annotated[str, Query(max_length=1024, description="A path below the root to begin at.")] = "",
) -> JSONResponse:
    """List the arrays below a root, sorted by path; at most 1000 of them."""
    try:
        found = references.list_arrays(services.roots, root, prefix, LISTED)
    except ProblemError as error:
        parameter = "root" if error.slug == "unknown-root" else "prefix"
        wrong = [{"pointer": "", "parameter": parameter, "detail": error.detail}]
        raise HttpProblem(error.slug, error.detail, status=IN_ADDRESS.get(error.slug), errors=wrong) from error
    return JSONResponse({"root": root, "arrays": [_entry(array) for array in found]})


def _entry(array: ArrayDescription) -> dict[str, Any]:
    fields = asdict(array)
    return {
        "path": fields["path"],
        "shape": list(fields["shape"]),
        "dtype": fields["dtype"],
        "chunks": list(fields["chunks"]),
        "shards": list(fields["shards"]) if fields["shards"] else None,
        "zarrFormat": fields["zarr_format"],
    }
