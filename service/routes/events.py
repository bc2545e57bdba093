"""What happens to a job, told as it happens."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from service.access import Caller
from service.errors import HttpProblem
from service.feeds import LISTENERS_LIMIT
from service.openapi import problems
from service.records import Event
from service.services import Asking, Injected, Seen, Services
from service.status import RETRY_SECONDS

BEGINNING = format_sse_event(retry=1000)
KEEP_ALIVE = format_sse_event(comment="nothing new")
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}  # proxies, too, are to pass it on at once
TRUSTED_SECONDS = 1.0
"""For so long after a look a key counts as active."""
NUMBER = r"^[0-9]{1,15}$"

KINDS = """Follow a job as server-sent events. `id` numbers them from 1; `event` is one of the kinds below; `data` is
JSON, always with `time`. A new listener gets everything from the first event on; `Last-Event-ID`, which browsers send
by themselves, resumes after that one. The stream ends after the final event; asked for what comes after that, the
answer is 204, which tells browsers to stop. Comments keep idle connections open. Other kinds may be added.

| `event` | what happened | `data` beside `time` |
|---|---|---|
| `accepted` | submitted, or put back into the queue when the service ended | |
| `running` | taken from the queue | |
| `phase` | reads the arrays, counts, or adds up | `phase` |
| `progress` | shards are done; told a few times a second at most | `progress`, `shardsDone`, `shardsTotal`, \
`comparisonsDone`, `comparisonsTotal` |
| `settled` | a measure with a `width` needs no more shards | `measure` (its position), `shards` |
| `cancel-requested` | to be dismissed as soon as its workers have stopped | |
| `successful`, `failed`, `dismissed` | final: the status of the job says more | |
"""

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


class EventStream(EventSourceResponse):
    """A stream that is closed with its connection, however that ends: nobody listens for a client that is gone."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers=HEADERS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):  # type: ignore[type-var]
            await super().__call__(scope, receive, send)


@router.get(
    "/{jobID}/events",
    operation_id="follow_job",
    summary="Events of a job, as they happen",
    description=KINDS,
    response_class=Response,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        204: {"description": "The job is final, and nothing comes after the event that was named"},
        **problems(404, 422, 429),
    },
)
async def follow_job(
    services: Injected,
    asking: Asking,
    job: Seen,
    last_event_id: Annotated[
        str | None, Header(pattern=NUMBER, description="Go on after this event.", examples=["17"])
    ] = None,
    last: Annotated[
        str | None,
        Query(alias="lastEventId", pattern=NUMBER, description="The same, for clients that cannot send the header."),
    ] = None,
) -> Response:
    """Answer with a stream; what can be refused is refused before it begins."""
    after = int(last_event_id or last or 0)
    newest = await run_in_threadpool(services.store.last_event, job.id)
    if newest.final and after >= newest.number:
        return Response(status_code=204)
    if services.feeds.listeners >= LISTENERS_LIMIT:
        detail = f"{LISTENERS_LIMIT} clients follow jobs already. Ask for the status of the job instead."
        raise HttpProblem("quota-exceeded", detail, headers={"Retry-After": RETRY_SECONDS})
    return EventStream(_encoded(services, asking, job.id, after))


async def _encoded(services: Services, asking: Caller, job: str, after: int) -> AsyncIterator[bytes]:
    """Yield what is new, as long as the key that asked opens something."""
    yield BEGINNING
    looked = time.monotonic()
    async with aclosing(services.feeds.follow(job, after)) as batches:
        async for events in batches:
            if asking.owner and time.monotonic() - looked > TRUSTED_SECONDS:
                if not await run_in_threadpool(services.store.keys.is_active, asking.owner):
                    return
                looked = time.monotonic()
            yield b"".join(map(_encode, events)) or KEEP_ALIVE


def _encode(event: Event) -> bytes:
    data = json.dumps({"time": event.time, **event.data})
    return format_sse_event(id=str(event.number), event=event.kind, data_str=data)
