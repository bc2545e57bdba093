"""From the pages of a list to one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.connection import Connection

PAGE = 200


def jobs(service: Connection, limit: int, filters: Mapping[str, str]) -> dict[str, Any]:
    """Ask for pages of jobs until there are `limit`, or no more: one document, whose links go on from there."""
    found: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    parameters: dict[str, Any] = dict(filters)
    while len(found) < limit:
        page = service.object("GET", "/v1/jobs", params={**parameters, "limit": min(limit - len(found), PAGE)})
        found += page["jobs"]
        after = [link for link in page["links"] if link["rel"] == "next"]
        links = [link for link in links or page["links"] if link["rel"] != "next"] + after
        if not after or not page["jobs"]:
            break
        parameters = dict(parse_qsl(urlsplit(after[0]["href"]).query))
    return {"jobs": found[:limit], "links": links}
