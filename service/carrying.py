"""Doing what talks ask for: by blocking, or on an event loop."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from service.answers import ServiceError, ServiceUnreachable
from service.listening import Listener
from service.steps import Ask, Attend, Await, Tell

if TYPE_CHECKING:
    from service.connection import AsyncConnection, Connection
    from service.steps import Step, Talk

T = TypeVar("T")
PROBLEMS = (ServiceError, ServiceUnreachable)
"""What a talk may want to know of; everything else ends it."""


@dataclass(frozen=True)
class Ended(Generic[T]):
    """A talk is over: what it came to."""

    value: T


def carry(service: Connection, talk: Talk[T]) -> T:
    """Have a talk to its end, and return what it came to; errors as the talk's."""
    with closing(talk), closing(Listener(service)) as listener:
        step = _next(talk, None)
        while not isinstance(step, Ended):
            step = _next(talk, _do(service, listener, step))
    return step.value


async def carry_on_loop(service: AsyncConnection, talk: Talk[T]) -> T:
    """The same on an event loop, which is left to others meanwhile. Jobs are polled, not listened to."""
    with closing(talk):
        step = _next(talk, None)
        while not isinstance(step, Ended):
            step = _next(talk, await _do_on_loop(service, step))
    return step.value


def _next(talk: Talk[T], came: Any) -> Step | Ended[T]:
    """Tell a talk what came of its last step, a problem too, and return the next."""
    try:
        return talk.throw(came) if isinstance(came, PROBLEMS) else talk.send(came)
    except StopIteration as end:
        return Ended(end.value)


def _do(service: Connection, listener: Listener, step: Step) -> Any:
    match step:
        case Ask(method, target, arguments):
            try:
                return service.request(method, target, **arguments)
            except PROBLEMS as error:
                return error
        case Tell(progress, status):
            progress(status)
        case Attend(address):
            listener.attend(address)
        case Await(seconds):
            listener.wait(seconds)
    return None


async def _do_on_loop(service: AsyncConnection, step: Step) -> Any:
    match step:
        case Ask(method, target, arguments):
            try:
                return await service.request(method, target, **arguments)
            except PROBLEMS as error:
                return error
        case Tell(progress, status):
            said = progress(status)
            if inspect.isawaitable(said):
                await said
        case Await(seconds):
            await asyncio.sleep(seconds)
    return None
