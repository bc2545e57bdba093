"""The web page and the page of the API: files of this package, which ask nothing of any other host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response
    from starlette.types import Scope

WEB = Path(__file__).parents[1] / "web"

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Asked for again every time, so that a page never runs with scripts of another version.
    "Cache-Control": "no-cache",
}

router = APIRouter(include_in_schema=False)


class Files(StaticFiles):
    """Scripts and styles, under the same policy as the pages."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file."""
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


@router.get("/")
async def show_page() -> FileResponse:
    """Show jobs, reports, arrays and the form."""
    return FileResponse(WEB / "index.html", headers=HEADERS)


@router.get("/docs")
async def show_docs() -> FileResponse:
    """Show the OpenAPI document to people."""
    return FileResponse(WEB / "docs.html", headers=HEADERS)


def install(app: FastAPI) -> None:
    """Give the application its pages."""
    app.include_router(router)
    app.mount("/static", Files(directory=WEB), name="static")
