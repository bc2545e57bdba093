"""API keys at the door, as plain ASGI: before a body is read, and for every address that is not said to be open."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from service import access, errors
from service.keyring import RefusedKeyError

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from service.keyring import Keyring

CHALLENGE = 'Bearer realm="ordsim"'
HOW = (
    "Send one as `Authorization: Bearer ordsim_...`, or give commands and clients one by ORDSIM_API_KEY; "
    "`ordsim keys create` makes one."
)


class Authentication:
    """Answer only those who send an API key with the scope that the address needs; note who they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refused := await _refuse(scope)) is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def _refuse(scope: Scope) -> Response | None:
    """Say why a request is not answered; None if it is."""
    needed = access.needed(scope["method"], scope["path"])
    if needed is None:
        return None
    sent = Headers(scope=scope).getlist("authorization")
    if not sent:
        return _unauthenticated(scope, f"This needs an API key. {HOW}")
    scheme, _, token = sent[0].partition(" ")
    if len(sent) > 1 or scheme.lower() != "bearer":
        return _unauthenticated(scope, f"This needs one API key, as a bearer token. {HOW}")
    keyring: Keyring = scope["app"].state.services.store.keys
    try:
        caller = access.caller(await run_in_threadpool(keyring.find, token.strip()))
    except RefusedKeyError as error:
        return _unauthenticated(scope, f"{error} {HOW}", ', error="invalid_token"')
    except sqlite3.Error as error:
        return errors.of_storage(scope, error)
    scope["state"]["caller"] = caller
    if caller.may(needed):
        return None
    return errors.answer(
        scope,
        "forbidden",
        f"This needs an API key with the scope {needed}; {caller.owner} has {_listed(caller)}.",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{needed}"'},
    )


def _listed(caller: access.Caller) -> str:
    return ", ".join(sorted(caller.scopes)) or "none"


def _unauthenticated(scope: Scope, detail: str, more: str = "") -> Response:
    return errors.answer(scope, "unauthenticated", detail, headers={"WWW-Authenticate": CHALLENGE + more})
