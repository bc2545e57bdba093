"""One service in this process, from the first signal to the last."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import signal
import socket
import sqlite3
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import uvicorn

from service.app import create_app
from service.lock import StateDirectoryInUseError
from workers import logs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import FrameType

    from fastapi import FastAPI

    from service.services import Services
    from service.settings import Settings

GRACE_SECONDS = 2
STDIN = 0
BLOCK = 4096
SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXPECTED = (StateDirectoryInUseError, OSError, sqlite3.Error)
"""Why a service may not start although its program is right."""


class NotStartedError(Exception):
    """The service cannot start; says why in words for whoever wants to start it."""


class Server(uvicorn.Server):
    """uvicorn that says where it listens, and for which a signal is an order to end, not a failure."""

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell the address: it may have been chosen just now."""
        logger = logging.getLogger("uvicorn.error")
        logger.setLevel(logging.CRITICAL)  # of a failure `run` tells, in a line instead of a traceback
        try:
            await super().startup(sockets)
        finally:
            logger.setLevel(logging.NOTSET)
        if self.started and sockets and not self.should_exit:
            active = self._services().store.keys.active()
            print(_welcome(self._settings, sockets[0], active), flush=True)

    def _services(self) -> Services:
        application: Any = self.config.app
        services: Services = application.state.services
        return services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of events first: the server waits for whoever it still answers."""
        self._services().feeds.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as uvicorn does, but do not raise them again at the end: the exit code is to be 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order; at the second interrupt at once, saying nothing of what is left undone."""
        if self.should_exit:
            logging.disable()
        super().handle_exit(sig, frame)


def run(settings: Settings, ends_with_stdin: bool = False) -> None:
    """Serve until a signal comes.

    Parameters
    ----------
    settings : Settings
    ends_with_stdin : bool
        End when standard input closes, as it does when the process at its other end is gone.

    Raises
    ------
    NotStartedError
        If the address, the state directory or the job store cannot be had.
    """
    listener = _listen(settings)
    logs.configure(settings.log_format, settings.log_level, settings.hidden())
    application = create_app(settings)
    failures = _note_failures(application)
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config, settings)
    if ends_with_stdin:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    with listener, contextlib.suppress(SystemExit):  # uvicorn's way to say that it did not start
        server.run([listener])
    if server.started:
        return
    for failure in failures:
        if isinstance(failure, EXPECTED):
            raise NotStartedError(f"the service cannot start: {failure}")
        raise failure
    raise NotStartedError("the service ended before it had started")


def _note_failures(application: FastAPI) -> list[Exception]:
    """Keep what the lifespan raises: the server logs it and goes on to end."""
    failures: list[Exception] = []
    lifespan = application.router.lifespan_context

    @contextlib.asynccontextmanager
    async def noted(app: FastAPI) -> AsyncIterator[Any]:
        try:
            async with lifespan(app) as state:
                yield state
        except Exception as error:
            failures.append(error)
            raise

    application.router.lifespan_context = noted
    return failures


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise NotStartedError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}. "
            "Choose another with --port; 0 picks a free one"
        ) from None


def _welcome(settings: Settings, listener: socket.socket, keys: int) -> str:
    host, port = listener.getsockname()[:2]
    roots = [f"{name} = {directory}" for name, directory in settings.roots.items()]
    if not roots:
        roots = ["none; --root NAME=DIR offers the arrays below a directory"]
    return "\n".join(
        [
            f"ordsim {version('ordsim')} listens on http://{f'[{host}]' if ':' in host else host}:{port}",
            *(f"  {'roots' if first else '     '}    {line}" for first, line in _marked(roots)),
            f"  state    {settings.state_dir.resolve()}",
            f"  workers  {settings.workers if settings.scheduler is None else f'those of {settings.scheduler}'}",
            f"  keys     {_keys(settings, keys)}",
            "Ctrl-C ends it; unfinished jobs go on when it is started again.",
        ]
    )


def _keys(settings: Settings, active: int) -> str:
    """Say whether keys are asked for, and how to come by one if there are none."""
    if not settings.keys_required:
        return "not asked for: only this machine reaches the service"
    if active:
        return f"asked for; {active} active"
    directory = shlex.quote(str(settings.state_dir))
    return f"asked for, and there are none: make one with ordsim keys create --state-dir {directory}"


def _marked(lines: list[str]) -> Iterator[tuple[bool, str]]:
    return ((position == 0, line) for position, line in enumerate(lines))


def _end_with_stdin() -> None:
    # Not through sys.stdin: a thread that waits in its buffer holds a lock that Python wants when it ends, and aborts.
    with contextlib.suppress(OSError):
        while os.read(STDIN, BLOCK):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
