"""Request bodies as JSON, without what different readers of the same text would understand differently."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi import Request
from fastapi.routing import APIRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from fastapi.responses import Response


class StrictRequest(Request):
    """A request whose JSON has each member once and no numbers that JSON does not know."""

    async def json(self) -> Any:
        """Parse the body, once."""
        if not hasattr(self, "_json"):
            self._json = parse(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its body as a `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler that the framework makes, behind the stricter reading."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return handle


def parse(body: bytes) -> Any:
    """Parse JSON.

    Raises
    ------
    json.JSONDecodeError
        Also for a member that occurs twice, of which readers take the first or the last, for NaN and Infinity, and for
        what is nested too deeply.
    """
    try:
        return json.loads(body, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise json.JSONDecodeError(f"the member {name[:64]!r} occurs more than once in one object", "", 0)
        members[name] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a number of JSON", "", 0)
